"""Stubs: all that indexes and tables need of a record, and nothing that anybody can make up."""

import hashlib
from collections import Counter
from dataclasses import replace

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.base import codec
from muniment.base.errors import RefusedBody
from muniment.base.ids import RecordId, VersionId, cid_of
from muniment.base.limits import LIMITS
from muniment.ledger import bags
from muniment.ledger import stub as stubs
from muniment.ledger.acts import Remember, content_digest, to_bytes, write_digest
from muniment.ledger.common_words import LIST_1
from muniment.recall.analyzer import Analyzer

AUTHOR = bytes(32)
ACT = Remember(
    id=RecordId(bytes(16)), text="The harbour  HTTPServer\nsleeps; the HARBOUR wakes.", created=5, key="k",
    title="T", tags=("b", "a"), metadata={"x": {"y": [1, "\ud800"]}}, session="s", valid_from=1, valid_until=2,
    over=(VersionId(cid_of(b"x"), 3),), tool=True, recalled=True, ref="r",
)  # fmt: skip
ANALYZERS = [Analyzer("en"), Analyzer("de"), Analyzer(kind="plain")]
texts = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            ["tea", "Tea", "TEA", "teas", "iPhone12", "x_y", "don't", "C++", "naïve", "日本語テスト", "🏺", "a-b",
             "ｆｕｌｌ", "ß", "Straße", "1.5", "﷽", "\u00a8", "e\u0301", "...", "APIs", "\ud800", "क्षि", "x" * 120]
        ),
        max_size=30,
    ).flatmap(lambda words: st.sampled_from([" ", "\n", "\t ", "\u3000", ", "]).map(lambda gap: gap.join(words))),
)  # fmt: skip


@given(texts)
@example("¨ a")
@example("The THE the tHe")
def test_a_bag_is_indexed_as_its_text_is(text: str) -> None:
    """Every term, as often, under every analyser: ranking by words can't tell the two apart."""
    stub = stubs.stub_of(replace(ACT, text=text))
    for analyzer in ANALYZERS:
        assert analyzer.document((stubs.spoken(stub),)) == analyzer.document((text,))


@given(texts)
def test_a_stub_reads_back(text: str) -> None:
    """It keeps every field but the text, and agrees with its record alone."""
    act = replace(ACT, text=text)
    stub = stubs.from_bytes(stubs.to_bytes(stubs.stub_of(act)))
    assert replace(stub.act, text=text, tags=act.tags) == act
    assert stub.act.tags == ("a", "b")
    assert stub.content == content_digest(act)
    assert write_digest(stub.act, AUTHOR, stub.content) == write_digest(act, AUTHOR)
    assert stubs.agrees(stub, act)
    assert len(stub.act.text) <= stubs.SNIPPET_CHARS + 2


@pytest.mark.parametrize(
    "change",
    [{"text": "else"}, {"key": "other"}, {"tags": ()}, {"metadata": None}, {"over": ()}, {"session": None},
     {"created": 6}],
)  # fmt: skip
def test_a_stub_of_something_else_does_not_agree(change: dict[str, object]) -> None:
    """Whoever archives can't change what a record is found by."""
    made_up = stubs.stub_of(replace(ACT, **change))  # type: ignore[arg-type]
    assert not stubs.agrees(made_up, ACT)
    right = stubs.stub_of(ACT)
    assert not stubs.agrees(replace(right, bag=right.bag + "\nspam"), ACT)
    assert not stubs.agrees(replace(right, act=made_up.act), ACT) or made_up.act == right.act


DICTIONARY = zstandard.ZstdCompressionDict(
    "".join(" " + word for word in reversed(LIST_1)).encode(), dict_type=zstandard.DICT_TYPE_RAWCONTENT
)


def kept(fields: dict[str, object], changes: dict[str, object]) -> bytes:
    """Canonical fields, some of them changed; None takes one out."""
    return codec.encode({name: value for name, value in {**fields, **changes}.items() if value is not None})


