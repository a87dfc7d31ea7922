"""Links between neighbours, kept while rows come late, die and return, are those of the corpus."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.recall import columns as col
from muniment.recall.analyzer import Analyzer
from muniment.recall.columns import Columns
from muniment.recall.corpus import ListCorpus
from muniment.recall.word_follow import WordFollower

EVENT = st.tuples(
    st.sampled_from(["add", "add", "kill", "revive", "see"]),
    st.integers(0, 3),
    st.integers(0, 9),
    st.integers(0, 30),
)


def chains(columns: Columns) -> dict[int, list[int]]:
    """Members of each conversation, walked from its first row."""
    found: dict[int, list[int]] = {}
    for row in range(1, columns.last + 1):
        if columns.state[row] & col.STATUS == col.LIVE and columns.session[row] and not columns.before[row]:
            walk = [row]
            while columns.after[walk[-1]]:
                assert columns.before[columns.after[walk[-1]]] == walk[-1]
                walk.append(int(columns.after[walk[-1]]))
            found[int(columns.session[row])] = walk
    return found


@settings(max_examples=200, deadline=None)
@given(st.lists(EVENT, max_size=40))
def test_links_follow_the_corpus(events: list[tuple[str, int, int, int]]) -> None:
    """After any events each conversation is one chain of its live rows by (place, number), and the totals add up."""
    corpus = ListCorpus()
    follower = WordFollower(Path("/dev/null/index"), corpus, Analyzer())
    for kind, session, place, number in events:
        size = corpus.watermark().last_ord
        if kind == "add":
            corpus.add("some words here", session=session, place=place, live=number % 5 > 0)
        elif kind == "see":
            follower.refresh()
        elif size:
            corpus.set_live(1 + number % size, kind == "revive")
    follower.refresh()
    columns = follower.columns
    live = [row for row in corpus.rows(0, 99) if row.live]
    wanted: dict[int, list[int]] = {}
    for row in sorted(live, key=lambda row: (row.place, row.ord)):
        if row.session:
            wanted.setdefault(row.session, []).append(row.ord)
    assert chains(columns) == wanted
    assert (columns.live, columns.members) == (len(live), sum(row.session > 0 for row in live))
    assert columns.words == sum(columns.length[row.ord] for row in live)
    assert {s: columns.session_words()[s] for s in wanted} == {
        s: sum(columns.length[o] for o in members) for s, members in wanted.items()
    }


def test_rows_survive_their_files() -> None:
    """A base file and files of changes give back the columns, whatever changed in between."""
    corpus = ListCorpus()
    follower = WordFollower(Path("/dev/null/index"), corpus, Analyzer())
    corpus.extend(["a word"] * 5, session=1)
    follower.refresh()
    base = {name: array.copy() for name, array in follower.columns.base().items()}
    follower.columns.clean()
    corpus.set_live(2, False)
    corpus.extend(["b word"] * 3, session=2)
    follower.refresh()
    delta = follower.columns.delta(follower.columns.dirty())
    back = Columns.load(base, [delta])
    for name, array in follower.columns.base().items():
        assert array.tolist() == getattr(back, name)[: back.last + 1].tolist()
    assert (back.live, back.words, back.members) == (7, 7, 7)
