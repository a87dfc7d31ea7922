"""Acts: every form reads back, every limit is named with its value, and nothing malformed is taken for an act."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.base import codec
from muniment.base.errors import InvalidInput, LimitExceeded, RefusedBody
from muniment.base.ids import RecordId, VersionId, cid_of, uuid7
from muniment.base.limits import LIMITS
from muniment.ledger import acts
from muniment.ledger.acts import Act, Remember, from_bytes, to_bytes, words
from muniment.ledger.admission import check_metadata, check_remember
from muniment.ledger.entry import padded_length

RECORD = uuid7(1_750_000_000_000, bytes(10))
NOTE = Remember(RECORD, "tea", 1)
ONE = VersionId(cid_of(b"one"), 3)

# Any text at all: lone surrogates and NUL included, which hypothesis leaves out unless it is asked.
anything = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, categories=None), max_size=30)
some = anything.filter(bool)
times = st.integers(0, (1 << 53) - 1)
versions = st.builds(VersionId, st.binary(max_size=4).map(cid_of), st.integers(0, 255))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 64), (1 << 64) - 1) | anything
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
metadata = st.dictionaries(st.text(max_size=8), json_values, max_size=3).filter(
    lambda value: acts.depth(value, 20) <= 8
)
remembers = st.builds(
    Remember,
    id=st.binary(min_size=16, max_size=16).map(RecordId),
    text=anything,
    created=times,
    key=st.none() | some,
    title=st.none() | anything,
    type=st.sampled_from(acts.TYPES),
    tags=st.lists(some, max_size=5).map(tuple),
    metadata=st.none() | metadata,
    session=st.none() | anything,
    valid_from=st.none() | times,
    valid_until=st.none() | times,
    over=st.lists(versions, max_size=3, unique=True).map(lambda items: tuple(sorted(items))),
    tool=st.booleans(),
    recalled=st.booleans(),
    ref=st.none() | anything,
)
others = st.one_of(
    st.builds(acts.Forget, st.lists(versions, max_size=3, unique=True).map(lambda v: tuple(sorted(v))), st.just(())),
    st.builds(acts.Feedback, versions, st.integers(-100, 100)),
    st.builds(acts.Describe, anything, anything),
    st.builds(acts.Set, anything, anything, json_values.filter(lambda value: value is not None)),
    st.builds(acts.Archive, versions, *[st.binary(min_size=32, max_size=32)] * 2, st.binary()),
)  # fmt: skip


@given(remembers)
def test_a_memory_reads_back_as_it_was_said(act: Remember) -> None:
    """Any words, surrogates and NUL too, come back as given; tags as a sorted set; empty metadata as none."""
    back = from_bytes(acts.REMEMBER, to_bytes(act))
    assert isinstance(back, Remember)
    assert set(back.tags) == set(act.tags)
    assert len(back.tags) == len(set(back.tags))
    assert replace(back, tags=act.tags) == replace(act, metadata=act.metadata or None)
    assert to_bytes(back) == to_bytes(act)


@given(others)
def test_other_acts_read_back(act: Act) -> None:
    """What is written is what is read."""
    assert from_bytes(act.code, to_bytes(act)) == act


@given(st.integers(1, 7), st.binary(max_size=80))
def test_bytes_of_another_form_are_refused_by_name(kind: int, data: bytes) -> None:
    """Whatever a body holds, it is an act of its kind or a RefusedBody."""
    try:
        act = from_bytes(kind, data)
    except RefusedBody:
        return
    assert act.code == kind


NAMES = (
    "id", "text", "at", "key", "tags", "meta", "v", "undo", "score", "model", "dim", "data", "name", "space", "value",
    "ptr", "stub", "over", "from", "type", "act",
)  # fmt: skip
fields_of_any_form = (
    json_values.map(acts.json_words) | versions.map(list) | st.lists(versions.map(list), max_size=3)
)


@given(st.integers(1, 7), st.dictionaries(st.sampled_from(NAMES), fields_of_any_form))
def test_fields_of_another_form_are_refused_by_name(kind: int, fields: dict[str, Any]) -> None:
    """A canonical map with the right names and the wrong values is refused, never read half."""
    data = codec.encode(fields)
    with contextlib.suppress(RefusedBody):
        assert from_bytes(kind, data).code == kind


@pytest.mark.parametrize("kind", [8, 9, 255, 65536])
def test_an_act_of_a_newer_version_is_kept_without_effect(kind: int) -> None:
    """Nothing of it is looked at, since nothing of it is known."""
    assert from_bytes(kind, b"\xff whatever") == acts.UnknownAct(kind)


def test_a_field_of_a_newer_version_is_passed_over() -> None:
    """A known kind with one more field is still that act."""
    fields = codec.decode(to_bytes(NOTE), 1 << 20) | {"mood": "calm"}
    assert from_bytes(acts.REMEMBER, codec.encode(fields)) == NOTE


def test_words_that_are_text_may_not_stand_as_bytes() -> None:
    """One meaning, one form: valid Unicode as bytes is refused, and so are bytes that are no words at all."""
    fields = codec.decode(to_bytes(NOTE), 1 << 20)
    for bad in (b"tea", b"\xff", b"\xed\xa0\x80 \xff"):
        with pytest.raises(RefusedBody):
            from_bytes(acts.REMEMBER, codec.encode(fields | {"text": bad}))
    assert words("tea") == "tea"
    assert words("\ud800") == b"\xed\xa0\x80"


LIMITED = [
    ("key_chars", "key characters", lambda n: replace(NOTE, key="k" * n)),
    ("title_chars", "title characters", lambda n: replace(NOTE, title="🍵" * n)),
    ("session_chars", "session characters", lambda n: replace(NOTE, session="s" * n)),
    ("tag_chars", "tag characters", lambda n: replace(NOTE, tags=("a", "t" * n))),
    ("tags", "tags", lambda n: replace(NOTE, tags=tuple(map(str, range(n))))),
    ("text_chars", "text characters", lambda n: replace(NOTE, text="t" * n)),
]


@pytest.mark.parametrize(("limit", "name", "make"), LIMITED, ids=[row[0] for row in LIMITED])
def test_a_limit_is_named_with_its_value(limit: str, name: str, make: Any) -> None:
    """What is as long as the limit passes; one more is told with limit, value and what was given."""
    most = getattr(LIMITS, limit)
    check_remember(make(most))
    assert from_bytes(acts.REMEMBER, to_bytes(make(most)))
    with pytest.raises(LimitExceeded) as caught:
        check_remember(make(most + 1))
    assert (caught.value.limit, caught.value.allowed, caught.value.given) == (name, most, most + 1)
    assert str(most) in str(caught.value)
    assert str(most + 1) in str(caught.value)


def test_text_is_limited_in_bytes_too() -> None:
    """Three bytes a character pass the limit of bytes before that of characters."""
    fits = LIMITS.text_bytes // 3
    check_remember(replace(NOTE, text="記" * fits))
    with pytest.raises(LimitExceeded) as caught:
        check_remember(replace(NOTE, text="記" * (fits + 1)))
    assert (caught.value.limit, caught.value.given) == ("text bytes", 3 * fits + 3)


def test_the_longest_text_fits_into_a_body() -> None:
    """A text at its limit, padded and sealed, is not over the limit of bodies."""
    plain = to_bytes(replace(NOTE, text="記" * (LIMITS.text_bytes // 3)))
    assert padded_length(len(plain) + 1) + 40 <= LIMITS.body_bytes


@pytest.mark.parametrize(
    "act",
    [
        replace(NOTE, key=""),
        replace(NOTE, tags=("a", "")),
        replace(NOTE, type="poem"),
        replace(NOTE, created=-1),
        replace(NOTE, created=1 << 53),
        replace(NOTE, valid_from=-1),
        replace(NOTE, valid_until=1 << 53),
    ],
)
def test_what_has_no_meaning_is_refused(act: Remember) -> None:
    """Empty keys and tags, unknown types and times that are none."""
    with pytest.raises(InvalidInput) as caught:
        check_remember(act)
    assert not isinstance(caught.value, LimitExceeded)


def nested(depth: int, inner: Any = 1) -> dict[str, Any]:
    """Metadata of so many containers in each other."""
    value: Any = inner
    for level in range(depth - 1):
        value = [value] if level % 2 else {"a": value}
    return {"a": value}


def test_metadata_may_be_eight_deep() -> None:
    """Depth is counted in containers, the outermost too, and the limit is named."""
    check_metadata(nested(LIMITS.metadata_depth))
    for depth in (LIMITS.metadata_depth + 1, 5000):
        with pytest.raises(LimitExceeded) as caught:
            check_metadata(nested(depth))
        assert (caught.value.limit, caught.value.allowed) == ("metadata depth", 8)
    deep = codec.decode(to_bytes(NOTE), 1 << 20) | {"meta": nested(LIMITS.metadata_depth + 1)}
    with pytest.raises(RefusedBody):
        from_bytes(acts.REMEMBER, codec.encode(deep))


def test_metadata_has_a_size() -> None:
    """Measured in its canonical form, to the byte."""
    rest = len(codec.encode({"a": "x" * 300})) - 300
    fits = LIMITS.metadata_bytes - rest - 2  # a longer text has a longer head
    check_metadata({"a": "x" * fits})
    with pytest.raises(LimitExceeded) as caught:
        check_metadata({"a": "x" * (fits + 3)})
    assert (caught.value.limit, caught.value.allowed) == ("metadata bytes", LIMITS.metadata_bytes)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), -float("inf"), 1 << 64, -(1 << 64) - 1, {1: "a"}, {"\ud800": 1}, b"bytes", {1, 2},
        object, [{"deep": float("nan")}], 1j,
    ],
    ids=str,
)  # fmt: skip
def test_metadata_is_json(value: Any) -> None:
    """What JSON or the format can't say is refused before anything is signed, with a word on what to do."""
    with pytest.raises(InvalidInput) as caught:
        check_metadata({"a": value})
    assert caught.value.next_step


