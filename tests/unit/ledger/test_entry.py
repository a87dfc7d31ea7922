"""The signed format: what is refused is wrong in its own bytes, and each reason has its bytes (design section 3)."""

import hashlib
from dataclasses import replace
from typing import Any

import libipld
import pytest
from nacl import bindings as sodium

from muniment.base import codec
from muniment.base.clock import at_of
from muniment.base.errors import LimitExceeded, RefusedBody, RefusedEntry, RefusedKey
from muniment.base.ids import BankId, EntryId, cid_of
from muniment.base.limits import LIMITS
from muniment.identity import keys
from muniment.identity.did import parse_did, to_did
from muniment.ledger import entry as entries
from muniment.ledger.control import EpochId
from muniment.ledger.entry import Entry
from muniment.testing.ledger import Script, filler, sign_with_nonce

# Points whose order divides 8: signatures by such "keys" can be made to fit any message (RFC 8032, 5.1.7;
# list as in libsodium's `ge25519_has_small_order` and in "Taming the many EdDSAs", 2020).
SMALL_ORDER = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
# Encodings of a y of 2^255 - 19 or more, or with a sign bit on x = 0: points have one encoding here.
NON_CANONICAL = [
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
NO_POINT = ["0200000000000000000000000000000000000000000000000000000000000000"]
ORDER = 2**252 + 27742317777372353535851937790883648493


@pytest.fixture
def bank() -> Script:
    """A bank with one writer besides its founder."""
    script = Script()
    script.found({"ada": "admin(0)"}, boxes=True)
    script.grant("ada", "wim", "write")
    return script


def signed(script: Script, header: bytes, by: str = "wim") -> bytes:
    """The envelope of header bytes, whatever they say."""
    return codec.encode([header, keys.sign(script.cast.pair(by).secret, codec.ENTRY, header)])


def with_fields(script: Script, entry: Entry, **fields: Any) -> bytes:
    """An entry signed again with other header fields; None takes one away."""
    header = codec.decode(entry.header_bytes, 1 << 20) | fields
    return signed(script, codec.encode({name: value for name, value in header.items() if value is not None}))


def reason(envelope: bytes, bank: BankId | None) -> str:
    """Why bytes are refused."""
    with pytest.raises(RefusedEntry) as caught:
        entries.verify(envelope, bank)
    assert caught.value.reason in entries.REASONS
    return caught.value.reason


def test_what_is_signed_is_what_is_read(bank: Script) -> None:
    """Each entry of a bank verifies to itself, keeps its bytes, and is read again from the store alike."""
    bank.data("wim", kinds=(1, 2, 3))
    for entry in bank.entries.values():
        assert entries.verify(entry.envelope, bank.bank) == entry
        assert entries.reload(entry.envelope) == entry
        assert entries.header_bytes(entry.header) == entry.header_bytes
        assert entry.bank == bank.bank


def test_a_flip_of_any_bit_is_refused(bank: Script) -> None:
    """No bit of an envelope can be turned without a refusal; were one not, it would be another entry by its id."""
    for entry in (bank.data("wim"), bank.grant("ada", "x", "read")):
        for place in range(len(entry.envelope) * 8):
            broken = bytearray(entry.envelope)
            broken[place // 8] ^= 1 << place % 8
            assert cid_of(bytes(broken)) != entry.id
            with pytest.raises(RefusedEntry):
                entries.verify(bytes(broken), bank.bank)


def test_cut_off_or_longer_bytes_are_refused(bank: Script) -> None:
    """An envelope that ends early, or goes on, is no entry."""
    envelope = bank.data("wim").envelope
    for length in range(len(envelope)):
        reason(envelope[:length], bank.bank)
    for more in (b"\0", b"\xf6", envelope):
        reason(envelope + more, bank.bank)


def test_each_reason_to_refuse(bank: Script) -> None:
    """Every reason of the list is given for bytes that are wrong in just that."""
    entry = bank.data("wim")
    header = codec.decode(entry.header_bytes, 1 << 20)
    other = Script(start_ms=bank.now_ms)
    other.found({"wim": "admin(0)"})
    minimal = entry.header_bytes.replace(b"\x61v\x01", b"\x61v\x18\x01")
    cases = {
        "oversize": bytes(LIMITS.header_bytes + 200),
        "wrong magic": codec.encode({"not": "a pair"}),
        "non-canonical": signed(bank, minimal),
        "unknown version": with_fields(bank, entry, v=2),
        "unknown field": with_fields(bank, entry, more=1),
        "malformed": with_fields(bank, entry, prev=None),
        "bad key": with_fields(bank, entry, by=bytes.fromhex(SMALL_ORDER[1])),
        "bad time": with_fields(bank, entry, at=at_of(4_102_444_800_000)),
        "wrong bank": with_fields(bank, entry, bank=cid_of(b"another")),
        "second founding entry": next(iter(other.entries.values())).envelope,
        "bad signature": codec.encode([entry.header_bytes, bytes(64)]),
    }
    assert set(cases) == set(entries.REASONS)
    assert minimal != entry.header_bytes
    assert header["v"] == 1
    assert {name: reason(envelope, bank.bank) for name, envelope in cases.items()} == {
        name: name for name in cases
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"by": b"short"}, {"by": "text"}, {"at": -1}, {"at": "now"}, {"at": True}, {"auth": None}, {"prev": [b"x"]},
        {"prev": [cid_of(b"b"), cid_of(b"b")]}, {"auth": [cid_of(bytes([n])) for n in range(70)]}, {"bank": b"x"},
        {"epoch": None}, {"epoch": [cid_of(b"e"), 256]}, {"epoch": [cid_of(b"e"), True]}, {"acts": []}, {"acts": None},
        {"acts": [{"k": 0, "h": bytes(32), "n": 512}]}, {"acts": [{"k": 1, "h": bytes(31), "n": 512}]},
        {"acts": [{"k": 1, "h": bytes(32), "n": 1}]}, {"acts": [{"k": 1, "h": bytes(32), "n": 512, "z": 1}]},
        {"acts": [{"k": 1, "h": bytes(32), "n": 512}] * 257}, {"acts": [{"k": 1, "h": bytes(32), "n": 1 << 22}] * 5},
        {"ctl": [{"k": 6, "p": 1, "v": 1}]}, {"bank": None},
    ],
)  # fmt: skip
def test_a_field_that_is_not_of_its_form_is_malformed(bank: Script, fields: dict[str, Any]) -> None:
    """Wrong types, ranges, orders and combinations are seen before the signature is looked at."""
    assert reason(with_fields(bank, bank.data("wim"), **fields), bank.bank) == "malformed"


