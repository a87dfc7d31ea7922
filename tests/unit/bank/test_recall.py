"""Recall, list, history, why and stats: what is shown, to whom every filter applies, and what was true when."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from muniment.agent import Agent
from muniment.base.errors import InvalidInput, LimitExceeded, MunimentError, RefusedKey, UnknownRecord
from muniment.base.limits import LIMITS
from muniment.peer import Peer
from muniment.remembering import Draft
from muniment.testing.clock import START_MS, TickingClock

HOUR = 3_600_000


def texts(found: Any) -> list[str]:
    """The texts of hits or records, in order."""
    return [getattr(one, "record", one).text for one in found]


# Recall


def test_an_empty_query_lists_the_newest(ava: Agent) -> None:
    """No words at all: by recency, newest first, up to the limit, and the answer says so."""
    for number in range(15):
        ava.remember(f"note {number}")
    for query in ("", "  \n", "\t"):
        hits = ava.recall(query)
        assert texts(hits) == [f"note {n}" for n in range(14, 4, -1)]
        assert hits.mode == "recent"
    assert texts(ava.recall("note 3", mode="recent", limit=2)) == ["note 14", "note 13"]
    assert ava.recall("note 3").mode == "text"


def test_recent_means_when_it_was_said(ava: Agent) -> None:
    """What was said earlier stands behind, though it was written later."""
    ava.remember("now")
    ava.remember("a year ago", created_at=START_MS - 365 * 24 * HOUR)
    assert texts(ava.recall("")) == texts(ava.list()) == ["now", "a year ago"]


def test_nothing_found_is_an_empty_answer(ava: Agent) -> None:
    """No hit is made up where no word matches, in an empty bank or a full one."""
    assert ava.recall("anything") == []
    ava.remember("tea")
    assert ava.recall("zeppelin") == []
    assert ava.recall("?!…") == []


def test_a_hit_explains_itself(ava: Agent) -> None:
    """Score in 0..1, signals that add up, terms that matched, and highlights that lie in the snippet."""
    ava.remember("The deadline of the release is Friday", key="release", tags=["work"])
    ava.remember("Friday is fish day")
    hits = ava.recall("release deadline")
    hit = hits[0]
    assert hit.record.key == "release"
    assert 0 < hit.score <= 1
    assert hit.signals["text"] == pytest.approx(
        hit.signals["word"] + hit.signals["window"] + hit.signals["session"]
    )
    assert hit.signals["rank"] == 1
    assert {term.term for term in hit.terms} >= {"deadlin"} or {term.term for term in hit.terms} >= {
        "deadline"
    }
    assert "deadline" in {hit.snippet[start:end].lower() for start, end in hit.highlights}
    assert hits.to_json()["hits"][0]["record"]["text"] == hit.record.text


def test_key_title_tags_and_aliases_are_ranked_too(ava: Agent) -> None:
    """Each of them leads to the record, alone."""
    ava.remember(
        "words", key="quokka", title="wombat", tags=["numbat"], metadata={"aliases": ["bilby", "potoroo"]}
    )
    for word in ("quokka", "wombat", "numbat", "bilby", "potoroo", "words"):
        assert texts(ava.recall(word)) == ["words"]


def test_the_limit_is_kept_and_has_bounds(ava: Agent) -> None:
    """Up to so many hits, at least one, at most the limit of limits."""
    ava.remember_many([Draft(f"tea number {n}") for n in range(30)])
    for limit in (1, 7, 30, 1000):
        assert len(ava.recall("tea", limit=limit)) == len(ava.list(limit=limit)) == min(limit, 30)
    for ask in (lambda n: ava.recall("tea", limit=n), lambda n: ava.list(limit=n)):
        for bad in (0, -1):
            with pytest.raises(InvalidInput):
                ask(bad)
        with pytest.raises(LimitExceeded) as caught:
            ask(LIMITS.recall_limit + 1)
        assert str(LIMITS.recall_limit) in caught.value.message
    with pytest.raises(LimitExceeded):
        ava.recall("x" * (LIMITS.query_chars + 1))
    with pytest.raises(InvalidInput):
        ava.recall("tea", mode="psychic")


def test_pages_make_the_whole(ava: Agent) -> None:
    """Offset by offset the list gives every record once."""
    ava.remember_many([Draft(f"note {n}") for n in range(25)])
    pages = [texts(ava.list(limit=10, offset=start)) for start in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len(set(itertools.chain(*pages))) == 25
    with pytest.raises(InvalidInput):
        ava.list(offset=-1)


def test_what_another_process_wrote_is_recalled_at_once(peer: Peer, ava: Agent) -> None:
    """A second opening of the folder sees each write in its next call, and the first sees its own back."""
    ava.remember("one tea")
    with Peer(peer.home, clock=peer.host.clock) as other:
        twin = other.agent("ava")
        assert texts(twin.recall("tea")) == ["one tea"]
        ava.remember("two tea", key="k")
        assert set(texts(twin.recall("tea"))) == {"one tea", "two tea"}
        twin.remember("three tea", key="k")
        assert set(texts(ava.recall("tea"))) == {"one tea", "three tea"}
        twin.forget("k")
        assert texts(ava.recall("tea")) == ["one tea"]


def test_a_conversation_counts_for_its_members(ava: Agent) -> None:
    """A record without the query's words is found by its conversation, unless that is switched off."""
    ava.remember("Where shall we go for the holiday?", session="trip", type="message")
    ava.remember("Lisbon, I think", session="trip", type="message")
    ava.remember("unrelated", session="other", type="message")
    assert "Lisbon, I think" in texts(ava.recall("holiday"))
    assert texts(ava.recall("holiday", context=False)) == ["Where shall we go for the holiday?"]


