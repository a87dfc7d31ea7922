"""Results as lines of text, for pipes and logs: full ids, times in UTC, no tabs, no colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from muniment.commands.results import Checkup, Chosen, Claimed, Exported, Listed
from muniment.surfaces.cli import plain_banks, plain_doctor, plain_playbook, plain_skills, serving, sharing
from muniment.surfaces.cli.plain_archive import WRITE_ARCHIVE
from muniment.surfaces.cli.unasked import attachment_line, config_lines, preview_text
from muniment.surfaces.cli.words import count, number, one_line, shown, size, utc
from muniment.views import AgentInfo, CredentialInfo, Hit, Hits, ImportReport, Record, Remembered, Stats, Why

if TYPE_CHECKING:
    from muniment.carrying import CarriedIn, CarriedOut
    from muniment.verify import VerifyReport

LINE = 160
# What a proof lists one by one, and how each of them is called.
LISTED = {
    "refused": "refused",
    "void_entries": "no effect",
    "missing": "missing",
    "rolled_back": "rolled back",
}


def _fields(rows: Iterable[tuple[str, Any]]) -> str:
    kept = [(name, str(value)) for name, value in rows if value not in (None, "", ())]
    wide = max((len(name) for name, _ in kept), default=0)
    return "\n".join(f"{name:<{wide}}  {value}" for name, value in kept)


def _label(record: Record) -> str:
    """Key or title, in front of the words."""
    names = [one_line(name, 60) for name in (record.key, record.title) if name]
    return f"[{' · '.join(names)}] " if names else ""


def who(record: Record) -> str:
    """Who wrote it: the name if there is one, the derived source behind it."""
    name = one_line(record.author_name or record.author, 60)
    return f"{name} ({record.source})"


def _provenance(record: Record) -> str:
    parts = [record.id, record.type, f"by {who(record)}", utc(record.created_at_ms)]
    if record.session:
        parts.append(f"in {one_line(record.session, 60)}")
    if record.tags:
        parts.append(f"tags {', '.join(one_line(tag) for tag in record.tags)}")
    if judged := plain_playbook.counts(record.helpful, record.harmful):
        parts.append(judged)
    if record.state != "live":
        parts.append(record.state)
    if record.clock_ahead:
        parts.append("clock ahead")
    return "  ".join(parts)


def _row(record: Record) -> str:
    flag = " (conflict)" if record.conflict else ""
    return f"{_label(record)}{one_line(record.text, LINE)}{flag}\n  {_provenance(record)}"


def _remembered(result: Remembered) -> str:
    if not result.created:
        return f"already there: {result.id}"
    over = f", in place of {count(len(result.superseded), 'version')}" if result.superseded else ""
    note = f"\nnote: kept without a vector: {one_line(result.degraded)}" if result.degraded else ""
    return f"remembered {result.id}{over}{note}"


def _hit(place: int, hit: Hit) -> str:
    flags = [name for name, on in (("conflict", hit.conflict), ("archived", hit.archived)) if on]
    flags += [f"{len(hit.duplicates)} more like it"] if hit.duplicates else []
    flags += ["another says otherwise"] if hit.contradicts else []
    label, flag = _label(hit.record), f" ({', '.join(flags)})" if flags else ""
    return (
        f"{place}. {hit.score:.2f}  {label}{one_line(hit.snippet or hit.record.text, 2 * LINE)}{flag}\n"
        f"   {_provenance(hit.record)}"
    )


def _hits(result: Hits) -> str:
    lines = [_hit(place, hit) for place, hit in enumerate(result, 1)]
    if not lines:
        lines.append("no memory matches")
    if result.degraded:
        lines.append(f"note: {one_line(result.degraded)}")
    return "\n".join(lines)


def record_rows(record: Record) -> list[tuple[str, Any]]:
    """What is to be said of a record beside its text: names and values, the empty ones too."""
    return [
        ("key", record.key and one_line(record.key)),
        ("title", record.title and one_line(record.title)),
        ("state", record.state + (", conflict" if record.conflict else "")),
        ("type", record.type),
        ("tags", ", ".join(one_line(tag) for tag in record.tags)),
        ("session", record.session and one_line(record.session)),
        ("said", utc(record.created_at_ms)),
        ("signed", utc(record.written_at_ms) + (" (clock ahead)" if record.clock_ahead else "")),
        ("true from", record.valid_from and utc(record.valid_from)),
        ("true until", record.valid_until and utc(record.valid_until)),
        ("judged", plain_playbook.counts(record.helpful, record.harmful)),
        ("kind", record.kind),
        ("by", who(record)),
        ("author", record.author),
        ("record", record.id),
        ("version", record.version),
        ("supersedes", ", ".join(record.supersedes)),
        ("origin", record.source_ref and one_line(record.source_ref)),
        ("pointer", record.pointer),
        ("text", None if record.whole else "the beginning only; bring the rest: muniment fetch"),
        *((f"meta {one_line(n, 40)}", one_line(value_text(v), LINE)) for n, v in record.metadata.items()),
    ]


def value_text(value: Any) -> str:
    """A metadata value as it would be typed."""
    from muniment.surfaces.cli.output import as_json

    return value if isinstance(value, str) else as_json(value)


def _record(record: Record) -> str:
    return f"{_fields(record_rows(record))}\n\n{shown(record.text)}"


def _list(records: Listed) -> str:
    return "\n".join(map(_row, records)) or "no memories"


def _history(records: Listed) -> str:
    lines = []
    for place, record in zip(range(len(records), 0, -1), records, strict=True):
        lines.append(f"{place}. {record.state}  {utc(record.written_at_ms)}  by {who(record)}")
        lines.append(f"   {_label(record)}{one_line(record.text, LINE)}")
        lines.append(f"   {record.version}")
    return "\n".join(lines)


def _forgotten(records: Listed) -> str:
    return "\n".join(f"{record.state}: {_label(record)}{one_line(record.text, LINE)}" for record in records)


def _why(result: Why) -> str:
    lines = [one_line(result.reason, 4 * LINE)]
    if result.hit is None:
        return lines[0]
    judged = plain_playbook.counts(result.hit.record.helpful, result.hit.record.harmful)
    lines.append(f"score {result.hit.score:.2f}" + (f", judged {judged}" if judged else ""))
    for term in result.hit.terms:
        held = f"{term.tf} in this memory, in {count(term.df, 'memory', 'memories')} of the bank"
        lines.append(f"  {one_line(term.term, 40)}: {held}, weight {term.idf:.2f}, adds {term.score:.2f}")
    if result.missed:
        lines.append(f"not in it: {', '.join(one_line(word, 40) for word in result.missed)}")
    signals = "  ".join(f"{name} {value:.3f}" for name, value in result.hit.signals.items())
    return "\n".join([*lines, signals]) if signals else "\n".join(lines)


def stats_rows(result: Stats) -> list[tuple[str, Any]]:
    """The counts of a bank, as names and values."""
    other = ", ".join(f"{number(n)} {state}" for state, n in result.versions.items() if n and state != "live")
    return [
        ("agent", result.agent and one_line(result.agent)),
        ("memories", number(result.records)),
        ("versions", number(sum(result.versions.values())) + (f" ({other})" if other else "")),
        ("signed entries", number(result.entries)),
        ("conversations", number(result.sessions)),
        ("authors", number(result.authors)),
        ("first", utc(result.first_ms)),
        ("last", utc(result.last_ms)),
        ("file", size(result.file_bytes)),
        ("index", ", ".join(f"{name.replace('_', ' ')} {number(n)}" for name, n in result.index.items())),
        (
            "archive",
            ", ".join(f"{name.replace('_', ' ')} {_size(name, n)}" for name, n in result.archive.items()),
        ),
        ("bank", result.bank),
    ]


def _size(name: str, value: int) -> str:
    return size(value) if name.endswith("_bytes") else number(value)


def _stats(result: Stats) -> str:
    return _fields(stats_rows(result))


def import_lines(result: ImportReport) -> list[str]:
    """What an import did, in one line, and then what was left out and each place that can't be taken."""
    parts = [
        f"{count(result.created, 'memory', 'memories')} new",
        f"{number(result.unchanged)} already there",
    ]
    if result.merged:
        parts.append(f"{number(result.merged)} merged into others")
    left = sum(result.left_out.values())
    parts.append(f"{number(left + result.bad_count)} left out")
    lines = [f"{', '.join(parts)}, of {number(result.read)} read"]
    lines += [f"  left out: {number(n)} × {one_line(reason, LINE)}" for reason, n in result.left_out.items()]
    lines += [f"  left out: {one_line(place, 60)}: {one_line(reason, LINE)}" for place, reason in result.bad]
    if result.bad_count > len(result.bad):
        lines.append(f"  and {number(result.bad_count - len(result.bad))} more")
    return lines


