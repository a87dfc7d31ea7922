"""Several processes behind one socket: started, watched, started again, stopped, and their counts put together."""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import signal
import struct
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

from muniment.base.errors import InvalidInput, MunimentError
from muniment.surfaces.serve.house import House

_SLOT_BYTES = 256 * 1024
_HEAD = struct.Struct("<IQ")  # length, checksum: what is half written does not count
_EVERY_S = 1.0
_QUICK_S, _QUICK_TIMES = 2.0, 5  # a worker that ends so soon, so often in a row, ends all


class _Runs(Protocol):
    async def run(self) -> tuple[str, ...]: ...


class Slot:
    """One worker's place in the memory that all share: its counts, and its word that it is ready."""

    def __init__(self, board: mmap.mmap, number: int, workers: int, ready: int) -> None:
        self._board, self._number, self._workers, self._ready = board, number, workers, ready
        self._house: House | None = None
        self._parent = os.getppid()

    def attach(self, house: House) -> None:
        """Write this worker's counts from now on, and read those of the others where they are asked for."""
        self._house = house
        house.others = self._others
        self._write()

    def ready(self, paths: Sequence[str]) -> None:
        """Say that connections are taken."""
        os.write(self._ready, (json.dumps(list(paths)) + "\n").encode())

    def _write(self) -> None:
        assert self._house is not None  # noqa: S101 - `attach` set it
        data = json.dumps(self._house.metrics.snapshot()).encode()
        if len(data) <= _SLOT_BYTES - _HEAD.size:
            at = self._number * _SLOT_BYTES
            self._board[at : at + _HEAD.size + len(data)] = _HEAD.pack(len(data), _sum(data)) + data
        if os.getppid() != self._parent:  # whoever would stop this process is gone
            os.kill(os.getpid(), signal.SIGTERM)
        if not self._house.stopping.is_set():
            asyncio.get_running_loop().call_later(_EVERY_S, self._write)

    def _others(self) -> Iterator[dict[str, Any]]:
        for number in range(self._workers):
            at = number * _SLOT_BYTES
            length, checksum = _HEAD.unpack_from(self._board, at)
            data = self._board[at + _HEAD.size : at + _HEAD.size + min(length, _SLOT_BYTES)]
            if number != self._number and length and _sum(data) == checksum:
                yield json.loads(data)


def _sum(data: bytes) -> int:
    return zlib.crc32(data)


class Crew:
    """The process that starts the others. It serves nothing itself, and opens no file of the peer.

    Args:
        workers: How many others.
        patience_s: Seconds that they are given to end.
    """

    def __init__(self, workers: int, patience_s: float) -> None:
        self._patience_s = patience_s
        if not hasattr(os, "fork"):
            raise InvalidInput("several workers need a system that can fork", "Leave --workers out.")
        self._workers = workers
        self._board = mmap.mmap(-1, workers * _SLOT_BYTES)
        self._running: dict[int, tuple[int, float]] = {}  # process -> slot, when it was started
        self._stopping = False
        self._quick = 0

    def run(self, make: Callable[[Slot], _Runs], ready: Callable[[Sequence[str]], None]) -> tuple[str, ...]:
        """Start all, wait until told to stop, and stop them; gives the paths of the doors.

        Raises:
            InvalidInput: The workers end as soon as they are started.
        """
        hear, tell = os.pipe()
        os.set_blocking(hear, False)
        before = {n: signal.signal(n, self._stop) for n in (signal.SIGTERM, signal.SIGINT)}
        try:
            return self._live(make, ready, hear, tell)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(hear)
            os.close(tell)

    def _live(
        self, make: Callable[[Slot], _Runs], ready: Callable[[Sequence[str]], None], hear: int, tell: int
    ) -> tuple[str, ...]:
        paths: tuple[str, ...] = ()
        said, told = b"", False
        for number in range(self._workers):
            self._start(number, make, tell)
        while not self._stopping:
            with suppress(BlockingIOError):
                said += os.read(hear, 65536)
            if not told and said.count(b"\n") >= self._workers:
                told, paths = True, tuple(json.loads(said.splitlines()[0]))
                ready(paths)
            for number in self._reap():
                if self._quick >= _QUICK_TIMES:
                    self._end()
                    raise InvalidInput("the workers end as soon as they start", "They say above why.")
                self._start(number, make, tell)
            time.sleep(0.02)
        self._end()
        return paths

    def _start(self, number: int, make: Callable[[Slot], _Runs], tell: int) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            self._running[process] = (number, time.monotonic())
            return
        code = 70
        try:
            for n in (signal.SIGTERM, signal.SIGINT):
                signal.signal(n, signal.SIG_DFL)
            asyncio.run(make(Slot(self._board, number, self._workers, tell)).run())
            code = 0
        except MunimentError as error:
            sys.stderr.write(f"worker {number}: {error}\n")
            code = error.exit_code
        except BaseException as error:  # noqa: BLE001 - a forked child must not go on in its parent's code
            sys.stderr.write(f"worker {number}: {type(error).__name__}\n")
            if os.environ.get("MUNIMENT_DEBUG"):
                traceback.print_exc()
        finally:
            with suppress(OSError, ValueError):
                sys.stderr.flush()
            os._exit(code)

    def _reap(self) -> list[int]:
        """The slots of workers that ended."""
        ended = []
        for process, (number, since) in list(self._running.items()):
            done, _ = os.waitpid(process, os.WNOHANG)
            if done:
                del self._running[process]
                self._quick = self._quick + 1 if time.monotonic() - since < _QUICK_S else 0
                ended.append(number)
        return ended

    def _end(self) -> None:
        """Let all finish; whoever takes too long is ended, which loses nothing that was acknowledged."""
        until = time.monotonic() + self._patience_s
        self._tell(signal.SIGTERM)
        while self._running and time.monotonic() < until:
            self._reap()
            time.sleep(0.02)
        self._tell(signal.SIGKILL)
        while self._running:
            self._reap()
            time.sleep(0.02)

    def _tell(self, number: int) -> None:
        for process in self._running:
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def _stop(self, *_: Any) -> None:
        self._stopping = True
