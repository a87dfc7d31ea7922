"""`/custody/1`: questions of owners whose blobs are kept here, over signed requests (docs/custody.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from muniment.base.errors import MunimentError, NotPermitted, Overloaded, Refused
from muniment.base.limits import LIMITS
from muniment.custody_desk import SharedDesk, admits
from muniment.custody_keeper import Kept
from muniment.custody_links import MEDIA_TYPE, PATH, alarms
from muniment.identity.did import parse_did
from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.house import House, request_parts
from muniment.surfaces.serve.metrics import Labels
from muniment.upkeep import Upkeep


class CustodyDoor:
    """Answers those who were accepted; whoever else asks is turned away before anything is read."""

    name, path, body_limit = "custody", PATH, LIMITS.custody_message_bytes

    def __init__(self, house: House) -> None:
        self._house = house
        self._desk = SharedDesk(house.peer)
        self._upkeep = Upkeep(house.peer, self._told) if house.first else None
        house.metrics.gauge("muniment_custody_alarms", "Receipts that do not count.", self._alarms)
        house.metrics.gauge(
            "muniment_custody_proven_age_seconds",
            "Time since a pack was last proven, the oldest.",
            self._ages,
        )

    def routes(self) -> Sequence[BaseRoute]:
        """`POST /custody/1`."""
        return [Route(self.path, self._post, methods=["POST"])]

    async def start(self) -> None:
        """Begin what this peer does by itself."""
        if self._upkeep is not None:
            self._upkeep.start()

    async def stop(self) -> None:
        """End it; a step under way is finished."""
        if self._upkeep is not None:
            await asyncio.to_thread(self._upkeep.stop)

    async def _post(self, request: Request) -> Response:
        if request.headers.get("content-type") != MEDIA_TYPE:
            return _words(415, f"send {MEDIA_TYPE}")
        keyid = request.headers.get("signature-input", "").partition('keyid="')[2].partition('"')[0][:200]
        try:
            await self._house.run(keyid.encode(), lambda: self._admit(parse_did(keyid)))
            body = bytearray()
            async for piece in request.stream():
                body += piece
                if len(body) > self.body_limit:
                    return _words(413, "too long")
            parts, headers = request_parts(request.scope, bytes(body))

            def answer() -> bytes:
                claim = self._house.signed(parts, headers, self._admit)
                return self._desk.answer(claim.key, parts.body)

            return Response(await self._house.run(keyid.encode(), answer), media_type=MEDIA_TYPE)
        except Overloaded as error:
            wait = {"retry-after": str(max(1, round(error.retry_after)))}
            return _words(429, error.message, wait)
        except (NotPermitted, Refused) as error:
            return _words(403 if isinstance(error, NotPermitted) else 401, error.message)
        except MunimentError:
            return _words(503, "this peer has trouble of its own", {"retry-after": "5"})

    def _admit(self, key: bytes) -> None:
        if not admits(self._house.peer, key):
            raise NotPermitted("this peer keeps nothing for that key", "See `muniment custody accept`.")

    def _told(self, kept: Kept) -> None:
        if kept.outcome is not None:
            how = "proven" if kept.outcome.proven else "failed"
            self._house.metrics.count(
                "muniment_custody_challenges_total", "Challenges to holders.", outcome=how
            )

    def _alarms(self) -> Iterator[tuple[Labels, float]]:
        yield (), alarms(self._house.peer)

    def _ages(self) -> Iterator[tuple[Labels, float]]:
        store, now = self._house.peer.standing_store(), self._house.peer.host.clock.now_ms()
        rows = [] if store is None else store.custody.given()
        if rows:
            yield (), (now - min(row.since if row.proven is None else row.proven for row in rows)) / 1000


def _words(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    return Response(words + "\n", status, headers, media_type="text/plain")


def open_door(house: House) -> Door:
    """The door: it is always there, since an owner may be accepted at any time."""
    return CustodyDoor(house)
