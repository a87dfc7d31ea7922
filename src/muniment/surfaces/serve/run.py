"""Listens: one process, or several that share the socket, until somebody says stop (design section 11)."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.routing import Router
from uvicorn.protocols.http.h11_impl import H11Protocol

from muniment.base.errors import InvalidInput
from muniment.platform import collector
from muniment.surfaces.serve.doors import DOORS, Door, absent, open_doors
from muniment.surfaces.serve.gate import Gate
from muniment.surfaces.serve.house import House
from muniment.surfaces.serve.options import Options

if TYPE_CHECKING:
    from muniment.peer import Peer
    from muniment.surfaces.serve.crew import Slot

_HEADER_BYTES = 32 * 1024
_BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Served:
    """How a server ran, or would run: where, its doors, and the requests that it answered."""

    url: str
    doors: tuple[str, ...]
    workers: int
    checked: bool = False

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "url": self.url, "doors": list(self.doors), "workers": self.workers, "checked": self.checked,
            "absent": list(self.absent),
        }  # fmt: skip

    @property
    def absent(self) -> tuple[str, ...]:
        """What is not served for want of an extra, in words."""
        return absent(self.doors)


Ready = Callable[[str, Sequence[str]], None]
Doors = Callable[[House], list[Door]]


def serve(
    open_peer: Callable[[], Peer], options: Options, *, ready: Ready | None = None, check: bool = False
) -> Served:
    """Hold the doors open until SIGTERM or SIGINT; running requests are finished, new ones refused.

    Args:
        open_peer: Opens the peer; called in each process that serves.
        options: From `muniment.surfaces.serve.options.options`.
        ready: Told the address and the doors' paths once connections are taken.
        check: Only look whether it could serve, and leave.

    Raises:
        InvalidInput: The address can't be listened on, or the certificate is none.
        MunimentError: The peer can't be opened, or a door can't be started.
    """
    listener = listen(options)
    try:
        port = listener.getsockname()[1]
        tls = _tls(options)
        if check:
            doors = asyncio.run(_check(open_peer, options, port))
            return Served(options.url(port), doors, options.workers, checked=True)
        if options.workers == 1:
            doors = asyncio.run(ServingProcess(open_peer, options, listener, tls, ready=ready).run())
        else:
            from muniment.surfaces.serve.crew import Crew

            doors = Crew(options.workers, options.finish_s * 3).run(
                lambda slot: ServingProcess(open_peer, options, listener, tls, slot=slot),
                lambda paths: None if ready is None else ready(options.url(port), paths),
            )
        return Served(options.url(port), doors, options.workers)
    finally:
        listener.close()


async def _check(open_peer: Callable[[], Peer], options: Options, port: int) -> tuple[str, ...]:
    with open_peer() as peer:
        house = House(peer, options, port)
        try:
            doors = open_doors(house)
            _application(house, doors)
            return tuple(door.path for door in doors)
        finally:
            house.close()


def _application(house: House, doors: Sequence[Door]) -> Gate:
    # A bare router: what goes wrong comes to the gate, and is not answered before.
    routes = [route for door in doors for route in door.routes()]
    return Gate(house, doors, Router(routes))


class ServingProcess:
    """One serving process."""

    def __init__(
        self,
        open_peer: Callable[[], Peer],
        options: Options,
        listener: socket.socket,
        tls: tuple[str, str] | None = None,
        *,
        ready: Ready | None = None,
        slot: Slot | None = None,
        doors: Doors | None = None,
    ) -> None:
        self._open, self._options, self._listener, self._tls = open_peer, options, listener, tls
        self._ready, self._slot, self._doors = ready, slot, doors
        self._stop: Callable[[], None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Stop, from any thread; harmless when done twice, or before it runs."""
        self._stopped = True
        if self._stop is not None:
            self._stop()

    async def run(self) -> tuple[str, ...]:
        """Serve until told to stop; gives the paths of the doors."""
        port = self._listener.getsockname()[1]
        with self._open() as peer:
            house = House(peer, self._options, port)
            house.first = self._slot is None or self._slot.first
            started: list[Door] = []
            try:
                doors = open_doors(house, DOORS) if self._doors is None else self._doors(house)
                server = self._server(_application(house, doors))
                for door in doors:
                    await door.start()
                    started.append(door)
                if self._slot is not None:
                    self._slot.attach(house)
                await self._until_stopped(house, server, started)
                return tuple(door.path for door in doors)
            finally:
                house.stopping.set()
                for door in reversed(started):
                    await door.stop()
                await asyncio.get_running_loop().run_in_executor(None, house.close)

    async def _until_stopped(self, house: House, server: _Server, doors: Sequence[Door]) -> None:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            house.stopping.set()
            server.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, RuntimeError):  # no signals here, or not the main thread
                loop.add_signal_handler(number, stop)

        def from_thread() -> None:
            with suppress(RuntimeError):  # it ended already
                loop.call_soon_threadsafe(stop)

        self._stop = from_thread
        if self._stopped:
            stop()
        task = asyncio.create_task(server.serve_quietly([self._listener.dup()]))
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        collector.settle()
        paths = tuple(door.path for door in doors)
        if self._ready is not None and not task.done():
            self._ready(self._options.url(house.port), paths)
        if self._slot is not None and not task.done():
            self._slot.ready(paths)
        await task

    def _server(self, app: Gate) -> _Server:
        certificate, private_key = self._tls or (None, None)
        config = uvicorn.Config(
            app, lifespan="off", loop="asyncio", http=_Patient, ws="none",
            log_config=None, log_level="critical", access_log=False,  # a stranger's noise is no news
            ssl_certfile=certificate, ssl_keyfile=private_key, backlog=_BACKLOG, timeout_keep_alive=30,
            timeout_graceful_shutdown=int(self._options.finish_s), h11_max_incomplete_event_size=_HEADER_BYTES,
            server_header=False, date_header=True, proxy_headers=False,
            limit_concurrency=self._options.concurrency * 8,
        )  # fmt: skip
        return _Server(config)


