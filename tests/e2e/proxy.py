"""A TCP proxy before a server, that can go silent as a pulled cable does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

Drops = Callable[[str, int], bool]


def holds(process: int, port: int) -> bool:
    """Whether a process has the end of a TCP connection that is bound to a port of this machine."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if int(words[1].partition(":")[2], 16) == port:
            inodes.add(f"socket:[{words[9]}]")
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                if str(file.readlink()) in inodes:
                    return True
    return False


class _Pair:
    """A connection that came, and the one to the server behind."""

    def __init__(self, near: socket.socket, far: socket.socket, port: int) -> None:
        self.near, self.far, self.port = near, far, port
        self.silent = False

    def close(self) -> None:
        """End both; harmless when done twice."""
        for end in (self.near, self.far):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Passes on what comes to a free port of the server's own address.

    Args:
        name: Whose server it is.
        behind: Where the server listens.
        wire: A file that gets every byte.
        drops: Whether a connection, told by the server's name and the client's port, has an end without a cable.
    """

    def __init__(self, name: str, behind: tuple[str, int], wire: Path, drops: Drops) -> None:
        self._name, self._behind, self._wire, self._drops = name, behind, wire, drops
        self._listener = socket.create_server((behind[0], 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[_Pair] = []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, name=f"proxy-{name}", daemon=True)]
        self._threads[0].start()

    def look(self) -> None:
        """Let those go silent that have to be."""
        with self._lock:
            for pair in self._pairs:
                pair.silent = pair.silent or self._drops(self._name, pair.port)

    def reset(self) -> None:
        """End those that were silent."""
        with self._lock:
            gone = [pair for pair in self._pairs if pair.silent]
            self._pairs = [pair for pair in self._pairs if not pair.silent]
        for pair in gone:
            pair.close()

    def close(self) -> None:
        """End all, and the threads."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(10)
        for pair in self._pairs:
            pair.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                near, (_, port) = self._listener.accept()
            except OSError:
                return  # closed
            far = socket.socket()
            pair = _Pair(near, far, port)
            pair.silent = self._drops(self._name, port)
            with self._lock:
                self._pairs.append(pair)
            if pair.silent:
                continue
            try:
                far.connect(self._behind)
            except OSError:  # its server is down
                pair.close()
                continue
            for one, other in ((near, far), (far, near)):
                self._threads.append(
                    threading.Thread(target=self._pass, args=(pair, one, other), daemon=True)
                )
                self._threads[-1].start()

    def _pass(self, pair: _Pair, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                if pair.silent:
                    continue  # lost on the way
                with self._lock, self._wire.open("ab") as wire:
                    wire.write(data)
                other.sendall(data)
        if not pair.silent:
            pair.close()
