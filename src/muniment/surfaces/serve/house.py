"""What a door is given: the peer, threads that work for it, the memory of replays, counters, rates."""

from __future__ import annotations

import asyncio
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from muniment.base.errors import NotPermitted, Overloaded
from muniment.callers import Callers
from muniment.identity.http_signatures import Claim, Request, verify_request
from muniment.replays import Replays
from muniment.surfaces.serve.did_web import Resolver
from muniment.surfaces.serve.metrics import Metrics
from muniment.surfaces.serve.options import Options
from muniment.surfaces.serve.rates import Rates
from muniment.tokens import RIGHTS, Rights, TokenInfo, Tokens

if TYPE_CHECKING:
    from muniment.peer import Peer

T = TypeVar("T")

_QUEUE = 64  # calls that wait for one thread


class House:
    """One serving process.

    Attributes:
        peer: The open peer. It is synchronous: call it through `run`.
        port: Where it listens in fact.
        stopping: Set when the server is told to stop; long answers end then.
        others: Gives the counts of the other processes, where there are several.
    """

    def __init__(self, peer: Peer, options: Options, port: int) -> None:
        self.peer, self.options, self.port = peer, options, port
        self.metrics = Metrics()
        self.stopping = asyncio.Event()
        self.others: Callable[[], Iterable[Mapping[str, Any]]] = tuple
        self.replays = Replays(peer)
        self.resolve = Resolver(options.web_hosts)
        self.callers = Callers(peer, self.resolve.authentic if options.web_hosts else None)
        self.tokens = Tokens(peer)
        self._rates, self._lock = Rates(options.rate, options.burst), threading.Lock()
        # A thread of its own for each group of keys: a bank's connections and caches stay with one thread.
        self._threads = [ThreadPoolExecutor(1, f"muniment-{n}") for n in range(options.threads)]
        self._waiting = [0] * options.threads

    async def run(self, owner: bytes, call: Callable[[], T]) -> T:
        """Do something that takes time or files, in the thread that works for `owner`.

        Args:
            owner: What the work is about: a key, a bank's id; the same one goes to the same thread.
            call: Synchronous. When the request is cancelled, it still runs to its end.

        Raises:
            Overloaded: Too much waits for that thread already.
        """
        at = zlib.crc32(owner) % len(self._threads)
        if self._waiting[at] >= _QUEUE:
            raise Overloaded("too many requests wait here already")
        self._waiting[at] += 1
        future = self._threads[at].submit(call)
        wrapped = asyncio.wrap_future(future)
        try:
            return await wrapped
        finally:
            self._waiting[at] -= 1

    # Who asks

    def signed(
        self,
        request: Request,
        headers: Iterable[tuple[str, str]],
        admit: Callable[[bytes], object] | None = None,
    ) -> Claim:
        """Whose signed request this is; it counts as used from here on. Call it in a thread, through `run`.

        Args:
            request: Its parts, from `request_parts`.
            headers: Its headers.
            admit: Refuses keys that have no business here, by raising; without it, keys that own no agent.

        Raises:
            NotPermitted: The key has no business here.
            RefusedSignature: As `verify_request` and `Replays` say.
            Overloaded: This key asks too often.
        """
        now = self.peer.host.clock.now_ms() // 1000
        claim = verify_request(request, headers, now, self.resolve)
        self.limit(claim.key)
        # A stranger leaves nothing behind, however much is sent.
        (admit or self.callers.known)(claim.key)
        self.replays.check(claim)
        return claim

    def bearer(self, header: str | None, need: Rights = "read") -> TokenInfo:
        """Whose token stands in an `Authorization` header. Call it in a thread, through `run`.

        Raises:
            NotPermitted: There is none, or it does not hold, or nothing here is encrypted.
            Overloaded: It is used too often.
        """
        if need not in RIGHTS or header is None or not header.startswith("Bearer "):
            raise NotPermitted("there is no token", "Send `Authorization: Bearer …`.")
        if not (self.options.loopback or self.options.certificate):
            raise NotPermitted("tokens are only taken on loopback or over TLS", "Sign the request.")
        info = self.tokens.check(header.removeprefix("Bearer ").strip(), need)
        self.limit(info.id.encode())
        return info

    def limit(self, key: bytes) -> None:
        """Count a request by a key.

        Raises:
            Overloaded: It asks too often.
        """
        with self._lock:
            self._rates.take(key, time.monotonic())

    def close(self) -> None:
        """Let running work end, then let go of files."""
        for thread in self._threads:
            thread.shutdown(wait=True, cancel_futures=True)
        self.replays.close()


def request_parts(scope: Mapping[str, Any], body: bytes) -> tuple[Request, list[tuple[str, str]]]:
    """What a signature covers of an ASGI request, and its headers."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    named = dict(headers)
    parts = Request(
        method=scope["method"],
        authority=named.get("host", ""),
        path=scope["raw_path"].decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        content_type=named.get("content-type"),
        body=body,
    )
    return parts, headers
