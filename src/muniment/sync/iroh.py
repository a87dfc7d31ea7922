"""Sync over iroh: QUIC between two keys, through NAT where it can be. The only file that imports it.

```python
with Endpoint(seed, make, bind="0.0.0.0:8378") as here:
    print(here.address())  # iroh:<64 hex digits>@192.0.2.7:8378
    with here.dial("iroh:…@192.0.2.9:8378") as link:
        report = syncing.run(syncing.connect(bank, key, link.binding), link.exchange)
```

A conversation is one stream in both directions; conversations on one connection follow each other. `pipes.py` has the
framing. In place of an answer a length of zero says that there is none: what comes after it is news. The binding is the
dialler's key and then the other's, 32 bytes each: QUIC has proved both.

What the binding for Python asks for, and where it is seen to (iroh 1.2.0):

- A write copies byte by byte, in Python: `_quick` copies at once, and a binding that it does not know is refused.
- A read that is cancelled loses bytes: `pipes.py` cancels none.
- A connection that nothing refers to closes itself: each is kept until both ends are through with it.
- A dead peer is noticed after 30 s, and nobody home as late: all waiting here has a time of its own.
- Errors have no text, and traces in what they have: only their kind is told.
- No Python is called from inside: a loop accepts, and catches whatever goes wrong with one peer.
- Without a preset it would ask the vendor's relays: the minimal one asks nobody, and relays are off unless named.
- It knows one event loop: one thread of this process has it, for all endpoints.
"""

from __future__ import annotations

import asyncio
import ctypes
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

from muniment.base.errors import InvalidInput, MissingExtra, MunimentError, SyncError, Unreachable
from muniment.base.ids import BankId
from muniment.base.limits import LIMITS
from muniment.sync import messages
from muniment.sync.dialling import Caller
from muniment.sync.messages import Failure
from muniment.sync.pipes import Late, Pipe, within
from muniment.sync.questions import Desk, converse
from muniment.sync.serving import STRANGER_BYTES, ServerRound
from muniment.sync.ticket import check_address

T = TypeVar("T")
Make = Callable[[bytes], ServerRound]
Stamp = Callable[[BankId], Hashable]
"""Something that is another one after each write to a bank, and costs next to nothing to ask for."""

ALPN = b"muniment/sync/1"
SEED_BYTES = 32
_CONNECT_S, _CONNECT_MANY_S = 5.0, 8.0  # to one place; to several, of which some may be stale
_ANSWER_S = 30.0  # for an answer to begin
_STRANGER_S = 10.0  # for a question of somebody who was not let in
_SILENT_S = 60.0  # for the next question of somebody who was
_HEARTBEAT_S, _TAIL_SILENT_S = 5.0, 15.0  # a live tail says that it is there; when it does not
_LOOK_S, _SURE_S = 0.015, 1.0  # between looks whether a bank was written to; when it is read in any case
_CLOSE_S = 5.0
_MOST, _MOST_FROM_ONE = 256, 64  # connections: of all, and from one address
_DONE, _GOING = 0, 2  # codes with which a connection is closed
_AGAIN = "The other end may be gone: sync again later."


@cache
def need() -> Any:
    """The binding, with its slow write mended.

    Raises:
        MissingExtra: It is not installed, or not in a version that is known.
    """
    try:
        import iroh
        from iroh import iroh_ffi
    except (ImportError, OSError):  # OSError: its library is not for this system
        raise MissingExtra("p2p", "sync over iroh") from None
    builder: Any = getattr(iroh_ffi, "_UniffiRustBufferBuilder", None)
    if not (hasattr(builder, "_reserve") and hasattr(builder, "write")):
        raise MissingExtra("p2p", "sync over iroh, in a version that is known (1.2),")
    builder.write = _quick
    return iroh


def _quick(self: Any, value: bytes) -> None:
    """Add bytes to a buffer by one copy."""
    if value:
        with self._reserve(len(value)):
            place = ctypes.cast(self.rbuf.data, ctypes.c_void_p).value + self.rbuf.len
            ctypes.memmove(place, bytes(value), len(value))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of this process for all that iroh does, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="muniment-iroh", daemon=True).start()
    return loop


