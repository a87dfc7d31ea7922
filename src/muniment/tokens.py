"""Bearer tokens: for clients that can't sign, on loopback or behind TLS (design section 11).

A token is shown once. What is kept is a hash of its secret, which has 256 bits, so there is nothing to guess.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from muniment.base.errors import InvalidInput, NotFound, NotPermitted
from muniment.base.limits import LIMITS
from muniment.identity.did import parse_did, to_did
from muniment.store.visitors import TokenRow

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.peer import Peer

Rights = Literal["read", "write"]
RIGHTS: tuple[Rights, ...] = ("read", "write")
_FORM = re.compile(r"mun_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token as it may be shown: not itself, save once, in `secret`, when it is made.

    Attributes:
        state: `live`, `expired` or `revoked`.
    """

    id: str
    agent: str
    did: str
    rights: Rights
    label: str | None
    created_at_ms: int
    expires_at_ms: int | None
    state: str
    secret: str | None = None

    def __repr__(self) -> str:
        return f"TokenInfo({self.id!r}, {self.agent!r}, {self.rights!r}, {self.state!r})"

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints; the token itself where it was just made."""
        shown = {
            "id": self.id, "agent": self.agent, "did": self.did, "rights": self.rights, "label": self.label,
            "created_at_ms": self.created_at_ms, "expires_at_ms": self.expires_at_ms, "state": self.state,
        }  # fmt: skip
        return shown if self.secret is None else {**shown, "token": self.secret}


class Tokens:
    """The bearer tokens of one peer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def new(
        self, agent: Agent, rights: Rights = "read", *, label: str | None = None, days: int | None = 90
    ) -> TokenInfo:
        """Make a token; its text is in `.secret` of the result, and nowhere else.

        Args:
            agent: Who acts when it is shown.
            rights: `read`, or `write`, which reads too.
            label: What it is for.
            days: How long it holds; None for ever.

        Raises:
            InvalidInput: The rights, the label or the days have no meaning.
        """
        if rights not in RIGHTS:
            raise InvalidInput(f"rights are {rights!r}", f"Use one of: {', '.join(RIGHTS)}.")
        if label is not None and not (0 < len(label) <= LIMITS.name_chars and label.isprintable()):
            raise InvalidInput("that is no label", f"Use 1 to {LIMITS.name_chars} printable characters.")
        if days is not None and not 0 < days <= 36_500:
            raise InvalidInput(f"a token can't hold for {days} days", "Use 1 to 36500.")
        drawn = self._peer.host.entropy.bytes(38)
        secret = base64.urlsafe_b64encode(drawn[6:]).rstrip(b"=").decode()
        now = self._peer.host.clock.now_ms()
        until = None if days is None else now + days * _DAY_MS
        key = parse_did(agent.did)
        row = TokenRow(drawn[:6].hex(), _hash(secret), key, rights, label, now, until, None)
        self._peer.made_store().visitors.add_token(row)
        return self._info(row, secret=f"mun_{row.id}_{secret}")

    def list(self) -> list[TokenInfo]:
        """All tokens, oldest first, also those that do not hold any more."""
        store = self._peer.standing_store()
        return [] if store is None else [self._info(row) for row in store.visitors.tokens()]

    def revoke(self, token_id: str) -> TokenInfo:
        """Take a token back; it is refused from the next request on.

        Raises:
            NotFound: There is none of that id.
        """
        store = self._peer.standing_store()
        if store is None or store.visitors.token(token_id) is None:
            raise NotFound(f"no token has the id {token_id[:40]!r}", "See `muniment token list`.")
        store.visitors.revoke_token(token_id, self._peer.host.clock.now_ms())
        row = store.visitors.token(token_id)
        assert row is not None  # noqa: S101 - rows are not taken out
        return self._info(row)

    def check(self, text: str, need: Rights) -> TokenInfo:
        """Whose token this is, if it holds now and gives the right.

        Raises:
            NotPermitted: It is none, does not hold, or gives less; which of these is said only to its holder.
        """
        match = _FORM.fullmatch(text)
        store = self._peer.standing_store()
        row = None if match is None or store is None else store.visitors.token(match[1])
        kept = row.hash if row else bytes(32)
        same = hmac.compare_digest(kept, _hash(match[2] if match else ""))
        if row is None or not same:
            raise NotPermitted("that is no token of this installation", "Make one: muniment token new")
        info = self._info(row)
        if info.state != "live":
            raise NotPermitted(f"the token is {info.state}", "Make another: muniment token new")
        if need == "write" and info.rights != "write":
            raise NotPermitted("the token only reads", "Make one with: muniment token new --rights write")
        return info

    def _info(self, row: TokenRow, secret: str | None = None) -> TokenInfo:
        now = self._peer.host.clock.now_ms()
        expired = row.expires_ms is not None and row.expires_ms <= now
        state = "revoked" if row.revoked_ms is not None else "expired" if expired else "live"
        did = to_did(row.agent)
        name = self._peer.name_of(row.agent) or did
        rights = cast("Rights", row.rights)
        return TokenInfo(row.id, name, did, rights, row.label, row.created_ms, row.expires_ms, state, secret)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(b"muniment/token/1\0" + secret.encode()).digest()
