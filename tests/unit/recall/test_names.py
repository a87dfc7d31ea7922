"""When a question names a record: its name whole, as a phrase, by the stems of its words."""

import pytest

from muniment.recall.analyzer import Analyzer
from muniment.recall.names import Named


@pytest.mark.parametrize(
    ("question", "name", "named"),
    [
        ("what is the deploy process?", "Deploy process", True),
        ("how do we process deploys?", "deploy process", False),  # another order
        ("deploying processes", "deploy process", True),  # other forms
        ("deploy", "deploy process", False),  # a part
        ("redeploy process", "deploy process", False),  # within a word
        ("tell me of chapter 7", "Chapter 7", True),
        ("tell me of chapter 8", "Chapter 7", False),
        ("is it there?", "it", False),  # function words name nothing
        ("where is the who?", "The Who", False),
        ("what of kubernetes_node?", "kubernetes", True),  # an identifier's parts
        ("café hours", "Cafe", True),
        ("", "deploy", False),
        ("deploy", "", False),
        ("deploy", "???", False),
        ("東京の天気", "東京", True),
    ],
)
def test_a_name_is_whole_and_in_order(question: str, name: str, named: bool) -> None:
    """Stems, accents and case don't matter; order, wholeness and the border of a word do."""
    assert Named(question, Analyzer()).by([name]) is named


def test_any_of_several_names_is_enough() -> None:
    """A record has a title, a key and aliases."""
    assert Named("ask the duck", Analyzer()).by(["goose", "duck"])
    assert not Named("ask the duck", Analyzer()).by([])


def test_plain_words_are_compared_as_they_are() -> None:
    """Without stems another form is another word."""
    assert Named("the deploy process", Analyzer(kind="plain")).by(["deploy process"])
    assert not Named("the deploys", Analyzer(kind="plain")).by(["deploy"])
