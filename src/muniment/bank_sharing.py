"""What one key may do about banks on other installations: share, import, answer who asks (design sections 8 and 10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.access import Answered, RequestInfo, approve, deny, requests
from muniment.base.errors import InvalidInput, NotPermitted, StorageError
from muniment.base.ids import BankId, cid_text
from muniment.identity.did import to_did
from muniment.invites import make_invite
from muniment.joining import Imported, join
from muniment.ledger.levels import RELAY, parse_level
from muniment.query import Time, to_ms
from muniment.rounds import Synced, Tick, lag, sync
from muniment.session import find_bank
from muniment.sharing import DEFAULT_ADDRESS, addresses
from muniment.store.peer import AgentRow, BankRow
from muniment.store.routes import RouteRow
from muniment.sync.ticket import Ticket, check_address

if TYPE_CHECKING:
    from muniment.peer import Peer

RequestInfos = list[RequestInfo]


@dataclass(frozen=True, slots=True)
class Shared:
    """A bank that is served from now on.

    Attributes:
        bank: Its id; `name` what it is called here.
        ticket: What leads to it. With an invite it holds a secret, shown this once.
        invite: The id of the invite in it, if there is one; `level` and `until_ms` what it gives, and until when.
        addresses: Where the ticket says that the bank may be had.
    """

    bank: str
    name: str
    ticket: str
    addresses: tuple[str, ...]
    invite: str | None = None
    level: str | None = None
    until_ms: int | None = None

    def __repr__(self) -> str:
        return f"Shared({self.name!r}, addresses={self.addresses!r})"

    def to_json(self) -> dict[str, Any]:
        """The ticket as `--json` prints it once."""
        return {name: getattr(self, name) for name in self.__slots__} | {"addresses": list(self.addresses)}


@dataclass(frozen=True, slots=True)
class Unshared:
    """A bank that is served no more; `was` says whether it was. Keys and copies stay where they are."""

    bank: str
    name: str
    was: bool

    def to_json(self) -> dict[str, Any]:
        """It as `--json` prints it."""
        return {"bank": self.bank, "name": self.name, "was_shared": self.was}


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """A way to another peer for one bank, and how it goes.

    Attributes:
        bank: The bank's id; `name` what it is called here.
        address: Where; `source` who named it: `ticket`, `added` or `learnt`.
        peer: DID of the key that answered there last; `peer_name` its name here.
        state: `ok`, `behind` (some of what is here is not there), `failing`, or `new`.
        lag: Entries here that are not known to be there.
        tried_ms, succeeded_ms: The last attempt, and the last round after which nothing was missing.
        agreed_ms: When both ends last held the same control entries: what was revoked since may be unknown here.
        failures: Attempts in a row that came to nothing; `error` why the last one did.
    """

    bank: str
    name: str
    address: str
    source: str
    peer: str | None
    peer_name: str | None
    state: str
    lag: int
    tried_ms: int | None
    succeeded_ms: int | None
    agreed_ms: int | None
    failures: int
    error: str | None

    def to_json(self) -> dict[str, Any]:
        """The way as `--json` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class SyncedAll:
    """Rounds with all that were asked."""

    rounds: tuple[Synced, ...]

    @property
    def ok(self) -> bool:
        """Whether each bank was synced to the end with somebody."""
        done = {one.bank for one in self.rounds if one.done}
        return all(one.bank in done for one in self.rounds)

    def to_json(self) -> dict[str, Any]:
        """The rounds as `--json` prints them."""
        return {"ok": self.ok, "rounds": [one.to_json() for one in self.rounds]}


