"""What of a text is indexed, and what a query looks for."""

from __future__ import annotations

import pytest

from muniment.base.errors import InvalidInput
from muniment.recall.analyzer import TOKEN_CHARS, Analyzer

STANDARD = Analyzer()
PLAIN = Analyzer(kind="plain")


def stems(text: str) -> list[str]:
    """The counted terms of a text, sorted."""
    counted = [key for token in STANDARD.tokens(text) for key in STANDARD.keys(token).counted]
    return sorted(key.decode("utf-8", "surrogatepass") for key in counted)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running RUNS run", ["run", "run", "run"]),
        ("a I x 5", []),
        ("snake_case_name", ["case", "name", "snake"]),
        ("fooBar", ["bar", "foo", "foobar"]),
        ("HTTPServer", ["http", "httpserver", "server"]),
        ("APIs", ["api"]),
        ("gpt4 v12b", ["12", "gpt", "gpt4", "v12b"]),
        ("naïve café", ["cafe", "naiv"]),
        ("Straße", ["strass"]),
        ("ﬁne ＡＢＣ", ["abc", "fine"]),
        ("東京都", ["京都", "東京"]),
        ("我 東", ["我", "東"]),
        ("iPhone手机壳", ["iphon", "phone", "手机", "机壳"]),
        ("ok👍👍🏽 ❤️", ["ok", "❤", "👍", "👍"]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("नमस्ते", ["नमस्ते"]),
        ("שָׁלוֹם", ["שלום"]),
        ("สวัสดี", ["ดี", "วั", "สว", "สด", "ัส"]),
        ("x\ud800yz\0ab \u202ecd", ["ab", "cd", "yz"]),
        ("--- ... !!!", []),
        ("don't", ["don"]),
    ],
)
def test_standard_terms(text: str, terms: list[str]) -> None:
    """The stems of a text, each with the rule that makes it."""
    assert stems(text) == sorted(terms)


def test_a_form_that_differs_from_its_stem_is_a_term_that_adds_nothing_to_the_length() -> None:
    """`running` is kept as a form of `run`; `run` itself needs no second term."""
    document = STANDARD.document(["running", "run"])
    assert document.counts == {b"run": 2, b"run\0running": 1}
    assert document.length == 2


def test_single_characters_of_a_dense_run_are_terms_that_add_nothing_to_the_length() -> None:
    """A query of one Han character finds it inside a longer run."""
    document = STANDARD.document(["東京都"])
    assert document.length == 2
    assert {"東", "京", "都"} <= {key.decode() for key in document.counts}
    assert STANDARD.query("京").terms[0].key.decode() in {key.decode() for key in document.counts}


def test_stop_words_leave_queries_but_never_all_of_them() -> None:
    """`the dog` asks for the dog; `to be or not to be` asks for all of it."""
    assert [term.text for term in STANDARD.query("what about the dogs").terms] == ["dog"]
    assert [term.text for term in STANDARD.query("to be or not to be").terms] == ["to", "be", "or", "not"]
    assert [term.text for term in Analyzer(stops=False).query("the dogs").terms] == ["the", "dog"]


def test_forms_of_one_stem_in_a_query_are_one_term() -> None:
    """`run running` is one term with two exact forms, and no query of one token."""
    asked = STANDARD.query("run running")
    assert [(term.key, term.surfaces) for term in asked.terms] == [(b"run", (b"run", b"running"))]
    assert not asked.single


@pytest.mark.parametrize(
    ("text", "needed"),
    [("Running", [b"run"]), ("fooBar", [b"foobar"]), ("東京都", ["東京".encode(), "京都".encode()])],
)
def test_a_query_of_one_token_knows_what_an_exact_holder_needs(text: str, needed: list[bytes]) -> None:
    """The whole of an identifier, and every pair of a dense run."""
    asked = STANDARD.query(text)
    assert asked.single
    assert list(asked.needed) == needed


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Running the foo_bar x é", ["running", "the", "foo", "bar", "é"]),
        ("fooBar.baz-2024", ["foobar", "baz", "2024"]),
        ("東京都 東", ["東京都", "東"]),
        ("the the", ["the", "the"]),
    ],
)
def test_plain_terms(text: str, terms: list[str]) -> None:
    """Lower case, split at what is neither letter nor digit, two bytes or more; nothing else."""
    document = PLAIN.document([text])
    assert document.length == len(terms)
    assert document.counts == {term.encode(): terms.count(term) for term in terms}


def test_plain_queries_count_repeated_words() -> None:
    """A word asked for twice weighs twice, and stop words stay."""
    assert [(term.text, term.weight) for term in PLAIN.query("the dog the").terms] == [("the", 2), ("dog", 1)]


@pytest.mark.parametrize("analyzer", [STANDARD, PLAIN])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "\ud800\udfff",
        "\u200f\u202e",
        "a" * 1_000_000,
        "word " * 200_000,
        "東" * 300_000,
        "🙂" * 9,
        "((((",
    ],
)
def test_any_text_is_a_document_and_a_query(analyzer: Analyzer, text: str) -> None:
    """Nothing a text can hold is an error."""
    assert analyzer.document([text]).length >= 0
    analyzer.query(text)


def test_a_huge_token_has_a_small_key_that_tells_it_from_its_like() -> None:
    """Tokens beyond the limit are told apart by their whole, not by their head."""
    long, other = "a" * 5000 + "x", "a" * 5000 + "y"
    keys = [STANDARD.query(text).terms[0].key for text in (long, other, long)]
    assert keys[0] == keys[2] != keys[1]
    assert all(len(key) < 2 * TOKEN_CHARS for key in keys)


def test_the_fingerprint_names_the_settings() -> None:
    """Other settings, another index; the stop list is only for queries."""
    prints = {a.fingerprint for a in (STANDARD, PLAIN, Analyzer("de"), Analyzer("none"))}
    assert len(prints) == 4
    assert Analyzer(stops=False).fingerprint == STANDARD.fingerprint
    assert Analyzer("English").fingerprint == STANDARD.fingerprint


def test_unknown_settings_are_named() -> None:
    """The error lists what there is."""
    with pytest.raises(InvalidInput, match="klingon"):
        Analyzer("klingon")
    with pytest.raises(InvalidInput, match="fuzzy"):
        Analyzer(kind="fuzzy")  # type: ignore[arg-type]


def test_other_languages_have_their_own_stems() -> None:
    """German stems German, and `none` stems nothing."""
    assert Analyzer("de").query("Häuser").terms[0].key == Analyzer("de").query("Haus").terms[0].key
    assert Analyzer("none").query("running").terms[0].key == b"running"


def test_a_full_cache_starts_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory of tokens is bounded and changes no result."""
    monkeypatch.setattr("muniment.recall.analyzer.CACHE_TOKENS", 3)
    small = Analyzer()
    text = "one two three four five six running"
    assert small.document([text]) == STANDARD.document([text])
    assert len(small._cache) <= 3
