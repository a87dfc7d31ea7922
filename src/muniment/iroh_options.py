"""How this peer is on iroh and on the LAN: `iroh…` and `discovery` in the block `serve` (docs/settings.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from muniment.base.errors import InvalidInput

DEFAULT_PORT = 8378
NAMES = frozenset({"iroh", "iroh_at", "iroh_relays", "discovery"})
_STEP = "Write true, a UDP port, or IP:PORT."


@dataclass(frozen=True, slots=True)
class IrohOptions:
    """How to be found.

    Attributes:
        bind: Where to listen, `ip:port`; None for not at all.
        at: Where this machine is reached from outside, each `ip:port`, before what it knows itself.
        relays: URLs of relays, for peers that can't reach each other.
        discovery: Whether the LAN is told, and asked.
    """

    bind: str | None = None
    at: tuple[str, ...] = ()
    relays: tuple[str, ...] = ()
    discovery: bool = False


def iroh_options(
    block: Mapping[str, Any] | None, flag: str | None = None, *, discovery: bool = False
) -> IrohOptions:
    """The options of a block `serve`, or what was said at the start in their place.

    Args:
        block: From the settings.
        flag: A port, or `ip:port`.
        discovery: Whether it was asked for at the start.

    Raises:
        InvalidInput: A value has no meaning.
    """
    said = block or {}
    finds = said.get("discovery", False)
    if not isinstance(finds, bool):
        raise InvalidInput("serve: discovery is true or false")
    bind = _bind(said.get("iroh", False) if flag is None else flag)
    if (finds or discovery) and bind is None:
        raise InvalidInput(
            "only what listens on iroh can be found on the LAN", "Set `serve.iroh` or give --iroh."
        )
    return IrohOptions(bind, _places(said.get("iroh_at")), relays_of(block), finds or discovery)


def relays_of(block: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The relays that a block `serve` names; none by default.

    Raises:
        InvalidInput: One is no URL of a relay.
    """
    found = (block or {}).get("iroh_relays") or ()
    found = [found] if isinstance(found, str) else found
    for url in found:
        if not isinstance(url, str) or urlsplit(url).scheme != "https" or not urlsplit(url).hostname:
            raise InvalidInput(
                f"serve: iroh_relays can't be {str(url)[:80]!r}", "Write https://HOST, or a list."
            )
    return tuple(found)


def _bind(value: Any) -> str | None:
    if value is False or value is None:
        return None
    if value is True:
        return f"0.0.0.0:{DEFAULT_PORT}"
    text = str(value)
    return _place(f"0.0.0.0:{text}" if text.isascii() and text.isdigit() else text, zero=True)


def _places(value: Any) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else value or ()
    return tuple(_place(str(place)) for place in found)


def _place(text: str, *, zero: bool = False) -> str:
    host, colon, port = text.rpartition(":")
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        colon = ""
    digits = port.isascii() and port.isdigit() and len(port) <= 5
    if not colon or not digits or not (0 if zero else 1) <= int(port) < 65_536:
        raise InvalidInput(f"not a place for iroh: {text[:80]!r}", _STEP)
    return text
