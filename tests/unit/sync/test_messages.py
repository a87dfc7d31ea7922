"""Messages: whatever bytes come, they are read or refused for a reason, and what is read is written again as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base import codec
from muniment.base.errors import BadMessage, MunimentError
from muniment.base.limits import LIMITS
from muniment.sync import messages
from muniment.sync.messages import Done, Entries, Failure, Greet, Took, Want

VECTORS = json.loads((Path(__file__).parents[2] / "golden" / "sync.json").read_text("utf-8"))["messages"]
GOOD = [bytes.fromhex(message) for message in VECTORS.values()]


def judged(data: bytes) -> messages.Message | str:
    """The message, or the reason why it is none, which must be one of those that are listed."""
    try:
        return messages.decode(data)
    except BadMessage as error:
        reason = error.reason
    assert reason in messages.REASONS
    return reason


@given(
    message=st.sampled_from(GOOD), place=st.integers(0, 1 << 16), byte=st.integers(0, 255), cut=st.booleans()
)
def test_damaged_messages_are_refused_or_say_something_else(
    message: bytes, place: int, byte: int, cut: bool
) -> None:
    """One byte changed, or the end cut off: refused by a named rule, or another message in its only form."""
    at = place % len(message)
    damaged = message[:at] + (b"" if cut else bytes([byte]) + message[at + 1 :])
    read = judged(damaged)
    if not isinstance(read, str):
        assert messages.encode(read) == damaged


@given(st.recursive(st.none() | st.booleans() | st.integers(-5, 1 << 40) | st.binary(max_size=40) | st.text(max_size=9),
                    lambda inner: st.lists(inner, max_size=4)))  # fmt: skip
def test_any_value_in_any_field_is_judged(value: object) -> None:
    """No field takes the round down, whatever stands in it."""
    for name in messages._READ:
        for kind in messages._KINDS:
            try:
                data = codec.encode({"t": kind, name: value})
            except MunimentError:
                return
            judged(data)


def test_the_length_is_looked_at_first() -> None:
    """An oversized message is refused whatever it holds."""
    with pytest.raises(BadMessage) as caught:
        messages.decode(bytes(LIMITS.sync_message_bytes + 1))
    assert caught.value.reason == "oversize"


def test_one_meaning_has_one_form() -> None:
    """What says nothing is left out, and is refused where it stands all the same."""
    assert messages.encode(Took(0)) == codec.encode({"t": "took", "stored": 0})
    assert messages.encode(Done()) == codec.encode({"t": "done"})
    for fields in (
        {"t": "done", "round": b""},
        {"t": "entries", "parcels": b""},
        {"t": "reconcile", "round": bytes(16), "check": False},
        {"t": "want", "round": bytes(16), "which": 1},
        {"t": "greet", "nonce": bytes(16), "version": True},
    ):
        with pytest.raises(BadMessage) as caught:
            messages.decode(codec.encode(fields))
        assert caught.value.reason == "malformed"


def test_bodies_that_look_like_ids_travel_as_they_are() -> None:
    """Bytes that begin like an id are no link, wherever they stand."""
    body = b"\x01\x71\x12\x20" + bytes(400)
    said = Entries(((body, [body, None]),))
    read = messages.decode(messages.encode(said))
    assert isinstance(read, Entries)
    assert read.parcels == said.parcels


def test_every_no_has_a_code() -> None:
    """The three codes, and no other."""
    for code in (messages.REFUSED, messages.BAD, messages.LATER):
        assert messages.decode(messages.encode(Failure(code))) == Failure(code)
    with pytest.raises(BadMessage):
        messages.decode(codec.encode({"t": "error", "code": "not a member"}))
    assert messages.decode(messages.encode(Greet(bytes(16)))) == Greet(bytes(16))
    assert messages.decode(messages.encode(Want(bytes(16)))) == Want(bytes(16))