def carried_in_lines(result: CarriedIn) -> list[str]:
    """What became of an exported bank that was taken in."""
    what = "a new bank" if result.new else "a bank that was here"
    lines = [
        (
            f"{what}: {number(result.added)} entries new, {number(result.known)} already there, "
            f"{number(result.refused_count)} refused, of {number(result.entries)} read"
        )
    ]
    lines += [f"  refused: {one_line(name, 70)}: {one_line(reason, LINE)}" for name, reason in result.refused]
    if not result.readable:
        lines.append("  kept sealed: no key here may read it")
    return [*lines, f"  {result.bank}"]


def _imported(result: ImportReport | CarriedIn) -> str:
    return "\n".join(import_lines(result) if isinstance(result, ImportReport) else carried_in_lines(result))


def carried_out_line(result: CarriedOut) -> str:
    """What `bank export` wrote."""
    parts = (
        f"{count(result.entries, 'entry', 'entries')}, {count(result.bodies, 'sealed body', 'sealed bodies')}"
    )
    return f"{parts} written to {one_line(result.path)} ({size(result.bytes)})"


def exported_line(result: Exported) -> str:
    """What an export wrote."""
    where = "standard output" if result.path == "-" else one_line(result.path)
    what = ("memory", "memories") if result.page else ("version",)
    return f"{count(result.records, *what)} written to {where}"


