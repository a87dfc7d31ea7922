"""Who said a record, as the word index keeps it, and what a question has to say about that. Pure functions.

A name is kept by its words (`FIELD word`), beside a mark of all records whose speaker has a name (`FIELD`); a role by
a key of its own (`FIELD FIELD role`). They are keys of the vocabulary that no text can hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

FIELD = b"\x02"
NAME_CHARS = 40
NAME_WORDS = 4
USER, ASSISTANT = "user", "assistant"
_ROLES = {
    "user": USER, "human": USER, "assistant": ASSISTANT, "ai": ASSISTANT, "model": ASSISTANT, "system": "system",
    "developer": "system", "tool": "tool", "function": "tool",
}  # fmt: skip
_PREFIX = re.compile(rf"\s*([^\W\d_][\w .'’-]{{0,{NAME_CHARS - 1}}}):\s")

# A question for what the assistant said, not one that it is to answer now ("what would you suggest?").
_SAYING = (
    r"said|told|mentioned|recommended|suggested|advised|proposed|explained|described|listed|provided|gave|wrote"
    r"|answered"
)
_ASKS = re.compile(
    rf"\byou\s+(?:\w+\s+)?(?:{_SAYING})\b"
    r"|\b(?:did|had|have)\s+you\s+(?:\w+\s+)?(?:say|tell|mention|recommend|suggest|advise|propose|explain|describe|list"
    rf"|provide|give|write|answer|{_SAYING})\b"
    r"|\byour\s+(?:\w+\s+)?(?:suggestion|recommendation|advice|answer|explanation|response|reply|list)s?\b"
    r"|\bremind\s+me\b|\bthe\s+assistant\b"
)


def role_key(role: str) -> bytes:
    """The key of all records of a role."""
    return FIELD + FIELD + role.encode()


def speaker_in(text: str) -> str:
    """The name or role that a line of a conversation begins with (`Ann Lee: …`); empty if it begins with none."""
    found = _PREFIX.match(text[: NAME_CHARS + 2])
    name = found[1].strip() if found else ""
    return name if len(name.split()) <= NAME_WORDS else ""


def speaker_keys(speakers: Iterable[str], words: Callable[[str], list[str]]) -> list[bytes]:
    """The keys of a record's speakers, each once.

    Args:
        speakers: Names and roles; empty ones say nothing.
        words: The words of a name, folded as those of a question are.
    """
    found: list[bytes] = []
    for speaker in speakers:
        role = _ROLES.get(speaker.strip().casefold())
        if role is not None:
            found.append(role_key(role))
        elif names := words(speaker[:NAME_CHARS])[:NAME_WORDS]:
            found += [FIELD, *(name_key(name) for name in names)]
    return list(dict.fromkeys(found))


def name_key(word: str) -> bytes:
    """The key of the records whose speaker has this word in the name."""
    return FIELD + word.encode("utf-8", "surrogatepass")


def asks_assistant(question: str) -> bool:
    """Whether a question is for what the assistant said, so that its words count in full (English)."""
    return _ASKS.search(question.casefold()) is not None
