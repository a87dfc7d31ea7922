"""What stands before all doors: hosts, sizes, times, how many at once, the log and the counters.

It is bare ASGI, so that nothing of a refused request is parsed and a streamed answer stays a stream.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

from muniment.surfaces.serve.doors import Door
from muniment.surfaces.serve.house import House

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_SAFETY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_TARGET_BYTES = 8 * 1024
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class _TooLarge(Exception):
    pass


class _TooSlow(Exception):
    pass


class _Gone(Exception):
    pass


class Gate:
    """The application that the server runs.

    Args:
        house: For its limits, counters and log.
        doors: Longest paths first.
        router: Leads to the doors' routes.
    """

    def __init__(self, house: House, doors: Sequence[Door], router: App) -> None:
        self._house, self._doors, self._router = house, doors, router
        self._hosts = house.options.allowed_hosts(house.port)
        self._running = 0
        house.metrics.gauge(
            "muniment_requests_running", "Requests being answered now.", lambda: [((), self._running)]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection's request."""
        if scope["type"] == "lifespan":
            await _no_lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:  # no door speaks anything else
            await send({"type": "websocket.close", "code": 1003})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        door = self._door(scope["path"])
        seen = _Seen(send)
        self._running += 1
        try:
            refused = self._refusal(scope, door)
            if refused is not None:
                await _plain(seen, *refused)
            else:
                body = _Body(receive, door.body_limit if door else 0, self._house.options.body_s)
                await self._through(scope, body, seen)
        finally:
            self._running -= 1
            self._note(scope, door, seen, time.perf_counter() - began)

    async def _through(self, scope: Scope, body: _Body, seen: _Seen) -> None:
        try:
            await self._router(scope, body.receive, seen)
        except _TooLarge:
            await _plain(seen, 413, "the body is too large")
        except _TooSlow:
            await _plain(seen, 408, "the body did not come in time")
        except _Gone:  # there is nobody to answer
            return
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 (the last door: nothing of it may spill)
            # What it says may hold a memory or a key, so only its kind is told.
            self._say({"bug": type(error).__name__, "path": scope["path"][:80]})
            await _plain(seen, 500, "muniment broke on something that it did not expect; this is a bug")

    def _door(self, path: str) -> Door | None:
        for door in self._doors:
            if path == door.path or path.startswith(door.path.rstrip("/") + "/"):
                return door
        return None

    def _refusal(self, scope: Scope, door: Door | None) -> tuple[int, str] | None:
        """Why a request is not let in, judged by its header alone."""
        headers = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1:
            return 400, "one Host header is needed"
        if self._hosts and hosts[0].decode("latin-1").lower() not in self._hosts:
            return 421, "this server does not answer for that host; name it with --host"
        if len(scope["raw_path"]) + len(scope["query_string"]) > _TARGET_BYTES:
            return 414, "the address is too long"
        if scope["method"] not in _METHODS:
            return 405, "that method means nothing here"
        if self._house.stopping.is_set():
            return 503, "the server is stopping"
        if self._running > self._house.options.concurrency:
            return 503, "too many requests at once"
        limit = door.body_limit if door else 0
        for name, value in headers:
            if name == b"content-length" and (not value.isdigit() or int(value[:20]) > limit):
                return 413, f"the body is too large: at most {limit} bytes"
            if name == b"content-encoding" and value != b"identity":
                return 415, "bodies are sent as they are"
        return None

    def _note(self, scope: Scope, door: Door | None, seen: _Seen, seconds: float) -> None:
        name, status = door.name if door else "none", seen.status or 499  # 499: nobody waited for the answer
        metrics = self._house.metrics
        metrics.count(
            "muniment_requests_total", "Requests by door and status.", door=name, status=str(status)
        )
        metrics.time("muniment_request_seconds", "Time to answer a request.", seconds, door=name)
        if self._house.options.log:
            # No query, no header, no body: what people ask and remember is theirs.
            line = {"time": _now(), "door": name, "method": scope["method"][:16], "path": scope["path"][:80],
                    "status": status, "ms": round(seconds * 1000, 1), "bytes": seen.bytes}  # fmt: skip
            self._say(line | scope.get("muniment.log", {}))

    @staticmethod
    def _say(line: dict[str, Any]) -> None:
        with suppress(OSError, ValueError):  # a log that can't be written stops no answer
            sys.stderr.write(json.dumps(line) + "\n")


class _Seen:
    """Hands an answer on, notes its status and size, and adds the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status: int | None = None
        self.bytes = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name for name, _ in message.get("headers", ())}
            more = [pair for pair in _SAFETY if pair[0] not in given]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        else:
            self.bytes += len(message.get("body", b""))
        await self._send(message)


class _Body:
    """Counts and times what a client sends."""

    def __init__(self, receive: Receive, limit: int, seconds: float) -> None:
        self._receive, self._limit = receive, limit
        self._until = time.monotonic() + seconds
        self._got, self._done = 0, False

    async def receive(self) -> Message:
        if self._done:  # only the end of the connection is left to hear of
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, self._until - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            raise _TooSlow from None
        if message["type"] == "http.disconnect":
            raise _Gone
        self._got += len(message.get("body", b""))
        if self._got > self._limit:
            raise _TooLarge
        self._done = not message.get("more_body", False)
        return message


async def _plain(seen: _Seen, status: int, text: str) -> None:
    if seen.status is not None:  # the answer has begun; all that is left is to end it
        return
    data = (text + "\n").encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(data)).encode()),
        (b"connection", b"close"),
    ]
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await seen({"type": "http.response.start", "status": status, "headers": headers})
    await seen({"type": "http.response.body", "body": data})


async def _no_lifespan(receive: Receive, send: Send) -> None:
    """Doors are started and stopped around the server, so there is nothing to do in between."""
    while (message := await receive())["type"] != "lifespan.shutdown":
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