def _agent(agent: AgentInfo) -> str:
    return _fields(
        [
            ("name", one_line(agent.name)),
            ("key", agent.did),
            ("controller", agent.controller),
            ("bank", agent.bank),
            ("made", utc(agent.created_at_ms)),
            ("memories", None if agent.records is None else number(agent.records)),
        ]
    )


def _agents(agents: Listed) -> str:
    rows = [(one_line(a.name), "-" if a.records is None else number(a.records), a.did) for a in agents]
    wide = max((len(name) for name, _, _ in rows), default=0)
    right = max((len(records) for _, records, _ in rows), default=0)
    return (
        "\n".join(f"{name:<{wide}}  {records:>{right}}  {did}" for name, records, did in rows) or "no agents"
    )


def credential_mark(credential: CredentialInfo) -> str:
    """By what to tell a key from others."""
    return credential.fingerprint or "does not open here: set it again"


def kept_line(credential: CredentialInfo) -> str:
    """What `credential set` did."""
    return f"kept for {credential.provider}, sealed: {credential_mark(credential)}"


def forgotten_line(credential: CredentialInfo) -> str:
    """What `credential remove` did."""
    return f"no API key is kept for {credential.provider} any more"


def _credentials(found: Listed) -> str:
    return _fields((item.provider, credential_mark(item)) for item in found) or "no API keys"


