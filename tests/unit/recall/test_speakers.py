"""Who said it, what asks for it, and irregular words."""

from __future__ import annotations

from pathlib import Path

import pytest

from muniment.base.errors import InvalidInput
from muniment.recall.analyzer import Analyzer
from muniment.recall.corpus import ListCorpus
from muniment.recall.dates import Span
from muniment.recall.favours import FavourWeights
from muniment.recall.lexical import WordIndex
from muniment.recall.speakers import FIELD, asks_assistant, role_key, speaker_in


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ann Lee: hello", "Ann Lee"), ("user: hi", "user"), ("no colon here", ""), ("12:30: late", ""),
        ("https://example.org", ""), ("What I want to say is: nothing", ""), ("É. O’Neil: hm", "É. O’Neil"), ("", ""),
    ],
)  # fmt: skip
def test_a_line_begins_with_its_speaker(text: str, name: str) -> None:
    """A few words, a colon and a space."""
    assert speaker_in(text) == name


@pytest.mark.parametrize(
    "text", ["What did you recommend?", "your suggestion for tea", "You said so", "remind me of it"]
)
def test_it_asks_what_the_assistant_said(text: str) -> None:
    """Of what was said before."""
    assert asks_assistant(text)


@pytest.mark.parametrize("text", ["What would you suggest?", "Can you list my notes?", "where is my key"])
def test_it_asks_the_assistant_now(text: str) -> None:
    """Not of what was said before."""
    assert not asks_assistant(text)


def test_no_text_holds_a_speaker() -> None:
    """Speakers are keys of their own, folded as words are; a role is no name."""
    analyzer = Analyzer()
    assert analyzer.speaker_keys(["Zoë Lee", "assistant"]) == [
        FIELD, FIELD + b"zoe", FIELD + b"lee", role_key("assistant"),
    ]  # fmt: skip
    assert Analyzer(kind="plain").speaker_keys(["Zoë"]) == []
    assert not any(key.startswith(FIELD) for key in analyzer.document(["\x02zoe \x02"]).counts)


def index_of(path: Path, rows: list[tuple[str, str]]) -> WordIndex:
    """An index of (text, speaker)."""
    corpus = ListCorpus()
    for text, speaker in rows:
        corpus.add(text, speakers=(speaker,))
    index = WordIndex(path, corpus, Analyzer(), favours=FavourWeights())
    index.refresh()
    return index


def test_a_named_speaker_comes_first(tmp_path: Path) -> None:
    """Of records that say the same; where all speakers are named none is favoured, and the explanation says it."""
    index = index_of(tmp_path, [("red boats", "Ava"), ("red boats", "Ben"), ("red boats", "Cy")])
    hits = index.search("did ben like red boats", 10).hits
    assert (hits[0].ord, hits[0].favours) == (2, [("speaker", 1.5)])
    assert hits[0].score == pytest.approx(1.5 * hits[0].word)
    assert all(hit.favours == [] for hit in hits[1:])
    assert all(not hit.favours for hit in index.search("ava ben cy red boats", 10).hits)


def test_users_come_before_assistants_unless_asked_for(tmp_path: Path) -> None:
    """Only where both spoke."""
    index = index_of(tmp_path, [("red boats", "user"), ("red boats", "assistant")])
    assert [hit.ord for hit in index.search("red boats", 10).hits] == [1, 2]
    assert [hit.ord for hit in index.search("red boats you mentioned", 10).hits] == [2, 1]


def test_what_was_said_then_comes_first(tmp_path: Path) -> None:
    """The places of `ListCorpus` are its moments."""
    index = index_of(tmp_path, [("red boats", ""), ("red boats", ""), ("red boats", "")])
    hits = index.search("red boats", 10, spans=[Span(1, 2)]).hits
    assert [(hit.ord, hit.weight) for hit in hits] == [(1, 1.5), (3, 1.0), (2, 1.0)]
    assert index.said_within([Span(2, 4)]).tolist() == [False, False, True, True]


def test_weights_out_of_range_are_refused(tmp_path: Path) -> None:
    """A weight of nothing would hide records."""
    with pytest.raises(InvalidInput):
        WordIndex(tmp_path, ListCorpus(), Analyzer(), favours=FavourWeights(speaker=0.0))


def test_irregular_forms_are_one_word(tmp_path: Path) -> None:
    """In English; the form that was asked for comes first, and no other language is touched."""
    index = index_of(tmp_path, [("go", ""), ("we went home with many other people", ""), ("mice", "")])
    assert [hit.ord for hit in index.search("went", 10).hits] == [2, 1]
    assert [hit.ord for hit in index.search("mouse", 10).hits] == [3]
    assert Analyzer("de").keys("went").counted == (b"went",)
    assert Analyzer(kind="plain").keys("went").counted == (b"went",)
