"""Levels: what a key may do in a bank, as an order of strength (design sections 2 and 4)."""

from __future__ import annotations

import re
from typing import NamedTuple

from muniment.base.errors import InvalidInput

RELAY, READ, WRITE, ADMIN = 1, 2, 3, 4  # codes in the signed format
_NAMES = {RELAY: "relay", READ: "read", WRITE: "write"}
_CODES = {name: code for code, name in _NAMES.items()}
MAX_RANK = 1000


class Level(NamedTuple):
    """relay < read < write < admin(n), where a lower `rank` n is stronger."""

    code: int
    rank: int = 0

    @property
    def strength(self) -> tuple[int, int]:
        """Sorts weak to strong."""
        return (self.code, -self.rank)

    def weaker_than(self, other: Level) -> bool:
        """Strictly weaker: what `other` may grant, narrow and revoke."""
        return self.strength < other.strength

    def allows(self, code: int) -> bool:
        """At least the level of that code."""
        return self.code >= code

    def __str__(self) -> str:
        return _NAMES.get(self.code) or f"admin({self.rank})"


def parse_level(text: str) -> Level:
    """Read `relay`, `read`, `write`, `admin` (admin(1)) or `admin(n)`.

    Raises:
        InvalidInput: Another word.
    """
    word = text.strip().lower()
    if word in _CODES:
        return Level(_CODES[word])
    match = re.fullmatch(r"admin(?:\((\d{1,4})\))?", word, re.ASCII)
    if match and (rank := int(match[1] or 1)) <= MAX_RANK:
        return Level(ADMIN, rank)
    raise InvalidInput(
        f"unknown level: {text[:40]!r}", "Levels are relay, read, write and admin(n), n from 0 to 1000."
    )