# Filters

FIELDS = st.fixed_dictionaries({
    "text": st.sampled_from(["tea", "tea with milk", "coffee", "tea and coffee"]),
    "tags": st.lists(st.sampled_from(["a", "b", "c"]), max_size=2).map(tuple),
    "metadata": st.sampled_from([None, {"n": 1}, {"n": 1.0}, {"n": 2, "p": {"q": "x"}}, {"p": {"q": ["x", "y"]}},
                                 {"n": True}, {"n": "1"}, {"n": None}]),
    "type": st.sampled_from(["note", "message"]),
    "session": st.sampled_from([None, "s1", "s2"]),
    "created": st.sampled_from([None, *(START_MS - n * HOUR for n in range(1, 4))]),
    "tool": st.booleans(),
    "recalled": st.booleans(),
})  # fmt: skip
FILTERS = st.fixed_dictionaries({}, optional={
    "tags": st.lists(st.sampled_from(["a", "b", "zz"]), min_size=1, max_size=2),
    "metadata": st.sampled_from([{"n": 1}, {"n": 2}, {"p.q": "x"}, {"p.q": "y", "n": 2}, {"p": {"q": "x"}}, {"n": True},
                                 {"n": "1"}, {"n": None}, {"p.q": ["x", "y"]}, {"zz": 1}]),
    "type": st.sampled_from(["note", "message", "skill"]),
    "session": st.sampled_from(["s1", "zz"]),
    "since": st.sampled_from([START_MS - 2 * HOUR, START_MS]),
    "until": st.sampled_from([START_MS - 2 * HOUR, START_MS, START_MS + HOUR]),
    "source": st.sampled_from(["self", "controller", "peer", "tool"]),
    "kind": st.sampled_from(["self_noted", "granted", "recalled"]),
    "author": st.sampled_from(["own", "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp"]),
})  # fmt: skip


def at_path(value: Any, path: str) -> list[Any]:
    """What stands at a dotted path: the value itself and, of a list, each plain element."""
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return []
        value = value[name]
    return (
        [value, *(item for item in value if not isinstance(item, list | dict))]
        if isinstance(value, list)
        else [value]
    )


def equal(one: Any, two: Any) -> bool:
    """Equality of JSON: true is no number, 1 is 1.0."""
    return (
        type(one) is type(two) and one == two
        if isinstance(one, bool) or isinstance(two, bool)
        else one == two
    )


