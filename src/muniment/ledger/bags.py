"""Bags of words in few bytes: common words by their places in a list, the rest as lines (format F-15.4).

A bag is the words of a text, each as often as it occurs, in no order. All functions are pure; all bytes are hostile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

from muniment.base.errors import RefusedBody
from muniment.base.limits import LIMITS
from muniment.ledger.common_words import LIST_1

_MALFORMED = "a stub's words are malformed"
_LONGEST = 4  # bytes of a number: none is larger than a text has characters


@cache
def _places() -> Mapping[str, int]:
    return {word: place for place, word in enumerate(LIST_1)}


def lines(bag: Mapping[str, int]) -> str:
    """One line for each word, sorted: the word, and behind a space how often, where that is more than once."""
    return "\n".join(word if count == 1 else f"{word} {count}" for word, count in sorted(bag.items()))


def read_lines(text: str) -> Counter[str]:
    """The bag of such lines.

    Raises:
        RefusedBody: A count is none, or the words are more than a text can have.
    """
    found: Counter[str] = Counter()
    for line in text.split("\n") if text else ():
        word, space, count = line.partition(" ")
        if space and not (count.isascii() and count.isdigit() and len(count) < 8):
            raise RefusedBody(_MALFORMED)
        found[word] += int(count or 1)
    check_size(found)
    return found


def check_size(bag: Mapping[str, int]) -> None:
    """Refuse a bag that no text can have: words said a million times would fill the memory.

    Raises:
        RefusedBody: It is one.
    """
    if sum((len(word) + 1) * count for word, count in bag.items()) > LIMITS.text_chars + 1:
        raise RefusedBody("a stub has more words than a text can have")


def split(bag: Mapping[str, int]) -> tuple[bytes, str]:
    """Common words as numbers, and the lines of all others.

    Of each common word, in the order of the list, there is a number: twice the places between it and the one before,
    and one more if another number follows, which says how often beyond twice it occurs.
    """
    places = _places()
    out = bytearray()
    last = -1
    for place, count in sorted((places[word], count) for word, count in bag.items() if word in places):
        _put(out, (place - last - 1) << 1 | (count > 1))
        if count > 1:
            _put(out, count - 2)
        last = place
    return bytes(out), lines({word: count for word, count in bag.items() if word not in places})


def join(common: bytes, rest: str) -> Counter[str]:
    """The bag that was split.

    Raises:
        RefusedBody: The numbers lead out of the list or break off, or there are more words than a text can have.
    """
    found = read_lines(rest)
    numbers = _numbers(common)
    place = -1
    for number in numbers:
        place += (number >> 1) + 1
        if place >= len(LIST_1):
            raise RefusedBody(_MALFORMED)
        more = next(numbers, None) if number & 1 else -1
        if more is None:
            raise RefusedBody(_MALFORMED)
        found[LIST_1[place]] += more + 2
    check_size(found)
    return found


def _put(out: bytearray, number: int) -> None:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _numbers(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            if shift >= 7 * _LONGEST:
                raise RefusedBody(_MALFORMED)
            continue
        yield number
        number = shift = 0
    if shift:
        raise RefusedBody(_MALFORMED)
