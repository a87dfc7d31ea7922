"""Compare a bank's entries, bodies and derived rows with each other, streaming (design section 14).

Works on every store: what only the implementation can see comes from its private methods.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from typing import Protocol

from muniment.base.errors import MunimentError, Refused, StoreCorrupt
from muniment.base.ids import EntryId, cid_of
from muniment.ledger import entry as entries
from muniment.store.base import BankStore, EntryRow, Problem, Progress, State

_MOST_LOST = 1 << 20  # entries in one gap; a number beyond is damage
_LISTED = 100  # rows named by one problem
_FETCH = "Fetch the bank from another peer, or restore the file from a backup."
_REBUILD = "Run `muniment check --rebuild`: it is made again from the entries."


class Checkable(BankStore, Protocol):
    """A store that can say what it alone knows about its rows."""

    def _damage(self) -> Iterator[str]: ...

    def _unverified(self) -> Iterator[EntryRow]: ...

    def _strays(self) -> Iterator[tuple[str, str, list[int]]]: ...


class _Found:
    """Problems so far, one for each kind, with the rows that have it."""

    def __init__(self) -> None:
        self.problems: dict[tuple[str, str], Problem] = {}

    def add(self, where: str, what: str, row: int, next_step: str) -> None:
        problem = self.problems.setdefault((where, what), Problem(where, what, next_step))
        if len(problem.rows) < _LISTED:
            problem.rows.append(row)


def compare(store: Checkable, progress: Progress | None = None) -> list[Problem]:
    """All problems of a store; see `BankStore.check`."""
    found = _Found()
    with store.read():
        try:
            damage = list(store._damage())
        except StoreCorrupt as error:
            damage = [error.message]
        for said in damage:
            found.problems[("file", said)] = Problem("file", said, _FETCH)
        try:
            _entries(store, found, progress)
            _versions(store, found)
            for where, what, rows in store._strays():
                step = _FETCH if where == "bodies" else _REBUILD
                found.problems[(where, what)] = Problem(where, what, step, rows)
        except StoreCorrupt as error:
            found.problems[("file", error.message)] = Problem("file", error.message, error.next_step)
    return list(found.problems.values())


def _entries(store: Checkable, found: _Found, progress: Progress | None) -> None:
    total = store.figures().entries if progress else 0
    absent = {(seq, act) for seq, act, _ in store.absent()} | set(store.released())
    tips = _Tips(store)
    for number, row in enumerate(store._unverified(), 1):
        tips.see(row)
        if progress:
            progress(number, total)
        problem = _envelope(store, row, absent, found)
        if problem:
            found.add("entries", problem, row.seq, _FETCH)
    tips.compare(found)


def _envelope(store: Checkable, row: EntryRow, absent: set[tuple[int, int]], found: _Found) -> str:
    """What is wrong with one entry; its bodies are compared too."""
    try:
        if cid_of(row.envelope) != row.id:
            return "the stored bytes do not have the entry's id"
        entry = entries.reload(row.envelope)
    except (Refused, TypeError):  # damage can turn a column into another type
        return "the stored bytes are not an entry"
    header = entry.header
    if entry.bank != store.bank:
        return "the entry is of another bank"
    epoch = None if header.epoch is None else (header.epoch.entry, header.epoch.act)
    said = (header.by, header.at, entry.is_control, header.prev, epoch)
    if said != (row.author, row.at, row.control, row.prev, row.epoch):
        return "columns differ from the signed header"
    places = [(row.seq, act) for act in range(len(header.acts))]
    for place, ref, body in zip(places, header.acts, store.bodies(places), strict=True):
        if body is None:
            if place not in absent:
                found.add("bodies", "bodies are gone without being listed as missing", row.seq, _FETCH)
        elif len(body) != ref.length or hashlib.sha256(body).digest() != ref.digest:
            found.add("bodies", "bodies differ from the hash in the signed header", row.seq, _FETCH)
    return ""


class _Tips:
    """Which entries are named by a later one of the same author: five bytes of memory an entry."""

    def __init__(self, store: Checkable) -> None:
        self._store = store
        self._authors: dict[bytes, int] = {}
        self._author = array("I", [0])  # by seq
        self._named = bytearray(1)  # by seq
        self._ahead: list[tuple[int, int]] = []  # parents that arrived after their child
        self._wanted: set[EntryId] = set()
        self._gaps: list[int] = []

    def see(self, row: EntryRow) -> None:
        author = self._authors.setdefault(row.author, len(self._authors) + 1)
        gap = row.seq - len(self._named)
        if not 0 <= gap < _MOST_LOST:
            raise StoreCorrupt(f"entry {row.seq} stands where it can't", _FETCH)
        if gap:
            self._gaps.append(row.seq)
        self._author.extend([0] * gap)
        self._named.extend(bytes(gap))
        self._author.append(author)
        self._named.append(0)
        for parent in row.prev:
            seq = self._store.seq_of(parent)
            if seq is None:
                self._wanted.add(parent)
            elif seq > row.seq:
                self._ahead.append((seq, author))
            elif 0 < seq < len(self._author) and self._author[seq] == author:
                self._named[seq] = 1

    def compare(self, found: _Found) -> None:
        for seq in self._gaps:
            found.add("entries", "entries are gone before these", seq, _FETCH)
        for seq, author in self._ahead:
            if seq < len(self._author) and self._author[seq] == author:
                self._named[seq] = 1
        tips = {self._store.seq_of(tip) for author in self._authors for tip in self._store.tips(author)}
        right = {seq for seq, author in enumerate(self._author) if author and not self._named[seq]}
        for wrong in sorted(seq or 0 for seq in tips ^ right):
            found.add("tips", "the list of an author's newest entries is wrong", wrong, _FETCH)
        if frozenset(self._wanted) != self._store.wanted():
            found.add("wanted", "the list of ids that are asked for is wrong", 0, _FETCH)


def _versions(store: Checkable, found: _Found) -> None:
    counted: dict[State, int] = {}
    mark = store.watermark()
    entry: EntryRow | None = None
    for row in store.versions_after(0, mark.last_ord):
        counted[row.state] = counted.get(row.state, 0) + 1
        if row.ord > mark.last_ord:
            found.add("versions", "a version is numbered past the last", row.ord, _REBUILD)
        if entry is None or entry.seq != row.seq:  # versions of one entry stand together, and it may be long
            try:
                entry = store.entry_at(row.seq)
            except MunimentError:
                entry = None
                continue  # one of the strays
        if entry.control or (row.author, row.at) != (entry.author, entry.at):
            found.add("versions", "versions differ from their entry", row.ord, _REBUILD)
    if counted != dict(store.counts()):
        found.add("counts", "the number of versions in each state is wrong", 0, _REBUILD)
