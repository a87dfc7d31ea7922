"""Reading a bank with one key: recall, look-up, history (design sections 5 and 7)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from muniment.bank import Bank
from muniment.base.clock import at_of, ms_of
from muniment.base.errors import (
    Ambiguous,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    StorageError,
    UnknownRecord,
)
from muniment.base.ids import VersionId, blob_text, cid_text, parse_record, parse_version, record_text
from muniment.base.limits import LIMITS
from muniment.fetching import archive_acts, body_here, read
from muniment.identity.did import to_did
from muniment.judging import Tally, judgements, tally, tally_of
from muniment.ledger import records
from muniment.ledger.acts import Remember
from muniment.ledger.authority import Authority
from muniment.opening import Opener, Stamps
from muniment.project import Projector, own_keys
from muniment.query import Asker, Where, compile_filter, kind_of, source_of
from muniment.shelf import Stubs
from muniment.store.base import Filter, State, VersionRow
from muniment.views import Record

Names = Callable[[bytes], str | None]


class Reader:
    """Reads one bank with one key of this peer; `source` and `kind` are relative to `asker`."""

    def __init__(self, bank: Bank, key: bytes, names: Names, asker: Asker | None = None) -> None:
        self._bank, self._key, self._names, self._asker = bank, key, names, asker
        self._named: dict[bytes, str | None] = {}  # during one call
        self._stamps: Stamps = {}  # of the versions opened since `enter`
        self._partial: set[int] = set()  # ords of those of which only the stub is here

    @property
    def bank_text(self) -> str:
        """The bank's id, as text."""
        return cid_text(self._bank.id)

    # The gate

    def enter(self) -> Authority:
        """The bank's authority, after asking it whether the caller's key may read.

        Raises:
            NotPermitted: It may not, or not any more.
            RolledBack: The bank is older than its witness says.
            UnknownBank: The bank was deleted here.
        """
        self._named, self._stamps, self._partial = {}, {}, set()
        self._bank.enter()
        self._bank.compare()
        self._settle()
        authority = self._bank.authority
        authority.check_read(self._key, self._bank.host.clock.now_ms())
        return authority

    def asker(self, authority: Authority) -> Asker:
        """Relative to whom provenance is told: the bank's agent, or in a shared bank whoever asks."""
        if authority.agents or self._asker is None:
            return Asker(authority.agents, authority.controllers)
        return self._asker

    def filter(self, where: Where, authority: Authority) -> Filter:
        """The store's form of the caller's filters."""
        return compile_filter(where, self._bank.store.salt, self.asker(authority))

    def _settle(self) -> None:
        """Once a process, destroy what was to be destroyed by now; a reader of a disk that can't be written goes on."""
        if self._bank.settled:
            return
        if self._bank.store.traces() or self._bank.authority.erasures:
            from muniment.erasing import settle_erasures

            with contextlib.suppress(StorageError):
                settle_erasures(self._bank, sign=False)
        self._bank.settled = 1

    # Looking up

    def get(self, ref: str) -> Record:
        """The record that a record id, a version or a key names, in the version that is shown.

        Raises:
            UnknownRecord: None goes by that name.
            Ambiguous: Several authors have a record of that id.
        """
        authority = self.enter()
        with self._bank.store.read():
            group, exact = self.find(ref, authority)
            row = exact or self.shown(group, authority)
            found = self.views([row], authority, whole=True)
        if not found:
            raise UnknownRecord(
                f"{ref[:80]!r} is not there any more", "Its words were erased, or its key is not here."
            )
        return found[0]

    def history(self, ref: str) -> list[Record]:
        """All versions of a record, newest first; those whose words are gone are left out."""
        authority = self.enter()
        with self._bank.store.read():
            group, _ = self.find(ref, authority)
            newest = sorted(group, key=lambda row: (row.at, row.ord), reverse=True)
            return self.views(newest, authority)

    def page(self, where: Where, limit: int, offset: int = 0) -> list[Record]:
        """Records that pass, newest first."""
        check_limit(limit)
        if not 0 <= offset < 1 << 40:
            raise InvalidInput(f"offset is {offset}", "Use 0 or more.")
        authority = self.enter()
        with self._bank.store.read():
            return self.views(
                self._bank.store.newest(self.filter(where, authority), limit, offset), authority
            )

    def find(self, ref: str, authority: Authority) -> tuple[list[VersionRow], VersionRow | None]:
        """All versions of the record that `ref` names, and the one version where it names exactly one."""
        store = self._bank.store
        projector = Projector(store, authority)
        if _is(parse_version, ref):
            row = store.version_at(parse_version(ref))
            if row is not None:
                return projector.group_of(row), row
        if _is(parse_record, ref) and (rows := store.of_record(parse_record(ref))):
            groups = {(row.group, row.author if row.group is None else b"") for row in rows}
            if len(groups) > 1:
                choices = [str(store.version_id(row)) + f" by {to_did(row.author)}" for row in rows]
                raise Ambiguous(
                    f"several records have the id {ref}", choices, "Name the version that you mean."
                )
            return projector.group_of(rows[0]), None
        rows = store.of_group(records.group_of_key(ref)) if len(ref) <= LIMITS.key_chars else []
        if not rows:
            raise UnknownRecord(
                f"no record goes by {ref[:80]!r}",
                "Name its id, version or key, as `muniment list` shows them.",
            )
        return rows, None

    def shown(self, group: Sequence[VersionRow], authority: Authority) -> VersionRow:
        """The version that stands for its record: the newest live one, else the newest."""
        trust = self.trust(authority)
        live = [row for row in group if row.state is State.LIVE]
        return max(live or group, key=lambda row: (trust(row), row.at, row.ord))

    # Views

    def views(self, rows: Sequence[VersionRow], authority: Authority, *, whole: bool = False) -> list[Record]:
        """Open versions; those that stay shut to this caller are left out."""
        return self.seen(self.open(rows, whole=whole), authority)

    def open(self, rows: Sequence[VersionRow], *, whole: bool = False) -> list[tuple[VersionRow, Remember]]:
        """Versions and their words, without those that stay shut to this caller.

        Of an archived version whose text is not in the bank, the stub's beginning stands for it.

        Args:
            rows: The versions.
            whole: Look for such texts in this peer's packs.
        """
        opener = self.opener()
        acts = opener.proved(rows, self._bank.seals)
        self._stamps = {**self._stamps, **opener.stamps}
        gone = {State.ERASED, State.VOID}
        shut = [at for at, act in enumerate(acts) if act is None and rows[at].state not in gone]
        if shut:
            self._unarchive(rows, acts, shut, whole=whole)
        return [(row, act) for row, act in zip(rows, acts, strict=True) if act is not None]

    def _unarchive(
        self, rows: Sequence[VersionRow], acts: list[Remember | None], shut: Sequence[int], *, whole: bool
    ) -> None:
        opener = self.opener()
        finder = Stubs(self._bank.store, self._bank.rulings.authority, [opener])
        for place, stub in zip(shut, finder.of_rows([rows[place] for place in shut]), strict=True):
            if stub is None:
                continue
            acts[place] = stub.act
            row = rows[place]
            body = body_here(self._bank, opener, row) if whole else None
            if body is not None:
                acts[place] = read(body, opener, row)
                self._partial.discard(row.ord)
            else:
                self._partial.add(row.ord)

    def pointer(self, row: VersionRow) -> str | None:
        """The pointer of an archived version's payload, as text."""
        found = archive_acts(self._bank, self.opener(), row)
        return blob_text(found[0][1].pointer) if found else None

    def view(self, row: VersionRow, act: Remember, authority: Authority) -> Record:
        """One open version as callers see it."""
        return self.seen([(row, act)], authority)[0]

    def seen(self, opened: Sequence[tuple[VersionRow, Remember]], authority: Authority) -> list[Record]:
        """Open versions as callers see them; what the store has to say of all of them is asked for at once."""
        others = {row.ord: self._live_twins(row) for row, _ in opened}
        ids = {
            row.ord: [self._version_id(one) for one in (row, *others[row.ord]) if one.content == row.content]
            for row, _ in opened
        }
        said = judgements(self._bank, self._key, authority, list({i for some in ids.values() for i in some}))
        shelves = self._bank.store.shelves([row.ord for row, _ in opened])
        return [
            self._view(
                (row, act),
                authority,
                others[row.ord],
                tally(one for version in ids[row.ord] for one in said.get(version, ())),
                archived=row.ord in shelves and shelves[row.ord].archived,
            )
            for row, act in opened
        ]

    def _view(
        self,
        one: tuple[VersionRow, Remember],
        authority: Authority,
        others: Sequence[VersionRow],
        counts: Tally,
        *,
        archived: bool,
    ) -> Record:
        row, act = one
        asker = self.asker(authority)
        did = to_did(row.author)
        now = self._bank.host.clock.now_ms()
        state = "archived" if archived and row.state is State.LIVE else row.state.name.lower()
        return Record(
            id=record_text(row.record),
            bank=cid_text(self._bank.id),
            version=str(self._version_id(row)),
            key=act.key,
            title=act.title,
            text=act.text,
            tags=act.tags,
            metadata=act.metadata or {},
            type=act.type,
            kind=kind_of(row.author, recalled=row.recalled, asker=asker),
            source=source_of(row.author, tool=row.tool, asker=asker),
            author=did,
            author_name=self._name(row.author),
            authors=tuple(sorted({did, *(to_did(o.author) for o in others if o.content == row.content)})),
            session=act.session,
            created_at_ms=act.created,
            written_at_ms=ms_of(row.at),
            valid_from=act.valid_from,
            valid_until=act.valid_until,
            source_ref=act.ref,
            state=state,
            supersedes=tuple(str(version) for version in act.over),
            conflict=row.state is State.LIVE and any(other.content != row.content for other in others),
            clock_ahead=is_ahead(row.at, now),
            tool=row.tool,
            recalled=row.recalled,
            helpful=counts.helpful,
            harmful=counts.harmful,
            archived=archived,
            pointer=self.pointer(row) if archived else None,
            whole=row.ord not in self._partial,
        )

    def judged(self, rows: Sequence[VersionRow], authority: Authority) -> Tally:
        """What the judgements of these versions add up to."""
        return tally_of(self._bank, self._key, authority, [self._version_id(row) for row in rows])

    def _version_id(self, row: VersionRow) -> VersionId:
        stamp = self._stamps.get(row.seq)
        return self._bank.store.version_id(row) if stamp is None else VersionId(stamp[0], row.act)

    def _name(self, key: bytes) -> str | None:
        named = self._named
        if key not in named:
            named[key] = self._names(key)
        return named[key]

    def opener(self) -> Opener:
        """Opens bodies with the caller's own key."""
        return self._bank.opener(self._key)

    def trust(self, authority: Authority) -> Callable[[VersionRow], records.Trust]:
        """How much each version weighs."""
        own = own_keys(authority)
        return lambda row: records.trust_of(row.author, tool=row.tool, own=own)

    def _live_twins(self, row: VersionRow) -> list[VersionRow]:
        """Other live versions of the same record key."""
        if row.group is None:
            return []
        return [other for other in self._bank.store.of_group(row.group, live=True) if other.ord != row.ord]


def _is(parse: Callable[[str], object], ref: str) -> bool:
    try:
        parse(ref)
    except MunimentError:
        return False
    return True


def is_ahead(at: int, now_ms: int) -> bool:
    """Whether a clock value is further ahead than clocks are followed: so small a step back hides nothing."""
    return at > at_of(now_ms + LIMITS.clock_ahead_ms)


def check_limit(limit: int) -> None:
    """Refuse a number of hits that is none, or over `Limits.recall_limit`.

    Raises:
        InvalidInput | LimitExceeded: As their names say.
    """
    if limit < 1:
        raise InvalidInput(f"limit is {limit}", "Ask for at least one.")
    if limit > LIMITS.recall_limit:
        raise LimitExceeded("limit", LIMITS.recall_limit, limit, "Ask again with --offset, or export.")
