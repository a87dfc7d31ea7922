"""The ranking of a word index: exact under pruning, tiers of one-token queries, filters, versions, explanations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.recall.reference import rank

from muniment.base.errors import InvalidInput
from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.dates import Span
from muniment.recall.favours import FavourWeights
from muniment.recall.lexical import ContextWeights, WordIndex

VOCABULARY = [f"w{c}{d}" for c in "abcdefghij" for d in "klmnopqrst"]


def corpus_of(rng: np.random.Generator, rows: int, sessions: int) -> ListCorpus:
    """Rows of words with the frequencies of natural text; some without a conversation, some not live."""
    corpus = ListCorpus()
    share = 1 / (np.arange(len(VOCABULARY)) + 1.5)
    for _ in range(rows):
        words = rng.choice(VOCABULARY, rng.integers(1, 25), p=share / share.sum())
        session = int(rng.integers(0, sessions + 1))
        speaker = ("wak", "wbl", "user", "assistant", "")[int(rng.integers(0, 5))]
        corpus.add(
            " ".join(words),
            session=session,
            place=int(rng.integers(0, 50)),
            live=bool(rng.random() < 0.9),
            speakers=(speaker,) if speaker else (),
        )
    return corpus


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("context", [None, ContextWeights(), ContextWeights(2.0, 0.5, 4.0, full=6.0)])
@pytest.mark.parametrize("favours", [None, FavourWeights(), FavourWeights(4.0, 0.1, 0.5)])
def test_pruning_loses_nothing(
    tmp_path: Path, seed: int, context: ContextWeights | None, favours: FavourWeights | None
) -> None:
    """With many rows, rare and common words and few hits asked for, the ranking is still the reference's."""
    rng = np.random.default_rng(seed)
    corpus, analyzer = corpus_of(rng, 500, 40 if seed % 2 else 3), Analyzer("none")
    index = WordIndex(tmp_path / "index", corpus, analyzer, context=context, favours=favours)
    spans = (Span(3, 11), Span(20, 21)) if favours and seed % 3 else ()
    for step in range(4):
        index.refresh()
        index.maintain()
        for _ in range(20):
            corpus.set_live(int(rng.integers(1, 501)), bool(rng.random() < 0.4))
        corpus.add(*rng.choice(VOCABULARY, 9), session=int(rng.integers(0, 5)), place=step)
    index.refresh()
    allow = rng.random(corpus.watermark().last_ord + 1) < 0.3
    for _ in range(12):
        words = [*rng.choice(VOCABULARY[:6], 2), *rng.choice(VOCABULARY, rng.integers(0, 4))]
        query = " ".join(words)
        for mask, past in ((None, False), (allow, False), (None, True)):
            wanted = rank(
                corpus, analyzer, query, context=context, favours=favours, spans=spans, past=past,
                allow=(lambda o, m=mask: True if m is None else bool(m[o])),
            )  # fmt: skip
            for limit in (1, 5, 10):
                got = index.search(query, limit, mask, past=past, spans=spans).hits
                assert [h.ord for h in got] == [o for o, _ in wanted[:limit]]
                np.testing.assert_allclose([h.score for h in got], [s for _, s in wanted[:limit]], rtol=1e-9)


def index_of(path: Path, *texts: str, context: ContextWeights | None = None, session: int = 0) -> WordIndex:
    """An index over a few texts."""
    corpus = ListCorpus()
    corpus.extend(texts, session)
    index = WordIndex(path, corpus, Analyzer(), context=context)
    index.refresh()
    return index


def test_the_exact_form_comes_before_those_that_share_the_stem_and_those_that_stand_near(
    tmp_path: Path,
) -> None:
    """A one-token query is ranked in three tiers, however often and however short the others hold the stem."""
    long = "a running joke " + "of many other words " * 50
    index = index_of(tmp_path, "run run run", "quiet", long, "runs", context=ContextWeights(), session=1)
    hits = index.search("running", 10).hits
    assert [(hit.ord, hit.tier) for hit in hits] == [(3, 2), (1, 1), (4, 1), (2, 0)]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].share > 2 / 3 > hits[1].share > 1 / 3 > hits[3].share


def test_an_identifier_is_found_whole_first_and_by_its_parts(tmp_path: Path) -> None:
    """`fooBar` finds `fooBar` before `foo` and `bar`; its parts find it too."""
    index = index_of(tmp_path, "foo bar", "call fooBar here", "foo", "bar foobar")
    assert {hit.ord for hit in index.search("fooBar", 2).hits} == {2, 4}
    assert 2 in {hit.ord for hit in index.search("bar", 9).hits}