def passes(record: Any, where: dict[str, Any], own: str) -> bool:
    """Whether a record passes, in plain words."""
    checks = {
        "tags": lambda tags: set(tags) <= set(record.tags),
        "metadata": lambda wanted: all(
            any(equal(found, value) for found in at_path(dict(record.metadata), path))
            for path, value in wanted.items()
        ),
        "type": lambda kind: record.type == kind,
        "session": lambda session: record.session == session,
        "since": lambda ms: record.created_at_ms >= ms,
        "until": lambda ms: record.created_at_ms < ms,
        "source": lambda source: record.source == source,
        "kind": lambda kind: record.kind == kind,
        "author": lambda did: record.author == did and did == own,
    }
    return all(checks[name](value) for name, value in where.items())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(drafts=st.lists(FIELDS, min_size=1, max_size=12), wheres=st.lists(FILTERS, min_size=1, max_size=6))
def test_every_filter_holds_and_so_does_every_combination(
    make_peer: Any, drafts: list[dict[str, Any]], wheres: list[dict[str, Any]]
) -> None:
    """list and recall give exactly the records for which every filter that was given holds; none is ever dropped."""
    peer = make_peer("filters")
    ava = peer.agent("ava", create=True)
    ava.remember_many([Draft(**fields) for fields in drafts])
    everything = ava.list(limit=1000)
    for drawn in wheres:
        where = {**drawn, "author": ava.did} if drawn.get("author") == "own" else drawn
        wanted = sorted(record.version for record in everything if passes(record, where, ava.did))
        assert sorted(r.version for r in ava.list(limit=1000, **where)) == wanted
        assert sorted(h.record.version for h in ava.recall("", limit=1000, **where)) == wanted
        teas = sorted(r.version for r in everything if r.version in wanted and "tea" in r.text)
        assert sorted(h.record.version for h in ava.recall("tea", limit=1000, context=False, **where)) == teas
    peer.close()


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ({"kind": "x"}, InvalidInput), ({"source": "me"}, InvalidInput), ({"type": "x"}, InvalidInput),
        ({"states": ("dead",)}, InvalidInput), ({"states": ("erased",)}, InvalidInput),
        ({"since": "soon"}, InvalidInput),
        ({"until": 1.5}, InvalidInput), ({"as_of": "2026-99-01"}, InvalidInput), ({"author": "ava"}, RefusedKey),
        ({"metadata": {"a": float("nan")}}, InvalidInput),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_a_filter_without_meaning_is_an_error(
    ava: Agent, where: dict[str, Any], error: type[MunimentError]
) -> None:
    """It is never passed over in silence: recall and list refuse it by name, also where nothing is stored."""
    for ask in (lambda **w: ava.recall("tea", **w), lambda **w: ava.recall("", **w), ava.list):
        with pytest.raises(error):
            ask(**where)


def test_times_may_be_given_in_any_form(ava: Agent) -> None:
    """Milliseconds, text of digits, ISO 8601 and datetime mean the same moment; text without a zone is UTC."""
    ava.remember("before", created_at="2025-01-01T00:00:00Z")
    ava.remember("after", created_at="2025-01-03T00:00:00+00:00")
    moment = datetime(2025, 1, 2, tzinfo=UTC)
    for form in (1_735_776_000_000, "1735776000000", "2025-01-02", "2025-01-02T00:00:00Z", "2025-01-02T01:00:00+01:00",
                 moment, moment.replace(tzinfo=None)):  # fmt: skip
        assert texts(ava.list(since=form)) == ["after"]
        assert texts(ava.list(until=form)) == ["before"]


def test_states_can_be_asked_for(ava: Agent) -> None:
    """Superseded and forgotten versions are listed and recalled only where they are asked for."""
    ava.remember("old tea", key="k")
    ava.remember("new tea", key="k")
    ava.remember("gone tea")
    ava.forget(ava.recall("gone")[0].record.id)
    expected = {("live",): ["new tea"], ("superseded",): ["old tea"], ("forgotten",): ["gone tea"],
                ("live", "superseded", "forgotten"): ["gone tea", "new tea", "old tea"]}  # fmt: skip
    for states, wanted in expected.items():
        assert sorted(texts(ava.list(states=states))) == wanted
        assert sorted(texts(ava.recall("tea", states=states))) == wanted
        assert sorted(texts(ava.recall("", states=states))) == wanted


