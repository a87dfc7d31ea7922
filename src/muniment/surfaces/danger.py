"""Which commands a person has to agree to where a model or a chat could ask for them by mistake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Hides or destroys much at once, or can't be taken back; each with the flags that make it harmless.
_DANGEROUS: Mapping[str, frozenset[str]] = {
    "clear": frozenset({"undo"}),
    "erase": frozenset(),
    "bank delete": frozenset(),
    "bank fork": frozenset(),
    "key mine": frozenset(),
    "key rotate": frozenset(),
    "credential remove": frozenset(),
}


def is_dangerous(command: str, params: Mapping[str, Any]) -> bool:
    """Whether a person should be asked first.

    Args:
        command: Its full name.
        params: What it was told.
    """
    harmless = _DANGEROUS.get(command)
    return harmless is not None and not any(params.get(name) for name in harmless)


def can_be_dangerous(command: str) -> bool:
    """Whether it ever is."""
    return command in _DANGEROUS


def word_of(command: str) -> str:
    """What a person types to agree: the command's last word."""
    return command.rpartition(" ")[2]
