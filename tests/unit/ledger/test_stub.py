"""Stubs: all that indexes and tables need of a record, and nothing that anybody can make up."""

from dataclasses import replace

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from muniment.base import codec
from muniment.base.errors import RefusedBody
from muniment.base.ids import RecordId, VersionId, cid_of
from muniment.base.limits import LIMITS
from muniment.ledger import stub as stubs
from muniment.ledger.acts import Remember, content_digest, write_digest
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
    stub = stubs.stub_of(replace(ACT, text=text), AUTHOR)
    for analyzer in ANALYZERS:
        assert analyzer.document((stubs.spoken(stub.bag),)) == analyzer.document((text,))


@given(texts)
def test_a_stub_reads_back(text: str) -> None:
    """It keeps every field but the text, and agrees with its record alone."""
    act = replace(ACT, text=text)
    stub = stubs.from_bytes(stubs.to_bytes(stubs.stub_of(act, AUTHOR)))
    assert replace(stub.act, text=text, tags=act.tags) == act
    assert stub.act.tags == ("a", "b")
    assert (stub.content, stub.write) == (content_digest(act), write_digest(act, AUTHOR))
    assert stubs.agrees(stub, act, AUTHOR)
    assert len(stub.act.text) <= stubs.SNIPPET_CHARS + 2


@pytest.mark.parametrize(
    "change",
    [{"text": "else"}, {"key": "other"}, {"tags": ()}, {"metadata": None}, {"over": ()}, {"session": None},
     {"created": 6}],
)  # fmt: skip
def test_a_stub_of_something_else_does_not_agree(change: dict[str, object]) -> None:
    """Whoever archives can't change what a record is found by."""
    made_up = stubs.stub_of(replace(ACT, **change), AUTHOR)  # type: ignore[arg-type]
    assert not stubs.agrees(made_up, ACT, AUTHOR)
    right = stubs.stub_of(ACT, AUTHOR)
    assert not stubs.agrees(replace(right, bag=right.bag + "\nspam"), ACT, AUTHOR)
    assert not stubs.agrees(replace(right, act=made_up.act), ACT, AUTHOR) or made_up.act == right.act


def frame(**changes: object) -> bytes:
    """A stub with other fields; None takes one out."""
    plain = zstandard.ZstdDecompressor().decompress(stubs.to_bytes(stubs.stub_of(ACT, AUTHOR)))
    fields = {**codec.decode(plain, 1 << 20), **changes}
    kept = {name: value for name, value in fields.items() if value is not None}
    return zstandard.ZstdCompressor().compress(codec.encode(kept))


def bomb() -> bytes:
    """A small frame of very much nothing."""
    return zstandard.ZstdCompressor().compress(bytes(LIMITS.stub_bytes + 1))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"no frame", bomb(), zstandard.ZstdCompressor(write_content_size=False).compress(b"\xa0"),
        zstandard.ZstdCompressor().compress(b"\x80"), zstandard.ZstdCompressor().compress(b"no cbor"),
        frame(c=None), frame(w=b"short"), frame(bag=5), frame(bag=b"\xff\xff"), frame(bag="a b"),
        frame(bag="a 9999999"),
        frame(bag="a 99999999"), frame(id=b"x"), frame(text=None), frame(c="x" * 16),
    ],
)  # fmt: skip
def test_what_is_no_stub_is_refused(data: bytes) -> None:
    """Whatever a frame says or hides; words that are said a million times included."""
    with pytest.raises(RefusedBody):
        stubs.from_bytes(data)
