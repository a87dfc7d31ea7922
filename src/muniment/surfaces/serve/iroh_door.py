"""The door over iroh: no route of HTTP, but an endpoint beside it (design section 8; docs/sync.md, "iroh")."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from muniment.base.errors import MunimentError
from muniment.discovery import SALT_BYTES, Lan
from muniment.iroh_options import IrohOptions, iroh_options
from muniment.surfaces.serve.house import House

if TYPE_CHECKING:
    from muniment.sync.iroh import Endpoint

_LOOK_S = 5.0  # between looks at own addresses, at what is shared, and at the LAN


class IrohDoor:
    """Answers rounds over iroh, and tells and asks the LAN if that is wanted.

    Args:
        house: Its peer and its clock.
        options: Where to listen.
    """

    name, body_limit = "iroh", 0

    def __init__(self, house: House, options: IrohOptions) -> None:
        assert options.bind is not None  # noqa: S101 - `open_iroh` makes none without
        self._house, self._options = house, options
        # Shown among the paths; no request of HTTP's has such a one.
        self.path = "iroh:" + options.bind.rpartition(":")[2]
        self._endpoint: Endpoint | None = None
        self._lan: Lan | None = None
        self._salt = house.peer.host.entropy.bytes(SALT_BYTES)
        self._watch: asyncio.Task[None] | None = None
        self._told = ""

    def routes(self) -> Sequence[BaseRoute]:
        """None."""
        return []

    async def start(self) -> None:
        """Listen, say where, and begin to watch.

        Raises:
            MissingExtra: The extra `p2p`, or `discovery`, is not installed.
            InvalidInput: The port is taken.
            KeyringError: The endpoint's key can't be used.
        """
        await asyncio.to_thread(self._open)
        self._watch = asyncio.create_task(self._look())

    async def stop(self) -> None:
        """End all conversations; whoever is in one begins anew elsewhere."""
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
        await asyncio.to_thread(self._close)

    def _open(self) -> None:
        from muniment import sharing
        from muniment.custody_channel import PROTOCOL, ChannelDesk
        from muniment.endpoint_key import endpoint_seed
        from muniment.sync.iroh import Endpoint, serves

        peer, server = self._house.peer, sharing.server(self._house.peer)
        endpoint = Endpoint(
            endpoint_seed(peer), server.round, bind=self._options.bind or "", relays=self._options.relays,
            stamp=server.stamp, desks={PROTOCOL: ChannelDesk(peer)},
        )  # fmt: skip
        endpoint.open()
        self._endpoint = endpoint
        try:
            if self._options.discovery:
                self._lan = Lan(self._interfaces())
            self._tell()
        except BaseException:
            self._close()
            raise
        serves(peer.home, endpoint)

    def _interfaces(self) -> list[str] | None:
        host = (self._options.bind or "").rpartition(":")[0].strip("[]")
        return None if host in {"0.0.0.0", "::"} else [host]  # noqa: S104 - compared, not bound

    def _close(self) -> None:
        from muniment.sync.iroh import serves

        serves(self._house.peer.home, None)
        if self._lan is not None:
            self._lan.close()
        if self._endpoint is not None:
            self._endpoint.close()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            with suppress(MunimentError):  # a busy file: the next look comes soon
                await asyncio.to_thread(self._tell)

    def _tell(self) -> None:
        """Note where this peer is to be had, tell the LAN, and keep the hints that it gives."""
        from muniment import sharing

        assert self._endpoint is not None  # noqa: S101 - `_open` came first
        peer = self._house.peer
        address = self._endpoint.address(self._options.at)
        if address != self._told:
            sharing.listens(peer, "iroh", [address])
            self._told = address
        if self._lan is None:
            return
        store = peer.made_store()
        here = [row.bank for row in store.banks()]
        served = [bank for bank in here if store.others.shared(bank)]
        places = address.partition("@")[2].split(",")
        self._lan.announce(self._endpoint.id, places, served, self._salt)
        wanted = {*here, *(row.bank for row in store.others.wanted())}
        for found in self._lan.found():
            for bank in filter(found.may_have, wanted):
                store.others.add_route(bank, found.address, "learnt", peer.host.clock.now_ms())


def open_iroh(house: House) -> IrohDoor | None:
    """The door, where the settings or the command ask for it; the first of several processes has it.

    Raises:
        InvalidInput: What was asked for has no meaning.
        MissingExtra: The extra `p2p` is not installed.
    """
    options = house.options
    chosen = iroh_options(house.peer.host.settings.serve, options.iroh, discovery=options.discovery)
    if chosen.bind is None or not house.first:
        return None
    from muniment.sync.iroh import need

    need()  # what is missing is said by `--check` too
    return IrohDoor(house, chosen)
