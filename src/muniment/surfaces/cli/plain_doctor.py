"""What `doctor` found, as lines."""

from __future__ import annotations

from collections import Counter
from typing import Any

from muniment.commands.results import Findings
from muniment.surfaces.cli.words import one_line


def titled(one: Any) -> str:
    """A code word, and what it is about."""
    return f"{one.name} ({one.about})" if one.about else str(one.name)


def summed(result: Findings) -> str:
    """How it stands, in a line."""
    count = Counter(finding.status for finding in result.findings)
    words = [f"{count['fail']} failed"] if count["fail"] else []
    words += [f"{count['warn']} to look at"] if count["warn"] else []
    mends = any(finding.mends for finding in result.findings)
    more = "; `muniment doctor --repair` mends some of it" if mends and result.mended is None else ""
    words.append(f"{count['ok']} in order")
    return ", ".join(words) + more


def lines(result: Findings) -> str:
    """The mended things, the findings and the sum."""
    found = [
        f"{'mended' if one.done else 'left'}  {one_line(titled(one))}: {one_line(one.detail)}"
        for one in result.mended or ()
    ]
    for finding in result.findings:
        found.append(f"{finding.status:<4}  {one_line(titled(finding))}: {one_line(finding.detail)}")
        if finding.status != "ok":
            found.append(f"      {one_line(finding.why)}")
        if finding.next_step:
            found.append(f"      {one_line(finding.next_step)}")
    return "\n".join([*found, summed(result)])
