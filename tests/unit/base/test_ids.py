"""Names and their text forms: each has one spelling, and reads back."""

from __future__ import annotations

import contextlib
import hashlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.errors import InvalidInput
from muniment.base.ids import (
    EntryId,
    VersionId,
    cid_of,
    cid_text,
    is_cid,
    parse_cid,
    parse_record,
    parse_version,
    record_text,
    uuid7,
)

cids = st.binary(max_size=30).map(cid_of)


def test_a_published_cid() -> None:
    """The id of the empty DAG-CBOR map is the one that the IPLD world knows."""
    assert cid_text(cid_of(b"\xa0")) == "bafyreigbtj4x7ip5legnfznufuopl4sg4knzc2cof6duas4b3q2fy6swua"
    assert cid_of(b"\xa0") == bytes.fromhex("01711220") + hashlib.sha256(b"\xa0").digest()


@given(cids)
def test_an_id_reads_back(cid: EntryId) -> None:
    """59 characters that begin bafyrei, and give the 36 bytes again."""
    text = cid_text(cid)
    assert is_cid(cid)
    assert (len(text), text[:7]) == (59, "bafyrei")
    assert parse_cid(text) == cid


@given(cids, st.data())
def test_an_id_has_one_spelling(cid: EntryId, data: st.DataObject) -> None:
    """Another case, another padding or another last digit is not that id."""
    text = cid_text(cid)
    last = data.draw(st.sampled_from([c for c in "abcdefghijklmnopqrstuvwxyz234567" if c != text[-1]]))
    for other in (text.upper(), text[:-1], text + "=", text + "a", " " + text, text[1:], "B" + text[1:]):
        with pytest.raises(InvalidInput):
            parse_cid(other)
    with contextlib.suppress(InvalidInput):  # the last digit holds bits that are no part of the id
        assert parse_cid(text[:-1] + last) != cid


@given(st.text(max_size=70))
def test_other_text_is_no_id(text: str) -> None:
    """Any text at all gives a named error, not another one."""
    for parse in (parse_cid, parse_version, parse_record):
        with contextlib.suppress(InvalidInput):
            parse(text)


@pytest.mark.parametrize("value", [b"", bytes(36), b"\x01\x71\x12\x20" + bytes(31), "text", None])
def test_other_values_are_no_cid(value: object) -> None:
    """Only 36 bytes with the one prefix are an id."""
    assert not is_cid(value)


@given(cids, st.integers(0, 255))
def test_a_version_reads_back(cid: EntryId, act: int) -> None:
    """The text form of a version gives entry and place again."""
    version = VersionId(cid, act)
    assert parse_version(str(version)) == version


@pytest.mark.parametrize("tail", ["", "/", "/-1", "/+1", "/1.0", "/1000", "/²", "/١", "/1/1", "/ 1"])
def test_a_version_names_a_place(tail: str) -> None:
    """What stands behind the slash is a short number in plain digits."""
    with pytest.raises(InvalidInput):
        parse_version(cid_text(cid_of(b"x")) + tail)


@given(st.integers(0, (1 << 48) - 1), st.binary(min_size=10, max_size=10))
def test_a_record_id_is_a_uuid_of_version_7(ms: int, rand: bytes) -> None:
    """Time in front, version and variant in place, the other random bits kept, and the text reads back."""
    record = uuid7(ms, rand)
    value = uuid.UUID(bytes=record)
    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert int.from_bytes(record[:6], "big") == ms
    kept = (1 << 80) - 1 & ~(0xF << 76) & ~(0x3 << 62)
    assert int.from_bytes(record, "big") & kept == int.from_bytes(rand, "big") & kept
    assert record_text(record) == str(value)
    assert parse_record(record_text(record)) == record


def test_the_uuid_of_the_rfc() -> None:
    """RFC 9562, A.6: 2022-02-22T19:22:22Z with its random bits."""
    record = uuid7(0x017F22E279B0, bytes.fromhex("0cc318c4dc0c0c07398f"))
    assert record_text(record) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"


def test_record_ids_sort_by_time() -> None:
    """A later millisecond gives a greater id, whatever the random bits."""
    assert uuid7(1, b"\xff" * 10) < uuid7(2, bytes(10))