def frame(**changes: object) -> bytes:
    """A stub of the newer form with other fields."""
    data = stubs.to_bytes(stubs.stub_of(ACT))
    assert data.startswith(stubs.MARKER)
    plain = zstandard.ZstdDecompressor(dict_data=DICTIONARY).decompress(data[1:])
    fields = kept(codec.decode(plain, 1 << 20), changes)
    return stubs.MARKER + zstandard.ZstdCompressor(dict_data=DICTIONARY).compress(fields)


def older(**changes: object) -> bytes:
    """A stub of the older form, as it was written before there was another."""
    act = codec.decode(to_bytes(replace(ACT, text="The harbour")), 1 << 20)
    bag = "harbour 2\nhttpserver\nsleeps\nthe 2\nwakes"
    fields = {**act, "c": content_digest(ACT), "w": write_digest(ACT, AUTHOR), "bag": bag}
    return zstandard.ZstdCompressor().compress(kept(fields, changes))


def bomb() -> bytes:
    """A small frame of very much nothing."""
    return zstandard.ZstdCompressor().compress(bytes(LIMITS.stub_bytes + 1))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"no frame", bomb(), zstandard.ZstdCompressor(write_content_size=False).compress(b"\xa0"),
        zstandard.ZstdCompressor().compress(b"\x80"), zstandard.ZstdCompressor().compress(b"no cbor"),
        older(c=None), older(w=b"short"), older(bag=5), older(bag=b"\xff\xff"), older(bag="a b"),
        older(bag="a 9999999"),
        older(bag="a 99999999"), older(id=b"x"), older(text=None), older(c="x" * 16),
        stubs.MARKER, stubs.MARKER + bomb(), b"\x02" + frame()[1:],
        frame(c=None), frame(bag=5), frame(bag=b"\xff\xff"), frame(bag="a 9999999"), frame(n=None), frame(n="a"),
        frame(n=b"\x80"), frame(n=b"\x81\x80\x80\x80\x01"), frame(n=b"\x01"), frame(n=b"\xff\x7f"),
        frame(n=b"\x01\xff\xff\x7f" + b"\x01\xff\xff\x7f"), frame(all=False), frame(all=1), frame(id=b"x"),
    ],
)  # fmt: skip
def test_what_is_no_stub_is_refused(data: bytes) -> None:
    """Whatever a frame says or hides; words that are said a million times included."""
    with pytest.raises(RefusedBody):
        stubs.from_bytes(data)


def test_a_stub_of_the_older_form_is_read() -> None:
    """What is in a bank stays found."""
    stub = stubs.from_bytes(older())
    assert stub.bag == "harbour 2\nhttpserver\nsleeps\nthe 2\nwakes"
    assert stub.content == content_digest(ACT)


@given(st.lists(st.sampled_from([*LIST_1[:40], *LIST_1[-3:], "zebrafish", "\ud800"]), max_size=80))
def test_common_words_are_found_again_by_their_places(said: list[str]) -> None:
    """Each as often as it was said."""
    bag = Counter(said)
    assert bags.join(*bags.split(bag)) == bag


def test_the_list_of_common_words_never_changes() -> None:
    """A stub names them by their places: another list would give other words."""
    assert len(set(LIST_1)) == len(LIST_1)
    assert (
        hashlib.sha256(" ".join(LIST_1).encode()).hexdigest()
        == "6b8a6b82cca5b7edc8eeb66a616b71a9d1aa4f3d58c5ccfa2c570900cb689155"
    )


@pytest.mark.parametrize(
    "text", ["x" * 500, "short …", " " * 630 + "a longer word " + "y" * 30 + " end", "a … b", ""]
)
def test_a_beginning_that_cuts_a_word_takes_nothing_from_the_others(text: str) -> None:
    """A word that is whole nowhere in the beginning is among the others, whole."""
    act = replace(ACT, text=text)
    assert stubs.agrees(stubs.from_bytes(stubs.to_bytes(stubs.stub_of(act))), act)
