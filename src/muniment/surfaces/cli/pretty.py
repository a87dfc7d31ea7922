"""Results as a person sees them: aligned, calm, with colour where it says something.

Imported only when a person is looking. All stored text goes through `words` and into `Text`, never into markup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from muniment.commands.results import Checkup, Chosen, Exported, Listed
from muniment.surfaces.cli import (
    plain,
    plain_playbook,
    pretty_banks,
    pretty_doctor,
    pretty_playbook,
    pretty_skills,
    serving,
    sharing,
)
from muniment.surfaces.cli.pretty_archive import DRAW_ARCHIVE
from muniment.surfaces.cli.unasked import drawn_attachment, drawn_config, drawn_preview
from muniment.surfaces.cli.words import (
    count,
    local,
    number,
    one_line,
    pieces,
    short_cid,
    short_did,
    shown,
    size,
)
from muniment.views import AgentInfo, Hit, Hits, ImportReport, Record, Remembered, Stats, Why

if TYPE_CHECKING:
    from muniment.carrying import CarriedIn
    from muniment.verify import VerifyReport

NAME, QUIET, LIT, GOOD, WARN, BAD = "bold cyan", "dim", "bold yellow", "green", "yellow", "red"
BAR = 8
MARKS = {
    "live": ("●", GOOD),
    "archived": ("◌", GOOD),
    "superseded": ("○", QUIET),
    "forgotten": ("✗", WARN),
    "erased": ("✗", BAD),
    "void": ("!", BAD),
}


def _grid(*columns: Mapping[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2), expand=False)
    for column in columns:
        table.add_column(**column)
    return table


def _pairs(rows: list[tuple[str, Any]]) -> Table:
    """Names and values, the names quiet; what is empty is left out."""
    table = _grid({"style": QUIET, "no_wrap": True}, {"overflow": "fold"})
    for name, value in rows:
        if value not in (None, "", ()):
            table.add_row(name, value if isinstance(value, Text) else Text(str(value)))
    return table


def _bar(share: float, style: str = "cyan") -> Text:
    filled = max(0, min(BAR, round(share * BAR)))
    return Text("━" * filled, style)


def _ref(record: Record) -> Text:
    """By what name to ask for it again: its key, else its id."""
    return Text(one_line(record.key, 60), NAME) if record.key else Text(record.id, QUIET)


def _title(record: Record, *, after: Text | None = None) -> Text:
    """The title, behind what stands before it."""
    text = after or Text()
    if record.title:
        text.append(("  " if text else "") + one_line(record.title, 80), "bold")
    return text


def _label(record: Record) -> Text:
    """Key and title, if there are any."""
    return _title(record, after=_ref(record) if record.key else None)


def _who(record: Record) -> str:
    name = one_line(record.author_name, 40) if record.author_name else short_did(record.author)
    return name if record.source == "self" else f"{name} ({record.source})"


def _provenance(record: Record) -> Text:
    """When, who, where from."""
    text = Text(f"{local(record.created_at_ms)} · {_who(record)}", QUIET)
    if record.type != "note":
        text.append(f" · {record.type}")
    if record.session:
        text.append(f" · in {one_line(record.session, 32)}")
    for tag in islice(record.tags, 6):
        text.append(f" #{one_line(tag, 24)}", "dim cyan")
    if judged := plain_playbook.counts(record.helpful, record.harmful):
        text.append(f" · {judged}")
    if record.state != "live":
        text.append(f" · {record.state}", WARN)
    if record.clock_ahead:
        text.append(" · clock ahead", WARN)
    return text


# Records


def _remembered(result: Remembered) -> RenderableType:
    if not result.created:
        return Text.assemble(("● ", QUIET), "Already there, nothing written  ", (result.id, QUIET))
    text = Text.assemble(("● ", GOOD), "Remembered  ", (result.id, QUIET))
    if result.superseded:
        text.append(
            f"\n  in place of {count(len(result.superseded), 'version')}; `muniment history` has it", QUIET
        )
    if result.degraded:
        text.append(f"\n  kept without a vector: {one_line(result.degraded)}", WARN)
    return text


def _hit(hit: Hit) -> RenderableType:
    head = _title(hit.record, after=_ref(hit.record))
    for flag, on in (("conflict", hit.conflict), ("archived", hit.archived)):
        if on:
            head.append(f"  {flag}", f"bold {WARN}")
    if hit.duplicates:
        head.append(f"  {len(hit.duplicates)} more like it", QUIET)
    if hit.contradicts:
        head.append("  another says otherwise", WARN)
    words = Text()
    for piece, lit in pieces(hit.snippet or hit.record.text[:400], hit.highlights):
        words.append(piece, LIT if lit else "")
    return Group(head, words, _provenance(hit.record))


def _hits(result: Hits) -> RenderableType:
    if not result:
        return Group(Text("No memory matches.", QUIET), *_degraded(result))
    ranked = result.mode != "recent"
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(justify="right", style=QUIET, width=len(str(len(result))))
    table.add_column(ratio=1, overflow="fold")
    table.add_column(width=BAR + 5 if ranked else 0, no_wrap=True)
    for place, hit in enumerate(result, 1):
        score = Text(f"{hit.score:.2f} ") + _bar(hit.score) if ranked else Text()
        table.add_row(str(place), Padding(_hit(hit), (0, 0, 1 if place < len(result) else 0, 0)), score)
    return Group(table, *_degraded(result))


def _degraded(result: Hits) -> list[RenderableType]:
    return [Text(f"\n{one_line(result.degraded)}", WARN)] if result.degraded else []


def _record(record: Record) -> RenderableType:
    head = _label(record)
    if record.conflict:
        head.append("  conflict: another live version says something else", f"bold {WARN}")
    rows = [(name, value) for name, value in plain.record_rows(record) if name not in {"key", "title"}]
    times = {"said": local(record.created_at_ms), "signed": local(record.written_at_ms)}
    rows = [(name, times.get(name, value)) for name, value in rows]
    parts: list[RenderableType] = [head] if head else []
    return Group(*parts, Padding(Text(shown(record.text)), (0, 0, 1, 0)), _pairs(rows))


def _list(records: Listed) -> RenderableType:
    if not records:
        return Text("No memories.", QUIET)
    return Group(*map(_row, records))


def _row(record: Record) -> RenderableType:
    """One memory on one line; the id stands at its end where there is no key to ask for it by."""
    words = _label(record)
    words.append(("  " if words else "") + one_line(record.text, 240))
    row = Table.grid(padding=(0, 2), expand=True)
    row.add_column(style=QUIET, no_wrap=True)
    row.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    marks = Text(" ".join(f"#{one_line(tag, 24)}" for tag in islice(record.tags, 3)), "dim cyan")
    for flag, on in (("conflict", record.conflict), (record.state, record.state != "live")):
        if on:
            marks.append(("  " if marks else "") + flag, WARN)
    cells: list[RenderableType] = [local(record.created_at_ms), words]
    for cell in (marks, None if record.key else Text(record.id, QUIET)):
        if cell:
            row.add_column(no_wrap=True)
            cells.append(cell)
    row.add_row(*cells)
    return row


def _history(records: Listed) -> RenderableType:
    table = _grid({"width": 1}, {"ratio": 1, "overflow": "fold"})
    for place, record in enumerate(records):
        mark, style = MARKS.get(record.state, ("●", ""))
        head = Text(record.state, style)
        head.append(f"  {local(record.written_at_ms)} · {_who(record)}", QUIET)
        if record.conflict:
            head.append("  conflict", f"bold {WARN}")
        head.append(f"  {short_cid(record.version)}", QUIET)
        words = Text(one_line(record.text, 400), "" if record.state == "live" else QUIET)
        last = place == len(records) - 1
        line = Text(mark, style) if last else Text(f"{mark}\n│\n│", style="bright_black")
        if not last:
            line.stylize(style, 0, 1)
        table.add_row(line, Padding(Group(head, words), (0, 0, 0 if last else 1, 0)))
    title = _label(records[0]) if records else Text("No versions.", QUIET)
    return Group(*([title] if title else []), table)


def _forgotten(records: Listed) -> RenderableType:
    lines = []
    for record in records:
        mark, style = MARKS.get(record.state, ("●", ""))
        words = Text.assemble((f"{mark} ", style), (f"{record.state}  ", style), _label(record))
        words.append(("  " if record.key or record.title else "") + one_line(record.text, 100))
        lines.append(words)
    return Group(*lines)


def _why(result: Why) -> RenderableType:
    hit = result.hit
    reason = one_line(result.reason, 600)
    if hit is None:
        return Text(reason)
    score = Table.grid(padding=(0, 2))
    judged = plain_playbook.counts(hit.record.helpful, hit.record.harmful)
    score.add_row(
        Text(f"{hit.score:.2f} ") + _bar(hit.score), Text(reason + (f" Judged {judged}." if judged else ""))
    )
    parts: list[RenderableType] = [score]
    if hit.terms:
        table = Table(box=None, pad_edge=False, padding=(0, 2), header_style=QUIET)
        for name, side in (("word", "left"), ("here", "right"), ("memories with it", "right"),
                           ("weight", "right"), ("adds", "right"), ("", "left")):  # fmt: skip
            table.add_column(name, justify=side)  # type: ignore[arg-type]
        most = max(term.score for term in hit.terms) or 1.0
        for term in sorted(hit.terms, key=lambda term: -term.score):
            table.add_row(
                Text(one_line(term.term, 40), LIT),
                f"{term.tf}×",
                number(term.df),
                f"{term.idf:.2f}",
                f"{term.score:.2f}",
                _bar(term.score / most),
            )
        parts.append(Padding(table, (1, 0, 0, 0)))
    if result.missed:
        parts.append(Text("not in it: " + ", ".join(one_line(word, 40) for word in result.missed), QUIET))
    if any(hit.signals.values()):
        signals = "   ".join(f"{one_line(name)} {value:.3f}" for name, value in hit.signals.items())
        parts.append(Padding(Text(signals, QUIET), (1, 0, 0, 0)))
    return Group(*parts)


def _stats(result: Stats) -> RenderableType:
    rows = dict(plain.stats_rows(result))
    rows["bank"] = short_cid(result.bank)
    rows["first"], rows["last"] = local(result.first_ms), local(result.last_ms)
    rows["file"] = size(result.file_bytes)
    return _pairs(list(rows.items()))


# Files, agents, host


def _imported(result: ImportReport | CarriedIn) -> RenderableType:
    if not isinstance(result, ImportReport):
        mark = ("● ", WARN if result.refused_count else GOOD)
        return Text.assemble(mark, "\n".join(plain.carried_in_lines(result)))
    text = Text.assemble(
        ("● ", GOOD if result.created or result.unchanged else WARN),
        (number(result.created), "bold"), f" {'memory' if result.created == 1 else 'memories'} new",
    )  # fmt: skip
    if result.unchanged:
        text.append(f" · {number(result.unchanged)} already there", QUIET)
    if result.merged:
        text.append(f" · {number(result.merged)} merged into others", QUIET)
    text.append(f" · {number(result.read)} read", QUIET)
    if left := sum(result.left_out.values()) + result.bad_count:
        text.append(f" · {number(left)} left out", WARN if result.bad_count else QUIET)
    for line in plain.import_lines(result)[1:]:
        text.append(f"\n{line}", WARN if result.bad_count else QUIET)
    return text


def _exported(result: Exported) -> RenderableType:
    return Text.assemble(("● ", GOOD), plain.exported_line(result))


def _agent(agent: AgentInfo) -> RenderableType:
    rows = [
        ("key", agent.did),
        ("controller", short_did(agent.controller)),
        ("bank", short_cid(agent.bank)),
        ("made", local(agent.created_at_ms)),
        ("memories", None if agent.records is None else number(agent.records)),
    ]
    return Group(Text(one_line(agent.name), NAME), _pairs(rows))


def _agents(agents: Listed) -> RenderableType:
    if not agents:
        return Text("No agents.", QUIET)
    counted = any(agent.records is not None for agent in agents)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style=QUIET)
    table.add_column("agent", style=NAME)
    if counted:
        table.add_column("memories", justify="right")
    table.add_column("key", style=QUIET)
    table.add_column("made", style=QUIET)
    for agent in agents:
        records = ["-" if agent.records is None else number(agent.records)] if counted else []
        name = Text(one_line(agent.name))
        table.add_row(name, *records, short_did(agent.did), local(agent.created_at_ms))
    return table


def _credentials(found: Listed) -> RenderableType:
    if not found:
        return Text("No API keys.", QUIET)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style=QUIET)
    table.add_column("provider", style=NAME)
    table.add_column("fingerprint of the key")
    for item in found:
        table.add_row(
            Text(item.provider), Text(plain.credential_mark(item), "" if item.fingerprint else WARN)
        )
    return table


def _chosen(result: Chosen) -> RenderableType:
    text = Text.assemble(("● ", GOOD), "Ready")
    return Group(text, Padding(_pairs(plain.chosen_rows(result)), (0, 0, 0, 2)))


def _checkup(result: Checkup) -> RenderableType:
    if result.ok:
        made = "; all that is derived was made again" if result.rebuilt else ""
        return Text.assemble(("● ", GOOD), f"{one_line(result.agent)}: nothing wrong{made}")
    text = Text.assemble(("● ", BAD), f"{one_line(result.agent)}: {count(len(result.problems), 'problem')}")
    for problem in result.problems:
        text.append(f"\n  {one_line(problem.where)}", "bold").append(
            f"  {one_line(problem.what)}", "not bold"
        )
        if problem.next_step:
            text.append(f"\n    {one_line(problem.next_step)}", QUIET)
    return text


def _verified(result: VerifyReport) -> RenderableType:
    head = "Every signature holds" if result.ok else "Not everything can be proved"
    rows = []
    for name, value in plain.verify_rows(result):
        if name == "bank":
            rows.append((name, short_cid(result.bank)))
        elif name == "authors":
            authors = {short_did(did): n for did, n in result.authors.items()}
            rows.append((name, plain.plain_value(authors)))
        elif name != "ok" and value not in {"none", "0"}:
            rows.append((name, value))
    told = [Text(f"  {line}", BAD if not result.ok else WARN) for line in plain.finding_lines(result)]
    mark = Text.assemble(("● ", GOOD if result.ok else BAD), head)
    return Group(mark, Padding(_pairs(rows), (0, 0, 0, 2)), *told)


def _as_lines(write: Callable[[Any], str]) -> Callable[[Any], RenderableType]:
    return lambda result: Text(write(result))


DRAW: Mapping[str, Callable[[Any], RenderableType]] = {
    "remember": _remembered,
    "recall": _hits,
    "get": _record,
    "list": _list,
    "history": _history,
    "forget": _forgotten,
    "why": _why,
    "stats": _stats,
    **DRAW_ARCHIVE,
    "fetch": _record,
    "context": drawn_preview,
    "bank attach": drawn_attachment,
    "bank detach": drawn_attachment,
    "bank config": drawn_config,
    "import": _imported,
    "export": _exported,
    "bank export": lambda result: Text.assemble(("● ", GOOD), plain.carried_out_line(result)),
    "agent new": _agent,
    "agent list": _agents,
    "agent show": _agent,
    "key mine": lambda result: Text(plain.claimed_line(result)),
    **pretty_banks.DRAW,
    "credential set": lambda result: Text.assemble(("● ", GOOD), plain.kept_line(result)),
    "credential list": _credentials,
    "credential remove": lambda result: Text.assemble(("● ", GOOD), plain.forgotten_line(result)),
    "init": _chosen,
    "check": _checkup,
    "verify": _verified,
    "reindex": lambda result: Text.assemble(
        ("● ", GOOD if result.ok else WARN), plain.reindexed_line(result)
    ),
    "doctor": pretty_doctor.drawn,
    **{name: _as_lines(write) for name, write in serving.WRITE.items()},
    **sharing.DRAW,
    "save-skill": _remembered,
    **pretty_skills.DRAW,
    **pretty_playbook.DRAW,
}