class SharedOut:
    """The part of `Banks` about other installations."""

    _peer: Peer
    _agent: AgentRow | None

    @property
    def key(self) -> bytes:
        """The public key that acts."""
        raise NotImplementedError  # pragma: no cover - `Banks` says which

    def share(
        self,
        bank: str,
        *,
        invite: str | None = None,
        until: Time | None = None,
        uses: int = 1,
        address: tuple[str, ...] | list[str] = (),
    ) -> Shared:
        """Serve a bank to its members from now on, and make a ticket that leads to it.

        Args:
            bank: Any bank of this peer in which the key holds something.
            invite: Put an invite to this level into the ticket: whoever brings it is let in.
            until: When the invite ends; a day from now if not given.
            uses: How many the invite lets in.
            address: Where this peer is to be had, in place of what is configured or served.

        Raises:
            UnknownBank | Ambiguous | InvalidInput: As their names say.
            NotPermitted: The key holds nothing there, or could not grant that level itself.
            RefusedTicket: An address is none.
        """
        row = find_bank(self._peer, bank)
        opened, now = self._peer.bank(row.bank), self._peer.host.clock.now_ms()
        opened.enter()
        level = opened.authority.level(self.key, now)
        if level is None or not level.allows(RELAY):
            raise NotPermitted("this key is no member of the bank", "Ask an admin of the bank for a grant.")
        peers = tuple(map(check_address, address)) or addresses(self._peer) or (DEFAULT_ADDRESS,)
        seed = made = ends = None
        if invite is not None:
            ends = None if until is None else to_ms(until, "until")
            new = make_invite(opened, self.key, parse_level(invite), uses=uses, until=ends)
            act = opened.authority.invites[new.id].act
            seed, made, ends = new.seed, f"{cid_text(new.id.entry)}/{new.id.act}", act.until
        elif until is not None or uses != 1:
            raise InvalidInput("`until` and `uses` belong to an invite", "Say to which level you invite.")
        self._peer.made_store().others.share(row.bank, now)
        given = None if invite is None else parse_level(invite)
        ticket = Ticket(row.bank, peers, seed, given, ends)
        text = None if given is None else str(given)
        return Shared(cid_text(row.bank), row.name, str(ticket), peers, made, text, ends)

    def unshare(self, bank: str) -> Unshared:
        """Serve a bank no more. Keys and copies stay; tickets lead nowhere until it is shared again.

        Raises:
            UnknownBank | Ambiguous: As their names say.
        """
        row = find_bank(self._peer, bank)
        was = self._peer.made_store().others.unshare(row.bank)
        return Unshared(cid_text(row.bank), row.name, was)

    def import_ticket(
        self, ticket: str, level: str = "write", *, note: str = "", tick: Tick | None = None
    ) -> Imported:
        """Import a bank by its ticket; see `joining.join`.

        Raises:
            RefusedTicket | LimitExceeded | InvalidInput | StorageError: As their names say.
        """
        return join(self._peer, self.key, self._agent, ticket, level, note=note, tick=tick)

    def requests(self) -> RequestInfos:
        """Who asks for the banks in which the key may let others in."""
        return requests(self._peer, self.key)

    def approve(
        self, request: str, *, level: str | None = None, until: Time | None = None, delegable: bool = False
    ) -> Answered:
        """Let somebody in who asked; see `access.approve`.

        Raises:
            UnknownRecord | Ambiguous | InvalidInput | NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank:
                As their names say.
        """
        return approve(self._peer, self.key, request, level=level, until=until, delegable=delegable)

    def deny(self, request: str) -> Answered:
        """Say no to somebody who asked; nobody is told.

        Raises:
            UnknownRecord | Ambiguous | InvalidInput: As their names say.
        """
        return deny(self._peer, self.key, request)


# Other peers, which are the installation's affair


def sync_now(
    peer: Peer, bank: str | None = None, addresses: tuple[str, ...] = (), *, tick: Tick | None = None
) -> SyncedAll:
    """One round now: about one bank, or all that are to be had elsewhere, with all known peers or the named ones.

    Raises:
        UnknownBank | Ambiguous: As their names say.
        InvalidInput: No address is known.
    """
    from muniment.joining import complete

    named = tuple(map(check_address, addresses))
    if bank is None:
        complete(peer)
    store = peer.standing_store()
    routes = [] if store is None else store.others.routes()
    if bank is None:
        listed = [] if store is None else [row.bank for row in store.banks()]
        banks = [one for one in listed if any(route.bank == one for route in routes)]
    else:
        banks = [find_bank(peer, bank).bank]
    if not banks or not (named or any(route.bank in banks for route in routes)):
        raise InvalidInput(
            "no other peer is known that has it", "Import a ticket, or name an address with --peer."
        )
    return SyncedAll(tuple(sync(peer, banks, named, tick=tick)))


def peers(peer: Peer) -> list[PeerInfo]:
    """All ways to other peers, by bank."""
    store = peer.standing_store()
    if store is None:
        return []
    rows = {row.bank: row for row in store.banks()}
    return [_info(peer, rows[route.bank], route) for route in store.others.routes() if route.bank in rows]


def add_peer(peer: Peer, bank: str, address: str) -> PeerInfo:
    """Note an address where a bank is to be had.

    Raises:
        UnknownBank | Ambiguous: As their names say.
        RefusedTicket: It is no address.
        InvalidInput: It is known, or there are too many.
    """
    row, place = find_bank(peer, bank), check_address(address)
    if not peer.made_store().others.add_route(row.bank, place, "added", peer.host.clock.now_ms()):
        raise InvalidInput(f"{place} is known for that bank, or too many are", "See `muniment peers list`.")
    return _info(peer, row, _route(peer, row.bank, place))


def remove_peer(peer: Peer, bank: str, address: str) -> PeerInfo:
    """Forget an address.

    Raises:
        UnknownBank | Ambiguous | RefusedTicket: As their names say.
        InvalidInput: It is not known.
    """
    row, place = find_bank(peer, bank), check_address(address)
    info = _info(peer, row, _route(peer, row.bank, place))
    peer.made_store().others.remove_route(row.bank, place)
    return info


def _route(peer: Peer, bank: BankId, address: str) -> RouteRow:
    for route in peer.made_store().others.routes(bank):
        if route.address == address:
            return route
    raise InvalidInput(f"{address} is not known for that bank", "See `muniment peers list`.")


def _info(peer: Peer, row: BankRow, route: RouteRow) -> PeerInfo:
    try:
        behind = lag(peer, route)
    except StorageError:
        behind = 0  # `doctor` says what is wrong with the bank
    state = "failing" if route.failures else "behind" if behind else "ok"
    return PeerInfo(
        bank=cid_text(row.bank),
        name=row.name,
        address=route.address,
        source=route.source,
        peer=None if route.peer is None else to_did(route.peer),
        peer_name=None if route.peer is None else peer.name_of(route.peer),
        state="new" if route.tried is None else state,
        lag=behind,
        tried_ms=route.tried,
        succeeded_ms=route.succeeded,
        agreed_ms=route.agreed,
        failures=route.failures,
        error=route.error,
    )