KEY = filler("key in an act", 32)


@pytest.mark.parametrize(
    "act",
    [
        {}, {"k": 0}, {"k": "1"}, {"k": 2}, {"k": 2, "key": bytes(31), "l": 1}, {"k": 2, "key": KEY, "l": 5},
        {"k": 2, "key": KEY, "l": 3, "n": 1}, {"k": 2, "key": KEY, "l": 4},
        {"k": 2, "key": KEY, "l": 4, "n": 1001}, {"k": 2, "key": KEY, "l": 3, "agent": False},
        {"k": 2, "key": KEY, "l": 3, "until": -1}, {"k": 2, "key": KEY, "l": 3, "name": "Bob"},
        {"k": 3, "key": KEY, "tips": [cid_of(b"2")] * 2}, {"k": 3, "key": KEY, "tips": [], "over": []},
        {"k": 4, "com": bytes(32), "salt": bytes(15), "to": []}, {"k": 6, "p": 0, "v": 1}, {"k": 7, "v": []},
        {"k": 8, "key": KEY, "l": 3, "until": 1, "uses": 0}, {"k": 1, "to": [], "salt": bytes(16)},
    ],
)  # fmt: skip
def test_a_control_act_that_is_not_of_its_form_is_malformed(bank: Script, act: dict[str, Any]) -> None:
    """Known control acts hold exactly their fields: no words, no defaults written out."""
    envelope = with_fields(bank, bank.policy("wim", 1, 1), ctl=[act])
    assert reason(envelope, bank.bank) == "malformed"


