"""`/custody/1`: questions of owners whose blobs are kept here, over signed requests (docs/custody.md)."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from muniment.base.errors import MunimentError, NotPermitted, Overloaded, Refused
from muniment.base.limits import LIMITS
from muniment.custody_desk import CustodyDesk
from muniment.custody_links import MEDIA_TYPE, PATH
from muniment.identity.did import parse_did
from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.house import House, request_parts


class CustodyDoor:
    """Answers those who were accepted; whoever else asks is turned away before anything is read."""

    name, path, body_limit = "custody", PATH, LIMITS.custody_message_bytes

    def __init__(self, house: House) -> None:
        self._house, self._desk = house, CustodyDesk(house.peer)
        self._lock = threading.Lock()  # one pack in memory at a time

    def routes(self) -> Sequence[BaseRoute]:
        """`POST /custody/1`."""
        return [Route(self.path, self._post, methods=["POST"])]

    async def start(self) -> None:
        """Nothing goes on beside requests."""

    async def stop(self) -> None:
        """Nothing is to be ended."""

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
                with self._lock:
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
        if not self._desk.knows(key):
            raise NotPermitted("this peer keeps nothing for that key", "See `muniment custody accept`.")


def _words(status: int, words: str, headers: dict[str, str] | None = None) -> Response:
    return Response(words + "\n", status, headers, media_type="text/plain")


def open_door(house: House) -> Door | None:
    """The door, where somebody was accepted; None where blobs are kept for nobody."""
    store = house.peer.standing_store()
    if store is None or not store.custody.allowed():
        return None
    return CustodyDoor(house)
