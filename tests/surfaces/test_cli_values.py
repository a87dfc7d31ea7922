"""From typed words and JSON to parameters: the checks that every surface shares."""

import pytest

from muniment.base.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.commands import COMMANDS, Context, Param, invoke
from muniment.commands.values import checked, from_words

META = Param("metadata", "object", "Values", nested=True)
FLAT = Param("metadata", "object", "Values")


def test_metadata_is_json_where_it_reads_as_such() -> None:
    """Numbers, truth, lists and quoted text are JSON; everything else is the text that was typed."""
    words = ["n=3", "t=true", "l=[1, 2]", 'q="3"', "s=Oslo", "e=", "x=a=b", "z=007", "nan=NaN"]
    assert from_words(META, words) == {
        "n": 3, "t": True, "l": [1, 2], "q": "3", "s": "Oslo", "e": "", "x": "a=b", "z": "007", "nan": "NaN",
    }  # fmt: skip


def test_a_dot_opens_an_object_when_remembering_and_is_a_path_when_filtering() -> None:
    """The words that stored a value find it again."""
    assert from_words(META, ["place.city=Oslo", "place.zip=1"]) == {"place": {"city": "Oslo", "zip": 1}}
    assert from_words(FLAT, ["place.city=Oslo"]) == {"place.city": "Oslo"}


@pytest.mark.parametrize("words", [["a"], ["=1"], ["a=1", "a=2"], ["a=1", "a.b=2"], ["a.b=1", "a=2"]])
def test_metadata_that_contradicts_itself_is_refused(words: list[str]) -> None:
    """A pair without a name or value, or a name given twice, is an error and never a guess."""
    with pytest.raises(InvalidInput):
        from_words(META, words)


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 50_000])
def test_a_value_that_only_looks_like_json_is_text(deep: str) -> None:
    """Input made to exhaust a parser is kept as the text that it is."""
    assert from_words(META, [f"a={deep}"]) == {"a": deep}


@pytest.mark.parametrize(
    ("name", "params", "error"),
    [
        ("recall", {"query": "x", "limit": 0}, InvalidInput),
        ("recall", {"query": "x", "limit": 1001}, LimitExceeded),
        ("recall", {"query": "x", "limit": True}, InvalidInput),
        ("recall", {"query": "x", "limit": "ten"}, InvalidInput),
        ("recall", {"query": 3}, InvalidInput),
        ("recall", {"query": "x", "mode": "vectr"}, InvalidInput),
        ("recall", {"query": "x", "tags": "ops"}, InvalidInput),
        ("recall", {"query": "x", "metadata": "a=b"}, InvalidInput),
        ("recall", {"query": "x", "context": "no"}, InvalidInput),
        ("recall", {"query": "x", "since": 1.5}, InvalidInput),
        ("recall", {"query": "x", "lmit": 3}, InvalidInput),
        ("remember", {}, InvalidInput),
        ("remember", {"text": "x", "type": "nte"}, InvalidInput),
        ("get", {}, InvalidInput),
        ("no such", {}, InvalidInput),
        ("init", {"passphrase": 3}, InvalidInput),
    ],
)
def test_bad_values_are_named_errors(
    name: str, params: dict[str, object], error: type[MunimentError]
) -> None:
    """A wrong type, a value outside the choices or bounds, and an unknown name are refused before anything runs."""
    with Context() as context, pytest.raises(error) as caught:
        invoke(name, context, params)
    assert caught.value.message


def test_the_nearest_name_is_offered() -> None:
    """A slip of the finger is answered with what was probably meant."""
    with pytest.raises(InvalidInput, match="recall"):
        invoke("recal", Context(), {})
    with pytest.raises(InvalidInput, match="limit"):
        checked(COMMANDS["recall"], {"lmit": 3})
    with pytest.raises(InvalidInput, match="`recent`"):
        checked(COMMANDS["recall"], {"mode": "recnt"})


def test_a_secret_is_not_repeated_in_an_error() -> None:
    """Whatever is wrong with a passphrase, the message does not hold it."""
    with pytest.raises(InvalidInput) as caught:
        checked(COMMANDS["init"], {"passphrase": ["hunter2"]})
    assert "hunter2" not in str(caught.value)


def test_defaults_reach_the_handler() -> None:
    """What was not said is what the table says."""
    values = checked(COMMANDS["recall"], {})
    assert (values["query"], values["limit"], values["states"], values["context"]) == (
        "",
        10,
        ("live",),
        True,
    )


@pytest.mark.parametrize(
    ("word", "value"),
    [("2026", "2026-01-01"), ("20260501", "2026-05-01"), ("1768435200000", 1768435200000), ("2026-05-01", "2026-05-01"),
     ("soon", "soon"), ("２０２６", "２０２６")],
)  # fmt: skip
def test_a_year_is_not_taken_for_milliseconds(word: str, value: object) -> None:
    """Nobody means two seconds after 1970 by 2026; what is no number is left to the library."""
    assert from_words(Param("since", "time", "Since"), [word]) == value


def test_words_of_other_types() -> None:
    """Truth and numbers are read from words; what is neither is refused."""
    assert from_words(Param("x", "flag", "X"), ["yes"]) is True
    assert from_words(Param("x", "flag", "X"), ["off"]) is False
    assert from_words(Param("x", "integer", "X"), ["12"]) == 12
    assert from_words(Param("x", "text", "X", rest=True), ["a", "b"]) == "a b"
    assert from_words(Param("x", "text", "X", repeatable=True), ["a", "b"]) == ["a", "b"]
    bad = [
        ("flag", "perhaps"),
        ("integer", "1.5"),
        ("integer", ""),
        ("integer", "9" * 5000),
        ("time", "9" * 5000),
    ]
    for kind, word in bad:
        with pytest.raises(InvalidInput):
            from_words(Param("x", kind, "X"), [word])  # type: ignore[arg-type]