class _Server(uvicorn.Server):
    """The server, without its own signal handlers: this process has them."""

    async def serve_quietly(self, sockets: list[socket.socket]) -> None:
        await self._serve(sockets)


class _Patient(H11Protocol):
    """A connection that gives a client some seconds for each request's header, and no more."""

    HEADER_S = 10.0
    _wait: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Go on waiting as long as no request has begun; between requests the keep-alive timer watches."""
        super().data_received(data)
        if self._idle():
            self._expect()
        else:
            self._calm()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP. Where a request is answered already, nobody is left to hear the rest of that."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:  # a second answer can't be sent in the midst of the first
                self.transport.close()
                return
        super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more to wait for."""
        self._calm()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _expect(self) -> None:
        if self._wait is None:
            self._wait = self.loop.call_later(self.HEADER_S, self._give_up)

    def _calm(self) -> None:
        if self._wait is not None:
            self._wait.cancel()
            self._wait = None

    def _give_up(self) -> None:
        self._wait = None
        if self._idle() and not self.transport.is_closing():
            self.transport.close()


def listen(options: Options) -> socket.socket:
    """A socket at the address of the options.

    Raises:
        InvalidInput: It can't be had.
    """
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    host = "127.0.0.1" if options.host == "localhost" else options.host
    # asyncio sets TCP_NODELAY only where the protocol is named: without it each answer waits 40 ms for an ACK
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, options.port))
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise InvalidInput(
            f"{options.host}:{options.port} can't be listened on: {error.strerror}",
            "Another program may be there already: choose another address with --listen.",
        ) from None
    made.setblocking(False)
    return made


def _tls(options: Options) -> tuple[str, str] | None:
    if options.certificate is None or options.private_key is None:
        return None
    import ssl

    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            options.certificate, options.private_key
        )
    except (ssl.SSLError, OSError) as error:
        raise InvalidInput(
            f"{options.certificate} and {options.private_key} are no certificate and its key: {error}",
            "Give PEM files that belong together.",
        ) from None
    return str(options.certificate), str(options.private_key)
