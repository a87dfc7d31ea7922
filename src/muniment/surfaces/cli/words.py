"""How stored things read on a screen: safe text, short ids, times and sizes.

Stored text is a stranger's text. Whatever it holds, a person sees characters, never their effect: control
characters, escape sequences, bidi overrides and invisible marks are shown by their number.
"""

from __future__ import annotations

import re
import time

# C0 without newline and tab, DEL, C1; soft hyphen, zero-width marks (not the joiners that scripts and emoji need),
# bidi controls, line and paragraph separators, invisible operators, byte order mark, interlinear marks, tag
# characters, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
# In JSON the same characters can be written by their number without changing the value.
_UNSAFE_JSON = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_BLANKS = re.compile(r"[\t\n\r ]+")


def _numbered(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(text: str) -> str:
    """Text as it may go to a terminal, lines kept."""
    return _UNSAFE.sub(_numbered, text.replace("\r\n", "\n")).expandtabs(4)


def one_line(text: str, width: int = 0) -> str:
    """Text as it may go to a terminal, on one line, cut to `width` characters if that is given."""
    if width:
        text = text[: width * 8 + 64]  # a megabyte is not cleaned to show a line of it
    line = _UNSAFE.sub(_numbered, _BLANKS.sub(" ", text)).strip()
    return line if not width or len(line) <= width else line[: width - 1].rstrip() + "…"


def safe_json(text: str) -> str:
    """JSON text whose strings hold no character that acts on a terminal."""
    return _UNSAFE_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def pieces(text: str, spans: tuple[tuple[int, int], ...]) -> list[tuple[str, bool]]:
    """A snippet cut at its highlights, each piece safe and on one line, and whether it is highlighted."""
    found, at = [], 0
    for start, end in spans:
        found += [(text[at:start], False), (text[start:end], True)]
        at = end
    found.append((text[at:], False))
    return [(_UNSAFE.sub(_numbered, _BLANKS.sub(" ", piece)), lit) for piece, lit in found if piece]


def utc(ms: int | None) -> str:
    """A time as ISO 8601 in UTC, to the second."""
    return "-" if ms is None else _strftime("%Y-%m-%dT%H:%M:%SZ", ms, local=False)


def local(ms: int | None) -> str:
    """A time as a person reads it, in the time zone of this machine, to the minute."""
    return "-" if ms is None else _strftime("%Y-%m-%d %H:%M", ms, local=True)


def _strftime(form: str, ms: int, *, local: bool) -> str:
    try:
        return time.strftime(form, (time.localtime if local else time.gmtime)(ms / 1000))
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"  # beyond what the platform's calendar holds


def size(count: int) -> str:
    """A number of bytes, for people."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def number(count: int) -> str:
    """A count with its thousands apart."""
    return f"{count:,}"


def count(how_many: int, one: str, many: str | None = None) -> str:
    """`1 memory`, `2 memories`."""
    return f"{number(how_many)} {one if how_many == 1 else many or one + 's'}"


def short_did(did: str) -> str:
    """A DID that can be told from others at a glance."""
    head, _, key = did.rpartition(":")
    return f"{head}:{key[:6]}…{key[-5:]}" if len(key) > 16 else did


def short_cid(cid: str) -> str:
    """An entry's or a bank's id, in short; a version keeps its act index."""
    body, slash, act = cid.partition("/")
    return (f"{body[:9]}…{body[-5:]}" if len(body) > 20 else body) + slash + act