@pytest.mark.parametrize("key", SMALL_ORDER + NON_CANONICAL + NO_POINT)
def test_keys_of_small_order_and_odd_encodings_are_refused_everywhere(bank: Script, key: str) -> None:
    """As author, in a control act, in a DID: such a key is none, and no signature verifies under it."""
    public = bytes.fromhex(key)
    with pytest.raises(RefusedKey):
        keys.check_public(public)
    with pytest.raises(RefusedKey):
        parse_did(to_did(public))
    assert reason(with_fields(bank, bank.data("wim"), by=public), bank.bank) == "bad key"
    grant = {"k": 2, "key": public, "l": 3}
    assert reason(with_fields(bank, bank.policy("wim", 1, 1), ctl=[grant]), bank.bank) == "bad key"
    # With the identity as key and R, s = 0 satisfies the equation for any message.
    assert not keys.verify(public, bytes.fromhex(SMALL_ORDER[1]) + bytes(32), codec.ENTRY, b"anything")
    assert not keys.verify(public, public + bytes(32), codec.ENTRY, b"anything")


def test_signatures_have_one_form(bank: Script) -> None:
    """s of the group's order or more is refused (malleability), and a signature made for another domain."""
    pair, message = bank.cast.pair("wim"), b"a header"
    signature = keys.sign(pair.secret, codec.ENTRY, message)
    assert keys.verify(pair.public, signature, codec.ENTRY, message)
    s = int.from_bytes(signature[32:], "little")
    for more in (1, 2, 8):
        higher = s + more * ORDER
        if higher < 1 << 256:
            assert not keys.verify(
                pair.public, signature[:32] + higher.to_bytes(32, "little"), codec.ENTRY, message
            )
    assert not keys.verify(pair.public, signature, codec.LINK, message)
    assert not keys.verify(pair.public, signature[:63], codec.ENTRY, message)
    assert not keys.verify(pair.public[:31], signature, codec.ENTRY, message)


def test_a_commitment_of_small_order_is_refused(bank: Script) -> None:
    """R = identity with s = k a fulfils the equation of RFC 8032 and is refused: verifiers that differ would split."""
    pair, message = bank.cast.pair("wim"), codec.ENTRY + b"a header"
    for point in (bytes.fromhex(one) for one in SMALL_ORDER + NON_CANONICAL):
        k = sodium.crypto_core_ed25519_scalar_reduce(hashlib.sha512(point + pair.public + message).digest())
        secret = bytearray(hashlib.sha512(pair.secret[:32]).digest()[:32])
        secret[0], secret[31] = secret[0] & 248, secret[31] & 127 | 64
        a = sodium.crypto_core_ed25519_scalar_reduce(bytes(secret) + bytes(32))
        s = sodium.crypto_core_ed25519_scalar_mul(k, a)
        k_times_key = sodium.crypto_scalarmult_ed25519_noclamp(k, pair.public)
        assert (
            sodium.crypto_scalarmult_ed25519_base_noclamp(s) == k_times_key
        )  # so the equation holds for R = 0
        assert not keys.verify(pair.public, point + s, codec.ENTRY, b"a header")


def test_a_key_with_a_small_order_part_is_refused(bank: Script) -> None:
    """A good key plus a point of order 8 lies outside the prime-order group: cofactored verifiers confuse the two."""
    mixed = sodium.crypto_core_ed25519_add(bank.cast["wim"], bytes.fromhex(SMALL_ORDER[2]))
    assert mixed != bank.cast["wim"]
    with pytest.raises(RefusedKey):
        keys.check_public(mixed)


