"""Any token that a record holds finds it: holders of the exact form first."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.favours import FavourWeights
from muniment.recall.lexical import ContextWeights, WordIndex

ALPHABET = st.sampled_from("abegnrstuAEIRéßñçøЖжитαςσ中日本語한국어かな123_'-. 🙂👍🇩🇪\u0301\u0130ǅﬁ\u094dनम")
TEXT = (
    st.text(ALPHABET, max_size=30)
    | st.text(max_size=20)
    | st.sampled_from(["runs running run", "cafés café cafe"])
)


def holders(analyzer: Analyzer, texts: list[str], token: str) -> list[int]:
    """Rows (from 1) that hold the token in this form, case apart, as a word or as a part of an identifier."""
    asked = analyzer.forms(token)[0]
    return [
        i
        for i, text in enumerate(texts, 1)
        if any(t.casefold() == token.casefold() or asked in analyzer.forms(t) for t in analyzer.tokens(text))
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=12), st.booleans(), st.booleans())
def test_a_token_finds_its_holders_first(texts: list[str], talk: bool, flush: bool) -> None:
    """For every token of every record: all records that hold it, before any that does not, context or not."""
    corpus, analyzer = ListCorpus(), Analyzer()
    for i, text in enumerate(texts):
        # Every other record is favoured wherever its speaker is named: that must not put it before a holder.
        corpus.add(
            text, session=1 + i // 4 if talk else 0, speakers=(texts[0], "user") if i % 2 else ("assistant",)
        )
    with tempfile.TemporaryDirectory() as folder:
        index = WordIndex(Path(folder), corpus, analyzer, context=ContextWeights(), favours=FavourWeights())
        index.refresh()
        if flush:
            index.purge([])
        tokens = {t for text in texts for t in analyzer.tokens(text) if analyzer.keys(t).counted}
        for token in tokens:
            wanted = holders(analyzer, texts, token)
            hits = index.search(token, 100).hits
            first = {hit.ord for hit in hits[: len(wanted)]}
            assert set(wanted) <= {hit.ord for hit in hits if hit.tier == 2}, (token, wanted, hits)
            if not analyzer.is_dense(token):  # a dense run is held by its pairs, in any order
                assert first == set(wanted), (token, wanted, hits)
        index.close()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_a_record_and_a_query(text: str, query: str) -> None:
    """No text breaks indexing or searching, and a record's own text finds it if it holds any token."""
    corpus, analyzer = ListCorpus(), Analyzer()
    corpus.extend([text, "other words", query])
    with tempfile.TemporaryDirectory() as folder:
        index = WordIndex(Path(folder), corpus, analyzer)
        index.refresh()
        for asked in (text, query):
            found = {hit.ord for hit in index.search(asked, 10).hits}
            if analyzer.document([asked]).length:
                assert (1 if asked == text else 3) in found
        index.close()
