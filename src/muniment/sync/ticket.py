"""Tickets: the text that leads to a bank (design section 8).

`muniment:?bank=<cid>&peer=<address>&peer=…[&invite=<one-time secret>&level=read&until=<unix ms>]`

A ticket says where a bank may be found and opens nothing by itself: no private key of a bank or a member is
ever in it. The invite is a one-time secret with which the joiner signs its request; what the request is
granted is decided by the signed invite in the bank, and `level` and `until` here only tell the person who
holds the ticket what to expect.

Parsing is strict: tickets come from chats and mail, so anything unknown, doubled, empty or out of order of
meaning is refused with the reason, and nothing is guessed.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import quote, unquote, urlsplit

from muniment.base.errors import InvalidInput, LimitExceeded, RefusedTicket
from muniment.base.ids import BankId, cid_text, parse_cid
from muniment.base.limits import LIMITS, MAX_AT_MS, MIN_AT_MS
from muniment.ledger.levels import Level, parse_level

SCHEME = "muniment:"
SECRET_BYTES = 32
_AGAIN = "Copy the whole ticket again, from `muniment:` to its end."
_NAMES = ("bank", "peer", "invite", "level", "until")
_HEX_KEY = re.compile(r"[0-9a-f]{64}")
_HOST_LABEL = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)", re.IGNORECASE)
# Kept bare beside letters, digits and `-._~`: addresses stay readable, and what parts a query is escaped.
_BARE = "/:@,[]"


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a ticket says.

    Attributes:
        bank: The bank that it leads to.
        peers: Addresses where it may be had, best first: `http(s)://host[:port][/path]` or
            `iroh:<endpoint id>[@ip:port[,ip:port…]]`.
        invite: The 32-byte seed of the one-time key, or None; never printed by `repr`.
        level: What the invite is said to grant.
        until: Until when the invite is said to hold, Unix ms.
    """

    bank: BankId
    peers: tuple[str, ...]
    invite: bytes | None = field(default=None, repr=False)
    level: Level | None = None
    until: int | None = None

    def __str__(self) -> str:
        """The ticket with its secret: for the one who asked for it, never for a log."""
        return self._text(None if self.invite is None else _b64(self.invite))

    def redacted(self) -> str:
        """The ticket as it may stand in a log: the secret is left out."""
        return self._text(None if self.invite is None else "…")

    def _text(self, secret: str | None) -> str:
        parts = [f"bank={cid_text(self.bank)}", *(f"peer={quote(peer, safe=_BARE)}" for peer in self.peers)]
        if secret is not None:
            parts.append(f"invite={secret}")
        if self.level is not None:
            parts.append(f"level={quote(str(self.level), safe='()')}")
        if self.until is not None:
            parts.append(f"until={self.until}")
        return f"{SCHEME}?" + "&".join(parts)


def parse_ticket(text: str) -> Ticket:
    """Read a ticket; blanks around it are dropped.

    Raises:
        RefusedTicket: It is not one; `.reason` names the rule. A secret in it is not repeated.
        LimitExceeded: It is too long or names too many peers.
    """
    text = text.strip()
    if len(text) > LIMITS.ticket_chars:
        raise LimitExceeded("ticket_chars", LIMITS.ticket_chars, len(text), _AGAIN)
    if not text.startswith(f"{SCHEME}?"):
        raise RefusedTicket("not a ticket", "A ticket starts with `muniment:?bank=`.")
    found: dict[str, list[str]] = {}
    for part in text[len(SCHEME) + 1 :].split("&"):
        name, equals, value = part.partition("=")
        if name not in _NAMES:
            raise RefusedTicket("unknown field", f"{name[:40]!r} has no meaning in a ticket. {_AGAIN}")
        if not equals or not value:
            raise RefusedTicket("empty field", f"`{name}` says nothing. {_AGAIN}")
        if name in found and name != "peer":
            raise RefusedTicket("doubled field", f"`{name}` stands twice. {_AGAIN}")
        found.setdefault(name, []).append(_plain(name, value))
    return _built(found)


