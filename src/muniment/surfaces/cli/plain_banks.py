"""Banks, members and keys as lines of text; see `plain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from muniment.bank_views import BankInfo, Decision, Invited, InviteInfo, KeyName, MemberInfo, Rotated
from muniment.commands.results import Configured, Listed
from muniment.surfaces.cli.words import number, one_line, utc

WAITING = "writers wait for a key until an admin's installation writes next"


def _columns(rows: Iterable[Sequence[str]]) -> str:
    """Rows as aligned columns."""
    kept = [list(row) for row in rows]
    wide = [max(map(len, column)) for column in zip(*kept, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, wide, strict=True)).rstrip() for row in kept
    )


def _pairs(rows: Iterable[tuple[str, Any]]) -> str:
    return _columns((name, str(value)) for name, value in rows if value not in (None, "", ()))


def who(key: KeyName) -> str:
    """A key by its name here, else by its DID."""
    return one_line(key.name, 60) if key.name else key.did


# Banks


def bank_rows(bank: BankInfo) -> list[tuple[str, Any]]:
    """What is to be said of a bank: names and values, the empty ones too."""
    title = None if bank.title in (None, bank.name) else one_line(bank.title or "")
    return [
        ("name", one_line(bank.name)),
        ("title", title),
        ("about", bank.description and one_line(bank.description, 400)),
        ("kind", bank.kind),
        ("level", bank.level or "none"),
        ("state", bank_state(bank)),
        ("members", number(bank.members)),
        ("here since", utc(bank.created_at_ms)),
        ("id", bank.id),
    ]


def bank_state(bank: BankInfo) -> str:
    """Whether all is well with it."""
    return bank.state if bank.listed else "deleted here"


def _bank(bank: BankInfo) -> str:
    return _pairs(bank_rows(bank))


def _banks(banks: Listed) -> str:
    rows = [(one_line(b.name, 40), b.kind, b.level or "-", bank_state(b), b.id) for b in banks]
    return _columns(rows) if rows else "no banks"


def deleted_line(bank: BankInfo) -> str:
    """What `bank delete` did."""
    return f"{one_line(bank.name)} is deleted here; its file is kept: muniment bank undelete {bank.id}"


# Members


def member_terms(member: MemberInfo) -> str:
    """What a key holds, and how."""
    words = [member.level]
    words += ["delegable"] if member.delegable else []
    words += ["agent"] if member.agent else []
    words += [f"until {utc(member.until_ms)}"] if member.until_ms is not None else []
    words += [member.state] if member.state != "standing" else []
    return ", ".join(words)


def _members(members: Listed) -> str:
    rows = [(one_line(m.name or "-", 40), member_terms(m), m.fingerprint, m.did) for m in members]
    return _columns(rows) if rows else "no members"


def decision_lines(result: Decision) -> list[str]:
    """What a decision did, in one line, and then what follows from it."""
    whom = ", ".join(map(who, result.keys))
    name = one_line(result.name)
    head = {
        "granted": f"granted {result.level} in {name} to {whom}",
        "revoked": f"revoked {whom} in {name}",
        "rekeyed": f"{name} is sealed under a new key",
        "shared the key": f"gave the key of {name} to {whom}",
        "adopted": f"took the entry back into {name}",
        "unchanged": f"nothing to do: so it stands in {name} already",
    }
    lines = [head[result.done]]
    if result.let_in:
        lines.append(f"they had let in, and these stay: {', '.join(map(who, result.let_in))}")
        lines.append("cut them too with --cascade")
    if result.done == "revoked" and result.ref:
        lines.append("a ref to the bank was left behind; it opens nothing")
    if not result.sealed:
        lines.append(WAITING)
    return lines


def _decision(result: Decision) -> str:
    return "\n".join(decision_lines(result))


# Invites


def invite_terms(invite: InviteInfo) -> str:
    """What an invite gives, to how many, until when, and whether it still holds."""
    used = f"used {number(invite.used)} of {number(invite.uses)}"
    return f"{invite.level}, {used}, until {utc(invite.until_ms)}, {invite.state}"


def invited_lines(result: Invited) -> list[str]:
    """A new invite with its secret."""
    return [
        f"invite {result.invite.id}",
        f"  {invite_terms(result.invite)}",
        f"secret {result.secret}",
        "  it is shown this once: give it to those whom you invite, and to nobody else",
    ]


def _invited(result: Invited) -> str:
    return "\n".join(invited_lines(result))


def _invites(invites: Listed) -> str:
    return _columns((invite_terms(one), one.id) for one in invites) if invites else "no invites"


def withdrawn_line(invite: InviteInfo) -> str:
    """What `bank invite revoke` did."""
    return f"withdrawn: {invite.id}"


# Keys and trust


def _keys(keys: Listed) -> str:
    rows = [(one_line(key.name, 40), key.role, key.fingerprint, key.did) for key in keys]
    return _columns(rows) if rows else "no keys"


def rotated_lines(result: Rotated) -> list[str]:
    """What a rotation did, and where the old key still stands."""
    lines = [f"{one_line(result.agent)} signs with {result.new} from now on", f"cut: {result.old}"]
    lines += [f"moved in {bank}" for bank in result.moved]
    lines += [
        f"not moved in {bank}: an admin there has to grant the new key and revoke the old"
        for bank in result.left
    ]
    return lines


def _rotated(result: Rotated) -> str:
    return "\n".join(rotated_lines(result))


def setting_text(value: Any) -> str:
    """A setting as it would be typed; what is not set is said in words."""
    if value is None:
        return "anybody"
    if isinstance(value, list):
        return ",".join(one_line(str(item)) for item in value) or "(none)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _configured(result: Configured) -> str:
    return _pairs((name, setting_text(value)) for name, value in result.settings.items())


WRITE: Mapping[str, Callable[[Any], str]] = {
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
    "bank delete": deleted_line,
    "bank undelete": _bank,
    "bank fork": _bank,
    "bank invite new": _invited,
    "bank invite list": _invites,
    "bank invite revoke": withdrawn_line,
    "key list": _keys,
    "key rotate": _rotated,
    "key not-mine": _rotated,
}
