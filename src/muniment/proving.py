"""Telling from entries alone what a bank is worth, wherever they lie (design sections 3 and 4).

Nothing that was derived before is believed: every signature, hash and verdict is worked out again. Two passes:
the first checks bytes and keeps a few words of each entry; the second rules, when all that rules is known.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from muniment.base.errors import MunimentError, RefusedBody, RefusedEntry
from muniment.base.ids import BankId, EntryId, VersionId, cid_text
from muniment.epoch_keys import EpochKeys
from muniment.identity.did import to_did
from muniment.ledger import entry as entries
from muniment.ledger.authority import Authority, Ruling, Verdict
from muniment.ledger.entry import ActRef, Entry
from muniment.ledger.past import DUPLICATE
from muniment.opening import NoKey, open_acts

Progress = Callable[[int, int], None]
KINDS = ("refused", "void", "waiting", "unreadable", "missing entry", "missing body", "rolled back")
FATAL = frozenset(KINDS) - {"void", "waiting"}  # what makes a bank that does not prove itself
_TICK = 64


class Finding(NamedTuple):
    """Something that has no effect, or is not there.

    Attributes:
        kind: One of `KINDS`.
        id: The entry, or `<entry>/<act>` for a body.
        author: DID of the key that signed it; empty where nobody can tell.
        reason: Why.
    """

    kind: str
    id: str
    author: str
    reason: str


class Feed(Protocol):
    """Where entries are proved from: a bank, or a file."""

    total: int

    def first(self) -> Iterator[tuple[int, str, bytes | MunimentError]]:
        """Each entry's place, name and envelope, or what is wrong with it; place -1 for what is no entry at all."""
        ...

    def envelope(self, place: int) -> bytes:
        """An envelope again."""
        ...

    def bodies(self, place: int, refs: Sequence[ActRef], *, read: bool) -> list[bytes | RefusedBody | None]:
        """The bodies of an entry: None for one that is not here, an error for one whose hash is wrong.

        With `read` False empty bytes stand for a body that is here and whose hash was checked already.
        """
        ...

    def archived(self, place: int, act: int) -> bool:
        """Whether a body that is not here lies in an archive, its stub standing for it."""
        ...


@dataclass(slots=True)
class Proof:
    """What was worked out; counts of entries unless it says otherwise.

    Attributes:
        bodies: Sealed bodies that are there and match their hash; `erased` those that were erased by right,
            `archived` those in an archive out of reach, for which a stub stands.
        opened: Entries whose bodies were opened; `shut` those for which no key was at hand.
        authors: Entries that count, by author DID.
        tally: Findings by kind.
    """

    entries: int = 0
    control: int = 0
    counts: int = 0
    bodies: int = 0
    erased: int = 0
    archived: int = 0
    opened: int = 0
    shut: int = 0
    authors: Counter[str] = field(default_factory=Counter)
    tally: Counter[str] = field(default_factory=Counter)

    @property
    def ok(self) -> bool:
        """Whether every signature and hash holds, and nothing is missing or unreadable."""
        return not any(self.tally[kind] for kind in FATAL)


class _Known(NamedTuple):
    """What is kept of an entry between the passes."""

    place: int
    author: bytes
    prev: tuple[EntryId, ...]
    twin: bytes  # short hash of the header bytes


