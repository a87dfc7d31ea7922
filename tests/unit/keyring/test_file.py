"""The bytes of the keyring file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base import codec
from muniment.base.errors import ForeignFile, FutureFormat, StorageError, StoreCorrupt
from muniment.identity import keys
from muniment.keyring import file
from muniment.keyring.custody import Keyring
from muniment.keyring.file import Guard, Listed
from muniment.keyring.secret import Secret
from muniment.platform.folders import PeerFolder
from muniment.testing.entropy import SeededEntropy

SEED = b"Q" * 32
LISTED = (Listed(keys.keypair(SEED).public, "é", 5),)
PLAIN = bytes(file.build(file.clear_part(Guard("file mode"), LISTED), SEED))
SEALED_GUARD = Guard("passphrase", b"s" * 16, 1, 8192)


def parse(data: bytes) -> file.Contents:
    """Read bytes as a keyring."""
    return file.parse(Secret(data), "the keyring")


def forged(clear: object, secrets: bytes = SEED) -> bytes:
    """A file with a right checksum around any clear part."""
    return bytes(file.build(codec.encode(clear), secrets))


@pytest.mark.parametrize("guard", [Guard("file mode"), SEALED_GUARD, Guard("system", name="n")])
def test_a_file_reads_back_as_written(guard: Guard) -> None:
    """Guard, keys and secrets survive."""
    read = parse(bytes(file.build(file.clear_part(guard, LISTED), SEED)))
    assert (read.guard, read.keys, read.secrets) == (guard, LISTED, SEED)


def test_every_cut_and_every_flipped_bit_is_noticed() -> None:
    """No prefix of a file and no file with one bit changed is taken for a keyring."""
    for end in range(len(PLAIN)):
        with pytest.raises(StorageError):
            parse(PLAIN[:end])
    for at in range(len(PLAIN) * 8):
        flipped = bytearray(PLAIN)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(StorageError):
            parse(bytes(flipped))


@given(st.binary(max_size=300))
def test_any_bytes_give_a_named_error(data: bytes) -> None:
    """Foreign bytes are refused with a storage error, whatever they are, also behind our own magic."""
    for made in (data, PLAIN[:19] + data):
        with pytest.raises(StorageError):
            parse(made)


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", StoreCorrupt),
        (b"muniment", StoreCorrupt),
        (b"SQLite format 3\0", ForeignFile),
        (b"\0" * 4096, ForeignFile),
        (b"muniment keyring 2\n" + PLAIN[19:], FutureFormat),
        (b"muniment keyring 17\nrest", FutureFormat),
        (b"muniment keyring 0\n", StoreCorrupt),
        (b"muniment keyring \xb2\n", StoreCorrupt),
        (forged({"guard": {"kind": "moon"}, "keys": []}), FutureFormat),
        (forged({"guard": {"kind": "file mode"}, "keys": []}), StoreCorrupt),
        (forged({"guard": {"kind": "file mode"}}), StoreCorrupt),
        (forged([]), StoreCorrupt),
        (forged({"guard": {"kind": "passphrase", "salt": b"s" * 16, "ops": 1, "mem": 1 << 50}, "keys": []}),
         StoreCorrupt),
        (forged({"guard": {"kind": "passphrase", "salt": b"s", "ops": 1, "mem": 8192}, "keys": []}), StoreCorrupt),
        (forged({"guard": {"kind": "file mode"}, "keys": [{"pub": b"\0" * 32, "label": "", "made": 0}]}), StoreCorrupt),
        (forged({"guard": {"kind": "file mode"}, "keys": [{"pub": 5, "label": "", "made": 0}]}), StoreCorrupt),
    ],
)  # fmt: skip
def test_each_kind_of_wrong_file_has_its_name(data: bytes, wanted: type[StorageError]) -> None:
    """Cut short, foreign and future files are told apart, each with a next step."""
    with pytest.raises(wanted) as caught:
        parse(data)
    assert type(caught.value) is wanted
    assert caught.value.next_step


def test_a_wrong_file_is_never_altered(tmp_path: Path) -> None:
    """Not even the making of a key writes over a file that is not understood; `doctor` shows the reason."""
    for bad in (b"", b"SQLite format 3\0", b"muniment keyring 2\nx", PLAIN[:-3]):
        (tmp_path / "keyring").write_bytes(bad)
        (tmp_path / "keyring").chmod(0o600)
        ring = Keyring.open(PeerFolder(tmp_path), None, SeededEntropy())
        for use in (ring.keys, ring.create):
            with pytest.raises(StorageError):
                use()
        assert len(ring.problems()) == 1
        assert (tmp_path / "keyring").read_bytes() == bad


def test_a_private_key_that_is_not_of_its_public_key_is_noticed(tmp_path: Path) -> None:
    """A file put together from two keys does not sign with the wrong one."""
    (tmp_path / "keyring").write_bytes(file.build(file.clear_part(Guard("file mode"), LISTED), b"R" * 32))
    ring = Keyring.open(PeerFolder(tmp_path), None, SeededEntropy())
    with pytest.raises(StoreCorrupt):
        ring.sign(LISTED[0].public, codec.ENTRY, b"m")


def test_labels_of_a_sealed_file_can_not_be_exchanged(tmp_path: Path) -> None:
    """The clear part is bound to the sealed secrets, so an altered one does not open."""
    from muniment.base.errors import WrongPassphrase
    from muniment.keyring.sealing import LOWEST

    ring = Keyring.open(PeerFolder(tmp_path), None, SeededEntropy(), first=lambda: "w", cost=LOWEST)
    public = ring.create(SEED, "mine")
    data = (tmp_path / "keyring").read_bytes()
    read = parse(data)
    clear = file.clear_part(read.guard, (Listed(public, "mint", read.keys[0].made),))
    (tmp_path / "keyring").write_bytes(file.build(clear, read.secrets))
    again = Keyring.open(PeerFolder(tmp_path), lambda: "w", SeededEntropy())
    with pytest.raises(WrongPassphrase):
        again.sign(public, codec.ENTRY, b"m")
