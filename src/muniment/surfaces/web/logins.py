"""Who comes in: a link that counts once, a session that ends, and a token for each form. Pure but for randomness.

Nothing is kept: a link and a session are a random name and a time under a MAC by the server's own secret, so every
process of one server knows them, and none outlives it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

LINK_S = 3600
SESSION_S = 12 * 3600
_NAME_BYTES, _TIME_BYTES, _MAC_BYTES = 16, 8, 32
_BYTES = _NAME_BYTES + _TIME_BYTES + _MAC_BYTES


@dataclass(frozen=True, slots=True)
class Pass:
    """A link or a session that holds: its random name, and until when (Unix s)."""

    name: bytes
    until: int


def issue(secret: bytes, purpose: str, seconds: int, now: int | None = None) -> str:
    """A new pass as text.

    Args:
        secret: The server's.
        purpose: `link` or `session`; one is never taken for the other.
        seconds: How long it holds.
        now: Unix seconds.
    """
    at = int(time.time()) if now is None else now
    body = secrets.token_bytes(_NAME_BYTES) + (at + seconds).to_bytes(_TIME_BYTES, "big")
    return urlsafe_b64encode(body + _mac(secret, purpose, body)).rstrip(b"=").decode()


def check(secret: bytes, purpose: str, text: str, now: int | None = None) -> Pass | None:
    """The pass that a text is, or None: malformed, forged, of another purpose, or over."""
    if not text.isascii() or len(text) != -(-_BYTES * 8 // 6):
        return None
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return None
    body, mac = data[:-_MAC_BYTES], data[-_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(secret, purpose, body)):
        return None
    until = int.from_bytes(body[_NAME_BYTES:], "big")
    at = int(time.time()) if now is None else now
    return Pass(body[:_NAME_BYTES], until) if at < until else None


def form_token(secret: bytes, session: Pass) -> str:
    """What each form of a session carries, and no other page can know."""
    return urlsafe_b64encode(_mac(secret, "form", session.name)).rstrip(b"=").decode()


def is_form_token(secret: bytes, session: Pass, given: str) -> bool:
    """Whether a form came from a page of this session."""
    return hmac.compare_digest(form_token(secret, session).encode(), given.encode("utf-8", "replace"))


def login_url(url: str, secret: bytes) -> str:
    """A link that opens the page at this address once, within the hour."""
    return f"{url}/login?with={issue(secret, 'link', LINK_S)}"


def _mac(secret: bytes, purpose: str, body: bytes) -> bytes:
    return hmac.digest(secret, b"muniment/web/1\0" + purpose.encode() + b"\0" + body, hashlib.sha256)
