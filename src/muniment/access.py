"""Asking for access: what a stranger says at the door, and the queue of those who wait (design sections 4 and 8).

Two things may be said. A *claim* is signed with an invite's secret and is answered at once by whoever could grant
it. A *request* has no invite: it is queued, once for each (bank, key, level), until a person says yes or no.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.bank import Bank
from muniment.base import codec
from muniment.base.errors import (
    Ambiguous,
    InvalidInput,
    LimitExceeded,
    Malformed,
    MunimentError,
    NotPermitted,
    UnknownRecord,
)
from muniment.base.ids import BankId, cid_text
from muniment.base.limits import LIMITS
from muniment.granting import Terms, grant
from muniment.identity import keys
from muniment.identity.did import fingerprint, to_did
from muniment.invites import answer_claim
from muniment.keyring.custody import Keyring
from muniment.ledger.claims import read_claim
from muniment.ledger.levels import ADMIN, parse_level
from muniment.query import Time, to_ms
from muniment.store.routes import RequestRow

if TYPE_CHECKING:
    from muniment.peer import Peer

_FIELDS = {"bank", "key", "level", "note", "sig"}


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Somebody who asks for a bank.

    Attributes:
        id: What `approve` and `deny` take.
        fingerprint: Of the key; compare it with its owner before anything else is believed.
        did: The key.
        bank, bank_name: What is asked for.
        level: What is asked for.
        note: The stranger's own words: anybody may write anything there.
        state: `waiting` or `denied`.
    """

    id: str
    fingerprint: str
    did: str
    bank: str
    bank_name: str
    level: str
    note: str
    created_at_ms: int
    until_ms: int
    state: str

    def to_json(self) -> dict[str, Any]:
        """The request as `--json` prints it; the stranger's words stand apart, named as such."""
        said = {name: getattr(self, name) for name in self.__slots__ if name != "note"}
        return said | {"unverified": {"note": self.note}}


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of a request: `approved` or `denied`; `level` what was granted."""

    request: RequestInfo
    done: str
    level: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The answer as `--json` prints it."""
        return {"done": self.done, "level": self.level, "request": self.request.to_json()}


# Saying


def _signed(bank: BankId, key: bytes, level: str, note: str) -> bytes:
    return codec.encode([bank, key, level, note])


def request_bytes(bank: BankId, key: bytes, level: str, note: str, keyring: Keyring) -> bytes:
    """A request as it travels, signed by the key that asks.

    Raises:
        LimitExceeded: The note is too long.
    """
    if len(note) > LIMITS.request_note_chars:
        raise LimitExceeded("characters of a note", LIMITS.request_note_chars, len(note))
    sig = keyring.sign(key, codec.ASK, _signed(bank, key, level, note))
    return codec.encode({"bank": bank, "key": key, "level": level, "note": note, "sig": sig})


# Hearing


def hear(peer: Peer, bank: Bank, by: bytes, said: bytes) -> None:
    """Answer a claim, or queue a request; what neither is, is refused.

    Args:
        peer: This one.
        bank: A bank that is shared.
        by: The key that proved itself at the door.
        said: What it brought.

    Raises:
        MunimentError: Nothing came of it, for a reason that strangers are not told.
    """
    value = codec.decode(said, LIMITS.claim_bytes)
    if isinstance(value, dict):
        _queue(peer, bank, by, value)
    elif read_claim(said)[0].joiner == by:
        _answer(peer, bank, said)


def _answer(peer: Peer, bank: Bank, said: bytes) -> None:
    """Answer a claim with the first key of this peer that may."""
    refused: MunimentError = NotPermitted("no key of this peer may answer", "Ask an admin.")
    for key in answerers(peer, bank):
        try:
            answer_claim(bank, key, said)
        except NotPermitted as error:
            refused = error
            continue
        return
    raise refused


def answerers(peer: Peer, bank: Bank) -> list[bytes]:
    """The keys of this peer that may let others in now, admins first."""
    authority, now = bank.authority, peer.host.clock.now_ms()
    found = []
    for key in sorted(set(peer.host.keyring.keys()) & authority.keys):
        leases = authority.leases_now(key, now)
        if any(lease.level.code == ADMIN for lease in leases):
            found.append((0, key))
        elif any(lease.delegable for lease in leases):
            found.append((1, key))
    return [key for _, key in sorted(found)]