class Prover:
    """Proves the entries of one bank.

    Args:
        bank: Its id.
        feed: Where they lie.
        found: Told each finding as it is made.
        openers: Epoch keys to open bodies with; none to prove from ciphertext alone.

    Attributes:
        known: Ids of all entries that are here and whole, after `run`.
    """

    def __init__(
        self, bank: BankId, feed: Feed, found: Callable[[Finding], None], openers: Sequence[EpochKeys] = ()
    ) -> None:
        self._bank, self._feed, self._found, self._openers = bank, feed, found, openers
        self.known: dict[EntryId, _Known] = {}
        self._control: dict[EntryId, Entry] = {}
        self._headers: Counter[bytes] = Counter()
        self._twins: dict[bytes, list[EntryId]] = {}
        self._counting: dict[bytes, EntryId | None] = {}
        self._named: dict[EntryId, EntryId] = {}  # ids that are not here yet, and who names them
        self._authors: dict[bytes, bytes] = {}
        self.proof = Proof()

    # As a chain for authority

    def prev(self, entry: EntryId, /) -> tuple[EntryId, ...] | None:
        """`prev` of an entry that is here."""
        known = self.known.get(entry)
        return None if known is None else known.prev

    def author(self, entry: EntryId, /) -> bytes | None:
        """Who signed an entry that is here."""
        known = self.known.get(entry)
        return None if known is None else known.author

    # Passes

    def run(self, progress: Progress | None = None) -> Proof:
        """Work everything out.

        Raises:
            MunimentError: The bank or file can't be read on.
        """
        total = 2 * self._feed.total
        for number, (place, name, envelope) in enumerate(self._feed.first(), 1):
            if progress and number % _TICK == 0:
                progress(min(number, self._feed.total), total)
            self.proof.entries += place >= 0
            self._first(place, name, envelope)
        for missing, by in sorted(self._named.items()):
            self._tell(Finding("missing entry", cid_text(missing), "", f"named by {cid_text(by)}"))
        authority = Authority.resolve(self._bank, self._control, self)
        erasures = authority.erasures
        for number, (entry_id, known) in enumerate(self.known.items(), 1):
            if progress and number % _TICK == 0:
                progress(self._feed.total + number, total)
            self._second(entry_id, known, authority, erasures)
        if progress:
            progress(total, total)
        return self.proof

    def _first(self, place: int, name: str, envelope: bytes | MunimentError) -> None:
        try:
            if isinstance(envelope, MunimentError):
                raise envelope
            entry = entries.verify(envelope, self._bank)
        except RefusedEntry as error:
            self._tell(Finding("refused", name, "", error.reason))
            return
        except MunimentError as error:
            self._tell(Finding("refused", name, "", error.message))
            return
        if entry.id in self.known:
            return
        header = entry.header
        twin = hashlib.blake2b(entry.header_bytes, digest_size=16).digest()
        self._headers[twin] += 1
        author = self._authors.setdefault(header.by, header.by)  # one copy of each key
        self.known[entry.id] = _Known(place, author, header.prev, twin)
        self._named.pop(entry.id, None)
        epoch = () if header.epoch is None else (header.epoch.entry,)
        bank = () if header.bank is None else (EntryId(header.bank),)
        for parent in (*header.prev, *header.auth, *epoch, *bank):
            if parent not in self.known:
                self._named.setdefault(parent, entry.id)
        if entry.is_control:
            self._control[entry.id] = entry

    def _second(
        self, entry_id: EntryId, known: _Known, authority: Authority, erasures: Container[VersionId]
    ) -> None:
        entry = self._control.get(entry_id) or entries.reload(self._feed.envelope(known.place))
        ruling = self._rule(entry, known, authority)
        did = to_did(known.author)
        self.proof.control += entry.is_control
        if ruling.verdict is Verdict.COUNTS:
            self.proof.counts += 1
            self.proof.authors[did] += 1
        else:
            self._tell(Finding(ruling.verdict.value, cid_text(entry_id), did, ruling.reason))
        if entry.header.acts:
            self._bodies(entry, known, did, authority, erasures)

    def _rule(self, entry: Entry, known: _Known, authority: Authority) -> Ruling:
        ruling = authority.rule(entry)
        if entry.is_control or ruling.verdict is not Verdict.COUNTS or self._headers[known.twin] == 1:
            return ruling
        return ruling if self._smallest(known.twin, authority) == entry.id else DUPLICATE

    def _smallest(self, twin: bytes, authority: Authority) -> EntryId | None:
        """Of several signatures over one header, the smallest id that counts; each header is looked at once."""
        if not self._twins:
            for entry_id, known in self.known.items():
                if self._headers[known.twin] > 1:
                    self._twins.setdefault(known.twin, []).append(entry_id)
        if twin not in self._counting:
            ids = sorted(self._twins[twin])
            held = ((one, entries.reload(self._feed.envelope(self.known[one].place))) for one in ids)
            counting = (one for one, entry in held if authority.rule(entry).verdict is Verdict.COUNTS)
            self._counting[twin] = next(counting, None)
        return self._counting[twin]

    def _bodies(
        self, entry: Entry, known: _Known, did: str, authority: Authority, erasures: Container[VersionId]
    ) -> None:
        refs = entry.header.acts
        here: list[bytes | None] = []
        erased: set[int] = set()
        for act, body in enumerate(self._feed.bodies(known.place, refs, read=bool(self._openers))):
            version = VersionId(entry.id, act)
            if version in erasures:
                erased.add(act)
            if isinstance(body, RefusedBody):
                self._tell(Finding("refused", str(version), did, body.message))
            elif body is not None:
                self.proof.bodies += 1
            elif act in erased:
                self.proof.erased += 1
            elif self._feed.archived(known.place, act):
                self.proof.archived += 1
            else:
                self._tell(Finding("missing body", str(version), did, "not here, and not erased"))
            here.append(None if isinstance(body, RefusedBody) else body)
        if self._openers:
            self._open(entry, did, here, erased, authority)

    def _open(
        self, entry: Entry, did: str, here: list[bytes | None], erased: set[int], authority: Authority
    ) -> None:
        for keys in self._openers:
            try:
                acts = open_acts(authority, keys, entry, here, erased)
            except RefusedBody as error:
                self._tell(Finding("unreadable", cid_text(entry.id), did, error.message))
                return
            if not isinstance(acts, NoKey):
                self.proof.opened += 1
                return
        self.proof.shut += 1

    def _tell(self, finding: Finding) -> None:
        self.proof.tally[finding.kind] += 1
        self._found(finding)