def test_as_of_shows_what_was_live_then(ava: Agent, clock: TickingClock) -> None:
    """Each past moment gives the versions that were live at it, whatever became of them."""
    moments = []
    for act in (
        lambda: ava.remember("tea one", key="k"),
        lambda: ava.remember("tea two", key="k"),
        lambda: ava.forget("k"),
        lambda: ava.remember("tea three", key="k"),
    ):
        act()
        clock.advance(HOUR)
        moments.append(clock.ms)
        clock.advance(HOUR)
    assert [texts(ava.list(as_of=moment)) for moment in moments] == [
        ["tea one"],
        ["tea two"],
        [],
        ["tea three"],
    ]
    assert [texts(ava.recall("tea", as_of=moment)) for moment in moments] == [
        ["tea one"],
        ["tea two"],
        [],
        ["tea three"],
    ]
    assert [texts(ava.recall("", as_of=moment)) for moment in moments] == [
        ["tea one"],
        ["tea two"],
        [],
        ["tea three"],
    ]
    assert ava.recall("tea", as_of=START_MS - HOUR) == []


# Forgetting


def test_forget_hides_and_undo_shows(ava: Agent) -> None:
    """A forgotten record is in no list and no answer, in history it is, and undo brings it back."""
    made = ava.remember("secret tea", key="k")
    ava.remember("other tea")
    gone = ava.forget("k")
    assert [(r.version, r.state) for r in gone] == [(made.version, "forgotten")]
    assert texts(ava.recall("tea")) == texts(ava.list()) == texts(ava.recall("")) == ["other tea"]
    assert ava.recall("secret") == []
    assert [(r.text, r.state) for r in ava.history("k")] == [("secret tea", "forgotten")]
    assert ava.forget("k") == []
    back = ava.forget("k", undo=True)
    assert [r.state for r in back] == ["live"]
    assert texts(ava.recall("secret")) == ["secret tea"]
    with pytest.raises(UnknownRecord):
        ava.forget("k", undo=True)
    assert [r.state for r in ava.forget("k")] == ["forgotten"]
    assert [r.state for r in ava.forget("k", undo=True)] == ["live"]


def test_forget_takes_a_version_alone(ava: Agent) -> None:
    """Of a conflict the one version that is named is hidden, and the other stays."""
    ava.remember("own", key="k")
    tool = ava.remember("by tool", key="k", tool=True)
    ava.forget(tool.version)
    assert texts(ava.list()) == ["own"]
    assert not ava.get("k").conflict
    ava.forget(tool.version, undo=True)
    assert sorted(texts(ava.list())) == ["by tool", "own"]
    ava.forget("k")
    assert ava.list() == []
    assert len(ava.forget("k", undo=True)) == 2


def test_what_is_forgotten_can_be_said_anew(ava: Agent) -> None:
    """The same words after a forget are a new memory, and stay when the old one is not undone."""
    one = ava.remember("tea", key="k")
    ava.forget("k")
    two = ava.remember("tea", key="k")
    assert two.created
    assert two.version != one.version
    assert texts(ava.recall("tea")) == ["tea"]


def test_a_record_forgotten_by_id_key_or_version_is_the_same(ava: Agent) -> None:
    """Each name of a record leads to it."""
    for name in ("id", "version"):
        made = ava.remember(f"tea by {name}")
        ava.forget(getattr(made, name))
    assert ava.list() == []
    assert ava.stats().versions["forgotten"] == 2


# Clocks


def test_a_clock_ahead_is_hidden_until_due(make_peer: Any, clock: TickingClock) -> None:
    """What was signed by a clock that runs ahead is kept and told in history, and recalled when its time comes."""
    ava = make_peer("ahead").agent("ava", create=True)
    ava.remember("now tea")
    clock.advance(2 * HOUR)
    ahead = ava.remember("later tea", key="later")
    clock.advance(-2 * HOUR)
    assert texts(ava.recall("tea")) == texts(ava.recall("")) == ["now tea"]
    assert ava.history("later")[0].clock_ahead
    assert ava.get(ahead.id).clock_ahead
    clock.advance(2 * HOUR)
    assert set(texts(ava.recall("tea"))) == set(texts(ava.recall(""))) == {"now tea", "later tea"}
    assert not ava.get("later").clock_ahead


