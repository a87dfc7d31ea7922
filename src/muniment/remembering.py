"""Remembering: from drafts to versions that are there once, however often they are written (design section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from muniment.bank import Bank
from muniment.base.ids import EntryId, RecordId, VersionId, cid_text, record_text, uuid7
from muniment.base.limits import LIMITS
from muniment.ledger import records
from muniment.ledger.acts import Remember, Vector, content_digest, write_digest
from muniment.ledger.admission import check_remember
from muniment.ledger.authority import Authority
from muniment.project import Projector, facets_of, own_keys
from muniment.store.base import Naming, NamingRow, State, VersionRow
from muniment.views import Remembered
from muniment.writing import Writer

_NO_ID = RecordId(bytes(16))


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory to be written.

    What is None is filled in: `id` is new, `created` (Unix ms) is now, `over` are all live versions of its key,
    or of its `id` where it has no key.
    """

    text: str
    key: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    type: str = "note"
    session: str | None = None
    created: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    tool: bool = False
    recalled: bool = False
    ref: str | None = None
    id: RecordId | None = None
    over: tuple[VersionId, ...] | None = None

    def act(self, record: RecordId, now: int, over: tuple[VersionId, ...]) -> Remember:
        """The act that says it."""
        return Remember(
            id=record,
            text=self.text,
            created=now if self.created is None else self.created,
            key=self.key,
            title=self.title,
            type=self.type,
            tags=self.tags,
            metadata=self.metadata,
            session=self.session,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
            over=over,
            tool=self.tool,
            recalled=self.recalled,
            ref=self.ref,
        )