def test_a_chosen_nonce_gives_a_valid_signature(bank: Script) -> None:
    """The builder of twins makes what a hostile signer can make: with RFC 8032's own nonce, RFC 8032's signature."""
    pair = keys.keypair(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    assert pair.public.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    first, second = (sign_with_nonce(pair, codec.ENTRY + b"m", filler(str(n), 64)) for n in range(2))
    assert first != second
    assert keys.verify(pair.public, first, codec.ENTRY, b"m")
    assert keys.verify(pair.public, second, codec.ENTRY, b"m")


def test_the_founding_entry_is_the_bank() -> None:
    """It has no past, is signed by a founder, founds in its first act, and is the only one of its bank."""
    script = Script()
    founding = script.found({"ada": "admin(0)"})
    assert entries.verify(founding.envelope, None).bank == founding.id
    assert reason(script.policy("ada", 1, 1).envelope, None) == "wrong bank"
    header = founding.header
    wrong = [
        replace(header, by=script.cast["eve"]),
        replace(header, prev=(EntryId(founding.id),)),
        replace(header, auth=(EntryId(founding.id),)),
        replace(header, ctl=header.ctl * 2),
        replace(header, ctl=(script.grant_act("x", "read"), *header.ctl)),
        replace(header, bank=script.bank),
    ]
    for one in wrong:
        name = script.cast.name(one.by)
        assert reason(script.sign(name, one, keep=False).envelope, script.bank) == "malformed"


def test_a_list_of_anything_else_is_no_envelope(bank: Script) -> None:
    """The envelope is a pair of byte strings, and nothing that only looks like one."""
    for value in ([b"a", "b"], [b"", b""], [1, 2], [[], []], [cid_of(b"x"), b""]):
        assert reason(libipld.encode_dag_cbor(value), bank.bank) in {
            "wrong magic",
            "non-canonical",
            "malformed",
        }


@pytest.mark.parametrize("length", [0, 1, 254, 255, 256, 2046, 2047, 2048, 5000, 100_000])
def test_bodies_are_padded_sealed_and_bound(length: int) -> None:
    """A body opens only for its bank, epoch, author, kind and place; its length tells little."""
    key, nonce, plain = filler("key", 32), filler("nonce", 24), filler("plain", length)
    bank, epoch, by = BankId(cid_of(b"bank")), EpochId(cid_of(b"epoch"), 1), filler("by", 32)
    bound = entries.associated(bank, epoch, by, 1, 0)
    sealed = entries.seal_body(key, nonce, plain, bound)
    assert entries.open_body(key, sealed, bound) == plain
    assert (len(sealed) - keys.SEAL_OVERHEAD) % 256 == 0
    assert len(sealed) - keys.SEAL_OVERHEAD - length <= max(256, (length + 1) // 8 + 1)
    others = [
        entries.associated(BankId(cid_of(b"other")), epoch, by, 1, 0),
        entries.associated(bank, EpochId(epoch.entry, 2), by, 1, 0),
        entries.associated(bank, epoch, filler("other", 32), 1, 0),
        entries.associated(bank, epoch, by, 2, 0),
        entries.associated(bank, epoch, by, 1, 1),
    ]
    for other in others:
        with pytest.raises(RefusedBody):
            entries.open_body(key, sealed, other)
    ref = entries.act_ref(1, sealed)
    entries.check_body(ref, sealed)
    for wrong in (sealed[:-1], sealed + b"\0", bytes(len(sealed))):
        with pytest.raises(RefusedBody):
            entries.check_body(ref, wrong)


def test_padding_has_one_form() -> None:
    """A body padded otherwise than the format says is refused, and one that is too long is never made."""
    key, nonce, bound = filler("key", 32), filler("nonce", 24), b"bound"
    for padded in (b"x\x80" + bytes(510), b"x" + bytes(255), bytes(256), b""):
        with pytest.raises(RefusedBody):
            entries.open_body(key, keys.seal(key, nonce, padded, bound), bound)
    with pytest.raises(LimitExceeded):
        entries.seal_body(key, nonce, bytes(LIMITS.body_bytes), bound)
