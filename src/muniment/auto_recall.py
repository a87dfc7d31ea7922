"""What a turn of a conversation asks of memory, and the block that answers it. Pure decisions, no I/O (section 11).

A turn is read from the last five messages that people and agents wrote. What tools returned and what the system says
does not steer recall: the first is a stranger's text, the second is the same in each turn. The question is the latest
user text, however many messages of the agent came after it; the other messages only help to understand it. Evidence is
the share of the idf mass of the question that a record holds, or of the question read together with one earlier
message ("and when does it close?"), whichever is more.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from muniment.base.errors import InvalidInput
from muniment.recall.stopwords import stop_words
from muniment.skills import TYPE, in_brief
from muniment.views import Hit, Record

if TYPE_CHECKING:
    from muniment.recall.lexical import TermScore

HEADING = "## Relevant Memories"
MESSAGES = 5  # of the conversation, the newest
QUESTION_CHARS = 2000  # of the latest user text: of a longer one its beginning and its end
EARLIER_CHARS = 400  # of each other message: its end, which leads to what comes next
SAID_CHARS = 200_000  # of a conversation that are looked through for what is quoted already: its end
FEW_WORDS = 3  # a question of fewer words that say something is embedded with the message before it
LABEL_CHARS = 60
NAME_CHARS = 40
UNIT_DF = 10  # so rare must a single word be to be evidence alone: "thanks" is in every bank
UNSEEN = 1.5  # a word that no record holds weighs at most so many times one that one record holds
SHORT = 4  # words; so short a text under a label says more than its words do
TOKEN_BYTES = 3  # UTF-8 bytes that are taken for one token: more than real tokenizers need for most texts

_ROLES = {"user": True, "human": True, "assistant": False, "ai": False, "agent": False, "model": False}
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_WORD = re.compile(r"[^\W_]+")
_BLOCK = re.compile(rf"^{re.escape(HEADING)}[ \t]*\n?(?:(?:- \[|_\(from bank: ).*(?:\n|\Z))*", re.MULTILINE)

# Messages


@dataclass(frozen=True, slots=True)
class Turn:
    """What a turn asks.

    Attributes:
        question: The latest user text, or the newest message where no user has spoken.
        earlier: The other messages, newest first.
        said: The words of the messages, the newest first, tool results too: they need not be said again.
    """

    question: str
    earlier: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def query(self) -> str:
        """The question and what was said before it: newest first."""
        return "\n".join([self.question, *self.earlier])

    @property
    def readings(self) -> tuple[str, ...]:
        """The question alone and with each earlier message, as far as there is a word that says something."""
        both = [self.question, *(f"{self.question}\n{text}" for text in self.earlier)]
        return tuple(text for text in both if has_words(text))

    @property
    def meant(self) -> str:
        """What is embedded, once: the question, with the message before it if it is short."""
        few = len(_telling(self.question)) < FEW_WORDS
        return "\n".join([self.question, *self.earlier[:1]]) if few else self.question


def turn_of(messages: Sequence[Mapping[str, Any]]) -> Turn:
    """Read the turn from a conversation, the oldest message first, as chat APIs take it.

    Args:
        messages: Each with a `role` and a `content`: text, or a list of parts of which those of type `text` count.

    Raises:
        InvalidInput: A message is no mapping with a role.
    """
    asked: str | None = None
    others: list[str] = []
    said: list[str] = []
    room = SAID_CHARS
    for message in reversed(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InvalidInput("a message has no role", 'Give messages as {"role": "user", "content": "…"}.')
        role, content = message["role"].lower(), message.get("content")
        for text in _texts(content, every=True) if room > 0 else []:
            said.append(" ".join(_words(text[-room:] if room > 0 else "")))
            room -= len(text)
        if role not in _ROLES or (len(others) >= MESSAGES and (asked is not None or not _ROLES[role])):
            continue
        text = _BLOCK.sub("", "\n".join(_texts(content, every=False))).strip()
        if text and _ROLES[role] and asked is None:
            asked = text
        elif text:
            others.append(text)
    if asked is None:
        asked = others.pop(0) if others else ""
    earlier = tuple(text[-EARLIER_CHARS:] for text in others[: MESSAGES - 1])
    return Turn(_ends(asked, QUESTION_CHARS), earlier, tuple(said))


def _texts(content: Any, *, every: bool) -> list[str]:
    """The texts of a message's content; with `every` also those inside tool results."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list | tuple):
        return []
    found: list[str] = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, Mapping):
            if part.get("type", "text") in _TEXT_PARTS and isinstance(part.get("text"), str):
                found.append(part["text"])
            elif every and "content" in part:
                found += _texts(part["content"], every=True) if not _nested(part) else []
    return found