def remember(bank: Bank, key: bytes, drafts: Sequence[Draft], *, old_epoch: bool = False) -> list[Remembered]:
    """Write memories in one durable transaction; those that are there already change nothing.

    They share entries of up to `Limits.acts_per_entry` acts; a record key that comes again starts a new
    entry, since only an entry that exists can be superseded. `old_epoch` is that of `Writer`.

    Raises:
        LimitExceeded | InvalidInput: A draft is over a limit or has no meaning; nothing is written.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    now = bank.host.clock.now_ms()
    plain = [draft.act(_NO_ID, now, ()) for draft in drafts]
    for act in plain:
        check_remember(act)
    vectors, degraded = _embed(bank, key, drafts, plain)
    with bank.write() as authority:
        authority.check_write(key, now)
        batch = _Batch(bank, key, now, degraded, old_epoch=old_epoch)
        for draft, act, vector in zip(drafts, plain, vectors, strict=True):
            if batch.is_full_for(draft):
                batch.flush()
            batch.add(draft, act, vector)
        batch.flush()
        return [result for result in batch.results if result is not None]


def _embed(
    bank: Bank, key: bytes, drafts: Sequence[Draft], plain: Sequence[Remember]
) -> tuple[list[bytes | None], str | None]:
    """A vector for each draft that is not there yet, made before the bank is locked; and why there is none."""
    meaning = bank.host.meaning
    if meaning is None:
        return [None] * len(drafts), None
    from muniment.meaning import words_of

    probe = _Batch(bank, key, 0)
    with bank.store.read():
        fresh = [
            number
            for number, (draft, act) in enumerate(zip(drafts, plain, strict=True))
            if probe.there(draft, write_digest(act, key, content_digest(act))) is None
        ]
    made, degraded = meaning.documents([words_of(plain[number]) for number in fresh])
    found = dict(zip(fresh, made, strict=True))
    return [found.get(number) for number in range(len(drafts))], degraded


class _Batch:
    """The new memories of the next entry, and the results so far in the order of the drafts."""

    def __init__(
        self, bank: Bank, key: bytes, now: int, degraded: str | None = None, *, old_epoch: bool = False
    ) -> None:
        self._bank, self._store, self._key, self._now = bank, bank.store, key, now
        self._degraded = degraded
        self._vectors: list[bytes | None] = []  # of each act
        self._writer = Writer(bank, key, old_epoch=old_epoch)
        self._acts: list[Remember] = []
        self._digests: list[tuple[bytes, bytes]] = []  # of the content and of the write
        self._hidden: list[list[VersionRow]] = []
        self._slots: list[list[int]] = []  # for each act, the results that it answers
        self._by_digest: dict[bytes, int] = {}
        self._names: set[str | bytes] = set()
        self._bytes = 0
        self.results: list[Remembered | None] = []

    def is_full_for(self, draft: Draft) -> bool:
        """Whether the draft must wait for the next entry."""
        size = self._bytes + 4 * len(draft.text) > LIMITS.entry_bytes // 2
        count = len(self._acts) + sum(vector is not None for vector in self._vectors)
        return (
            not self._names.isdisjoint(_names(draft))
            or count + (1 if self._bank.host.meaning is None else 2) > LIMITS.acts_per_entry
            or (size and bool(self._acts))
        )

    def add(self, draft: Draft, plain: Remember, vector: bytes | None) -> None:
        """Take a draft in, or note that it is there already; `plain` is its act before it has an id."""
        content = content_digest(plain)
        digest = write_digest(plain, self._key, content)
        slot = len(self.results)
        self.results.append(self.there(draft, digest))
        if self.results[slot] is not None:
            return
        twin = self._by_digest.get(digest)
        if (
            twin is not None
            and draft.created in {None, self._acts[twin].created}
            and draft.id in {None, self._acts[twin].id}
        ):
            self._slots[twin].append(slot)
            return
        named = self._named(draft)
        live = [row for row in named if row.state is State.LIVE]
        own = [row.record for row in live if row.author == self._key]
        record = draft.id or (own[-1] if own else uuid7(self._now, self._bank.host.entropy.bytes(10)))
        self._by_digest[digest] = len(self._acts)
        self._acts.append(draft.act(record, self._now, tuple(map(self._store.version_id, named))))
        self._digests.append((content, digest))
        self._hidden.append(live)
        self._slots.append([slot])
        self._vectors.append(vector)
        self._bytes += 4 * len(draft.text) + len(vector or b"")
        self._names.update(_names(draft))

    def there(self, draft: Draft, digest: bytes) -> Remembered | None:
        """What the draft would write, if it is written already."""
        for row in self._store.of_write(digest):
            if self._same(draft, row):
                version = str(self._store.version_id(row))
                return Remembered(
                    record_text(row.record), version, created=False, bank=cid_text(self._bank.id)
                )
        return None

    @staticmethod
    def _same(draft: Draft, row: VersionRow) -> bool:
        """Whether a version that says the same is what the draft would write again.

        What was imported is named by where it came from, so a version that was superseded or forgotten since
        is still there; what a person says is there while it is live.
        """
        if draft.created not in {None, row.created} or draft.id not in {None, row.record}:
            return False
        named = draft.ref is not None or (draft.id is not None and draft.created is not None)
        return row.state is State.LIVE or (named and row.state in {State.SUPERSEDED, State.FORGOTTEN})

    def _named(self, draft: Draft) -> list[VersionRow]:
        """The versions that the draft takes the place of: of its key, or of its own earlier words."""
        group = None if draft.key is None else records.group_of_key(draft.key)
        if draft.over is not None:
            rows = [row for version in draft.over if (row := self._store.version_at(version)) is not None]
        elif group is not None:
            return self._store.of_group(group, live=True)
        else:
            same = [] if draft.id is None else self._store.of_record(draft.id)
            rows = [row for row in same if row.state is State.LIVE]
        return [row for row in rows if row.group == group and (group is not None or row.author == self._key)]

    def flush(self) -> None:
        """Write the acts gathered so far as one entry, with their rows."""
        if not self._acts:
            return
        authority = self._bank.rulings.authority
        vectors = self._vector_acts()
        entry, seq = self._writer.commit_acts(authority, [*self._acts, *vectors], self._now)
        self._project(authority, seq, entry.header.at)
        self._project_vectors(entry.id, seq, vectors)
        bank = cid_text(self._bank.id)
        for index, (act, slots) in enumerate(zip(self._acts, self._slots, strict=True)):
            version = str(VersionId(entry.id, index))
            over = tuple(map(str, act.over))
            for number, slot in enumerate(slots):
                self.results[slot] = Remembered(
                    record_text(act.id), version, number == 0, bank, over, self._degraded
                )
        for gathered in (
            self._acts,
            self._vectors,
            self._digests,
            self._hidden,
            self._slots,
            self._by_digest,
            self._names,
        ):
            gathered.clear()
        self._bytes = 0

    def _vector_acts(self) -> list[Vector]:
        meaning = self._bank.host.meaning
        given = [(index, data) for index, data in enumerate(self._vectors) if data is not None]
        if meaning is None:
            return []
        return [Vector(meaning.model, len(data) // 2, data, act=index) for index, data in given]

    def _project_vectors(self, entry: EntryId, seq: int, vectors: Sequence[Vector]) -> None:
        places = [(len(self._acts) + number, vector) for number, vector in enumerate(vectors)]
        self._store.add_namings(
            [
                NamingRow(VersionId(entry, vector.act or 0), Naming.VECTOR, seq, place)
                for place, vector in places
            ]
        )
        self._store.add_vectors([(seq, place, vector.model) for place, vector in places])

    def _project(self, authority: Authority, seq: int, at: int) -> None:
        """The rows of a new entry by a key of this peer: what it supersedes is known, so no group is resolved."""
        projector, own = Projector(self._store, authority), own_keys(authority)
        rows = [
            projector.version_row(seq, index, self._key, at, act, digests=digests)
            for index, (act, digests) in enumerate(zip(self._acts, self._digests, strict=True))
        ]
        self._store.add_versions(rows, [facets_of(self._store.salt, act) for act in self._acts])
        names = [
            NamingRow(target, Naming.OVER, seq, index)
            for index, act in enumerate(self._acts)
            for target in act.over
        ]
        if not names:
            return
        self._store.add_namings(names)
        for act, hidden in zip(self._acts, self._hidden, strict=True):
            trust = records.trust_of(self._key, tool=act.tool, own=own)
            for row in hidden:
                if records.trust_of(row.author, tool=row.tool, own=own) <= trust:
                    self._store.set_state(row.ord, State.SUPERSEDED, at)


def _names(draft: Draft) -> set[str | bytes]:
    """What makes two drafts versions of one record."""
    return {name for name in (draft.key, draft.id) if name is not None}
