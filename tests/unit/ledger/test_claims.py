"""Claims: a request that both keys sign, bound to bank, invite, joiner and nonce, and nothing else."""

from __future__ import annotations

import pytest

from muniment.base import codec
from muniment.base.errors import LimitExceeded, MunimentError, RefusedKey
from muniment.base.ids import BankId, EntryId, cid_of
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.ledger.claims import Claim, check_claim, claim_bytes, read_claim, sign_by_invite
from muniment.ledger.control import EpochId
from muniment.testing.ledger import Cast

CAST = Cast()
BANK, OTHER = BankId(cid_of(b"bank")), BankId(cid_of(b"other"))
CLAIM = Claim(BANK, EpochId(EntryId(cid_of(b"invite")), 0), CAST["wim"], bytes(16))


def signed(claim: Claim, invite: str = "invite", joiner: str = "wim", domain: bytes = codec.CLAIM) -> bytes:
    """A claim, signed by two of the cast."""
    by_joiner = keys.sign(CAST.pair(joiner).secret, domain, claim.signed())
    return claim_bytes(claim, sign_by_invite(claim, CAST.pair(invite)), by_joiner)


def test_a_claim_of_both_keys_holds() -> None:
    """What both signed is read back."""
    assert check_claim(signed(CLAIM), BANK, CAST["invite"]) == CLAIM


@pytest.mark.parametrize(
    "data",
    [
        signed(CLAIM, invite="eve"),
        signed(CLAIM, joiner="eve"),
        signed(CLAIM, domain=codec.ENTRY),
        signed(CLAIM._replace(bank=OTHER)),
        signed(CLAIM)[:-1],
        signed(CLAIM) + b"\0",
        b"",
        codec.encode([1, 2, 3]),
        codec.encode([BANK, [CLAIM.invite.entry, 999], CAST["wim"], bytes(16), bytes(64), bytes(64)]),
        codec.encode([BANK, [CLAIM.invite.entry, 0], CAST["wim"], bytes(15), bytes(64), bytes(64)]),
    ],
)
def test_a_claim_that_is_wrong_in_itself_is_refused(data: bytes) -> None:
    """A key that did not sign, another domain, another bank, or another form."""
    with pytest.raises(MunimentError):
        check_claim(data, BANK, CAST["invite"])


@pytest.mark.parametrize(
    "other",
    [
        CLAIM._replace(joiner=CAST["eve"]),
        CLAIM._replace(invite=EpochId(EntryId(cid_of(b"more")), 0)),
        CLAIM._replace(nonce=b"\1" * 16),
    ],
)
def test_no_field_can_be_exchanged(other: Claim) -> None:
    """Signatures over one claim do not fit another, though it differs in one field alone."""
    by_joiner = keys.sign(CAST.pair("wim").secret, codec.CLAIM, CLAIM.signed())
    data = claim_bytes(other, sign_by_invite(CLAIM, CAST.pair("invite")), by_joiner)
    with pytest.raises(MunimentError):
        check_claim(data, BANK, CAST["invite"])


def test_size_is_looked_at_first() -> None:
    """What is too long is not parsed."""
    with pytest.raises(LimitExceeded):
        read_claim(bytes(LIMITS.claim_bytes + 1))


def test_a_joiner_of_small_order_is_refused() -> None:
    """A key that anybody can sign for joins nothing."""
    weak = claim_bytes(CLAIM._replace(joiner=b"\1" + bytes(31)), bytes(64), bytes(64))
    with pytest.raises(RefusedKey):
        read_claim(weak)