def _queue(peer: Peer, bank: Bank, by: bytes, value: dict[str, Any]) -> None:
    if set(value) != _FIELDS or value["bank"] != bank.id or value["key"] != by:
        raise Malformed("not a request for this bank by the key that asks")
    level, note, sig = value["level"], value["note"], value["sig"]
    if not isinstance(level, str) or not isinstance(note, str) or not isinstance(sig, bytes):
        raise Malformed("a request has a level, a note and a signature")
    if str(parse_level(level)) != level or len(note) > LIMITS.request_note_chars:
        raise Malformed("a request has a level, spelled as it is, and a short note")
    if not keys.verify(by, sig, codec.ASK, _signed(bank.id, by, level, note)):
        raise Malformed("a request that its key did not sign")
    now = peer.host.clock.now_ms()
    if not answerers(peer, bank):
        raise NotPermitted("nobody here could let it in", "Ask an admin's peer.")
    held = bank.authority.leases_now(by, now)
    if any(not lease.level.weaker_than(parse_level(level)) for lease in held):
        return  # it holds that already
    row = RequestRow(bank.id, by, level, note, now, now + LIMITS.request_ms)
    peer.made_store().others.ask(row)


# Deciding


def request_id(row: RequestRow) -> str:
    """A short name for a request, the same for the same bank, key and level."""
    return hashlib.sha256(row.bank + row.key + row.level.encode()).hexdigest()[:12]


def _info(peer: Peer, row: RequestRow) -> RequestInfo:
    store = peer.standing_store()
    bank = None if store is None else store.bank(row.bank)
    return RequestInfo(
        id=request_id(row),
        fingerprint=fingerprint(row.key),
        did=to_did(row.key),
        bank=cid_text(row.bank),
        bank_name="" if bank is None else bank.name,
        level=row.level,
        note=row.note,
        created_at_ms=row.created_ms,
        until_ms=row.until_ms,
        state=row.state,
    )


def _rows(peer: Peer, key: bytes) -> list[RequestRow]:
    """The requests for banks in which a key may let others in."""
    store, now = peer.standing_store(), peer.host.clock.now_ms()
    if store is None:
        return []
    rows = store.others.requests(now)
    open_to = {
        bank for bank in {row.bank for row in rows} if key in answerers(peer, peer.bank(bank))
    }  # fmt: skip
    return [row for row in rows if row.bank in open_to]


def requests(peer: Peer, key: bytes) -> list[RequestInfo]:
    """Who asks for the banks in which a key may let others in, the oldest first."""
    return [_info(peer, row) for row in _rows(peer, key)]


def _named(peer: Peer, key: bytes, ref: str) -> RequestRow:
    found = [row for row in _rows(peer, key) if ref.strip() and request_id(row).startswith(ref.strip())]
    if len(found) > 1:
        raise Ambiguous(f"several requests begin with {ref[:40]!r}", [request_id(row) for row in found])
    if not found:
        raise UnknownRecord(f"there is no request {ref[:40]!r}", "See `muniment bank requests`.")
    return found[0]


def approve(
    peer: Peer,
    key: bytes,
    ref: str,
    *,
    level: str | None = None,
    until: Time | None = None,
    delegable: bool = False,
) -> Answered:
    """Let somebody in who asked; its import completes by itself at its next sync.

    Args:
        peer: This one.
        key: Who decides.
        ref: The request's id, or its beginning.
        level: What is granted; what was asked for if not given.
        until: When it ends.
        delegable: It may be passed on, to the asker's own agents say.

    Raises:
        UnknownRecord | Ambiguous: No request goes by that id, or several do.
        NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: As for `granting.grant`.
    """
    row = _named(peer, key, ref)
    given = parse_level(level or row.level)
    ends = None if until is None else to_ms(until, "until")
    grant(peer.bank(row.bank), key, [row.key], Terms(given, ends, delegable))
    peer.made_store().others.answered(row.bank, row.key)
    return Answered(_info(peer, row), "approved", str(given))


def deny(peer: Peer, key: bytes, ref: str) -> Answered:
    """Say no: the same request is not shown again before its time is over, and nobody is told.

    Raises:
        UnknownRecord | Ambiguous: As for `approve`.
        InvalidInput: It was denied already.
    """
    row = _named(peer, key, ref)
    if row.state == "denied":
        raise InvalidInput("that request was denied already", "`approve` lets it in all the same.")
    peer.made_store().others.deny(row.bank, row.key, row.level)
    return Answered(_info(peer, row._replace(state="denied")), "denied")
