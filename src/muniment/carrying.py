"""A whole bank as one file that proves itself, and such a file taken in through the one door (design section 10).

The file holds entries and sealed bodies as they are signed and sealed: whoever gets it can prove all of it and
read only what a key of his opens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded, MunimentError, Refused, RefusedFile
from muniment.base.ids import BankId, EntryId, cid_of, cid_text
from muniment.carried import opened
from muniment.fetching import archived_body
from muniment.ledger.entry import Header, check_body, reload
from muniment.platform import files
from muniment.portable import car, manifest
from muniment.portable.manifest import Manifest
from muniment.receiving import Receiver
from muniment.rulings import proved
from muniment.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from muniment.peer import Peer

Progress = Callable[[int, int], None]
ImportProgress = Callable[[int, int, int], None]
Blobs = Mapping[bytes, bytes]
"""Blobs by their BLAKE3 (32 bytes); a value may be fetched when it is asked for."""
Parcel = tuple[bytes, list[bytes | None]]

_BATCH_ENTRIES = 256
_BATCH_BYTES = 32 * 1024 * 1024
_MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """What an export wrote: the bank, the file, and how many entries, sealed bodies and blobs it holds."""

    bank: str
    path: str
    entries: int
    bodies: int
    blobs: int
    bytes: int

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "bank": self.bank, "path": self.path, "entries": self.entries, "bodies": self.bodies,
            "blobs": self.blobs, "bytes": self.bytes,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class CarriedIn:
    """What became of a file that was taken in.

    Attributes:
        bank: Its id; `new` whether this peer did not have it before.
        entries: How many were read; `added` were not here before, `known` were.
        refused: What could not be taken: (id, reason), the first of them; `refused_count` of them all.
        readable: Whether a key of this peer may read it.
    """

    bank: str
    new: bool
    entries: int
    added: int
    known: int
    bodies: int
    blobs: int
    refused: tuple[tuple[str, str], ...]
    refused_count: int
    readable: bool

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "bank": self.bank, "new": self.new, "entries": self.entries, "added": self.added, "known": self.known,
            "bodies": self.bodies, "blobs": self.blobs, "refused": self.refused_count,
            "refused_entries": [{"id": name, "reason": reason} for name, reason in self.refused],
            "readable": self.readable,
        }  # fmt: skip


# Out


def carry_out(
    bank: Bank, key: bytes, target: Path, blobs: Blobs | None = None, progress: Progress | None = None
) -> CarriedOut:
    """Write all entries and bodies of a bank, and blobs, under a manifest signed by `key`.

    The file appears whole or not at all.

    Raises:
        StorageError: It can't be written, or the bank is damaged.
        LimitExceeded: The bank has too many heads.
    """
    draft = target.with_name(f".{target.name}.part")
    try:
        with draft.open("wb") as stream, bank.store.read():
            out = _Out(bank, key, stream, blobs or {})
            out.write(progress)
            size = stream.tell()
        draft.replace(target)
    except OSError as error:
        raise files.explain(error, target) from error
    finally:
        draft.unlink(missing_ok=True)
    said = out.manifest
    return CarriedOut(cid_text(bank.id), str(target), said.entries, said.bodies, said.blobs, size)


class _Out:
    """One export; the store stands still while it lives."""

    def __init__(self, bank: Bank, key: bytes, stream: IO[bytes], blobs: Blobs) -> None:
        self._bank, self._key, self._stream, self._blobs = bank, key, stream, blobs
        self.manifest = self._manifest()

    def _manifest(self) -> Manifest:
        heads: set[EntryId] = set()
        named: set[EntryId] = set()
        count = bodies = 0
        for row in self._bank.store.entries():
            count += 1
            header = proved(row.envelope, self._bank.id).header
            bodies += len(header.acts)
            if row.id not in named:
                heads.add(row.id)
            for parent in _parents(header):
                heads.discard(parent)
                named.add(parent)
        absent = sum(1 for _ in self._bank.store.absent())
        absent += sum(archived_body(self._bank, *place) is None for place in self._bank.store.released())
        now = self._bank.host.clock.now_ms()
        return Manifest(
            self._bank.id, self._key, now, tuple(sorted(heads)), count, bodies - absent, len(self._blobs)
        )

    def write(self, progress: Progress | None) -> None:
        keyring, stream = self._bank.host.keyring, self._stream
        root = manifest.write(self.manifest, lambda domain, data: keyring.sign(self._key, domain, data))
        stream.write(car.header(cid_of(root)))
        stream.write(car.block(cid_of(root), root))
        store, total = self._bank.store, self.manifest.entries
        released = set(store.released())
        for number, row in enumerate(store.entries(), 1):
            stream.write(car.block(row.id, row.envelope))
            refs = reload(row.envelope).header.acts
            bodies = store.bodies([(row.seq, act) for act in range(len(refs))])
            for act, (ref, held) in enumerate(zip(refs, bodies, strict=True)):
                in_archive = held is None and (row.seq, act) in released
                sealed = archived_body(self._bank, row.seq, act) if in_archive else held
                if sealed is not None:
                    check_body(ref, sealed)
                    stream.write(car.block(car.body_cid(ref.digest), sealed))
            if progress and number % 64 == 0:
                progress(number, total)
        for digest in self._blobs:
            stream.write(car.block(car.blob_cid(digest), self._blobs[digest]))
        if progress:
            progress(total, total)


def _parents(header: Header) -> set[EntryId]:
    epoch = () if header.epoch is None else (header.epoch.entry,)
    return {*header.prev, *header.auth, *epoch}


# In


def carry_in(
    peer: Peer,
    path: Path,
    *,
    take_blob: Callable[[bytes, bytes], None] | None = None,
    progress: ImportProgress | None = None,
) -> CarriedIn:
    """Take an exported bank into the bank of its id on this peer, known or new, through the one door.

    Taking it in grants nothing: its words are shown to keys that the bank lets read, and to nobody else.

    Args:
        peer: This installation.
        path: The file.
        take_blob: Called with the BLAKE3 and the bytes of each blob.
        progress: Called with bytes read, bytes in all, and entries so far.

    Raises:
        InvalidInput | StorageError | RefusedFile: The file can't be read, or is no exported bank.
    """
    return _CarryIn(path, partial(_bank_of, peer), take_blob, progress).run()


def _bank_of(peer: Peer, bank: BankId) -> tuple[Bank, bool]:
    """The bank of that id on a peer, and whether it is new there; its founding entry was verified."""
    store = peer.made_store()
    with peer.folder.lock("agents"):
        if store.bank(bank) is not None:
            return peer.bank(bank), False
        folder = Path(peer.folder.sub("banks").make().path)
        file = folder / f"{cid_text(bank)}.db"
        if not file.exists():  # it is there, if this was cut off before
            SqliteStore.create(file, bank).close()
        store.add_bank(bank, "shared", cid_text(bank)[-12:], peer.host.clock.now_ms())
        return peer.bank(bank), True


class _CarryIn:
    """A file taken into a bank.

    Args:
        path: The file.
        bank_of: Gives the bank of an id, or makes one for a founding entry that was verified; the second value
            says whether it was made.
        take_blob: Called with the BLAKE3 and the bytes of each blob.
        progress: Called with bytes read, bytes in all, and entries so far.
    """

    def __init__(
        self,
        path: Path,
        bank_of: Callable[[BankId], tuple[Bank, bool]],
        take_blob: Callable[[bytes, bytes], None] | None = None,
        progress: ImportProgress | None = None,
    ) -> None:
        self._path, self._bank_of, self._take_blob, self._progress = path, bank_of, take_blob, progress
        self._refused: list[tuple[str, str]] = []
        self._refused_count = self._entries = self._added = self._bodies = self._blobs = 0

    def run(self) -> CarriedIn:
        """Take everything in; what was taken stays if the file breaks off.

        Raises:
            InvalidInput | StorageError | RefusedFile: The file can't be read, or is no exported bank.
        """
        with opened(self._path) as (bank_id, reader, blocks):
            bank: Bank | None = None
            new, batch, size = False, list[Parcel](), 0
            for parcel in self._parcels(blocks):
                if bank is None:
                    _founds(parcel[0], bank_id)
                    bank, new = self._bank_of(bank_id)
                batch.append(parcel)
                size += len(parcel[0]) + sum(len(body) for body in parcel[1] if body is not None)
                if len(batch) == _BATCH_ENTRIES or size > _BATCH_BYTES:
                    self._take(bank, batch)
                    batch, size = [], 0
                    if self._progress:
                        self._progress(reader.done, reader.total, self._entries)
            if bank is None:
                raise RefusedFile("wrong bank", "it holds no entry")
            self._take(bank, batch)
            bank.tidy(force=True)
            if self._progress:
                self._progress(reader.total, reader.total, self._entries)
        return CarriedIn(
            cid_text(bank_id),
            new,
            self._entries,
            self._added,
            self._entries - self._added - self._refused_count,
            self._bodies,
            self._blobs,
            tuple(self._refused),
            self._refused_count,
            _readable(bank),
        )

    def _parcels(self, blocks: Iterator[car.Block]) -> Iterator[Parcel]:
        """Entries with their bodies, which follow them; a body out of its place is left out."""
        envelope: bytes | None = None
        places: dict[bytes, int] = {}
        bodies: list[bytes | None] = []
        for block in blocks:
            if block.is_entry:
                if envelope is not None:
                    yield envelope, bodies
                envelope, bodies, places = block.data, [], {}
                try:
                    refs = reload(block.data).header.acts
                except MunimentError:
                    continue  # the door says what is wrong with it
                bodies, places = [None] * len(refs), {ref.digest: at for at, ref in enumerate(refs)}
            elif block.is_body:
                at = places.get(block.cid[4:])
                if at is None:
                    self._refuse(cid_text(block.cid), "a body that the entry before it does not name")
                else:
                    bodies[at] = block.data
                    self._bodies += 1
            else:
                self._blobs += 1
                if self._take_blob is not None:
                    self._take_blob(block.cid[4:], block.data)
        if envelope is not None:
            yield envelope, bodies

    def _take(self, bank: Bank, batch: list[Parcel]) -> None:
        """A batch in one transaction; if one of it can't be taken, each in its own."""
        self._entries += len(batch)
        before = bank.store.figures().entries
        receiver = Receiver(bank)
        try:
            with bank.write():
                for parcel in batch:
                    receiver.take(*parcel)
        except (Refused, LimitExceeded):
            for envelope, bodies in batch:
                try:
                    receiver.take(envelope, bodies)
                except (Refused, LimitExceeded) as error:
                    self._refuse(cid_text(cid_of(envelope)), error.message)
        self._added += bank.store.figures().entries - before

    def _refuse(self, name: str, reason: str) -> None:
        self._refused_count += 1
        if len(self._refused) < _MOST_LISTED:
            self._refused.append((name, reason))


def _founds(envelope: bytes, bank: BankId) -> None:
    """Refuse a file whose first entry does not found its bank: nothing else could be judged.

    Raises:
        RefusedFile: `wrong bank`.
    """
    if bytes(cid_of(envelope)) != bytes(bank):
        raise RefusedFile("wrong bank", "the first entry is not the founding entry of the manifest's bank")
    try:
        proved(envelope, bank)
    except MunimentError as error:
        raise RefusedFile("wrong bank", error.message) from None


def _readable(bank: Bank) -> bool:
    own: list[bytes] = bank.host.keyring.keys()
    return not bank.authority.readers(bank.host.clock.now_ms()).isdisjoint(own)
