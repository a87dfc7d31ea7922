"""Peers that behave badly: silent, babbling, flooding; each in a thread, from an address of its own."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress


def noise(port: int, stop: threading.Event) -> list[threading.Thread]:
    """Start them all; they end when `stop` is set."""
    works: list[Callable[[int, threading.Event], None]] = [_silent, _babble, _flood]
    threads = [threading.Thread(target=work, args=(port, stop), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    return threads


def _connection(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 5, source_address=("127.0.0.9", 0))


def _silent(port: int, stop: threading.Event) -> None:
    held = [_connection(port) for _ in range(20)]
    stop.wait()
    for one in held:
        one.close()


def _babble(port: int, stop: threading.Event) -> None:
    while not stop.wait(0.02):
        with suppress(OSError), _connection(port) as one:
            one.sendall(b"POST /sync/1 HTTP/1.1\r\nhost: 127.0.0.1\r\n" + os.urandom(400) + b"\r\n\r\n")
            one.recv(200)


def _flood(port: int, stop: threading.Event) -> None:
    head = (
        b"POST /sync/1 HTTP/1.1\r\nhost: 127.0.0.1:%d\r\ncontent-type: application/vnd.muniment.sync\r\n"
        b"content-length: 64\r\n\r\n" % port
    )
    while not stop.wait(0.005):
        with suppress(OSError), _connection(port) as one:
            one.sendall(head + os.urandom(64))
            one.recv(200)