def _call(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


class IrohLink:
    """A way to one endpoint; see `muniment.sync.dialling.Dialled`."""

    def __init__(self, binding: bytes, pipe: Pipe) -> None:
        self.binding, self._pipe = binding, pipe

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, from any thread; whoever waits in it is told `Unreachable`."""
        self._pipe.connection.close(_DONE, b"")

    def exchange(self, question: bytes) -> list[bytes]:
        """The answer to a question; empty for the one that has none.

        Raises:
            Unreachable: The connection broke, or nothing came in time.
            SyncError: The answer is longer than a message may be.
        """
        return _call(self._exchange(question))

    def tail(self, question: bytes) -> Iterator[bytes]:
        """What the server tells once it was asked to: messages, as they come, and empty bytes now and then.

        Raises:
            Unreachable | SyncError: As `exchange`; also when the server stops telling.
        """
        yield from _call(self._exchange(question)) or [b""]
        while True:
            yield _call(self._answer(_TAIL_SILENT_S))

    async def _exchange(self, question: bytes) -> list[bytes]:
        with suppress(need().IrohError):  # it may have been refused while it was sent: the answer says why
            await _in_time(self._pipe.write([question]))
        answer = await self._answer(_ANSWER_S)
        return [answer] if answer else []

    async def _answer(self, wait_s: float) -> bytes:
        try:
            answer = await _in_time(self._pipe.read(LIMITS.sync_message_bytes, wait_s))
        except need().IrohError as error:
            raise _broken("the connection broke", error) from None
        if answer is None:
            raise SyncError("the other end sent a message over the cap", "Update muniment at both ends.")
        return answer


async def _in_time(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    except Late:
        raise Unreachable("no answer came in time", _AGAIN) from None


def _broken(what: str, error: Any) -> Unreachable:
    kind = error.kind().name.lower().replace("_", " ")
    return Unreachable(f"{what} ({kind})", _AGAIN)


class Endpoint:
    """One key's end of iroh: it dials others, and answers those that dial it.

    Args:
        seed: 32 secret bytes; the endpoint's key is made from them.
        make: Makes the server's end of a round for a binding; without it, nobody is answered.
        bind: Address of this machine and UDP port; port 0 takes a free one, and others lose the way at each start.
        relays: URLs of relays through which peers meet that can't reach each other; none by default.
        threads: That do the work of rounds, for all who ask.
        stamp: Tells whether a bank was written to; without it, a bank that is followed is read at each look.
        desks: Protocols of questions and answers that are spoken beside sync, by their name (ALPN).
    """

    def __init__(
        self,
        seed: bytes,
        make: Make | None = None,
        *,
        bind: str = "0.0.0.0:0",
        relays: Sequence[str] = (),
        threads: int = 2,
        stamp: Stamp | None = None,
        desks: Mapping[bytes, Desk] | None = None,
    ) -> None:
        if len(seed) != SEED_BYTES:
            raise InvalidInput(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
        self._seed, self._make, self._bind, self._relays = bytes(seed), make, bind, tuple(relays)
        self._stamp, self._desks = stamp, dict(desks or {})
        self._pool = ThreadPoolExecutor(threads, "muniment-iroh-work")
        self._endpoint: Any = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._from: Counter[str] = Counter()
        self._closing = False

    def __repr__(self) -> str:
        return f"Endpoint({self._bind!r})"

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Listen, and answer from now on.

        Raises:
            MissingExtra: The extra `p2p` is not installed.
            InvalidInput: The address can't be listened on, or a relay's URL has no meaning.
        """
        need()
        _call(self._open())

    def close(self) -> None:
        """End all conversations and let go of the port; what was committed stays."""
        if self._endpoint is not None:
            _call(self._close())
            self._endpoint = None  # only then the port is free
        self._pool.shutdown(wait=True)

    @property
    def id(self) -> bytes:
        """The endpoint's public key, 32 bytes."""
        return bytes(self._endpoint.id().to_bytes())

    def address(self, hosts: Sequence[str] = ()) -> str:
        """Where others find it: `iroh:<hex>@ip:port,…`.

        Args:
            hosts: More places, each `ip:port`, where this machine is reached from outside; they come first.

        Raises:
            RefusedTicket: A place is none.
        """
        places = [*hosts, *self._endpoint.addr().direct_addresses()]
        return check_address(
            f"iroh:{self.id.hex()}" + ("@" if places else "") + ",".join(dict.fromkeys(places))
        )

    def dial(self, address: str, protocol: bytes = ALPN) -> IrohLink:
        """A conversation with the peer at an address; its key has proved to be the one that the address names.

        Args:
            address: Whom to dial.
            protocol: What is spoken there: sync, or the name of a desk.

        Raises:
            RefusedTicket | InvalidInput: It is no address of iroh's.
            Unreachable: Nobody answers there in time.
        """
        scheme, _, rest = check_address(address).partition(":")
        if scheme != "iroh":
            raise InvalidInput(f"not an address of iroh: {address[:80]!r}", "Write iroh:<id>@ip:port.")
        key, _, places = rest.partition("@")
        found = places.split(",") if places else []
        pipe = _call(self._dial(bytes.fromhex(key), found, protocol))
        return IrohLink(self.id + bytes.fromhex(key), pipe)

    # In the loop's thread

    async def _open(self) -> None:
        iroh = need()
        try:
            relays = iroh.RelayMode.custom_from_urls(list(self._relays)) if self._relays else None
            options = iroh.EndpointOptions(
                preset=iroh.preset_minimal(), bind_addr=self._bind, secret_key=self._seed,
                alpns=[] if self._make is None else [ALPN, *self._desks],
                relay_mode=relays or iroh.RelayMode.disabled(),
            )  # fmt: skip
            self._endpoint = await iroh.Endpoint.bind(options)
        except iroh.IrohError as error:
            kind = error.kind().name.lower().replace("_", " ")
            raise InvalidInput(
                f"iroh can't listen on {self._bind} ({kind})",
                "Another program may have that UDP port: choose another; relays are URLs with https.",
            ) from None
        if self._make is not None:
            self._spawn(self._accept())

    async def _close(self) -> None:
        self._closing = True
        await self._endpoint.close()
        while self._tasks:
            done, left = await asyncio.wait(set(self._tasks), timeout=_CLOSE_S)
            for task in left if not done else ():
                task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _dial(self, key: bytes, places: list[str], protocol: bytes) -> Pipe:
        iroh = need()
        patience = _CONNECT_MANY_S if len(places) > 1 else _CONNECT_S
        relay = (
            self._relays[0] if self._relays else None
        )  # where both ends name the same one, they meet there
        whom = f"iroh:{key.hex()[:16]}…"
        try:
            there = iroh.EndpointAddr(iroh.EndpointId.from_bytes(key), relay, places)
            connection = await asyncio.wait_for(self._endpoint.connect(there, protocol), patience)
            return Pipe(connection, await within(_CONNECT_S, connection, connection.open_bi()))
        except iroh.IrohError as error:
            raise _broken(f"{whom} can't be reached", error) from None
        except (TimeoutError, Late):
            raise Unreachable(
                f"{whom} does not answer", "It may be off, or elsewhere: sync again later."
            ) from None

    async def _accept(self) -> None:
        iroh = need()
        while not self._closing:
            try:
                incoming = await self._endpoint.accept_next()
                if incoming is None:
                    return
                await self._admit(incoming)
            except iroh.IrohError:  # one stranger's trouble
                continue

    async def _admit(self, incoming: Any) -> None:
        """Take a connection, unless there are too many; on the way to too many, ask for proof of the address."""
        host = str(await incoming.remote_addr()).rpartition(":")[0]
        if sum(self._from.values()) >= _MOST or self._from[host] >= _MOST_FROM_ONE:
            await incoming.refuse()
        elif sum(self._from.values()) >= _MOST // 4 and not await incoming.remote_addr_validated():
            await incoming.retry()
        else:
            self._from[host] += 1
            self._spawn(self._serve(incoming, host))

    async def _serve(self, incoming: Any, host: str) -> None:
        """Answer one connection until its other end closes it, or is silent too long."""
        connection: Any = None
        try:
            connection = await (await incoming.accept()).connect()
            connection.set_max_concurrent_bi_streams(1)
            connection.set_max_concurrent_uni_streams(0)
            binding = bytes(connection.remote_id().to_bytes()) + self.id
            desk = self._desks.get(bytes(connection.alpn()))
            wait_s = _STRANGER_S
            while True:
                pipe = Pipe(connection, await within(wait_s, connection, connection.accept_bi()))
                if desk is not None:
                    return await converse(pipe, desk, binding, self._work)
                wait_s = await self._converse(pipe, binding)
        except (need().IrohError, Late, MunimentError):
            pass  # it is gone, or this end's disk is at fault: a new round finds the rest
        finally:
            self._from[host] -= 1
            self._from += Counter()  # forgets those without any
            if connection is not None:
                connection.close(_GOING, b"")

    async def _converse(self, pipe: Pipe, binding: bytes) -> float:
        """One conversation; gives the seconds that the other end has to begin another one."""
        assert self._make is not None  # noqa: S101 - nobody is accepted without
        server = await self._work(self._make, binding)
        while not server.closed:
            inside = bool(server.other)
            most = LIMITS.sync_message_bytes if inside else STRANGER_BYTES
            question = await pipe.read(most, _SILENT_S if inside else _STRANGER_S)
            if question is None:
                await pipe.refuse()
                await pipe.write([messages.encode(Failure(messages.BAD))])
                break
            answers = await self._work(server.receive, question)
            await pipe.write(answers)
            if not answers:
                await self._tell(server, pipe)
                break
        await pipe.finish()
        return _SILENT_S if server.other else _STRANGER_S

    async def _tell(self, server: ServerRound, pipe: Pipe) -> None:
        """Tell a client that follows what is new, until it goes."""
        gone = asyncio.ensure_future(pipe.rest())
        loop, bank = asyncio.get_running_loop(), server.bank
        told = read = loop.time()
        seen: Hashable = None
        try:
            while not (gone.done() or self._closing or server.closed):
                now = None if self._stamp is None or bank is None else self._stamp(bank)
                said: list[bytes] = []
                if now is None or now != seen or loop.time() > read + _SURE_S:
                    seen, read = now, loop.time()
                    said = await self._work(server.news)
                if said or loop.time() > told + _HEARTBEAT_S:
                    await pipe.write(said)
                    told = loop.time()
                await asyncio.wait({gone}, timeout=_LOOK_S)
        finally:
            pipe.connection.close(_GOING, b"")  # ends the read too
            await asyncio.wait({gone})
            gone.exception()  # seen

    async def _work(self, call: Callable[..., T], *args: Any) -> T:
        """Something that takes time or files, in a thread of its own."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *args)


_serving: dict[Path, Endpoint] = {}  # what answers for a peer folder in this process


@cache
def _nobody(relays: tuple[str, ...]) -> Endpoint:
    """An endpoint that only dials, under a key of no meaning: who asks is proved in the round."""
    made = Endpoint(secrets.token_bytes(SEED_BYTES), relays=relays)
    made.open()
    return made


def dial(address: str, caller: Caller, protocol: bytes = ALPN) -> IrohLink:
    """A link to an address, from the endpoint that this process serves with, or from one that only dials.

    Raises:
        MissingExtra | RefusedTicket | Unreachable: As `Endpoint.dial`.
    """
    return (_serving.get(caller.home) or _nobody(caller.relays)).dial(address, protocol)


def serves(home: Path, endpoint: Endpoint | None) -> None:
    """Say which endpoint dials for a peer folder in this process, or that none does any more."""
    if endpoint is None:
        _serving.pop(home, None)
    else:
        _serving[home] = endpoint
