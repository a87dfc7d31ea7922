"""Stubs: what stays of an archived record, so that it is found and filtered without its text (design section 9).

A stub holds every field of the remember act but the text, the digest that stands for it, its beginning, and
all of its words with how often each occurs: enough to make every table and index again, word for word.

Two forms are read, and the second is written: there what the beginning says is not said again, common words are
numbers, and the list of them is the dictionary of the compression.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from muniment.base import codec
from muniment.base.errors import LimitExceeded, Malformed, RefusedBody
from muniment.base.limits import LIMITS
from muniment.ledger import acts, bags
from muniment.ledger.acts import Remember, content_digest, words
from muniment.ledger.common_words import LIST_1

if TYPE_CHECKING:
    import zstandard

SNIPPET_CHARS = 160
DIGEST_BYTES = 16
MARKER = (
    b"\x01"  # in front of the second form, and of its list of words; a frame of the first begins with 0x28
)
_LEVEL = 12
_CUT = " …"
_EDGES = ".,;:!?()[]{}<>\"'`*_#|/\\-=+~^%$&@"  # ASCII signs that are in no word, at its ends
_PLAIN = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Stub:
    """An archived record without its text.

    Attributes:
        act: Its remember act, with its beginning in place of the text.
        content: `content_digest` of the whole act.
        bag: Its words, each as often as the text has it, in no order.
    """

    act: Remember
    content: bytes
    bag: str


def stub_of(act: Remember) -> Stub:
    """The stub of a version, from its words."""
    return Stub(replace(act, text=beginning(act.text)), content_digest(act), bags.lines(_words(act.text)))


def beginning(text: str) -> str:
    """The first words of a text, on one line."""
    flat = " ".join(text[: SNIPPET_CHARS * 4].split())
    if len(flat) <= SNIPPET_CHARS:
        return flat
    cut = flat[:SNIPPET_CHARS].rpartition(" ")[0] or flat[:SNIPPET_CHARS]
    return cut + _CUT


def _words(text: str) -> Counter[str]:
    """What a text says, cut at its spaces; signs that no index looks at and the case of plain words are dropped."""
    found: Counter[str] = Counter()
    for piece in text.split():
        word = piece.strip(_EDGES)
        if not word:
            continue
        if _PLAIN.fullmatch(word) and (word.isupper() or word[1:].islower() or len(word) == 1):
            word = word.lower()
        found[word] += 1
    return found


def _begun(beginning: str) -> Counter[str]:
    """The words that a beginning has."""
    return _words(beginning.removesuffix(_CUT))


def spoken(stub: Stub) -> str:
    """The beginning as it was said, and then all other words: to an index the same as the text.

    Who speaks, and when, mostly stands in front, and is read from the order of words.
    """
    bag, begun = bags.read_lines(stub.bag), _begun(stub.act.text)
    if begun <= bag:
        return " ".join([stub.act.text.removesuffix(_CUT), *(bag - begun).elements()])
    return " ".join(bag.elements())


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    import zstandard

    # The commonest last: what is near costs least.
    plain = "".join(" " + word for word in reversed(LIST_1)).encode()
    made = zstandard.ZstdCompressionDict(plain, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    made.precompute_compress(level=_LEVEL)
    return made


def to_bytes(stub: Stub) -> bytes:
    """The compressed canonical form, as an archive act carries it."""
    import zstandard

    fields: dict[str, Any] = codec.decode(acts.to_bytes(stub.act), LIMITS.body_bytes)
    bag, begun = bags.read_lines(stub.bag), _begun(stub.act.text)
    if begun <= bag:
        bag -= begun
    else:
        fields["all"] = True  # a first word too long for the beginning is cut there
    common, rest = bags.split(bag)
    fields |= {"c": stub.content, "n": common, "bag": words(rest)}
    packer = zstandard.ZstdCompressor(level=_LEVEL, dict_data=_dictionary(), write_dict_id=False)
    return MARKER + packer.compress(codec.encode(fields))


def from_bytes(data: bytes) -> Stub:
    """Read a stub of either form; the size that it says is looked at before it is expanded.

    Raises:
        RefusedBody: It is no stub, or a larger one than `Limits.stub_bytes`.
    """
    newer = data.startswith(MARKER)
    fields = _expanded(data[len(MARKER) :], _dictionary()) if newer else _expanded(data, None)
    named = ("bag", "c", "n", "all") if newer else ("bag", "c", "w")
    rest, content, *more = (fields.pop(name, None) for name in named)
    act = acts.from_bytes(acts.REMEMBER, codec.encode(fields))
    if not isinstance(act, Remember):
        raise RefusedBody("a stub is not of a record")
    for digest in (content,) if newer else (content, *more):
        if not isinstance(digest, bytes) or len(digest) != DIGEST_BYTES:
            raise RefusedBody("a stub's digest is malformed")
    bag = _read_bag(rest, act.text, *more) if newer else bags.read_lines(_text(rest))
    return Stub(act, content, bags.lines(bag))


def _expanded(data: bytes, dictionary: zstandard.ZstdCompressionDict | None) -> dict[str, Any]:
    import zstandard

    try:
        said = zstandard.get_frame_parameters(data)
        if said.content_size > LIMITS.stub_bytes:  # an unknown size is the greatest number there is
            raise RefusedBody("a stub says no size, or too great a one")
        unpacker = zstandard.ZstdDecompressor(dict_data=dictionary)
        plain = unpacker.decompress(data, max_output_size=LIMITS.stub_bytes)
        fields = codec.decode(plain, LIMITS.stub_bytes)
    except (zstandard.ZstdError, Malformed, LimitExceeded):
        raise RefusedBody("a stub is malformed") from None
    if not isinstance(fields, dict):
        raise RefusedBody("a stub is not a map")
    return fields


def _text(bag: Any) -> str:
    try:
        text = bag.decode("utf-8", "surrogatepass") if isinstance(bag, bytes) else bag
    except UnicodeDecodeError:
        raise RefusedBody("a stub's words are malformed") from None
    if not isinstance(text, str):
        raise RefusedBody("a stub's words are malformed")
    return text


def _read_bag(rest: Any, beginning: str, common: Any, whole: Any) -> Counter[str]:
    """All words: those of the beginning, unless `whole` says that they are among the others, and the others."""
    if not isinstance(common, bytes) or (whole is not None and whole is not True):
        raise RefusedBody("a stub's words are malformed")
    found = bags.join(common, _text(rest))
    if not whole:
        found += _begun(beginning)
        bags.check_size(found)
    return found


def agrees(stub: Stub, act: Remember) -> bool:
    """Whether a stub is that of a version: nothing in it can be made up by whoever archives."""
    said = stub_of(act)
    same = (stub.content, stub.bag) == (said.content, said.bag)
    return same and acts.to_bytes(stub.act) == acts.to_bytes(said.act)
