"""Banks, members and keys as a person sees them; see `pretty`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from muniment.bank_views import BankInfo, Decision, Invited, MemberInfo, Rotated
from muniment.commands.results import Configured, Listed
from muniment.surfaces.cli import plain_banks as plain
from muniment.surfaces.cli.words import local, one_line, short_cid, short_did

NAME, QUIET, LIT, GOOD, WARN = "bold cyan", "dim", "bold yellow", "green", "yellow"


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style=QUIET)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table


def _pairs(rows: Sequence[tuple[str, Any]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value not in (None, "", ()):
            table.add_row(name, Text(str(value)))
    return table


def _state(bank: BankInfo) -> Text:
    state = plain.bank_state(bank)
    return Text(state, GOOD if state == "ok" else WARN)


def _bank(bank: BankInfo) -> RenderableType:
    rows = [(name, value) for name, value in plain.bank_rows(bank) if name != "name"]
    times = {"here since": local(bank.created_at_ms)}
    rows = [(name, times.get(name, value)) for name, value in rows]
    return Group(Text(one_line(bank.name), NAME), _pairs(rows))


def _banks(banks: Listed) -> RenderableType:
    if not banks:
        return Text("No banks.", QUIET)
    table = _table("bank", "kind", "level", "members", "state", "id")
    for bank in banks:
        level = Text(bank.level or "-", "" if bank.level else QUIET)
        name, ident = Text(one_line(bank.name, 40), NAME), Text(short_cid(bank.id), QUIET)
        table.add_row(name, Text(bank.kind), level, Text(str(bank.members)), _state(bank), ident)
    return table


def _member_name(member: MemberInfo) -> Text:
    if member.name:
        return Text(one_line(member.name, 40), NAME)
    return Text(short_did(member.did), QUIET)


def _members(members: Listed) -> RenderableType:
    table = _table("member", "holds", "fingerprint", "let in by")
    for member in members:
        style = "" if member.state == "standing" else WARN if member.state != "cut" else QUIET
        by = one_line(member.granted_by_name or short_did(member.granted_by), 40)
        mark = Text(member.fingerprint, QUIET)
        table.add_row(_member_name(member), Text(plain.member_terms(member), style), mark, Text(by))
    return table


def _lines(lines: Sequence[str], good: str = GOOD) -> Text:
    """The first line with a mark, the others below it, quiet."""
    text = Text.assemble(("● ", good), lines[0])
    for line in lines[1:]:
        text.append(f"\n  {line}", WARN if line == plain.WAITING else QUIET)
    return text


def _decision(result: Decision) -> RenderableType:
    return _lines(plain.decision_lines(result), QUIET if result.done == "unchanged" else GOOD)


def _invited(result: Invited) -> RenderableType:
    text = Text.assemble(("● ", GOOD), plain.invite_terms(result.invite), "\n\n  ", (result.secret, LIT))
    text.append("\n\n  Shown this once: give it to those whom you invite, and to nobody else.", WARN)
    text.append(f"\n  {result.invite.id}", QUIET)
    return text


def _invites(invites: Listed) -> RenderableType:
    if not invites:
        return Text("No invites.", QUIET)
    table = _table("invite", "made by", "id")
    for one in invites:
        by = one_line(one.by_name or short_did(one.by), 40)
        style = "" if one.state == "open" else QUIET
        table.add_row(Text(plain.invite_terms(one), style), Text(by), Text(one.id, QUIET))
    return table


def _keys(keys: Listed) -> RenderableType:
    table = _table("key", "role", "fingerprint", "did")
    for key in keys:
        name, did = Text(one_line(key.name, 40), NAME), Text(short_did(key.did), QUIET)
        table.add_row(
            name, Text(key.role, QUIET if key.role == "retired" else ""), Text(key.fingerprint), did
        )
    return table


def _rotated(result: Rotated) -> RenderableType:
    return _lines(plain.rotated_lines(result), WARN if result.left else GOOD)


def _configured(result: Configured) -> RenderableType:
    return _pairs([(name, plain.setting_text(value)) for name, value in result.settings.items()])


DRAW: Mapping[str, Callable[[Any], RenderableType]] = {
    "agent trust show": _configured,
    "agent trust set": _configured,
    "agent trust reset": _configured,
    "bank new": _bank,
    "bank list": _banks,
    "bank describe": _bank,
    "bank members": _members,
    "bank grant": _decision,
    "bank revoke": _decision,
    "bank rekey": _decision,
    "bank adopt": _decision,
    "bank rename": _bank,
    "bank delete": lambda bank: Text.assemble(("● ", GOOD), plain.deleted_line(bank)),
    "bank undelete": _bank,
    "bank fork": _bank,
    "bank invite new": _invited,
    "bank invite list": _invites,
    "bank invite revoke": lambda invite: Text.assemble(("● ", GOOD), plain.withdrawn_line(invite)),
    "key list": _keys,
    "key rotate": _rotated,
    "key not-mine": _rotated,
}
