"""The ancestor's four methods: other names for commands that speak as it did (design section 10)."""

from __future__ import annotations

from collections.abc import Mapping

from muniment.commands.table import COMMANDS

# Method -> the command that has its parameters and its view of a record.
METHODS: Mapping[str, str] = {
    "tenzro_memoryGrant": "memory grant",
    "tenzro_memoryRecall": "memory recall",
    "tenzro_memoryArchive": "memory archive",
    "tenzro_listMemoryRecords": "memory list",
}


def available() -> dict[str, str]:
    """The methods whose work can be done by this version."""
    return {m: name for m, name in METHODS.items() if name != "memory archive" or "archive" in COMMANDS}
