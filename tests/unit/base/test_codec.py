"""The one bytes form of signed things: what has a form, and that no other bytes are taken for it."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base import codec
from muniment.base.errors import LimitExceeded, Malformed
from muniment.base.ids import CID_PREFIX, cid_of

LIMIT = 1 << 20
numbers = st.integers(-(1 << 64), (1 << 64) - 1)
texts = st.text(max_size=20)  # hypothesis leaves lone surrogates out of text
leaves = (
    st.none()
    | st.booleans()
    | numbers
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.binary(max_size=40)
    | st.binary(max_size=8).map(cid_of)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def reference(value: Any) -> bytes:
    """Canonical DAG-CBOR in plain lines, by RFC 8949 and the DAG-CBOR specification."""
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value + 0.0)  # there is one zero
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        if len(value) == 36 and value.startswith(CID_PREFIX):
            return b"\xd8\x2a\x58\x25\x00" + value
        return head(2, len(value)) + value
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(reference, value))
    order = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
    return head(5, len(value)) + b"".join(reference(key) + reference(value[key]) for key in order)


def head(major: int, number: int) -> bytes:
    """A CBOR head in its shortest form."""
    if number < 24:
        return bytes([major << 5 | number])
    size = 1 if number < 1 << 8 else 2 if number < 1 << 16 else 4 if number < 1 << 32 else 8
    return bytes([major << 5 | {1: 24, 2: 25, 4: 26, 8: 27}[size]]) + number.to_bytes(size, "big")


@given(values)
def test_a_value_has_one_form_and_comes_back(value: Any) -> None:
    """What is written is what a plain reference writes, and reads as the same value."""
    data = codec.encode(value)
    assert data == reference(value)
    back = codec.decode(data, LIMIT)
    assert codec.encode(back) == data
    assert back == value


@given(st.binary(max_size=60))
def test_bytes_that_are_taken_are_the_form_of_what_they_say(data: bytes) -> None:
    """Any bytes are either refused, or are exactly what their meaning is written as."""
    try:
        value = codec.decode(data, LIMIT)
    except Malformed:
        return
    assert codec.encode(value) == data


@given(values, st.data())
def test_longer_and_shorter_bytes_are_refused(value: Any, data: st.DataObject) -> None:
    """Nothing may follow a value, and no prefix of one is a value."""
    good = codec.encode(value)
    with pytest.raises(Malformed):
        codec.decode(good + data.draw(st.binary(min_size=1, max_size=4)), LIMIT)
    with pytest.raises(Malformed):
        codec.decode(good[: data.draw(st.integers(0, len(good) - 1))], LIMIT)


BAD = {
    "a number in two bytes that fits in one": "1817",
    "a number in three bytes": "190017",
    "a number in nine bytes": "1b0000000000000017",
    "a negative number that is not shortest": "3800",
    "a byte string whose length is not shortest": "580161",
    "a text whose length is not shortest": "780161",
    "a list whose length is not shortest": "980101",
    "a map whose length is not shortest": "b801616101",
    "keys that are not sorted": "a2616201616101",
    "keys sorted by bytes and not by length": "a262616101616201",
    "a key twice": "a2616101616101",
    "a key that is a number": "a10101",
    "a key that is bytes": "a1416101",
    "a list without end": "9fff",
    "a map without end": "bfff",
    "a text in pieces": "7f6161ff",
    "half a float": "f93c00",
    "a float of 32 bits": "fa3f800000",
    "not a number": "fb7ff8000000000000",
    "infinity": "fb7ff0000000000000",
    "minus infinity": "fbfff0000000000000",
    "minus zero": "fb8000000000000000",
    "undefined": "f7",
    "a simple value": "f820",
    "a date": "c074323032362d30312d30315430303a30303a30305a",
    "a big number": "c249010000000000000000",
    "a link without its leading zero": "d82a5824" + (CID_PREFIX + bytes(32)).hex(),
    "a link that is text": "d82a6161",
    "a link to something of another kind": "d82a58250001551220" + "00" * 32,
    "an entry's id that is no link": "5824" + (CID_PREFIX + bytes(32)).hex(),
    "text that is no Unicode": "61ff",
    "a lone surrogate": "63eda080",
    "nothing": "",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_each_other_form_is_refused(bad: str) -> None:
    """Every way to write a value that is not the canonical one."""
    with pytest.raises(Malformed):
        codec.decode(bytes.fromhex(bad), LIMIT)


@pytest.mark.parametrize("opening", [b"\x81", b"\xa1\x61a", b"\xd8\x2a"])
def test_a_bomb_of_nested_containers_is_refused(opening: bytes) -> None:
    """Depth alone can't take the process down."""
    with pytest.raises(Malformed):
        codec.decode(opening * 100_000 + b"\x00", 1 << 20)
    with pytest.raises(Malformed):
        codec.decode(b"\x9b" + b"\xff" * 8, LIMIT)  # and a list can't claim to have 2^64 members


def test_a_value_nested_too_deep_is_refused() -> None:
    """Depth is no way to take a writer down either."""
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(Malformed):
        codec.encode(value)
    while isinstance(value, list):  # taken apart by hand: freeing it all at once would recurse as deep
        value = value.pop()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}, 1 << 64, -(1 << 64) - 1, {1: 2}, {b"a": 1},
        slice, {1, 2}, 1j,
    ],
    ids=repr,
)  # fmt: skip
def test_what_has_no_form_is_refused(value: Any) -> None:
    """Values that DAG-CBOR can't say raise one named error."""
    with pytest.raises(Malformed):
        codec.encode(value)
    with pytest.raises(Malformed):
        codec.encode([{"a": value}])


def test_size_is_looked_at_before_anything_is_read() -> None:
    """Over the limit is told with the limit and the length, whatever the bytes are."""
    with pytest.raises(LimitExceeded) as caught:
        codec.decode(b"\xff" * 11, 10)
    assert (caught.value.allowed, caught.value.given) == (10, 11)


@pytest.mark.parametrize("prefix", ["01711220", "01551220", "01711240", "0171a0e40220", "1220"])
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_link_is_an_entry_id_and_nothing_else(prefix: str, extra: int) -> None:
    """Bytes that only begin like an id, or are of another kind, stay bytes and come back."""
    value = bytes.fromhex(prefix) + bytes(32 + extra)
    data = codec.encode([value, {"a": value}])
    assert data == reference([value, {"a": value}])
    assert codec.decode(data, LIMIT) == [value, {"a": value}]
    assert (b"\xd8\x2a" in data) == (prefix == "01711220" and extra == 0)


def test_domains_are_apart() -> None:
    """No domain string begins another: a message of one can't be continued into a message of another."""
    http = {codec.HTTP_REQUEST, codec.HTTP_ANSWER}  # how RFC 9421 begins what is signed
    assert len(set(codec.DOMAINS)) == len(codec.DOMAINS)
    for one in codec.DOMAINS:
        assert one.endswith(b"\0") or one in http
        assert not any(other != one and other.startswith(one) for other in codec.DOMAINS)
