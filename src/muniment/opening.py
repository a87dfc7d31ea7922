"""Opening sealed bodies: from a stored row to the act that it holds."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muniment.base.errors import RefusedBody, StoreCorrupt
from muniment.base.ids import EntryId, cid_text
from muniment.epoch_keys import EpochKeys
from muniment.ledger import entry as entries
from muniment.ledger.acts import (
    ARCHIVE,
    FEEDBACK,
    REMEMBER,
    SET,
    VECTOR,
    Act,
    Archive,
    Feedback,
    Remember,
    UnknownAct,
    Vector,
    from_bytes,
)
from muniment.ledger.authority import Authority
from muniment.ledger.control import EpochId
from muniment.ledger.entry import ActRef, Entry, Header
from muniment.ledger.stub import Stub
from muniment.rulings import proved
from muniment.store.base import BankStore, VectorPlace, VersionRow

_MOST_CHECKED = 4096
Stamps = dict[int, tuple[EntryId, tuple[EntryId, int] | None]]


@dataclass(frozen=True, slots=True)
class NoKey:
    """Why a body stayed shut: its epoch's key is not open to the reader, or the body is not here."""

    missing_body: bool


class SetPlace(NamedTuple):
    """Where a `set`, `feedback` or `archive` act stands, and who signed it."""

    seq: int
    act: int
    author: bytes


def open_acts(
    authority: Authority,
    epoch_keys: EpochKeys,
    entry: Entry,
    bodies: Sequence[bytes | None],
    erased: Container[int] = (),
    stubs: Mapping[int, Stub] | None = None,
) -> list[Act | Stub] | NoKey:
    """All acts of an entry, or why they stay shut; those at places `erased` are without effect.

    Where a body is not here, its stub stands in for it, if there is one in `stubs`.

    Raises:
        RefusedBody: A body does not open, is not canonical or not of its kind: the entry is unreadable.
    """
    header = entry.header
    if header.epoch is None:
        return []
    key = epoch_keys.get(authority, header.epoch)
    if key is None:
        return NoKey(missing_body=False)
    opened: list[Act | Stub] = []
    for index, (ref, sealed) in enumerate(zip(header.acts, bodies, strict=True)):
        if index in erased:
            opened.append(UnknownAct(ref.kind))
            continue
        if sealed is None:
            if stubs is None or index not in stubs:
                return NoKey(missing_body=True)
            opened.append(stubs[index])
            continue
        bound_to = entries.associated(entry.bank, header.epoch, header.by, ref.kind, index)
        opened.append(from_bytes(ref.kind, entries.open_body(key, sealed, bound_to)))
    return opened


class Seals:
    """Headers of stored entries whose signatures were checked by this process, the latest of them."""

    def __init__(self, store: BankStore) -> None:
        self._store = store
        self._checked: dict[EntryId, Header] = {}

    def header(self, seq: int, named: EntryId) -> Header:
        """The signed header of a stored entry.

        Args:
            seq: Where it is stored.
            named: Its id, as the store gives it: the hash of what is signed, so a header known by it is the one.

        Raises:
            StoreCorrupt: It is not what was taken in.
        """
        header = self._checked.get(named)
        if header is None:
            row = self._store.entry_at(seq)  # the store compares the id with the bytes
            header = proved(row.envelope, self._store.bank).header
            if len(self._checked) >= _MOST_CHECKED:
                self._checked.clear()
            self._checked[row.id] = header
        return header


def _as_signed(row: VersionRow, header: Header, sealed: bytes, epoch: tuple[EntryId, int] | None) -> bool:
    """Whether a row says of its entry what the entry's signed header says, and the body is the one named there."""
    if row.author != header.by or row.at != header.at or epoch != header.epoch or row.act >= len(header.acts):
        return False
    try:
        entries.check_body(header.acts[row.act], sealed)
    except RefusedBody:
        return False
    return header.acts[row.act].kind == REMEMBER


def _says(row: VersionRow, act: Act | None) -> bool:
    """Whether a row says of its act what the act says."""
    return isinstance(act, Remember) and (row.record, row.created, row.type, row.tool, row.recalled) == (
        act.id, act.created, act.type, act.tool, act.recalled,
    )  # fmt: skip


