"""The word index against the plain reference, over random histories of a bank."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.recall.reference import rank

from muniment.recall import files, follow, word_follow
from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.dates import Span
from muniment.recall.favours import FavourWeights
from muniment.recall.lexical import ContextWeights, WordIndex

WORDS = ["run", "running", "runs", "fox", "foxes", "café", "cafe", "the", "of", "fooBar", "foo", "gpt4", "東京都", "京",
         "🙂", "zebra", "mno", "pqr", "stu", "vwx"]  # fmt: skip
TEXT = st.lists(st.sampled_from(WORDS), min_size=0, max_size=9).map(" ".join)
QUERY = st.lists(st.sampled_from([*WORDS, "ava", "Ben", "you said"]), min_size=1, max_size=4).map(" ".join)
SPEAKERS = st.sampled_from([(), (), ("Ava",), ("ben",), ("user",), ("assistant",), ("Ava", "assistant")])
ADD = st.tuples(st.just("add"), TEXT, st.integers(0, 3), st.integers(0, 5), st.booleans(), SPEAKERS)
FLIP = st.tuples(st.just("flip"), st.integers(1, 60), st.booleans())
ERASE = st.tuples(st.sampled_from(["erase", "void"]), st.integers(1, 60))
OTHER = st.tuples(st.sampled_from(["refresh", "maintain", "reopen", "other", "purge"]))
STEP = st.one_of(ADD, ADD, ADD, FLIP, FLIP, ERASE, OTHER, OTHER)
CONTEXTS = [None, ContextWeights(), ContextWeights(0.7, 0.5, 0.3, 1.5, 0.75, 2.0)]
FAVOURS = [None, FavourWeights(), FavourWeights(0.5, 2.0, 3.0)]
SPANS = (Span(1, 2), Span(4, 6))


def agree(index: WordIndex, corpus: ListCorpus, analyzer: Analyzer, query: str, **options: object) -> None:
    """Same records, same order where scores differ, same scores to 1e-6, for several limits."""
    allow = options.pop("allow", None)
    past = bool(options.pop("past", False))
    spans: tuple[Span, ...] = options.pop("spans", ())  # type: ignore[assignment]
    wanted = rank(
        corpus,
        analyzer,
        query,
        context=index.formula.context,
        exact=index.formula.exact,
        favours=index.favours,
        spans=spans,
        past=past,
        allow=(lambda o: bool(allow[o])) if allow is not None else (lambda _: True),
    )
    for limit in (1, 3, 100):
        got = index.search(query, limit, allow, past=past, spans=spans).hits
        assert len(got) == min(limit, len(wanted)), (query, got, wanted)
        close = all(
            abs(hit.score - score) <= 1e-6 * max(1, abs(score))
            for hit, (_, score) in zip(got, wanted, strict=False)
        )
        assert close, (query, [(h.ord, h.score) for h in got], wanted)
        by_ord = dict(wanted)
        assert all(abs(by_ord[h.ord] - h.score) <= 1e-6 * max(1, h.score) for h in got)
        assert all(0 <= h.share <= 1 for h in got)
        assert [h.ord for h in got] == [o for o, _ in wanted[:limit]] or _ties(wanted)
    for hit in index.search(query, 3, allow, past=past, spans=spans).hits:
        told = index.explain(query, hit.ord, past=past, spans=spans)
        assert told is not None
        assert abs(told.score - hit.score) < 1e-9
        assert told.tier == hit.tier


def _ties(wanted: list[tuple[int, float]]) -> bool:
    """Whether two scores are equal but for rounding, so that their order may differ."""
    return any(abs(a[1] - b[1]) < 1e-9 * max(1, a[1]) for a, b in zip(wanted, wanted[1:], strict=False))


def apply(corpus: ListCorpus, step: tuple[object, ...]) -> None:
    """One event in the life of a bank."""
    kind, size = step[0], corpus.watermark().last_ord
    if kind == "add":
        live = bool(step[4]) or size % 3 > 0
        corpus.add(str(step[1]), session=int(step[2]), place=int(step[3]), live=live, speakers=step[5])  # type: ignore[call-overload, arg-type]
    elif kind == "flip" and size:
        corpus.set_live(1 + int(step[1]) % size, bool(step[2]))  # type: ignore[call-overload]
    elif kind == "erase" and size:
        corpus.erase(1 + int(step[1]) % size)  # type: ignore[call-overload]
    elif kind == "void" and size:
        corpus.void(1 + int(step[1]) % size)  # type: ignore[call-overload]


def run(
    steps: list[tuple[object, ...]],
    queries: list[str],
    context: ContextWeights | None,
    kind: str,
    favours: FavourWeights | None = None,
) -> None:
    """Follows a history with two instances on one folder and compares each with the reference."""
    corpus, analyzer = ListCorpus(), Analyzer(kind=kind)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory() as folder:
        make = lambda: WordIndex(Path(folder), corpus, analyzer, context=context, favours=favours)  # noqa: E731
        index, other = make(), make()
        for step in steps:
            apply(corpus, step)
            if step[0] == "refresh":
                index.refresh()
            elif step[0] == "maintain":
                index.refresh()
                index.maintain()
            elif step[0] == "reopen":
                index.close()
                index = make()
            elif step[0] == "other":
                other.refresh()
                other.maintain()
            elif step[0] == "purge" and corpus.watermark().last_ord:
                corpus.erase(1)
                other.refresh()
                other.purge([1])
        allow = np.arange(corpus.watermark().last_ord + 1) % 3 != 1
        for instance in (index, other):
            instance.refresh()
            for query in queries:
                agree(instance, corpus, analyzer, query)
                agree(instance, corpus, analyzer, query, allow=allow)
                agree(instance, corpus, analyzer, query, past=True)
                agree(instance, corpus, analyzer, query, spans=SPANS, allow=allow)
                agree(instance, corpus, analyzer, query, spans=SPANS)
        index.close()
        other.close()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(STEP, max_size=40),
    st.lists(QUERY, min_size=1, max_size=3),
    st.sampled_from(CONTEXTS),
    st.sampled_from(FAVOURS),
)
def test_any_history_ranks_as_the_reference(
    steps: list[tuple[object, ...]],
    queries: list[str],
    context: ContextWeights | None,
    favours: FavourWeights | None,
) -> None:
    """After any history the ranking is the reference's, in the process that wrote and in one that caught up."""
    with small_sizes(tail=4, backlog=6, block=5, fan_out=3):
        run(steps, queries, context, "standard", favours)


