"""What `doctor` found, as a person sees it: what needs a hand stands out, the rest is quiet."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muniment.commands.results import Findings
from muniment.surfaces.cli.plain_doctor import summed, titled
from muniment.surfaces.cli.words import one_line

QUIET, GOOD, WARN, BAD = "dim", "green", "yellow", "red"
_LOOKS = {"ok": ("●", GOOD), "warn": ("▲", WARN), "fail": ("✗", BAD)}


def _table() -> Table:
    table = Table.grid(padding=(0, 2), expand=False)
    table.add_column(width=1)
    table.add_column(no_wrap=True, max_width=24, overflow="ellipsis")
    table.add_column(ratio=1, overflow="fold")
    return table


def drawn(result: Findings) -> RenderableType:
    """The mended things, the findings and the sum."""
    parts: list[RenderableType] = []
    if result.mended:
        mended = _table()
        for one in result.mended:
            sign = Text("✓", GOOD) if one.done else Text("▲", WARN)
            mended.add_row(sign, Text(one_line(titled(one))), Text(one_line(one.detail)))
        parts += [Text("Mended", "bold"), mended, Text("")]
    table = _table()
    for finding in result.findings:
        mark, style = _LOOKS[finding.status]
        words = Text(one_line(finding.detail))
        if finding.status != "ok":
            words.append(f"\n{one_line(finding.why)}", QUIET)
        if finding.next_step:
            words.append("\n→ ", style)
            words.append(one_line(finding.next_step), "cyan")
        table.add_row(Text(mark, style), Text(one_line(titled(finding))), words)
    failed = any(finding.status == "fail" for finding in result.findings)
    odd = any(finding.status == "warn" for finding in result.findings)
    return Group(*parts, table, Text(summed(result), BAD if failed else WARN if odd else GOOD))