def test_a_single_character_of_a_dense_script_is_found(tmp_path: Path) -> None:
    """A Han character inside a sentence is a token of it."""
    index = index_of(tmp_path, "私は東京都に住んでいます", "京都", "something else")
    assert {hit.ord for hit in index.search("京", 9).hits} == {1, 2}
    assert index.search("東京都", 9).hits[0].ord == 1


def test_ties_go_to_the_later_and_then_to_the_one_that_came_later(tmp_path: Path) -> None:
    """Equal scores are ordered by place, then by row number, the newest first."""
    corpus = ListCorpus()
    for place in (5, 9, 5):
        corpus.add("same words", place=place)
    index = WordIndex(tmp_path, corpus, Analyzer())
    index.refresh()
    assert [hit.ord for hit in index.search("same words", 9).hits] == [2, 3, 1]


def test_an_explanation_adds_up(tmp_path: Path) -> None:
    """Term contributions sum to the word part, the parts to the score, for a record of any rank."""
    index = index_of(tmp_path, "red fox", "red dog", "a fox ran", "blue", context=ContextWeights(), session=1)
    told = index.explain("red fox running", 2)
    assert told is not None
    assert told.word == pytest.approx(sum(term.contribution for term in told.terms))
    assert told.score == pytest.approx(told.word + told.window + told.session)
    assert [(term.term, term.tf, term.df) for term in told.terms] == [
        ("red", 1, 2),
        ("fox", 0, 2),
        ("run", 0, 1),
    ]
    assert index.explain("red", 99) is None
    assert index.explain("red", 0) is None


def test_a_record_far_from_every_query_word_gets_nothing_from_its_conversation(tmp_path: Path) -> None:
    """The conversation part counts only beside an own or neighbouring match."""
    index = index_of(
        tmp_path, "fox", "b c d", "near nothing", "far away", context=ContextWeights(), session=1
    )
    assert {hit.ord for hit in index.search("fox", 9).hits} == {1, 2}
    told = index.explain("fox", 4)
    assert told is not None
    assert told.score == 0


def test_conversations_can_be_left_out_of_a_search(tmp_path: Path) -> None:
    """`context=False` ranks records alone, as an index without context does."""
    texts = ("red fox", "dog", "fox hunt red", "cat fox")
    with_context = index_of(tmp_path / "a", *texts, context=ContextWeights(), session=1)
    without = index_of(tmp_path / "b", *texts)
    alone = with_context.search("red fox", 9, context=False)
    assert alone == without.search("red fox", 9)
    assert alone != with_context.search("red fox", 9)


def test_context_costs_nothing_where_there_are_no_conversations(tmp_path: Path) -> None:
    """In a bank without conversations the weights change no score."""
    texts = ("red fox", "dog", "fox hunt red")
    with_context = index_of(tmp_path / "a", *texts, context=ContextWeights())
    assert with_context.search("red fox", 9) == index_of(tmp_path / "b", *texts).search("red fox", 9)


def test_rows_beyond_the_end_of_a_mask_are_not_allowed(tmp_path: Path) -> None:
    """A mask made before the newest rows came hides them."""
    index = index_of(tmp_path, "fox one", "fox two", "fox three")
    assert [hit.ord for hit in index.search("fox", 9, np.array([True, True])).hits] == [1]
    assert index.search("fox", 9, np.zeros(0, np.bool_)).hits == []


@pytest.mark.parametrize("query", ["", "   ", "!!!", "\0", "\ud800", "a", "zzz qqq", "x" * 1_000_000])
def test_any_query_is_answered(tmp_path: Path, query: str) -> None:
    """A query without a known word has no hits and is no error."""
    assert index_of(tmp_path, "red fox", "a \ud800 b").search(query, 10).hits == []


def test_no_limit_and_no_rows(tmp_path: Path) -> None:
    """Nothing asked for, nothing there: nothing found."""
    assert index_of(tmp_path / "a", "red fox").search("fox", 0).hits == []
    assert index_of(tmp_path / "b").search("fox", 5).hits == []


def test_a_query_of_very_many_words_keeps_the_rarest(tmp_path: Path) -> None:
    """Beyond the cap of ranked terms the commonest go first."""
    words = [f"x{i:05d}" for i in range(1500)]
    index = index_of(tmp_path, *(" ".join(["common", word]) for word in words))
    ranking = index.search("common " + " ".join(words), 3)
    assert len(ranking.query_terms) <= 1024
    assert "common" not in ranking.query_terms
    assert len(ranking.hits) == 3