def plain_value(value: Any) -> str:
    """A value of a report whose fields are not known here."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return number(value)
    if isinstance(value, Mapping):
        return (
            ", ".join(f"{one_line(str(name))} {plain_value(item)}" for name, item in value.items() if item)
            or "none"
        )
    if isinstance(value, list | tuple):
        return ", ".join(plain_value(item) for item in value) or "none"
    return one_line(str(value), 4 * LINE)


def report_rows(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A report as names and values."""
    return [
        (name.replace("_", " "), plain_value(value)) for name, value in values.items() if value is not None
    ]


def chosen_rows(result: Chosen) -> list[tuple[str, Any]]:
    """What `init` set up, as names and values; agents by their names."""
    agents = [agent["name"] for agent in result.values.get("agents", ())]
    return report_rows({**result.values, "agents": agents})


def _chosen(result: Chosen) -> str:
    return _fields(chosen_rows(result))


def claimed_line(result: Claimed) -> str:
    """What `key mine` did."""
    return f"{one_line(result.agent)}: all entries by its key are its own, joined by {result.entry}"


def reindexed_line(result: Any) -> str:
    """What `reindex` did."""
    line = f"{one_line(result.model)}: {count(result.embedded, 'vector')} made, {result.left:,} missing"
    return line if result.reason is None else f"{line}\nnote: {one_line(result.reason)}"


def _checkup(result: Checkup) -> str:
    if result.ok:
        made = "; all that is derived was made again" if result.rebuilt else ""
        return f"{one_line(result.agent)}: nothing wrong{made}"
    lines = [f"{one_line(result.agent)}: {count(len(result.problems), 'problem')}"]
    for problem in result.problems:
        lines.append(f"  {one_line(problem.where)}: {one_line(problem.what)}")
        if problem.next_step:
            lines.append(f"    {one_line(problem.next_step)}")
    return "\n".join(lines)


def finding_lines(result: VerifyReport) -> list[str]:
    """Each thing that is refused, void, waiting, missing or rolled back, with its author and reason."""
    values = result.to_json()
    return [
        f"{kind}: {one_line(row['id'], 70)}: {one_line(row['reason'], 2 * LINE)}"
        + (f" (by {one_line(row['author'])})" if row.get("author") else "")
        for name, kind in LISTED.items()
        for row in values[name]
    ]


def verify_rows(result: VerifyReport) -> list[tuple[str, Any]]:
    """The counts of a proof, as names and values; what is listed one by one is left out."""
    values = {name: value for name, value in result.to_json().items() if name not in LISTED}
    if about := values.get("file"):
        values["file"] = f"{about['name']}, exported {utc(about['exported_at_ms'])} by {about['exported_by']}"
    return report_rows(values)


def _verified(result: VerifyReport) -> str:
    return "\n".join([_fields(verify_rows(result)), *finding_lines(result)])


WRITE: Mapping[str, Callable[[Any], str]] = {
    "remember": _remembered,
    "recall": _hits,
    "get": _record,
    "list": _list,
    "history": _history,
    "forget": _forgotten,
    "why": _why,
    "stats": _stats,
    **WRITE_ARCHIVE,
    "fetch": _record,
    "context": preview_text,
    "bank attach": attachment_line,
    "bank detach": attachment_line,
    "bank config": config_lines,
    "import": _imported,
    "export": exported_line,
    "bank export": carried_out_line,
    "agent new": _agent,
    "agent list": _agents,
    "agent show": _agent,
    "key mine": claimed_line,
    **plain_banks.WRITE,
    "credential set": kept_line,
    "credential list": _credentials,
    "credential remove": forgotten_line,
    "init": _chosen,
    "check": _checkup,
    "verify": _verified,
    "reindex": reindexed_line,
    "doctor": plain_doctor.lines,
    **serving.WRITE,
    **sharing.WRITE,
    "save-skill": _remembered,
    **plain_skills.WRITE,
    **plain_playbook.WRITE,
}
