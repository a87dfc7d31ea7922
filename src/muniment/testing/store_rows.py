"""Signed entries and rows to fill a store with, and everything that a store says of them in one value."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from muniment.base.clock import at_of, ms_of
from muniment.base.codec import ENTRY
from muniment.base.ids import BankId, EntryId, VersionId, uuid7
from muniment.identity import keys
from muniment.ledger.acts import REMEMBER
from muniment.ledger.control import Epoch, EpochId, Found, Founder, Policy
from muniment.ledger.entry import Entry, Header, act_ref, assemble, header_bytes
from muniment.ledger.levels import ADMIN, Level
from muniment.store.base import LIVE_ONLY, BankStore, EntryRow, Filter, State, Verdict, VersionRow
from muniment.testing.ledger import START_MS, Cast, filler

SEALED_BYTES = 40 + 256  # the shortest body that the format takes


@dataclass(frozen=True)
class Made:
    """An entry as a store takes it."""

    row: EntryRow
    bodies: tuple[bytes | None, ...]

    @property
    def id(self) -> EntryId:
        """The entry's id."""
        return self.row.id


class Maker:
    """Makes signed entries of one bank; the same calls make the same bytes.

    Attributes:
        founding: The bank's first entry.
        bank: Its id.
    """

    def __init__(self, label: str = "bank") -> None:
        self._label, self._count = label, 0
        self._cast = Cast()
        key = self.key(0)
        founders = (Founder(key, Level(ADMIN, 0)),)
        epoch = Epoch(filler("commitment", 32), filler("salt", 16), ((key, filler("box", 80)),))
        header = Header(None, key, (), (), at_of(START_MS), ctl=(Found(founders, filler(label, 16)), epoch))
        entry = self._sign(header, 0)
        self.bank = BankId(entry.id)
        self.founding = Made(self._row(entry), ())

    def key(self, author: int) -> bytes:
        """The public key of an author, by number."""
        return self._cast[f"author {author}"]

    def _sign(self, header: Header, author: int) -> Entry:
        signed = header_bytes(header)
        secret = self._cast.pair(f"author {author}").secret
        return assemble(signed, keys.sign(secret, ENTRY, signed), header)

    def _row(self, entry: Entry, local: bool = True) -> EntryRow:
        header = entry.header
        epoch = None if header.epoch is None else (header.epoch.entry, header.epoch.act)
        return EntryRow(
            0,
            entry.id,
            header.by,
            header.at,
            entry.is_control,
            Verdict.COUNTS,
            local,
            True,
            header.prev,
            entry.envelope,
            epoch,
        )

    def entry(
        self,
        author: int = 0,
        prev: Sequence[EntryId] = (),
        *,
        acts: int = 1,
        at_ms: int | None = None,
        here: Sequence[bool] = (),
        local: bool = True,
        body_bytes: int = SEALED_BYTES,
    ) -> Made:
        """A signed entry.

        Args:
            author: Number of the key that signs.
            prev: Entries that it names.
            acts: How many bodies; 0 makes a control entry.
            at_ms: Its time, Unix ms; by default a little after the entry made before.
            here: Which bodies came with it; those beyond the end did.
            local: Signed on this installation.
            body_bytes: Length of each body.
        """
        self._count += 1
        at = at_of(START_MS + 1000 * self._count if at_ms is None else at_ms)
        bodies = [filler(f"{self._label} {self._count}/{act}", body_bytes) for act in range(acts)]
        parents = tuple(sorted(set(prev)))
        if acts:
            refs = tuple(act_ref(REMEMBER, body) for body in bodies)
            header = Header(self.bank, self.key(author), parents, (), at, EpochId(self.founding.id, 1), refs)
        else:
            header = Header(self.bank, self.key(author), parents, (), at, ctl=(Policy(1, self._count),))
        came = [*here, *[True] * acts][:acts]
        kept = tuple(body if there else None for body, there in zip(bodies, came, strict=True))
        return Made(self._row(self._sign(header, author), local), kept)

    def body(self, made: Made, act: int) -> bytes:
        """The body of an act, also if it did not come with its entry."""
        body = made.bodies[act]
        if body is not None:
            return body
        for count in range(1, self._count + 1):
            body = filler(f"{self._label} {count}/{act}", SEALED_BYTES)
            if hashlib.sha256(body).digest() in made.row.envelope:
                return body
        raise LookupError(f"act {act}")


