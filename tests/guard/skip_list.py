"""Which tests were not run, why, and which of these reasons CI takes."""

import fnmatch
from pathlib import Path

import pytest

ALLOWED_SKIPS = Path(__file__).parents[1] / "allowed_skips.txt"


def skips_of(terminal: pytest.TerminalReporter) -> list[tuple[str, str]]:
    """Each skipped test and its reason."""
    found = []
    for report in terminal.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        found.append((report.nodeid, reason.removeprefix("Skipped: ")))
    return sorted(found)


def allowed_patterns() -> list[str]:
    """Reasons that CI takes."""
    lines = ALLOWED_SKIPS.read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def unlisted(skips: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The skips whose reason is not on the list."""
    patterns = allowed_patterns()
    return [skip for skip in skips if not any(fnmatch.fnmatchcase(skip[1], pattern) for pattern in patterns)]