@given(metadata)
@settings(max_examples=50)
def test_json_is_metadata(value: dict[str, Any]) -> None:
    """Whatever JSON says, within the limits, is taken and comes back."""
    check_metadata(value)
    back = from_bytes(acts.REMEMBER, to_bytes(replace(NOTE, metadata=value)))
    assert isinstance(back, Remember)
    assert (back.metadata or {}) == value


@given(remembers, remembers)
def test_digests_are_equal_for_equal_words_alone(one: Remember, two: Remember) -> None:
    """Content digests agree exactly where key, title, text, tags, metadata and type do, however tags are ordered."""

    def said(act: Remember) -> Any:
        return (
            act.key,
            act.title,
            act.text,
            set(act.tags),
            to_bytes(replace(NOTE, metadata=act.metadata)),
            act.type,
        )

    assert (acts.content_digest(one) == acts.content_digest(two)) == (said(one) == said(two))
    again = replace(
        one, id=two.id, created=two.created, tags=tuple(reversed(one.tags)), over=(), tool=not one.tool
    )
    assert acts.content_digest(again) == acts.content_digest(one)
    assert acts.write_digest(again, b"a" * 32) == acts.write_digest(one, b"a" * 32)
    assert acts.write_digest(one, b"b" * 32) != acts.write_digest(one, b"a" * 32)
    assert acts.write_digest(replace(one, ref="x"), b"a" * 32) != acts.write_digest(
        replace(one, ref="y"), b"a" * 32
    )


@given(st.integers(1, 1 << 22))
def test_padding_hides_the_length_and_costs_little(length: int) -> None:
    """Steps of 256 bytes, an eighth at most above 2 KiB, never shorter, and the same for all of one step."""
    padded = padded_length(length)
    assert length <= padded < length + max(256, length // 8 + 1)
    assert padded % 256 == 0
    assert padded_length(padded) == padded