@settings(max_examples=50, deadline=None)
@given(st.lists(STEP, max_size=40), st.lists(QUERY, min_size=1, max_size=3))
def test_plain_histories_rank_as_the_reference(steps: list[tuple[object, ...]], queries: list[str]) -> None:
    """The plain analyser agrees too, repeated query words counting each time."""
    with small_sizes(tail=4, backlog=6, block=5, fan_out=3):
        run(steps, queries, None, "plain", FavourWeights())


class small_sizes:
    """Segments of a few rows, so that short histories reach every path."""

    def __init__(self, tail: int, backlog: int, block: int, fan_out: int) -> None:
        named = {"TAIL_ROWS": tail, "BACKLOG": backlog, "FAN_OUT": fan_out}
        self.values = [(follow, name, value) for name, value in named.items()]
        self.values.append((word_follow.WordFollower, "BLOCK_ROWS", block))

    def __enter__(self) -> None:
        self.old = [(owner, name, getattr(owner, name)) for owner, name, _ in self.values]
        self.old_files = files.MAX_DELTAS, files.REWRITE_ROWS
        for owner, name, value in self.values:
            setattr(owner, name, value)
        files.MAX_DELTAS, files.REWRITE_ROWS = 3, 12

    def __exit__(self, *_: object) -> None:
        for owner, name, value in self.old:
            setattr(owner, name, value)
        files.MAX_DELTAS, files.REWRITE_ROWS = self.old_files