def _nested(part: Mapping[str, Any]) -> bool:
    """Whether parts stand in parts of parts: nobody's tool result is so deep."""
    inner = part["content"]
    return isinstance(inner, list | tuple) and any(isinstance(p, Mapping) and "content" in p for p in inner)


def _ends(text: str, most: int) -> str:
    """A text, or its beginning and its end."""
    return text if len(text) <= most else f"{text[: most // 2]} {text[-(most // 2) :]}"


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFKC", text))]


def _telling(text: str) -> list[str]:
    stops = stop_words("english")
    return [word for word in _words(text) if word not in stops]


def has_words(text: str) -> bool:
    """Whether a text holds more than stop words, in any case."""
    return bool(_telling(text))


# Evidence


class Scale(NamedTuple):
    """What words weigh in a bank of a given size.

    Attributes:
        least: The mass below which a question asks for nothing: that of one word in `UNIT_DF` records; 0 in a bank
            that is too small to have common words.
        most: What a word weighs at most. In a small bank a word that no record holds would weigh several times one
            that a record holds, and silence it.
    """

    least: float
    most: float


def scale(records: int) -> Scale:
    """The scale of a bank of so many live records."""
    least = _idf(UNIT_DF, records) if records > 2 * UNIT_DF else 0.0
    return Scale(least, UNSEEN * _idf(1, max(1, records)))


def _idf(df: int, records: int) -> float:
    return math.log((records - df + 0.5) / (df + 0.5) + 1)


def mass(terms: Iterable[TermScore], reading: frozenset[str], weights: Scale) -> float:
    """The share of a reading's idf mass that a record holds, 0..1.

    Args:
        terms: Of the record: those of the whole query.
        reading: The terms of the reading.
        weights: Of the record's bank.
    """
    whole = held = 0.0
    for term in terms:
        if term.term in reading:
            weight = min(term.idf, weights.most)
            whole += weight
            held += weight if term.tf else 0.0
    return held / max(whole, weights.least) if held else 0.0


def same_words(record: str) -> str:
    """What two texts have in common that differ only in case, spaces and punctuation."""
    return " ".join(_words(record))


def is_quoted(label: str | None, text: str, said: Sequence[str]) -> bool:
    """Whether the conversation holds a record's words already."""
    words = same_words(text)
    if label is not None and words.count(" ") + 1 < SHORT:
        words_of_label = same_words(label)
        return any(f" {words} " in f" {one} " and f" {words_of_label} " in f" {one} " for one in said)
    return bool(words) and any(f" {words} " in f" {one} " for one in said)


# What came of it