def test_many_from_the_future_crowd_out_nobody(make_peer: Any, clock: TickingClock) -> None:
    """Hundreds of records with a clock ahead leave the answer to the others."""
    ava = make_peer("crowd").agent("ava", create=True)
    ava.remember_many([Draft(f"old tea {n}", created=START_MS - n) for n in range(12)])
    clock.advance(2 * HOUR)
    ava.remember_many([Draft(f"future tea {n}") for n in range(200)])
    clock.advance(-2 * HOUR)
    assert texts(ava.recall("", limit=10)) == [f"old tea {n}" for n in range(10)]
    assert len(ava.recall("tea", limit=12)) == 12


# Why and stats


def test_why_tells_rank_and_misses(ava: Agent) -> None:
    """Why says at which place a record stands, which words it lacks, and why it is not there."""
    one = ava.remember("the red fox jumps", tags=["a"])
    ava.remember("a red car")
    told = ava.why("red fox zebra", one.id)
    assert (told.rank, told.hit is not None) == (1, True)
    assert len(told.missed) == 1
    assert "fox" in told.reason
    assert ava.why("zebra", one.id).rank is None
    assert ava.why("zebra", one.id).hit is None
    assert ava.why("", one.id).rank is None
    assert ava.why("fox", one.id, tags=["b"]).rank is None
    ava.forget(one.id)
    assert "forgotten" in ava.why("fox", one.id).reason
    assert ava.why("fox", one.version).to_json()["rank"] is None


def test_stats_count(ava: Agent) -> None:
    """Records, versions by state, entries, sessions and authors."""
    assert (ava.stats().records, ava.stats().first_ms, ava.stats().last_ms) == (0, None, None)
    ava.remember("a", key="k", session="s1", created_at=START_MS - HOUR)
    ava.remember("b", key="k", session="s1", created_at=START_MS)
    ava.remember("c", session="s2")
    ava.forget(ava.remember("d").id)
    stats = ava.stats()
    assert (stats.records, stats.sessions, stats.authors) == (2, 2, 2)
    assert {k: v for k, v in stats.versions.items() if v} == {"live": 2, "superseded": 1, "forgotten": 1}
    assert stats.entries == 7
    assert stats.first_ms == START_MS
    assert stats.last_ms is not None
    assert stats.last_ms > START_MS
    assert stats.file_bytes > 0
    assert stats.index["records"] == 2
    assert (stats.agent, stats.bank) == ("ava", ava.bank_id)


def test_verify_finds_all_in_order(ava: Agent) -> None:
    """Every signature holds and every entry counts."""
    ava.remember("tea")
    report = ava.verify()
    assert (report.ok, report.entries, report.control, report.counts) == (True, 3, 2, 3)
    assert (report.waiting, report.void, report.refused) == (0, 0, ())


# Rebuilding

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "say", "forget", "undo", "batch"]),
        st.sampled_from([None, "k1", "k2"]),
        st.sampled_from(["tea", "coffee", "rain"]),
        st.booleans(),
    ),
    max_size=14,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(STEPS)
