"""Opening sealed bodies: from a stored row to the act that it holds."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from muniment.base.errors import RefusedBody
from muniment.base.ids import EntryId
from muniment.epoch_keys import EpochKeys
from muniment.ledger import entry as entries
from muniment.ledger.acts import (
    ARCHIVE,
    REMEMBER,
    SET,
    VECTOR,
    Act,
    Archive,
    Remember,
    Set,
    UnknownAct,
    Vector,
    from_bytes,
)
from muniment.ledger.authority import Authority
from muniment.ledger.control import EpochId
from muniment.ledger.entry import ActRef, Entry
from muniment.ledger.stub import Stub
from muniment.store.base import BankStore, VectorPlace, VersionRow

Stamps = dict[int, tuple[EntryId, tuple[EntryId, int] | None]]


@dataclass(frozen=True, slots=True)
class NoKey:
    """Why a body stayed shut: its epoch's key is not open to the reader, or the body is not here."""

    missing_body: bool


class SetPlace(NamedTuple):
    """Where a `set` or an `archive` act stands, and who signed it."""

    seq: int
    act: int
    author: bytes


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
        """All acts of an entry, or why they stay shut; those at places `erased` are without effect.

        Where a body is not here, its stub stands in for it, if there is one in `stubs`.

        Raises:
            RefusedBody: A body does not open, is not canonical or not of its kind: the entry is unreadable.
        """
        header = entry.header
        if header.epoch is None:
            return []
        key = self._keys.get(self._authority, header.epoch)
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

    def remembered(self, rows: Sequence[VersionRow]) -> list[Remember | None]:
        """The words of versions; None where a body is gone or stays shut."""
        if not rows:
            return []
        bodies = self._store.bodies([(row.seq, row.act) for row in rows])
        self.stamps = self._store.stamps(list({row.seq for row in rows}))
        acts = [self._one(row, REMEMBER, sealed) for row, sealed in zip(rows, bodies, strict=True)]
        return [act if isinstance(act, Remember) else None for act in acts]

    def vectors(self, places: Sequence[VectorPlace]) -> list[Vector | None]:
        """Vector acts; None where a body is gone or stays shut."""
        bodies = self._store.bodies([(place.seq, place.act) for place in places])
        self.stamps = self._store.stamps(list({place.seq for place in places}))
        acts = [self._one(place, VECTOR, sealed) for place, sealed in zip(places, bodies, strict=True)]
        return [act if isinstance(act, Vector) else None for act in acts]

    def values(self, places: Sequence[SetPlace]) -> list[Set | None]:
        """`set` acts; None where a body is gone or stays shut."""
        bodies = self._store.bodies([(place.seq, place.act) for place in places])
        self.stamps = self._store.stamps(list({place.seq for place in places}))
        acts = [self._one(place, SET, sealed) for place, sealed in zip(places, bodies, strict=True)]
        return [act if isinstance(act, Set) else None for act in acts]

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
