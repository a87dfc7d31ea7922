"""What `doctor` says of each bank: its file, index, entries, members and clock (design sections 3, 4, 6 and 7)."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from muniment.bank import Bank, Host
from muniment.base.clock import ms_of
from muniment.base.errors import MunimentError
from muniment.base.ids import cid_text
from muniment.base.limits import LIMITS
from muniment.diagnosis import FAIL, OK, WARN, Finding
from muniment.doctor_home import REPAIR
from muniment.heads import forked
from muniment.identity.did import to_did
from muniment.ledger.levels import ADMIN, READ
from muniment.recall.manifest import BACKLOG, TAIL_ROWS, Manifest
from muniment.store.base import Verdict, Watermark
from muniment.store.looking import damage, look_at_bank
from muniment.store.peer import AgentRow, BankRow, PeerStore
from muniment.store.sqlite import SqliteStore

_MOST = 1000  # of a kind that are counted; more are "1000 or more"
_BACK_MS = 60_000  # a clock that was set back by less is corrected by the network every day
_ERASED = 2000  # erased versions whose bodies are looked for at each look


@dataclass(frozen=True, slots=True)
class Ward:
    """A bank that is looked at, and what is known of who uses it here."""

    bank: Bank
    row: BankRow
    name: str
    own: Collection[bytes]
    host: Host
    agents: Sequence[AgentRow]

    def as_agent(self, need: int, now: int) -> str:
        """The part of a command that says who acts, where there are several who could."""
        if len(self.agents) < 2:
            return ""
        levels = ((row.name, self.bank.authority.level(row.key, now)) for row in self.agents)
        able = [name for name, level in levels if level is not None and level.allows(need)]
        return f" --agent {shlex.quote(able[0])}" if able else ""

    @property
    def store(self) -> SqliteStore:
        """Its file, opened to be looked at."""
        assert isinstance(self.bank.store, SqliteStore)  # noqa: S101 - `wards` opened it
        return self.bank.store

    def named(self, now: int) -> str:
        """The part of a command that names it, and who looks."""
        if self.row.kind == "agent":
            return f"--agent {shlex.quote(self.name)}"
        return f"--bank {self.row.name}{self.as_agent(READ, now)}"


def look_at_bank_of(
    row: BankRow, agents: Sequence[AgentRow], own: Collection[bytes], host: Host, home: Path
) -> Ward | Finding:
    """A bank, opened to be looked at, or why it can't be."""
    name = next((agent.name for agent in agents if agent.bank == row.bank), row.name)
    text = cid_text(row.bank)
    path = home / "banks" / f"{text}.db"
    if not path.exists():
        said = f"the bank's file {path} is missing"
        return Finding("bank", FAIL, said, "Restore it from a backup, or sync it: muniment sync", name)
    try:
        store = look_at_bank(path, row.bank, host.settings.busy_ms)
    except MunimentError as error:
        return Finding("bank", FAIL, error.message, error.next_step, name)
    return Ward(Bank(store, host, home / "index" / text), row, name, own, host, agents)


def look_into(ward: Ward, now: int, *, deep: bool) -> Iterator[Finding]:
    """All findings about a bank."""
    first = _bank(ward, deep=deep)
    yield first
    if first.status == FAIL:
        return
    parts = (_index, _waiting, _bodies, _control, _vectors, _erasures, _grants, _forked)
    for part in parts:
        yield from part(ward, now)
    yield from _clock(ward, now)


def _bank(ward: Ward, *, deep: bool) -> Finding:
    store = ward.store
    try:
        said = damage(store) if store.figures().file_bytes <= LIMITS.checked_bytes else None
        if said is None and deep:
            problems = [one.what for one in store.check()]
            said = "; ".join(problems[:3]) or None
        if said is not None:
            name = f"--agent {ward.name}" if ward.row.kind == "agent" else f"--bank {ward.row.name}"
            step = (
                f"Run `muniment check {name}`; restore the file from a backup, or fetch the bank from a peer."
            )
            return Finding("bank", FAIL, said, step, ward.name)
        figures = store.figures()
        ward.bank.rulings.refresh()
    except MunimentError as error:
        return Finding("bank", FAIL, error.message, error.next_step, ward.name)
    live = store.counts()
    records = next((count for state, count in live.items() if state.name == "LIVE"), 0)
    size = figures.file_bytes / 1e6
    return Finding(
        "bank", OK, f"{records} records, {figures.entries} entries, {size:.1f} MB", about=ward.name
    )


def _some(count: int) -> str:
    return f"{_MOST} or more" if count >= _MOST else str(count)


# What is derived


def _index(ward: Ward, _: int) -> Iterator[Finding]:
    folder, mark = _folder(ward), ward.store.watermark()
    said = _behind(folder, mark, mark.last_ord > TAIL_ROWS)
    if said is not None:
        yield Finding("index", WARN, f"the word index {said}", REPAIR, ward.name, True)
    for part in sorted(folder.with_name(f"{folder.name}.vectors").glob("*")):
        if (said := _behind(part, mark, needed=False)) is not None:
            yield Finding("index", WARN, f"a vector index {said}", REPAIR, ward.name, True)


def _folder(ward: Ward) -> Path:
    return ward.store.path.parent.parent / "index" / cid_text(ward.row.bank)


