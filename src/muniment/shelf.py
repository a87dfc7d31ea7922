"""Which archive acts have effect, and what their stubs say, the same on every peer (design section 9).

An archive act of a version is *valid* if its entry counts, it was not erased, and it is by the version's author or
under an admin's lease. A valid one *stands* unless a counting `forget` act undoes it, by the version's author, by
the act's own, or by an admin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from muniment.base.errors import RefusedBody
from muniment.base.ids import VersionId
from muniment.ledger import stub as stubs
from muniment.ledger.acts import Archive, Remember
from muniment.ledger.authority import Authority
from muniment.ledger.entry import reload
from muniment.ledger.stub import Stub
from muniment.opening import Opener, SetPlace
from muniment.store.base import BankStore, EntryRow, Naming, NamingRow, Verdict

if TYPE_CHECKING:
    from muniment.store.base import VersionRow


class ArchiveAct(NamedTuple):
    """An archive act: where it is, by whom, when, whether it is valid, and whether it stands."""

    seq: int
    act: int
    author: bytes
    at: int
    version: VersionId  # its own name
    valid: bool
    stands: bool


class Judge:
    """Judges the archive acts of one bank; what it has looked up it keeps for as long as it lives."""

    def __init__(self, store: BankStore, authority: Authority) -> None:
        self._store, self._authority = store, authority
        self._rows: dict[int, EntryRow] = {}
        self._admins: dict[int, bool] = {}

    def of(
        self,
        version: VersionId,
        owner: bytes,
        namings: Sequence[NamingRow] | None = None,
        *,
        every: bool = False,
    ) -> list[ArchiveAct]:
        """The valid archive acts of a version: those that stand first, then by their clock.

        Args:
            version: The version.
            owner: Its author.
            namings: What names it, where the caller has that already.
            every: Also those that are not valid, last: they have no effect, and may still know where a text lies.
        """
        found = []
        for naming in self._store.namings([version]) if namings is None else namings:
            if naming.kind is not Naming.ARCHIVE or naming.target != version:
                continue
            row = self._row(naming.seq)
            name = VersionId(row.id, naming.act)
            valid = self._counts(row, naming.act) and (row.author == owner or self._admin(row))
            if valid or every:
                stands = valid and not self._undone(name, {owner, row.author})
                found.append(ArchiveAct(row.seq, naming.act, row.author, row.at, name, valid, stands))
        return sorted(found, key=lambda one: (not one.valid, not one.stands, one.at, one.version))

    def _undone(self, act: VersionId, may: set[bytes]) -> bool:
        for naming in self._store.namings([act]):
            if naming.kind is Naming.UNDO:
                by = self._row(naming.seq)
                if self._counts(by, naming.act) and (by.author in may or self._admin(by)):
                    return True
        return False

    def _counts(self, row: EntryRow, act: int) -> bool:
        return (
            row.verdict is Verdict.COUNTS
            and row.readable
            and VersionId(row.id, act) not in self._authority.erasures
        )

    def _row(self, seq: int) -> EntryRow:
        found = self._rows.get(seq)
        if found is None:
            found = self._rows[seq] = self._store.entry_at(seq)
        return found

    def _admin(self, row: EntryRow) -> bool:
        found = self._admins.get(row.seq)
        if found is None:
            found = self._admins[row.seq] = self._authority.by_admin(reload(row.envelope))
        return found


def opened(opener: Opener, acts: Sequence[ArchiveAct]) -> list[tuple[ArchiveAct, Archive]]:
    """Archive acts with what they say, without those that stay shut."""
    said = opener.archives([SetPlace(one.seq, one.act, one.author) for one in acts])
    return [(one, act) for one, act in zip(acts, said, strict=True) if act is not None]


def stub_in(archive: Archive) -> Stub | None:
    """The stub of an archive act; None where it is malformed, which makes the act worth nothing."""
    try:
        return stubs.from_bytes(archive.stub)
    except RefusedBody:
        return None


class Stubs:
    """Finds the stubs of versions whose text is not here."""

    def __init__(self, store: BankStore, authority: Authority, openers: Sequence[Opener]) -> None:
        self._judge, self._store, self._openers = Judge(store, authority), store, openers

    def of(self, version: VersionId, owner: bytes) -> Stub | None:
        """The stub of a version, from the first valid archive act that opens."""
        acts = self._judge.of(version, owner)
        for opener in self._openers if acts else ():
            for _, archive in opened(opener, acts):
                stub = stub_in(archive)
                if stub is not None:
                    return stub
        return None

    def of_rows(self, rows: Sequence[VersionRow]) -> list[Stub | None]:
        """The same for stored versions."""
        return [self.of(self._store.version_id(row), row.author) for row in rows]


def indexed(stub: Stub) -> Remember:
    """The act that an index reads in place of the whole one: its beginning, and its other words in no order."""
    return replace(stub.act, text=stubs.spoken(stub))
