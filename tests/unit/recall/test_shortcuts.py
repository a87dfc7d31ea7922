"""Shortcuts for the commonest words say the same as the long way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.recall.analyzer import SEPARATOR, Analyzer, Keys
from muniment.recall.snippet import HEADED, Snippets, _dense_matches

# Words whose stems are unlike them, identifiers, digits, other scripts, and anything.
ODD = [
    "dying",
    "lying",
    "skies",
    "ties",
    "ugly",
    "y",
    "yes",
    "flying",
    "APIs",
    "HTTPServer",
    "camelCase",
    "v2x",
    "x86",
]
ODD += [
    "naïve",
    "NAÏVE",
    "Straße",
    "日本語",
    "東京タワー",
    "ﬁne",
    "İstanbul",
    "ñ",
    "ſing",
    "K2",
    "\u212aelvin",
    "a\u0301b",
]
SUFFIXES = ["", "s", "es", "ed", "ing", "ly", "ies", "ness", "ational", "y", "eed", "iveness"]
plain = st.builds(str.__add__, st.from_regex(r"[a-z]{1,9}", fullmatch=True), st.sampled_from(SUFFIXES))
words = st.one_of(
    plain, plain.map(str.title), plain.map(str.upper), st.sampled_from(ODD), st.text(max_size=8)
)
texts = st.lists(words, max_size=30).map(" ".join)


@pytest.mark.parametrize("language", ["en", "none", "de", "fr", "ar", "id", "tr"])
@given(word=plain)
def test_plain_words_have_the_keys_of_any_word(language: str, word: str) -> None:
    """A lower-case ASCII word needs no folding and has no parts."""
    analyzer = Analyzer(language)
    forms = analyzer.forms(word)
    extra = tuple(stem + SEPARATOR + surface for stem, surface in forms if stem != surface)
    assert analyzer.keys(word) == Keys(tuple(stem for stem, _ in forms), extra)


@given(word=plain)
def test_a_stem_begins_as_its_word_does(word: str) -> None:
    """Where snippets rely on it."""
    for language in HEADED:
        for key in Analyzer(language).keys(word).counted:
            assert key[:1] == word[:1].encode()


@pytest.mark.parametrize(
    ("language", "kind"), [("en", "standard"), ("none", "standard"), ("de", "standard"), ("en", "plain")]
)
@given(given=st.lists(texts, min_size=1, max_size=4), query=texts)
def test_matches_are_those_of_looking_at_every_word(
    language: str, kind: str, given: list[str], query: str
) -> None:
    """Whatever was skipped or remembered from an earlier text."""
    analyzer = Analyzer(language, kind)  # type: ignore[arg-type]
    cutter = Snippets(query, analyzer)
    wanted = {term.key: 1.0 for term in analyzer.query(query).terms}
    for text in [*given, *given]:
        expected = []
        for match in analyzer.pattern(text).finditer(text):
            if analyzer.is_dense(match[0]):
                expected += [
                    (start, end) for start, end, _, _ in _dense_matches(match[0], match.start(), wanted)
                ]
                continue
            keys = {key for part in analyzer.tokens(match[0]) for key in analyzer.keys(part).counted}
            if keys & wanted.keys():
                expected.append(match.span())
        assert [(start, end) for start, end, _, _ in cutter._matches(text)] == expected