def _behind(folder: Path, mark: Watermark, needed: bool) -> str | None:
    """Why an index is no use as it is on the disk; None where it is."""
    try:
        found = Manifest.load(folder)
    except FileNotFoundError:
        return f"is not there, and {mark.last_ord} memories are" if needed else None
    except (MunimentError, OSError, UnicodeDecodeError) as error:
        return f"is damaged: {error}"
    for name, size in found.sizes.items():
        place = folder / name
        if not place.exists() or place.stat().st_size != size:
            return f"is damaged: {place} is missing or cut short"
    if found.generation != mark.generation:
        return "is of tables that were made anew since"
    behind = mark.last_ord - found.last_ord
    return f"is {behind} memories behind" if behind > BACKLOG else None


def _vectors(ward: Ward, now: int) -> Iterator[Finding]:
    block = ward.host.settings.embedding
    if block is None:
        return
    from muniment.embed.options import options

    model = options(block).name
    missing = len(ward.store.lacking(model, 0, _MOST))
    if missing:
        said = f"{_some(missing)} memories have no vector of {model}"
        yield Finding("vectors", WARN, said, f"muniment reindex {ward.named(now)}", ward.name)


def _erasures(ward: Ward, _: int) -> Iterator[Finding]:
    from muniment.erasing import overdue

    traces = len(ward.store.traces())
    late = overdue(ward.bank) if 0 < len(ward.bank.authority.erasures) <= _ERASED else 0
    if traces or late:
        said = (
            f"{late} bodies are past their time, and the log or an index may hold words of {traces} memories"
        )
        yield Finding("erasure", WARN, said, REPAIR, ward.name, True)


# What came, and what did not


def _waiting(ward: Ward, _: int) -> Iterator[Finding]:
    count = sum(1 for _ in islice(ward.store.entries(verdict=Verdict.WAITING), _MOST))
    if count:
        said = f"{_some(count)} entries wait for what they build on"
        yield Finding("waiting", WARN, said, f"muniment sync {ward.row.name}", ward.name)


def _bodies(ward: Ward, _: int) -> Iterator[Finding]:
    absent = (place for place in ward.store.absent() if not place[2])
    count = sum(1 for _ in islice(absent, _MOST))
    if count:
        said = f"{_some(count)} bodies of entries are not here yet"
        yield Finding("bodies", WARN, said, f"muniment sync {ward.row.name}", ward.name)


def _control(ward: Ward, _: int) -> Iterator[Finding]:
    authority = ward.bank.authority
    if authority.unknown_acts:
        said = "a newer version of muniment changed who may do what: the bank can only be read here"
        yield Finding("control", FAIL, said, "pip install --upgrade muniment", ward.name)
    elif authority.incomplete:
        said = f"control incomplete: {len(authority.missing)} grants or revocations are known of and not here"
        yield Finding("control", WARN, said, f"muniment sync {ward.row.name}", ward.name)


# Who


def _grants(ward: Ward, now: int) -> Iterator[Finding]:
    authority = ward.bank.authority
    levels = [level for key in ward.own if (level := authority.level(key, now)) is not None]
    if not any(level.allows(ADMIN) for level in levels):
        return
    for key in sorted(authority.expired(now)):
        said = f"the grant of {to_did(key)} has ended, and its cut is pending"
        step = f"muniment bank revoke {ward.row.name} {to_did(key)}{ward.as_agent(ADMIN, now)}"
        yield Finding("grant", WARN, said, step, ward.name)


def attached(store: PeerStore, agents: list[AgentRow], wards: list[Ward], now: int) -> Iterator[Finding]:
    """Banks in sessions whose agents may not read them any more."""
    known = {ward.row.bank: ward for ward in wards}
    for agent in agents:
        for session in store.sessions(agent.key)[:_MOST]:
            for row in store.attached(agent.key, session):
                ward = known.get(row.bank)
                level = None if ward is None else ward.bank.authority.level(agent.key, now)
                if ward is not None and (level is None or not level.allows(READ)):
                    said = f"{agent.name} may not read {row.name}, which is attached to its session {session}"
                    step = f"muniment bank detach {row.name} --session {session} --agent {agent.name}"
                    yield Finding("attached", WARN, said, step, row.name)


def _forked(ward: Ward, now: int) -> Iterator[Finding]:
    authors = islice(sorted(ward.bank.authority.keys), _MOST)
    for author in forked(ward.store, authors):
        said = f"{to_did(author)} signs on two installations, or from a copy"
        step = f"See who it is: muniment bank members {ward.row.name}{ward.as_agent(READ, now)}"
        yield Finding("forked", WARN, said, step, ward.name)


def _clock(ward: Ward, now: int) -> Iterator[Finding]:
    """Own entries of the future say that the clock here went back; others', that one of the two is wrong."""
    tips = [row.at for key in ward.own for tip in ward.store.tips(key) if (row := ward.store.entry(tip))]
    own, newest = ms_of(max(tips, default=0)), ms_of(ward.store.last_at(1 << 62))
    step = "Compare with a time server: timedatectl status"
    if own > now + LIMITS.clock_ahead_ms + _BACK_MS:
        said = f"the clock of this machine went back: the newest entry signed here is {span(own - now)} ahead of it"
        yield Finding("clock", WARN, said, step, ward.name)
    elif newest > now + LIMITS.clock_ahead_ms + _BACK_MS:
        said = f"an entry of another installation is {span(newest - now)} ahead of this machine's clock"
        yield Finding("clock", WARN, said, step, ward.name)


def span(ms: int) -> str:
    """A length of time for people."""
    for size, name in ((86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes")):
        if ms >= 2 * size:
            return f"{ms // size} {name}"
    return f"{ms // 1000} seconds"