class Opener:
    """Opens bodies of one bank with the epoch keys of one reader.

    Attributes:
        stamps: The ids and epochs of the entries whose versions were opened last.
    """

    def __init__(self, store: BankStore, authority: Authority, epoch_keys: EpochKeys) -> None:
        self._store, self._authority, self._keys = store, authority, epoch_keys
        self.stamps: Stamps = {}
        self._refs: tuple[int, tuple[ActRef, ...]] = (0, ())  # of the entry asked for last: they come in runs

    def ref(self, row: VersionRow) -> ActRef:
        """What the signed header says of a version's body."""
        if self._refs[0] != row.seq:
            self._refs = row.seq, entries.reload(self._store.entry_at(row.seq).envelope).header.acts
        return self._refs[1][row.act]

    def acts(
        self,
        entry: Entry,
        bodies: Sequence[bytes | None],
        erased: Container[int] = (),
        stubs: Mapping[int, Stub] | None = None,
    ) -> list[Act | Stub] | NoKey:
        """All acts of an entry, as `open_acts` opens them.

        Raises:
            RefusedBody: The entry is unreadable.
        """
        return open_acts(self._authority, self._keys, entry, bodies, erased, stubs)

    def remembered(self, rows: Sequence[VersionRow]) -> list[Remember | None]:
        """The words of versions; None where a body is gone or stays shut."""
        if not rows:
            return []
        bodies = self._store.bodies([(row.seq, row.act) for row in rows])
        self.stamps = self._store.stamps(list({row.seq for row in rows}))
        acts = [self._one(row, REMEMBER, sealed) for row, sealed in zip(rows, bodies, strict=True)]
        return [act if isinstance(act, Remember) else None for act in acts]

    def proved(self, rows: Sequence[VersionRow], seals: Seals) -> list[Remember | None]:
        """As `remembered`, for words that are shown: each is held against its entry's signature.

        Raises:
            StoreCorrupt: A row, a body or an entry is not what was signed. It is never shown, and never left
                out in silence.
        """
        if not rows:
            return []
        bodies = self._store.bodies([(row.seq, row.act) for row in rows])
        self.stamps = self._store.stamps(list({row.seq for row in rows}))
        found: list[Remember | None] = []
        for row, sealed in zip(rows, bodies, strict=True):
            if sealed is None:
                found.append(None)
                continue
            header = seals.header(row.seq, self.stamps[row.seq][0])
            shut = self._sealing(row.seq)[1] is None
            act = None if shut else self._one(row, REMEMBER, sealed)
            if not _as_signed(row, header, sealed, self.stamps[row.seq][1]) or not (shut or _says(row, act)):
                raise StoreCorrupt(
                    f"a memory of bank {cid_text(self._store.bank)} is not what was signed (entry {row.seq})",
                    "Run `muniment verify`; restore the file from a backup or fetch the bank from another peer.",
                )
            found.append(act if isinstance(act, Remember) else None)
        return found

    def vectors(self, places: Sequence[VectorPlace]) -> list[Vector | None]:
        """Vector acts; None where a body is gone or stays shut."""
        bodies = self._store.bodies([(place.seq, place.act) for place in places])
        self.stamps = self._store.stamps(list({place.seq for place in places}))
        acts = [self._one(place, VECTOR, sealed) for place, sealed in zip(places, bodies, strict=True)]
        return [act if isinstance(act, Vector) else None for act in acts]

    def judged(self, places: Sequence[SetPlace]) -> list[Feedback | None]:
        """Feedback acts; None where a body is gone or stays shut."""
        bodies = self._store.bodies([(place.seq, place.act) for place in places])
        self.stamps = self._store.stamps(list({place.seq for place in places}))
        acts = [self._one(place, FEEDBACK, sealed) for place, sealed in zip(places, bodies, strict=True)]
        return [act if isinstance(act, Feedback) else None for act in acts]

    def value(self, place: SetPlace, kind: int = SET) -> Act | None:
        """A `set` act, or a `describe` act if `kind` says so; None where its body is gone or stays shut."""
        (sealed,) = self._store.bodies([(place.seq, place.act)])
        self.stamps = self._store.stamps([place.seq])
        return self._one(place, kind, sealed)

    def archives(self, places: Sequence[SetPlace]) -> list[Archive | None]:
        """Archive acts; None where a body is gone or stays shut."""
        bodies = self._store.bodies([(place.seq, place.act) for place in places])
        self.stamps = self._store.stamps(list({place.seq for place in places}))
        acts = [self._one(place, ARCHIVE, sealed) for place, sealed in zip(places, bodies, strict=True)]
        return [act if isinstance(act, Archive) else None for act in acts]

    def unseal(self, row: VersionRow, sealed: bytes) -> bytes:
        """The canonical bytes of a version's act, from its body.

        Raises:
            RefusedBody: It does not open, or the key of its epoch is not here.
        """
        self.stamps |= self._store.stamps([row.seq])
        epoch, key = self._sealing(row.seq)
        if epoch is None or key is None:
            raise RefusedBody("the key of its epoch is not here")
        bound_to = entries.associated(self._store.bank, epoch, row.author, REMEMBER, row.act)
        return entries.open_body(key, sealed, bound_to)

    def reseal(self, row: VersionRow, nonce: bytes, plain: bytes) -> bytes | None:
        """The body of a version as it was sealed, from its nonce and the act's bytes; None without the epoch's key."""
        self.stamps |= self._store.stamps([row.seq])
        epoch, key = self._sealing(row.seq)
        if epoch is None or key is None:
            return None
        bound_to = entries.associated(self._store.bank, epoch, row.author, REMEMBER, row.act)
        return entries.seal_body(key, nonce, plain, bound_to)

    def _one(self, row: VersionRow | VectorPlace | SetPlace, kind: int, sealed: bytes | None) -> Act | None:
        if sealed is None:
            return None
        epoch, key = self._sealing(row.seq)
        if key is None or epoch is None:
            return None
        bound_to = entries.associated(self._store.bank, epoch, row.author, kind, row.act)
        try:
            return from_bytes(kind, entries.open_body(key, sealed, bound_to))
        except RefusedBody:
            return None

    def _sealing(self, seq: int) -> tuple[EpochId | None, bytes | None]:
        """The epoch of an entry among `stamps`, and its key."""
        if seq not in self.stamps:
            self._store.entry_at(seq)  # not there: this says so
        place = self.stamps[seq][1]
        if place is None:
            return None, None
        epoch = EpochId(*place)
        return epoch, self._keys.get(self._authority, epoch)
