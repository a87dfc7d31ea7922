"""What memory tools cost a model's context: approximate tokens of each profile's definitions and instructions.

    python -m benchmarks.tools

A token is taken for four characters of JSON, as common tokenizers need for English and schemas; it is no one model's
count. Beside it stand the schemas of a filesystem-like memory tool of three verbs, written as shortly as possible: the
least that a rival could do with as many arguments.
"""

from __future__ import annotations

import json
import sys

from benchmarks import common
from benchmarks.common import Report

CHARS = 4
MOST_OURS = 650  # tokens of our own profile's definitions
_TEXT = {"type": "string"}
PLAIN = [
    {"name": "write", "input_schema": {"type": "object", "properties": {"path": _TEXT, "text": _TEXT}}},
    {"name": "read", "input_schema": {"type": "object", "properties": {"path": _TEXT}}},
    {"name": "search", "input_schema": {"type": "object", "properties": {"query": _TEXT}}},
]  # fmt: skip


def tokens(value: object) -> int:
    """Approximate tokens of a value as JSON, or of a text."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return -(-len(text) // CHARS)


def bench(*, quick: bool = False) -> Report:
    """Each profile."""
    import muniment
    from muniment.surfaces.tools import PROFILES

    report = Report("tools: what they cost a context", "python -m benchmarks.tools")
    rows = []
    for profile in PROFILES:
        kit = muniment.tools(profile)
        defined = kit.definitions("anthropic")
        rows.append([profile, str(len(defined)), str(tokens(defined)), str(tokens(kit.instructions))])
    report.add("definitions of our profile", float(rows[0][2]), "tokens", MOST_OURS)
    rows.append(["three bare verbs", "3", str(tokens(PLAIN)), "0"])
    report.table("Approximate tokens:", ["profile", "tools", "definitions", "instructions"], rows)
    return report


def main() -> int:
    """Command line."""
    return common.command_line(__doc__, bench)


if __name__ == "__main__":
    sys.exit(main())