def test_a_rebuild_shows_what_was_shown(
    make_peer: Any, steps: list[tuple[str, str | None, str, bool]]
) -> None:
    """After any history a rebuild from the entries alone gives the same records, states, answers and counts."""
    peer = make_peer("rebuilt")
    ava = peer.agent("ava", create=True)
    for act, key, text, tool in steps:
        try:
            if act == "say":
                ava.remember(text, key=key, tool=tool)
            elif act == "batch":
                ava.remember_many([Draft(text, key=key, tool=tool), Draft(text + "!", key=key), Draft(text)])
            else:
                ava.forget(key or ava.list()[0].version if act == "forget" else key or "", undo=act == "undo")
        except (UnknownRecord, IndexError):
            continue

    def shown() -> Any:
        everything = ava.list(limit=1000, states=("live", "superseded", "forgotten"))
        answers = {
            word: [(h.record.version, h.score, h.conflict) for h in ava.recall(word)]
            for word in ("tea", "coffee rain")
        }
        histories = {key: ava.history(key) for key in {r.key for r in everything} if key}
        return sorted(everything, key=lambda r: r.version), answers, histories, ava.stats().versions

    before = shown()
    assert ava.check() == []
    assert ava.check(rebuild=True) == []
    assert shown() == before
    peer.close()


# What a question favours, and what says the same


def test_a_question_favours_the_speaker_and_the_user(ava: Agent) -> None:
    """By metadata, or by how a message of a session begins; the signals say so."""
    ava.remember_many(
        [
            Draft("Kim: we paint boats", session="trip", type="message"),
            Draft("Lou: we paint boats", session="trip", type="message"),
            Draft("we paint boats", session="trip", metadata={"speaker": "Max"}),
        ]
    )
    hits = ava.recall("does max paint boats")
    assert hits[0].record.text == "we paint boats"
    assert hits[0].signals["speaker"] == 1.5
    assert ava.recall("does lou paint boats")[0].record.text.startswith("Lou")
    assert "speaker" not in ava.recall("who paints boats")[0].signals


def test_a_time_in_the_question_boosts_or_filters(ava: Agent) -> None:
    """Boost is the default; a filter leaves out all else; off takes times for words; anything else is refused."""
    day = 24 * HOUR
    early = Draft("boats were painted early", created=START_MS - 40 * day)
    ava.remember_many([early, Draft("boats were painted today too", created=START_MS)])
    when = datetime.fromtimestamp(START_MS / 1000 - 40 * 86_400, UTC).strftime("%d %B %Y")
    hits = ava.recall(f"boats painted on {when}")
    assert len(hits) == 2
    assert hits[0].signals["dated"] == 1.5
    assert texts(ava.recall(f"boats painted on {when}", dates="filter")) == ["boats were painted early"]
    assert all("dated" not in hit.signals for hit in ava.recall(f"boats painted on {when}", dates="off"))
    assert len(ava.recall("boats painted", dates="filter")) == 2
    with pytest.raises(InvalidInput):
        ava.recall("boats", dates="sometimes")


def test_a_text_that_speaks_of_the_day_asked_for_counts_as_said_then(ava: Agent) -> None:
    """A record that names the day, or that was valid then; `why` says so too, and `off` takes times for words."""
    day = 24 * HOUR
    ava.remember_many(
        [
            Draft("we painted boats on 3 March 2019, all of them", created=START_MS),
            Draft("we painted boats, they shine now", created=START_MS - day),
            Draft(
                "we painted boats, red was in", created=START_MS, valid_from=0, valid_until=1_700_000_000_000
            ),
        ]
    )
    plain = ava.recall("when were the boats painted that shine")
    assert "shine" in plain[0].record.text
    hits = {hit.record.text.split(", ")[1]: hit for hit in ava.recall("painted boats in March 2019")}
    assert hits["all of them"].signals["told"] == 1.5
    assert hits["red was in"].signals["valid"] == 1.5
    assert not {"told", "valid", "dated"} & set(hits["they shine now"].signals)
    assert list(hits)[-1] == "they shine now"
    why = ava.why("painted boats in March 2019", hits["all of them"].record.id)
    assert why.hit is not None
    assert why.hit.signals["told"] == 1.5
    assert why.reason.endswith("It speaks of the time asked for.")
    assert why.rank == hits["all of them"].signals["rank"]
    off = ava.recall("painted boats in March 2019", dates="off")
    assert not any({"told", "valid"} & set(hit.signals) for hit in off)