def test_occurrences_are_not_clipped(tmp_path: Path) -> None:
    """A word that stands 70,000 times in a record counts 70,000 times, on disk as in memory."""
    index = index_of(tmp_path, "word " * 70_000, "word word", "other")
    before = index.search("word", 3)
    assert before.hits[0].terms[0].tf == 70_000 or before.hits[1].terms[0].tf == 70_000
    index.purge([3])
    assert sorted(hit.terms[0].tf for hit in index.search("word", 3).hits) == [2, 70_000]


def test_constants_out_of_range_are_named(tmp_path: Path) -> None:
    """A constant that has no meaning is refused with its value."""
    for options in ({"k1": 0.0}, {"b": 1.5}, {"exact": -1.0}, {"context": ContextWeights(neighbours=2.0)}):
        with pytest.raises(InvalidInput, match="out of range"):
            WordIndex(tmp_path, ListCorpus(), Analyzer(), **options)  # type: ignore[arg-type]


def test_plain_reproduces_bm25_by_hand(tmp_path: Path) -> None:
    """Three short texts, scored by the published formula with k1 = 1.5 and b = 0.75, repeated words counted."""
    corpus = ListCorpus()
    corpus.extend(["the red fox", "the dog", "red red the cat"])
    index = WordIndex(tmp_path, corpus, Analyzer(kind="plain"))
    index.refresh()
    idf_red, idf_the = np.log((3 - 2 + 0.5) / (2 + 0.5) + 1), np.log((3 - 3 + 0.5) / (3 + 0.5) + 1)
    norm = [1.5 * (1 - 0.75 + 0.75 * n / 3) for n in (3, 2, 4)]
    wanted = {
        1: 2 * idf_red * 2.5 / (1 + norm[0]) + idf_the * 2.5 / (1 + norm[0]),
        2: idf_the * 2.5 / (1 + norm[1]),
        3: 2 * idf_red * 2 * 2.5 / (2 + norm[2]) + idf_the * 2.5 / (1 + norm[2]),
    }
    got = {hit.ord: hit.score for hit in index.search("red the RED", 9).hits}
    assert got == pytest.approx(wanted, rel=1e-12)


def test_a_conversation_much_to_the_point_brings_in_its_records(tmp_path: Path) -> None:
    """Records that hold only the commonest word win if their conversation says all the rest, and are not pruned."""
    corpus, context = ListCorpus(), ContextWeights(session=8.0)
    corpus.add("alpha beta gamma", session=1)
    for number in range(12):
        corpus.add(f"common word{'bcd'[number % 3]}", session=1)
    for session in range(2, 60):
        corpus.add("alpha common thing", session=session)
        corpus.add("something else", session=session)
        for number in range(5):
            corpus.add(f"common matter{'bcdfg'[number]}", session=session)
    index = WordIndex(tmp_path, corpus, Analyzer("none"), context=context)
    index.refresh()
    query = "alpha beta gamma common"
    wanted = rank(corpus, index.analyzer, query, context=context)[:10]
    assert [hit.ord for hit in index.search(query, 10).hits] == [o for o, _ in wanted]
    assert all(o <= 13 for o, _ in wanted)


def test_context_counts_twice_among_people(tmp_path: Path) -> None:
    """A line of talk is ranked with more of its conversation than a message to an assistant."""
    parts = {}
    for name, other in (("people", "Bob"), ("chat", "assistant")):
        corpus = ListCorpus()
        corpus.add("the harbour opens early", session=1, speakers=["Ava"])
        corpus.add("so does the ferry", session=1, speakers=[other])
        index = WordIndex(
            tmp_path / name,
            corpus,
            Analyzer(),
            context=ContextWeights(),
            favours=FavourWeights(assistant=1.0),
        )
        index.refresh()
        (first, *_) = index.search("harbour early", 2).hits
        parts[name] = first
    talk, chat = parts["people"], parts["chat"]
    assert talk.word == chat.word
    assert talk.window == pytest.approx(2 * chat.window)
    assert talk.session == pytest.approx(2 * chat.session)


def test_an_assistant_that_was_forgotten_makes_no_chat(tmp_path: Path) -> None:
    """Whether people talk is told from what is live, not from what the files still hold."""
    corpus = ListCorpus()
    corpus.add("the harbour opens early", session=1, speakers=["Ava"])
    corpus.add("so does the ferry", session=1, speakers=["Bob"])
    corpus.add("and so do I", session=1, speakers=["assistant"])
    index = WordIndex(
        tmp_path / "index", corpus, Analyzer(), context=ContextWeights(), favours=FavourWeights()
    )
    index.refresh()
    corpus.set_live(3, False)
    index.refresh()
    wanted = rank(corpus, index.analyzer, "harbour early", context=ContextWeights(), favours=FavourWeights())
    found = index.search("harbour early", 5).hits
    assert [(hit.ord, pytest.approx(hit.score)) for hit in found] == wanted
