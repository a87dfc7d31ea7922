"""Peers on the same LAN, by multicast DNS: hints, and never more (docs/sync.md, "On the LAN"; RFC 6762, 6763).

Off unless it is asked for. What is told to the LAN is where an iroh endpoint listens, and a *mark* for each bank that
is served: a hash of a salt, which is another one at each start, and the bank's id. Whoever knows a bank's id sees that
it may be had there; nobody else learns which bank it is, or that two announcements are of one bank.

Everybody on the LAN may say anything. So what is found is only ever dialled: the key of the endpoint has to be the
one that was announced, and the round asks for a key that holds the bank. Places outside of private networks are
dropped, so that nobody sends a peer's packets to other people.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Self

from muniment.base import codec
from muniment.base.errors import InvalidInput, MissingExtra, RefusedTicket
from muniment.base.ids import BankId
from muniment.base.limits import LIMITS
from muniment.sync.ticket import check_address

SERVICE = "_muniment._udp.local."
SALT_BYTES, MARK_BYTES = 16, 8
_MARKS_IN_ONE = 30  # marks of one field of a TXT record, which holds 255 bytes
_PLACES = 8  # of one endpoint
_LOOK_MS = 3000


def mark(bank: BankId, salt: bytes) -> bytes:
    """How a bank is announced under a salt: 8 bytes."""
    return hashlib.sha256(codec.MARK + salt + bank).digest()[:MARK_BYTES]


@dataclass(frozen=True, slots=True)
class Found:
    """An endpoint that somebody announced.

    Attributes:
        address: Where it is said to be, as in a ticket.
    """

    address: str
    salt: bytes
    marks: frozenset[bytes]

    def may_have(self, bank: BankId) -> bool:
        """Whether it says that it serves a bank."""
        return mark(bank, self.salt) in self.marks


def fields_of(endpoint: bytes, banks: Iterable[BankId], salt: bytes) -> dict[str, bytes]:
    """The TXT record of an endpoint; at most `Limits.lan_banks` banks stand in it."""
    marks = sorted(mark(bank, salt) for bank in banks)[: LIMITS.lan_banks]
    said = {"v": b"1", "id": endpoint.hex().encode(), "salt": salt}
    for number, start in enumerate(range(0, len(marks), _MARKS_IN_ONE)):
        said[f"m{number}"] = b"".join(marks[start : start + _MARKS_IN_ONE])
    return said


def read_fields(said: dict[Any, Any], places: Sequence[str], port: int | None) -> Found | None:
    """What a stranger's record says; None if it says nothing that could be dialled."""
    endpoint, salt = said.get(b"id"), said.get(b"salt")
    if said.get(b"v") != b"1" or not isinstance(endpoint, bytes) or not isinstance(salt, bytes):
        return None
    near = [place for place in places if _is_near(place)][:_PLACES]
    if len(salt) != SALT_BYTES or not near or port is None:
        return None
    shown = [f"[{place}]:{port}" if ":" in place else f"{place}:{port}" for place in near]
    try:
        address = check_address(f"iroh:{endpoint.decode('ascii')}@{','.join(shown)}")
    except (RefusedTicket, UnicodeDecodeError):
        return None
    fields = (f"m{number}".encode() for number in range(LIMITS.lan_banks // _MARKS_IN_ONE))
    packed = b"".join(said.get(field) or b"" for field in fields)
    marks = (packed[at : at + MARK_BYTES] for at in range(0, len(packed), MARK_BYTES))
    return Found(address, salt, frozenset(marks))


def _is_near(place: str) -> bool:
    try:
        address = ip_address(place.partition("%")[0])
    except ValueError:
        return False
    return address.is_private and not address.is_unspecified and not address.is_multicast


class Lan:
    """What is announced on the LAN, and what is said to one there. Methods may be called from any thread.

    Args:
        interfaces: Addresses of this machine through which to speak; all of them if not given.

    Raises:
        MissingExtra: The extra `discovery` is not installed.
        InvalidInput: Multicast can't be used here.
    """

    def __init__(self, interfaces: Sequence[str] | None = None) -> None:
        try:
            import zeroconf
        except ImportError:
            raise MissingExtra("discovery", "finding peers on the LAN") from None
        self._lib: Any = zeroconf
        self._lock = threading.Lock()
        self._found: dict[str, Found] = {}
        self._own: Any = None
        try:
            self._zeroconf = zeroconf.Zeroconf(
                interfaces=zeroconf.InterfaceChoice.All if interfaces is None else list(interfaces)
            )
        except OSError as error:
            raise InvalidInput(
                f"peers can't be looked for on the LAN: {error.strerror}",
                "Leave discovery off on this machine.",
            ) from None
        self._browser = zeroconf.ServiceBrowser(self._zeroconf, SERVICE, handlers=[self._heard])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take the announcement back and stop listening."""
        self._browser.cancel()
        if self._own is not None:
            self._zeroconf.unregister_service(self._own)
        self._zeroconf.close()

    def announce(
        self, endpoint: bytes, places: Sequence[str], banks: Collection[BankId], salt: bytes
    ) -> None:
        """Say where an endpoint is and what may be had there; once more to say something else.

        Args:
            endpoint: Its public key.
            places: `ip:port` each, all of one port.
            banks: The banks that are served.
            salt: 16 random bytes, other ones at each start.
        """
        hosts = [place.rpartition(":") for place in places]
        near = [host.strip("[]") for host, _, _ in hosts if _is_near(host.strip("[]"))]
        if not near:
            return
        name = salt.hex()
        info = self._lib.ServiceInfo(
            SERVICE, f"{name}.{SERVICE}", port=int(hosts[0][2]), server=f"{name}.local.",
            addresses=[ip_address(host).packed for host in near[:_PLACES]],
            properties=fields_of(endpoint, banks, salt),
        )  # fmt: skip
        if self._own is None:
            self._zeroconf.register_service(info, cooperating_responders=True)
        elif info.text != self._own.text:
            self._zeroconf.update_service(info)
        self._own = info

    def found(self) -> list[Found]:
        """What others announce now."""
        own = None if self._own is None else self._own.name
        with self._lock:
            return [found for name, found in self._found.items() if name != own]

    def _heard(self, zeroconf: Any, service_type: str, name: str, state_change: Any) -> None:
        """Note what somebody says; runs in a thread of the library."""
        if state_change is self._lib.ServiceStateChange.Removed:
            with self._lock:
                self._found.pop(name, None)
            return
        info = None
        with suppress(Exception):  # whatever a stranger's record does to the library
            info = zeroconf.get_service_info(service_type, name, _LOOK_MS)
        said = None if info is None else read_fields(info.properties, info.parsed_addresses(), info.port)
        with self._lock:
            if said is None:
                self._found.pop(name, None)
            elif name in self._found or len(self._found) < LIMITS.lan_peers:
                self._found[name] = said