def _built(found: dict[str, list[str]]) -> Ticket:
    """A ticket from its fields, each still text."""
    if "bank" not in found:
        raise RefusedTicket("no bank", f"It does not say to which bank it leads. {_AGAIN}")
    peers = found.get("peer", [])
    if not peers:
        raise RefusedTicket("no peer", "It names no address. Ask for a new ticket from a peer that serves.")
    if len(peers) > LIMITS.ticket_peers:
        raise LimitExceeded("ticket_peers", LIMITS.ticket_peers, len(peers), _AGAIN)
    invite = found.get("invite")
    if invite is None and ("level" in found or "until" in found):
        raise RefusedTicket("no invite", f"`level` and `until` belong to an invite. {_AGAIN}")
    return Ticket(
        bank=_bank(found["bank"][0]),
        peers=tuple(dict.fromkeys(check_address(peer) for peer in peers)),
        invite=None if invite is None else _secret(invite[0]),
        level=_level(found["level"][0]) if "level" in found else None,
        until=_until(found["until"][0]) if "until" in found else None,
    )


def check_address(address: str) -> str:
    """An address of a peer in its one spelling.

    Raises:
        RefusedTicket: Another scheme, user names or queries in it, no host, or no such endpoint or port.
    """
    if len(address) > LIMITS.address_chars:
        raise LimitExceeded("address_chars", LIMITS.address_chars, len(address), _AGAIN)
    if not address.isascii() or not address.isprintable() or " " in address:
        raise RefusedTicket("bad address", f"{address[:80]!r} holds characters that no address has.")
    scheme, _, rest = address.partition(":")
    scheme = scheme.lower()
    if scheme == "iroh":
        return _iroh(address, rest)
    if scheme in {"http", "https"}:
        return _http(address)
    raise RefusedTicket("bad address", f"{address[:80]!r}: addresses start with https:, http: or iroh:.")


def _http(address: str) -> str:
    """An HTTP address: host, perhaps a port and a path, and nothing else."""
    try:
        parts = urlsplit(address)
        port = parts.port
        host = parts.hostname or ""
    except ValueError:
        parts, port, host = urlsplit(""), None, ""
    if not parts.netloc or "@" in parts.netloc or "?" in address or "#" in address or port == 0:
        raise RefusedTicket("bad address", f"{address[:80]!r} is not `http(s)://host[:port][/path]`.")
    if ":" not in host and not all(_HOST_LABEL.fullmatch(label) for label in host.rstrip(".").split(".")):
        raise RefusedTicket("bad address", f"{address[:80]!r} names no host.")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port else "") + parts.path.rstrip("/")


def _iroh(address: str, rest: str) -> str:
    """An iroh address: endpoint id (64 hex digits), perhaps the places where it was last seen."""
    address, rest = address.lower(), rest.lower()
    endpoint, at, places = rest.partition("@")
    if not _HEX_KEY.fullmatch(endpoint) or (at and not places):
        raise RefusedTicket("bad address", f"{address[:80]!r} is not `iroh:<64 hex digits>[@ip:port,…]`.")
    for place in places.split(",") if at else ():
        host, colon, port = place.rpartition(":")
        try:
            ip_address(host.strip("[]"))
        except ValueError:
            colon = ""
        if not colon or not port.isdigit() or len(port) > 5 or not 0 < int(port) < 65536:
            raise RefusedTicket("bad address", f"{place[:60]!r} is not `ip:port`.")
    return address


def _bank(text: str) -> BankId:
    try:
        return BankId(parse_cid(text))
    except InvalidInput as error:
        raise RefusedTicket("bad bank", f"`bank` is no id of a bank. {_AGAIN}") from error


def _secret(text: str) -> bytes:
    """The seed from base64url without padding, in its one spelling."""
    try:
        seed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        seed = b""
    if len(seed) != SECRET_BYTES or _b64(seed) != text:
        raise RefusedTicket("bad invite", f"The invite was cut or changed. {_AGAIN}")
    return seed


def _level(text: str) -> Level:
    try:
        level = parse_level(text)
    except InvalidInput as error:
        raise RefusedTicket("bad level", error.next_step) from error
    if str(level) != text:
        raise RefusedTicket("bad level", f"{text[:40]!r} is spelled `{level}`.")
    return level


def _until(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 13:
        raise RefusedTicket("bad time", f"`until` is a time in Unix milliseconds. {_AGAIN}")
    until = int(text)
    if not MIN_AT_MS <= until <= MAX_AT_MS or str(until) != text:
        raise RefusedTicket("bad time", "`until` lies outside the years 2020 to 2100.")
    return until


def _plain(name: str, value: str) -> str:
    """A value without its escapes; bytes that are no text are refused."""
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError as error:
        raise RefusedTicket("bad text", f"`{name}` is not text. {_AGAIN}") from error


def _b64(seed: bytes) -> str:
    return base64.urlsafe_b64encode(seed).rstrip(b"=").decode("ascii")
