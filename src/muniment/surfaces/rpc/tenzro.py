"""The ancestor's four methods: other names for commands that speak as it did (design section 10)."""

from __future__ import annotations

from collections.abc import Mapping

# Method -> the command that has its parameters and its view of a record.
METHODS: Mapping[str, str] = {
    "tenzro_memoryGrant": "memory grant",
    "tenzro_memoryRecall": "memory recall",
    "tenzro_memoryArchive": "memory archive",
    "tenzro_listMemoryRecords": "memory list",
}
