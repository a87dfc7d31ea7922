"""Remembering through the library: once, keyed, in batches, with any text at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.agent import Agent
from muniment.base.errors import Ambiguous, InvalidInput, LimitExceeded, UnknownRecord
from muniment.base.ids import record_text, uuid7
from muniment.base.limits import LIMITS
from muniment.peer import Peer
from muniment.remembering import Draft
from muniment.testing.clock import START_MS, FixedClock

DAY = 86_400_000
anything = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, categories=None), max_size=60)
# The fixtures below live through all examples of a test, on purpose: a bank that has seen them all.
shared = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40
)

STRANGE = {
    "empty": "",
    "spaces": " \t\n ",
    "nul": "a\0b\0",
    "lone surrogates": "\ud800 xenon \udfff",
    "surrogate pair in halves": "\ud83d\ude00",
    "right to left": "\u202eabc\u202c \u200f\u061c",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🍵",
    "CJK": "日本語の記憶と中文的记忆",
    "combining": "Zalgo\u0300\u0301\u0302\u0303 e\u0301",
    "SQL": "'); DROP TABLE entries; --",
    "query syntax": 'title:"a" AND (b OR NOT c) ^2 ~1 * ? [1 TO 2] \\',
    "JSON": '{"a": [1, null]}',
    "markup": "<script>alert(1)</script> `code` **bold**",
    "ANSI": "\x1b[2J\x1b[31mred",
    "newlines": "aa\r\nbb\rcc\ndd\u2028ee\u2029ff\x85gg",
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "looks like an id": "bafyrei" + "a" * 52,
    "one megabyte": "word " * 200_000,
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
def test_any_text_is_a_memory_and_a_query(ava: Agent, text: str) -> None:
    """It comes back as it was given, from get, list, history and recall, and asking with it is no error."""
    ava.remember("something else entirely")
    made = ava.remember(
        text, title=text[:1000] or None, key=text[:500] or None, tags=[text[:100]] if text else []
    )
    assert made.created
    assert ava.get(made.id).text == text
    assert ava.get(made.version).text == text
    assert [record.text for record in ava.history(made.id)] == [text]
    assert text in [record.text for record in ava.list()]
    hits = ava.recall(text)
    if any(term.isalnum() for term in text.split()):
        assert text in [hit.record.text for hit in hits]
    if text:
        assert ava.list(tags=[text[:100]])[0].text == text
        assert ava.get(text[:500]).text == text
    assert not ava.remember(
        text, title=text[:1000] or None, key=text[:500] or None, tags=[text[:100]] if text else []
    ).created


@shared
@given(anything, anything)
def test_whatever_is_said_comes_back(ava: Agent, text: str, query: str) -> None:
    """Hypothesis finds no text that is changed, lost or refused, and no query that is an error."""
    made = ava.remember(text)
    assert ava.get(made.id).text == text
    assert all(0 <= hit.score <= 1 for hit in ava.recall(query))
    assert all(
        0 <= start < end <= len(hit.snippet) for hit in ava.recall(text) for start, end in hit.highlights
    )


@shared
@given(st.from_regex(r"[a-z]{3,10}[0-9]{4}", fullmatch=True), anything)
def test_a_word_that_was_stored_is_found(ava: Agent, word: str, around: str) -> None:
    """A token finds the record that holds it, whatever stands around."""
    made = ava.remember(f"{around} {word} {around}")
    assert made.id in [hit.record.id for hit in ava.recall(word, limit=1000)]


def test_a_record_says_what_was_given(ava: Agent, peer: Peer) -> None:
    """Each field of remember is a field of the record, with its provenance derived."""
    when = datetime(2025, 3, 1, 12, tzinfo=UTC)
    made = ava.remember(
        "Ship on Friday", key="release", title="Release", tags=["b", "a", "b"], metadata={"team": {"size": 3}},
        session="standup", created_at=when, type="bullet", valid_from="2025-03-01", valid_until=1_800_000_000_000,
    )  # fmt: skip
    record = ava.get("release")
    assert record.id == made.id
    assert record.version == made.version
    assert record.bank == made.bank == ava.bank_id
    assert (record.key, record.title, record.text, record.tags) == (
        "release",
        "Release",
        "Ship on Friday",
        ("a", "b"),
    )
    assert (record.metadata, record.session, record.type) == ({"team": {"size": 3}}, "standup", "bullet")
    assert record.created_at_ms == int(when.timestamp() * 1000)
    assert record.valid_from == 1_740_787_200_000
    assert record.valid_until == 1_800_000_000_000
    assert (record.source, record.kind, record.author, record.author_name) == (
        "self",
        "self_noted",
        ava.did,
        "ava",
    )
    assert (record.state, record.conflict, record.clock_ahead) == ("live", False, False)
    assert START_MS <= record.written_at_ms < START_MS + 60_000


def test_saying_it_again_changes_nothing(ava: Agent) -> None:
    """The same id, `created` False, no new entry; another tag, title, session or time is another memory."""
    first = ava.remember("tea", tags=["a", "b"], metadata={"n": 1})
    entries = ava.stats().entries
    again = ava.remember("tea", tags=["b", "a", "b"], metadata={"n": 1})
    assert (again.id, again.version, again.created, again.superseded) == (first.id, first.version, False, ())
    assert ava.stats().entries == entries
    for other in ({"tags": ["a"]}, {"title": "t"}, {"session": "s"}, {"created_at": START_MS - DAY}, {"type": "skill"},
                  {"metadata": {"n": 2}}, {"key": "k"}):  # fmt: skip
        assert ava.remember("tea", **({"tags": ["a", "b"], "metadata": {"n": 1}} | other)).created, other
    assert ava.stats().records == 8


def test_a_time_given_twice_is_compared(ava: Agent) -> None:
    """With the same created_at it is the same; without one any live one is."""
    first = ava.remember("tea", created_at=START_MS - DAY)
    assert not ava.remember("tea", created_at=START_MS - DAY).created
    assert not ava.remember("tea").created
    assert ava.remember("tea", created_at=START_MS - 2 * DAY).created
    assert ava.get(first.id).created_at_ms == START_MS - DAY


def test_a_key_has_versions(ava: Agent) -> None:
    """The same key again supersedes; history keeps all, newest first; the record keeps its id."""
    one, two = ava.remember("Friday", key="release"), ava.remember("Monday", key="release")
    assert two.created
    assert two.id == one.id
    assert two.superseded == (one.version,)
    assert ava.get("release").text == "Monday"
    assert [(r.text, r.state) for r in ava.history("release")] == [
        ("Monday", "live"),
        ("Friday", "superseded"),
    ]
    assert [r.text for r in ava.list()] == ["Monday"]
    assert [h.record.text for h in ava.recall("Friday Monday release")] == ["Monday"]
    back = ava.remember("Friday", key="release")
    assert back.created
    assert [r.text for r in ava.history("release")] == ["Friday", "Monday", "Friday"]
    assert ava.get(one.version).state == "superseded"
    assert ava.stats().versions["superseded"] == 2


def test_an_id_edits_a_record_without_key(ava: Agent) -> None:
    """Remembering with the id of an own record without key makes its next version; other words stay."""
    one = ava.remember("tea")
    ava.remember("coffee")
    two = ava.remember("green tea", id=one.id)
    assert two.id == one.id
    assert two.superseded == (one.version,)
    assert ava.get(one.id).text == "green tea"
    assert [r.text for r in ava.history(one.id)] == ["green tea", "tea"]
    assert ava.stats().records == 2
    fresh = record_text(uuid7(START_MS, bytes(10)))
    assert ava.remember("water", id=fresh).id == fresh


def test_a_key_is_no_id_of_another_record(ava: Agent) -> None:
    """An id given with a key edits that key alone, not the record without key that has this id."""
    one = ava.remember("tea")
    ava.remember("coffee", key="k", id=one.id)
    with pytest.raises(Ambiguous) as caught:
        ava.get(one.id)
    assert len(caught.value.choices) == 2
    assert {r.text for r in ava.list()} == {"tea", "coffee"}
    assert ava.get("k").text == "coffee"
    assert ava.get(one.version).text == "tea"


def test_a_batch_is_answered_in_order(ava: Agent) -> None:
    """Results follow the drafts: repeated drafts once, repeated keys as versions of each other."""
    drafts = [
        Draft("a"),
        Draft("k1", key="k"),
        Draft("a"),
        Draft("k2", key="k"),
        Draft("b"),
        Draft("k2", key="k"),
    ]
    made = ava.remember_many(drafts)
    assert [result.created for result in made] == [True, True, False, True, True, False]
    assert made[2].version == made[0].version
    assert made[5].version == made[3].version
    assert made[3].superseded == (made[1].version,)
    assert sorted(r.text for r in ava.list()) == ["a", "b", "k2"]
    again = ava.remember_many(drafts)
    # `k1` was superseded, so it is said anew, and then `k2` too.
    assert [result.created for result in again] == [False, True, False, True, False, False]
    assert ava.remember_many([]) == []


def test_a_batch_keeps_the_ids_that_it_was_given(ava: Agent) -> None:
    """Two drafts of the same words with ids of their own are two records."""
    ids = [uuid7(START_MS, bytes([n]) * 10) for n in (1, 2)]
    made = ava.remember_many([Draft("tea", id=ids[0]), Draft("tea", id=ids[1]), Draft("tea", id=ids[1])])
    assert [result.id for result in made] == [record_text(ids[0]), record_text(ids[1]), record_text(ids[1])]
    assert [result.created for result in made] == [True, True, False]


def test_a_batch_of_many_is_few_entries(ava: Agent) -> None:
    """600 drafts share three entries, and all are found."""
    before = ava.stats().entries
    made = ava.remember_many([Draft(f"note number{n}") for n in range(600)])
    assert ava.stats().entries == before + 3
    assert len({result.version for result in made}) == 600
    for n in (0, 255, 256, 599):
        assert ava.recall(f"number{n}")[0].record.version == made[n].version


def test_a_batch_with_one_bad_draft_is_not_written(ava: Agent) -> None:
    """All or nothing: the error names the fault, and nothing of the batch is there."""
    ava.remember("before")
    entries = ava.stats().entries
    with pytest.raises(LimitExceeded):
        ava.remember_many([Draft("good"), Draft("bad", key="k" * (LIMITS.key_chars + 1))])
    assert [r.text for r in ava.list()] == ["before"]
    assert ava.stats().entries == entries
    assert ava.remember("after").created


OVER: list[dict[str, Any]] = [
    {"key": "k" * 513}, {"title": "t" * 1025}, {"tags": ["t" * 129]}, {"tags": list(map(str, range(65)))},
    {"session": "s" * 257}, {"text": "x" * (2 * 1024 * 1024 + 1)}, {"metadata": {"a": "x" * 70_000}},
]  # fmt: skip


@pytest.mark.parametrize("fields", OVER, ids=lambda fields: next(iter(fields)))
def test_what_is_over_a_limit_is_named(ava: Agent, fields: dict[str, Any]) -> None:
    """The error says the limit and the value, and nothing is written."""
    with pytest.raises(LimitExceeded) as caught:
        ava.remember(**({"text": "tea"} | fields))
    assert str(caught.value.allowed) in caught.value.message
    assert str(caught.value.given) in caught.value.message
    assert caught.value.given > caught.value.allowed
    assert ava.list() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"key": ""}, {"tags": [""]}, {"type": "poem"}, {"metadata": {"a": float("nan")}}, {"metadata": {"a": 1 << 64}},
        {"metadata": {1: 2}}, {"created_at": "yesterday"}, {"created_at": -1}, {"created_at": True}, {"id": "no id"},
        {"valid_until": "2025-13-01"}, {"created_at": 1 << 60},
    ],
    ids=str,
)  # fmt: skip
def test_what_has_no_meaning_is_refused(ava: Agent, fields: dict[str, Any]) -> None:
    """A named error with the next step, and nothing is written."""
    with pytest.raises(InvalidInput):
        ava.remember(**({"text": "tea"} | fields))
    assert ava.list() == []


@pytest.mark.parametrize(
    "ref", ["", "nothing", "bafyrei", "01900000-0000-7000-8000-000000000000", "x" * 10_000, "\0", "\ud800"]
)
def test_what_is_not_there_is_unknown(ava: Agent, ref: str) -> None:
    """get, history, forget and why tell it by the same name."""
    ava.remember("tea")
    for ask in (
        ava.get,
        ava.history,
        ava.forget,
        lambda r: ava.why("tea", r),
        lambda r: ava.forget(r, undo=True),
    ):
        with pytest.raises(UnknownRecord):
            ask(ref)


def test_tool_words_never_hide_own_words(ava: Agent) -> None:
    """A tool's version of a key stands beside the agent's, both are told to conflict, and the own one is shown."""
    ava.remember("2 June", key="deadline")
    ava.remember("3 June", key="deadline", tool=True)
    shown = ava.get("deadline")
    assert (shown.text, shown.source, shown.conflict) == ("2 June", "self", True)
    hits = ava.recall("June")
    assert {(hit.record.text, hit.record.source) for hit in hits} == {("2 June", "self"), ("3 June", "tool")}
    assert all(hit.conflict for hit in hits)
    ava.remember("4 June", key="deadline")
    assert [hit.record.text for hit in ava.recall("June")] == ["4 June"]
    assert not ava.get("deadline").conflict


def test_a_tool_may_be_overruled_and_not_overrule(ava: Agent) -> None:
    """The agent's own words take the place of a tool's."""
    ava.remember("3 June", key="deadline", tool=True)
    ava.remember("2 June", key="deadline")
    assert [r.text for r in ava.list()] == ["2 June"]


def test_time_stands_still_and_order_does_not(make_peer: Any) -> None:
    """Many writes in one millisecond are later than each other all the same, and history is in their order."""
    peer = make_peer("still")
    peer.host = replace(peer.host, clock=FixedClock())
    ava = peer.agent("ava", create=True)
    for n in range(20):
        ava.remember(str(n), key="count")
    assert [r.text for r in ava.history("count")] == [str(n) for n in reversed(range(20))]


def test_a_clock_that_goes_back_a_little_keeps_order(ava: Agent, clock: FixedClock) -> None:
    """What is written after a small step back is still the newest, and is recalled at once."""
    ava.remember("first", key="k")
    clock.advance(-5 * 60_000)
    ava.remember("second", key="k")
    assert [r.text for r in ava.history("k")] == ["second", "first"]
    assert ava.recall("second")[0].record.text == "second"
    assert ava.recall("")[0].record.text == "second"


def test_a_clock_that_was_far_ahead_once_spoils_nothing(ava: Agent, clock: FixedClock) -> None:
    """One write dated decades ahead waits for its time alone: what is written after the clock was set is recalled."""
    clock.advance(30 * 365 * DAY)
    ava.remember("from the future", key="k")
    clock.advance(-30 * 365 * DAY)
    ava.remember("today", key="k")
    assert [hit.record.text for hit in ava.recall("today")] == ["today"]
    assert ava.get("k").text == "today"
    ava.remember("and more")
    assert {hit.record.text for hit in ava.recall("")} == {"today", "and more"}


@pytest.mark.parametrize("ms", [0, 1_577_836_700_000, 4_102_444_800_000])
def test_a_clock_out_of_all_times_writes_nothing(make_peer: Any, clock: FixedClock, ms: int) -> None:
    """A dead clock is told before anything is signed or made; once it is set all goes on."""
    ava = make_peer("dead").agent("ava", create=True)
    ava.remember("before")
    right, clock.ms = clock.ms, ms
    for write in (
        lambda: ava.remember("no"),
        ava.claim,
        lambda: make_peer("new", checked=False).agent("bob", create=True),
    ):
        with pytest.raises(InvalidInput) as caught:
            write()
        assert "clock" in caught.value.message
    clock.ms = right
    assert ava.remember("after").created
    assert {record.text for record in ava.list()} == {"before", "after"}
