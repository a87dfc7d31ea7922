"""Fails every connection outside this machine, from the interpreter's first line on.

It is an audit hook, so no code in the process can go around it, and it imports nothing that the code
under test might be measured by. `sitecustomize` beside it brings it into every Python that tests start.
"""

import os
import sys
from typing import Any

LOG_VARIABLE = "NETWORK_GUARD_LOG"  # a file to which each attempt is added, so that swallowed errors show too
_UNIX, _NETLINK = 1, 16
_INET, _INET6 = 2, 30 if sys.platform == "darwin" else 10
_LOCAL_NAMES = {"", "localhost", "localhost.localdomain", "ip6-localhost", "0.0.0.0", "::", "::1"}
attempts: list[str] = []
_installed = False


class NetworkUsed(RuntimeError):
    """A test reached for an address outside this machine."""


def is_local(host: object) -> bool:
    """Whether a host, as text or bytes, is this machine's own."""
    if host is None:
        return True
    text = host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    text = text.partition("%")[0].removeprefix("::ffff:").lower()
    return text in _LOCAL_NAMES or text.startswith("127.")


def _refuse(what: str) -> None:
    attempts.append(what)
    if path := os.environ.get(LOG_VARIABLE):
        with open(path, "a", encoding="utf-8") as log:  # noqa: PTH123 (pathlib is not loaded this early)
            log.write(what + "\n")
    raise NetworkUsed(f"tests may only talk to this machine: {what}")


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        sock, address = args[0], args[1]
        family = int(sock.family)
        if family in {_UNIX, _NETLINK} or address is None:
            return
        if family not in {_INET, _INET6} or not is_local(address[0]):
            _refuse(f"{event} {address!r}")
    elif event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"} and not is_local(
        args[0]
    ):
        _refuse(f"{event} {args[0]!r}")


def install() -> None:
    """Put the guard in place; harmless when done twice."""
    global _installed  # noqa: PLW0603 (an audit hook can't be taken out again)
    if not _installed:
        _installed = True
        sys.addaudithook(_hook)
