"""Stubs: what stays of an archived record, so that it is found and filtered without its text (design section 9).

A stub holds every field of the remember act but the text, the two digests that stand for it, its beginning, and
all of its words with how often each occurs: enough to make every table and index again, word for word.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from muniment.base import codec
from muniment.base.errors import LimitExceeded, Malformed, RefusedBody
from muniment.base.limits import LIMITS
from muniment.ledger import acts
from muniment.ledger.acts import Remember, content_digest, words, write_digest

SNIPPET_CHARS = 160
DIGEST_BYTES = 16
_LEVEL = 12
_EDGES = ".,;:!?()[]{}<>\"'`*_#|/\\-=+~^%$&@"  # ASCII signs that are in no word, at its ends
_PLAIN = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Stub:
    """An archived record without its text.

    Attributes:
        act: Its remember act, with its beginning in place of the text.
        content: `content_digest` of the whole act; `write` its `write_digest`.
        bag: Its words, each as often as the text has it, in no order.
    """

    act: Remember
    content: bytes
    write: bytes
    bag: str


def stub_of(act: Remember, author: bytes) -> Stub:
    """The stub of a version, from its words."""
    content = content_digest(act)
    bag = "\n".join(_counted(word, count) for word, count in sorted(_words(act.text).items()))
    return Stub(replace(act, text=beginning(act.text)), content, write_digest(act, author, content), bag)


def beginning(text: str) -> str:
    """The first words of a text, on one line."""
    flat = " ".join(text[: SNIPPET_CHARS * 4].split())
    if len(flat) <= SNIPPET_CHARS:
        return flat
    cut = flat[:SNIPPET_CHARS].rpartition(" ")[0] or flat[:SNIPPET_CHARS]
    return cut + " …"


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


def _counted(word: str, count: int) -> str:
    return word if count == 1 else f"{word} {count}"


def spoken(bag: str) -> str:
    """The words of a bag, each as often as it occurs: to an index the same as the text."""
    out: list[str] = []
    for line in bag.split("\n"):
        word, _, count = line.partition(" ")
        out.extend([word] * (int(count) if count else 1))
    return " ".join(out)


def to_bytes(stub: Stub) -> bytes:
    """The compressed canonical form, as an archive act carries it."""
    import zstandard

    fields: dict[str, Any] = codec.decode(acts.to_bytes(stub.act), LIMITS.body_bytes)
    fields |= {"c": stub.content, "w": stub.write, "bag": words(stub.bag)}
    return zstandard.ZstdCompressor(level=_LEVEL).compress(codec.encode(fields))


def from_bytes(data: bytes) -> Stub:
    """Read a stub; the size that it says is looked at before it is expanded.

    Raises:
        RefusedBody: It is no stub, or a larger one than `Limits.stub_bytes`.
    """
    fields = _expanded(data)
    bag, content, write = (fields.pop(name, None) for name in ("bag", "c", "w"))
    act = acts.from_bytes(acts.REMEMBER, codec.encode(fields))
    if not isinstance(act, Remember):
        raise RefusedBody("a stub is not of a record")
    for digest in (content, write):
        if not isinstance(digest, bytes) or len(digest) != DIGEST_BYTES:
            raise RefusedBody("a stub's digest is malformed")
    return Stub(act, content, write, _read_bag(bag))


def _expanded(data: bytes) -> dict[str, Any]:
    import zstandard

    try:
        said = zstandard.get_frame_parameters(data)
        if said.content_size > LIMITS.stub_bytes:  # an unknown size is the greatest number there is
            raise RefusedBody("a stub says no size, or too great a one")
        plain = zstandard.ZstdDecompressor().decompress(data, max_output_size=LIMITS.stub_bytes)
        fields = codec.decode(plain, LIMITS.stub_bytes)
    except (zstandard.ZstdError, Malformed, LimitExceeded):
        raise RefusedBody("a stub is malformed") from None
    if not isinstance(fields, dict):
        raise RefusedBody("a stub is not a map")
    return fields


def _read_bag(bag: Any) -> str:
    try:
        text = bag.decode("utf-8", "surrogatepass") if isinstance(bag, bytes) else bag
    except UnicodeDecodeError:
        raise RefusedBody("a stub's words are malformed") from None
    if not isinstance(text, str):
        raise RefusedBody("a stub's words are malformed")
    total = 0
    for line in text.split("\n"):
        word, space, count = line.partition(" ")
        if space and not (count.isascii() and count.isdigit() and len(count) < 8):
            raise RefusedBody("a stub's words are malformed")
        total += (len(word) + 1) * int(count or 1)
    if total > LIMITS.text_chars + 1:  # words said a million times would fill the memory
        raise RefusedBody("a stub has more words than a text can have")
    return text


def agrees(stub: Stub, act: Remember, author: bytes) -> bool:
    """Whether a stub is that of a version: nothing in it can be made up by whoever archives."""
    said = stub_of(act, author)
    same = (stub.content, stub.write, stub.bag) == (said.content, said.write, said.bag)
    return same and acts.to_bytes(stub.act) == acts.to_bytes(said.act)