def test_an_event_of_the_bank_places_a_question(ava: Agent) -> None:
    """What was said on its side of the event is favoured; nothing is left out, and a filter needs a time."""
    day = 24 * HOUR
    ava.remember_many(
        [
            Draft("lunch is at noon", created=START_MS - 9 * day),
            Draft("yesterday we moved to the harbour office", created=START_MS - 5 * day),
            Draft("lunch is at one", created=START_MS - 2 * day),
        ]
    )
    before = ava.recall("when is lunch before we moved to the harbour office")
    after = ava.recall("when is lunch since we moved to the harbour office")
    weight = {hit.record.text: hit.signals.get("dated") for hit in before}
    assert weight["lunch is at noon"] == 1.25
    assert weight["lunch is at one"] is None
    lunches = [text for text in texts(after) if text.startswith("lunch")]
    assert lunches == ["lunch is at one", "lunch is at noon"]
    why = ava.why("when is lunch before we moved to the harbour office", before[0].record.id)
    assert why.rank == 1
    only = ava.recall("when is lunch before we moved to the harbour office", dates="filter")
    assert len(only) == 3
    assert not any("dated" in hit.signals for hit in only)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    words=st.lists(
        st.sampled_from(["boats", "painted", "red", "noon", "lunch", "harbour", "moved"]), min_size=2
    )
)
def test_a_question_without_times_ranks_as_if_there_were_none(ava: Agent, words: list[str]) -> None:
    """Texts that speak of times change nothing where none is asked for."""
    if not ava.recall(""):
        ava.remember_many(
            [
                Draft("boats painted red on 3 March 2019", created=START_MS - HOUR),
                Draft(
                    "lunch at noon, the harbour moved yesterday", created=START_MS - 2 * HOUR, valid_from=5
                ),
                Draft("red lunch, painted harbour", created=START_MS),
            ]
        )
    question = " ".join(words)
    ranked = [
        [(hit.record.id, hit.score, dict(hit.signals)) for hit in ava.recall(question, dates=dates)]
        for dates in ("boost", "off")
    ]
    assert ranked[0] == ranked[1]


def test_what_says_the_same_is_shown_once(ava: Agent) -> None:
    """The hit names the others, the answer is still full, and a contradiction is shown."""
    copies = [ava.remember(f"the red boat leaves the harbour each morning{'!' * n}").id for n in range(4)]
    other = ava.remember("the red boat leaves the harbour each morning at 9")
    hits = ava.recall("red boat harbour", limit=2)
    assert other.id in {hit.record.id for hit in hits}
    (kept,) = (hit for hit in hits if hit.duplicates)
    assert sorted([kept.record.id, *kept.duplicates]) == sorted(copies)


def test_both_sides_of_a_contradiction_are_shown_and_name_each_other(ava: Agent) -> None:
    """The one that would not be shown takes the place of the last hit; an answer of one hit names the other."""
    sides = {ava.remember(f"the deploy of the site takes {n} minutes", key=f"deploy.{n}").id for n in (5, 9)}
    for number in range(2):
        ava.remember(f"deploy site minutes{' of a meeting' * (number + 1)}")
    question = "how many minutes does the deploy of the site take"
    (alone,) = ava.recall(question, limit=1)
    assert alone.contradicts
    two = ava.recall(question, limit=2)
    named = {hit.record.id: hit.contradicts for hit in two if hit.contradicts}
    assert set(named) == sides
    assert {other for others in named.values() for other in others} == sides


def test_the_other_side_takes_the_last_place(ava: Agent) -> None:
    """It is looked for among the next ranks; the order of scores stays, and nothing is shown twice."""
    long = "the deploy takes {} minutes and a while longer, never less than that, on most of the machines"
    sides = {ava.remember(long.format(n)).id for n in (9, 4)}
    for _ in range(2):
        ava.remember("the deploy takes minutes")
    hits = ava.recall("deploy takes minutes", limit=3)
    assert len({hit.record.id for hit in hits}) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.record.id for hit in hits if hit.contradicts} == sides


def test_what_was_said_at_two_times_is_no_contradiction(ava: Agent) -> None:
    """Lines of conversations are what was said then."""
    for number in (5, 9):
        ava.remember(f"Kim: I ran {number} miles today", session="chat")
    assert not any(hit.contradicts for hit in ava.recall("how many miles did Kim run"))
