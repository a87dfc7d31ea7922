"""Claims: who holds an invite's secret asks to be let in (design section 4, "Invites").

A claim grants nothing. It is a request, signed by the invite's key and by the joiner's over bank, invite, joiner
and nonce; the secret itself is never sent. Whoever has the strength answers it with an ordinary grant.
"""

from __future__ import annotations

from typing import NamedTuple

from muniment.base import codec
from muniment.base.errors import Malformed
from muniment.base.ids import BankId, EntryId, is_cid
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.identity.keys import KeyPair
from muniment.ledger.control import EpochId

NONCE_BYTES = 16
_SIGNATURE_BYTES = 64


class Claim(NamedTuple):
    """What a claim says: the bank, the invite act, the joiner's public key, and the nonce that it was asked with."""

    bank: BankId
    invite: EpochId
    joiner: bytes
    nonce: bytes

    def signed(self) -> bytes:
        """The canonical bytes that both keys sign, under the domain `codec.CLAIM`."""
        return codec.encode([self.bank, list(self.invite), self.joiner, self.nonce])


def claim_bytes(claim: Claim, by_invite: bytes, by_joiner: bytes) -> bytes:
    """A claim as it travels: canonical DAG-CBOR of its fields and both signatures (64 bytes each)."""
    return codec.encode([claim.bank, list(claim.invite), claim.joiner, claim.nonce, by_invite, by_joiner])


def sign_by_invite(claim: Claim, invite: KeyPair) -> bytes:
    """The invite key's signature over a claim."""
    return keys.sign(invite.secret, codec.CLAIM, claim.signed())


def read_claim(data: bytes) -> tuple[Claim, bytes, bytes]:
    """A claim and its two signatures, the invite key's first; their form is checked and nothing else.

    Raises:
        Malformed | LimitExceeded: The bytes are no claim.
        RefusedKey: The joiner's key is of no use.
    """
    value = codec.decode(data, LIMITS.claim_bytes)
    if not isinstance(value, list) or len(value) != 6 or not all(isinstance(v, bytes) for v in value[2:]):
        raise Malformed("not a claim of an invite")
    bank, place, joiner, nonce, by_invite, by_joiner = value
    if not is_cid(bank) or not isinstance(place, list) or len(place) != 2 or not is_cid(place[0]):
        raise Malformed("a claim names no bank or no invite")
    if type(place[1]) is not int or not 0 <= place[1] < LIMITS.control_acts_per_entry:
        raise Malformed("a claim names no act of an entry")
    lengths = (len(joiner), len(nonce), len(by_invite), len(by_joiner))
    if lengths != (keys.PUBLIC_BYTES, NONCE_BYTES, _SIGNATURE_BYTES, _SIGNATURE_BYTES):
        raise Malformed("a key, nonce or signature of a claim has another length")
    claim = Claim(BankId(bank), EpochId(EntryId(place[0]), place[1]), keys.check_public(joiner), nonce)
    return claim, by_invite, by_joiner


def check_claim(data: bytes, bank: BankId, invite_key: bytes) -> Claim:
    """A claim whose signatures hold, for this bank and by this invite's key.

    Raises:
        Malformed | LimitExceeded | RefusedKey: As `read_claim`; `Malformed` too where a signature does not hold.
    """
    claim, by_invite, by_joiner = read_claim(data)
    if claim.bank != bank:
        raise Malformed("a claim for another bank")
    signed = claim.signed()
    if not keys.verify(invite_key, by_invite, codec.CLAIM, signed):
        raise Malformed("a claim that the invite's key did not sign")
    if not keys.verify(claim.joiner, by_joiner, codec.CLAIM, signed):
        raise Malformed("a claim that the joiner's key did not sign")
    return claim