@dataclass(frozen=True, slots=True)
class Recalled:
    """A record that cleared the floor, and why.

    Attributes:
        hit: As `recall` would give it.
        mass: The share of the question's idf mass that its own words hold.
        sigmas: How far its cosine stands above the background; None without vectors.
        own: Whether the agent or its controller wrote it, and no tool.
    """

    hit: Hit
    mass: float
    sigmas: float | None
    own: bool

    @property
    def reason(self) -> str:
        """Why it is shown, in words."""
        held = ", ".join(term.term for term in sorted(self.hit.terms, key=lambda t: -t.idf) if term.tf)
        words = f"It holds {self.mass:.0%} of what is asked" + (f": {held}" if held else "")
        named = {"speaker": "its speaker", "dated": "its time"}
        words += "".join(
            f"; the question names {said}" for key, said in named.items() if key in self.hit.signals
        )
        return words + ("." if self.sigmas is None else f"; its meaning is {self.sigmas:.1f} sigmas near.")

    def to_json(self) -> dict[str, Any]:
        """For a preview."""
        sigmas = None if self.sigmas is None else round(self.sigmas, 4)
        return {
            "hit": self.hit.to_json(), "mass": round(self.mass, 4), "sigmas": sigmas, "own": self.own,
            "reason": self.reason,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoreRecall:
    """What one bank gave: its id, its name (None: the agent's own memory), and the records, best first."""

    bank: str
    name: str | None
    hits: tuple[Recalled, ...]

    def to_json(self) -> dict[str, Any]:
        """For a preview."""
        return {"bank": self.bank, "name": self.name, "hits": [hit.to_json() for hit in self.hits]}


@dataclass(frozen=True, slots=True)
class TurnRecall:
    """What all banks gave.

    Attributes:
        query: What was asked.
        stores: The banks that were searched, the agent's own memory first.
        degraded: Why less was done than could be: the embedder or the time; None if all was done.
    """

    query: str
    stores: tuple[StoreRecall, ...]
    degraded: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For a preview."""
        stores = [store.to_json() for store in self.stores]
        return {"query": self.query, "stores": stores, "degraded": self.degraded}


@dataclass(frozen=True, slots=True)
class Preview:
    """The block of a turn, empty if nothing is known well enough, and what it was made of."""

    block: str
    found: TurnRecall

    def to_json(self) -> dict[str, Any]:
        """The block, and the records with the reason for each."""
        return {"block": self.block, **self.found.to_json()}


# The block

_ODD = re.compile(r"<(?=[|/!?<a-zA-Z])|\[(?=/?INST\])|`{3,}|~{3,}|_\(")
_SAFE = {"<": "‹", "[": "‹", "`": "'''", "~": "~~", "_": "\\_("}
_MARKS = ("#", "-", "+", "*", ">", "=", "|", "_(")
_JOINERS = "\u200c\u200d"  # some scripts can't be written without them


def neutral(text: str) -> str:
    """A text on one line that can neither close the block nor begin another, and holds nothing invisible.

    Spaces of any kind become one space; control and format characters (bidi too), private and unassigned ones and
    lone surrogates go. What would begin a heading, list, quote or bank line is escaped as Markdown escapes it; fences
    and the marks by which chat templates begin a role are broken.
    """
    flat = " ".join("".join(map(_visible, text)).split())
    flat = _ODD.sub(_broken, flat)
    return "\\" + flat if flat.startswith(_MARKS) else flat


def _broken(match: re.Match[str]) -> str:
    return _SAFE[match[0][0]]


def _visible(char: str) -> str:
    if char.isascii():
        return char if char.isprintable() else " "
    if char in _JOINERS:
        return char
    if "\ufe00" <= char <= "\ufe0f":
        return char  # how a pictograph is drawn
    if "\U000e0000" <= char <= "\U000e0fff":
        return ""  # tags and selectors that nobody sees
    kind = unicodedata.category(char)
    return " " if kind in {"Cc", "Zs", "Zl", "Zp"} else "" if kind.startswith("C") else char


def cut(text: str, most: int) -> str:
    """At most so many characters, on a word's border where that costs less than half, with `…` for what is missing."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    border = kept.rfind(" ")
    if text[most - 1] != " " and border >= most // 2:
        kept = kept[:border]
    return kept.rstrip().rstrip("\\") + "…"


def label_of(record: Record) -> str:
    """What stands before a record: its title, else its key, else its type."""
    given = (record.title or record.key or "")[: LABEL_CHARS * 4].replace("[", "(").replace("]", ")")
    return cut(neutral(given), LABEL_CHARS) or record.type


def line_of(recalled: Recalled, chars: int) -> str:
    """The bullet of a record."""
    record = in_brief(recalled.hit.record)
    text = cut(neutral(record.text[: chars * 8]), chars)
    kind = "skill: " if record.type == TYPE else ""
    return f"- [{kind}{label_of(record)}]: {text}" + ("" if recalled.own else _from(record))


def _from(record: Record) -> str:
    name = cut(neutral((record.author_name or "")[: NAME_CHARS * 4]), NAME_CHARS)
    day = datetime.fromtimestamp(min(record.created_at_ms, _LAST_MS) / 1000, UTC).date().isoformat()
    who = name or record.author[:16] + "…"
    return f" (from {who}, {'tool' if record.tool else 'peer'}, {day})"


_LAST_MS = 253_402_300_799_000  # the end of the year 9999


def bank_line(name: str) -> str:
    """The line that says from which bank the next records come."""
    plain = cut(neutral(name[: NAME_CHARS * 4]), NAME_CHARS).replace("(", "").replace(")", "")
    return f"_(from bank: {plain})_"


def tokens(text: str) -> int:
    """How many tokens a text is taken for: one for each `TOKEN_BYTES` bytes of UTF-8, begun ones counted."""
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)


def block(stores: Sequence[StoreRecall], *, chars: int, budget: int) -> str:
    """The block to put after the conversation, without a line end; empty if nothing was found or fits.

    Args:
        stores: What was found.
        chars: Of each record's text at most.
        budget: Tokens at most, by `tokens`; the best record of each bank comes first, then the second ones.
    """
    left = budget - tokens(HEADING + "\n")
    lines: list[list[str]] = [[] for _ in stores]
    for place in range(max((len(store.hits) for store in stores), default=0)):
        for store, taken in zip(stores, lines, strict=True):
            if place >= len(store.hits):
                continue
            new = [line_of(store.hits[place], chars)]
            if store.name is not None and not taken:
                new.insert(0, bank_line(store.name))
            cost = tokens("\n".join(new) + "\n")
            if cost <= left:
                left -= cost
                taken.extend(new)
    told = [line for taken in lines for line in taken]
    return "\n".join([HEADING, *told]) if told else ""