def version(entry: EntryRow, act: int = 0, **changes: Any) -> VersionRow:
    """A live version by an act of a stored entry, unlike any other; `changes` are fields to set otherwise."""
    label = f"{entry.id.hex()}/{act}"
    ms = ms_of(entry.at)
    row = VersionRow(
        ord=0,
        seq=entry.seq,
        act=act,
        author=entry.author,
        record=uuid7(ms, filler("record " + label, 10)),
        group=None,
        content=filler("content " + label, 16),
        write=filler("write " + label, 16),
        state=State.LIVE,
        type="note",
        tool=False,
        recalled=False,
        session=0,
        created=ms,
        at=entry.at,
    )
    return replace(row, **changes)


class World:
    """A store with its founding entry, stored if it is not there yet, and what to fill it with."""

    def __init__(self, store: BankStore, maker: Maker) -> None:
        self.store, self.maker = store, maker
        if store.seq_of(maker.founding.id) is None:
            self.add(maker.founding)

    def add(self, made: Made) -> EntryRow:
        """Store an entry in a write of its own, and return its row."""
        with self.store.write():
            seq = self.store.add_entry(made.row, made.bodies)
        return self.store.entry_at(seq)

    def say(self, *, author: int = 0, facets: Sequence[int] = (), **changes: Any) -> VersionRow:
        """Store an entry with one version, and return the version's row."""
        entry = self.add(self.maker.entry(author, self.store.tips(self.maker.key(author))))
        with self.store.write():
            (ord,) = self.store.add_versions([version(entry, **changes)], [facets])
        return self.store.versions([ord])[0]


def everything(store: BankStore, maker: Maker, filters: Sequence[Filter] = ()) -> dict[str, Any]:
    """All that a store says, for comparison with another one; bytes on the disk are left out."""
    rows = list(store.entries())
    authors = sorted({row.author for row in rows} | {maker.key(0), maker.key(99)})
    mark = store.watermark()
    versions = list(store.versions_after(0, mark.last_ord))
    ids = [VersionId(row.id, act) for row in rows for act in range(3)]
    places = [(row.seq, act) for row in rows for act in range(4)]
    named = sorted({(row.session, row.group, row.write, row.record) for row in versions}, key=repr)
    return {
        "entries": rows,
        "control": list(store.entries(control=True)),
        "data": list(store.entries(control=False, after=1)),
        "verdicts": [[row.seq for row in store.entries(verdict=verdict)] for verdict in Verdict],
        "by author": [[row.seq for row in store.entries(author=author)] for author in authors],
        "one by one": [(store.seq_of(row.id), store.entry(row.id), store.entry_at(row.seq)) for row in rows],
        "twins": [store.twins(row.author, row.at) for row in rows],
        "tips": [store.tips(author) for author in authors],
        "wanted": store.wanted(),
        "last_at": store.last_at((1 << 63) - 1),
        "bodies": store.bodies(places),
        "absent": list(store.absent()),
        "versions": versions,
        "by ord": store.versions([row.ord for row in reversed(versions)] + [0, 1 << 40]),
        "version_at": [store.version_at(version) for version in ids],
        "version_id": [store.version_id(row) for row in versions],
        "of": [(store.of_record(record), store.of_write(write)) for _, _, write, record in named],
        "groups": [
            (store.of_group(group), store.of_group(group, live=True)) for _, group, *_ in named if group
        ],
        "namings": store.namings(ids),
        "namings_by": [(store.namings_by(row.seq), store.namings_by(row.seq, 1)) for row in rows],
        "values": [store.values(space) + store.values(space, "name") for space in ("bank", "ref", "none")],
        "sessions": dict(store.session_names([row.session for row in versions])),
        "selected": [store.select(wanted) for wanted in (LIVE_ONLY, *filters)],
        "newest": [store.newest(wanted, 5, 1) for wanted in (LIVE_ONLY, *filters)],
        "watermark": mark,
        "changes": store.changes(0, mark.last_change),
        "counts": dict(store.counts()),
        "figures": store.figures()[:4],
    }
