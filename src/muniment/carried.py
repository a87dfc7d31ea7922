"""Proving an exported bank from its file alone: no keyring, no peer folder, nothing taken on trust."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from muniment.base.errors import MunimentError, RefusedBody, RefusedFile
from muniment.base.ids import BankId, EntryId, cid_text
from muniment.epoch_keys import EpochKeys
from muniment.identity.did import to_did
from muniment.keyring.custody import Keyring
from muniment.ledger.entry import ActRef
from muniment.portable import car, manifest
from muniment.portable.manifest import Manifest
from muniment.proving import Finding, Progress, Prover
from muniment.verify import Findings, VerifyReport


class _Place(NamedTuple):
    offset: int
    length: int


class CarriedEntries:
    """The entries and bodies of an exported bank; the file is walked once, then looked up.

    Args:
        reader: The open file.

    Attributes:
        manifest: What the exporter signed.
        blobs: How many blobs were walked past.

    Raises:
        RefusedFile: The root is no signed manifest.
    """

    def __init__(self, reader: car.Reader) -> None:
        self._reader = reader
        self._blocks = reader.blocks()
        self.manifest = open_manifest(reader, self._blocks)
        self.total = self.manifest.entries
        self.blobs = 0
        self._entries: list[_Place] = []
        self._bodies: dict[bytes, _Place] = {}
        self._used = 0
        self.broken: RefusedFile | None = None

    @property
    def bodies_held(self) -> int:
        """How many sealed bodies the file holds."""
        return len(self._bodies)

    @property
    def strays(self) -> int:
        """Bodies that no entry names."""
        return len(self._bodies) - self._used

    def first(self) -> Iterator[tuple[int, str, bytes | MunimentError]]:
        """Each entry; where the file breaks its format, what is wrong there, and no more after it."""
        blocks = self._blocks
        while True:
            try:
                block = next(blocks, None)
            except RefusedFile as error:
                self.broken = error
                yield -1, f"the block after byte {self._reader.done}", error
                return
            if block is None:
                return
            if block.is_entry:
                self._entries.append(_Place(block.offset, len(block.data)))
                yield len(self._entries) - 1, cid_text(block.cid), block.data
            elif block.is_body:
                self._bodies[block.cid[4:]] = _Place(block.offset, len(block.data))
            else:
                self.blobs += 1

    def envelope(self, place: int) -> bytes:
        """An envelope again."""
        return self._reader.again(*self._entries[place])

    def bodies(
        self,
        place: int,  # noqa: ARG002 - bodies are found by their hash
        refs: Sequence[ActRef],
        *,
        read: bool,
    ) -> list[bytes | RefusedBody | None]:
        """The bodies of an entry, found by their hash."""
        found: list[bytes | RefusedBody | None] = []
        for ref in refs:
            body = self._bodies.get(ref.digest)
            if body is None:
                found.append(None)
                continue
            self._used += 1
            if body.length != ref.length:
                found.append(RefusedBody("a body is of another length than its signed header says"))
            else:
                found.append(self._reader.again(*body) if read else b"")
        return found

    def archived(self, place: int, act: int) -> bool:  # noqa: ARG002 - a file has no archive beside it
        """A file holds what lay in an archive within reach when it was written."""
        return False


def open_manifest(reader: car.Reader, blocks: Iterator[car.Block]) -> Manifest:
    """The manifest: the root, and the first block.

    Raises:
        RefusedFile: It is not there, or not whole.
    """
    root = next(blocks, None)
    if root is None or root.cid != reader.root:
        raise RefusedFile("no manifest", "the root is not the first block")
    return manifest.read(root.data)


def verify_file(
    path: str | Path,
    *,
    keyring: Keyring | None = None,
    progress: Progress | None = None,
    told: Callable[[Finding], None] | None = None,
) -> VerifyReport:
    """Prove an exported bank from the file alone.

    Every block's hash, every signature, the chain of every key and what authority says of each entry are worked
    out from the ciphertext. What was taken out is missed, since other entries or the manifest name it.

    Args:
        path: The file that `muniment bank export` wrote.
        keyring: Keys to open bodies with too; not needed for anything else.
        progress: Called with steps done and in all.
        told: Called with each finding; the report lists the first of each kind.

    Raises:
        InvalidInput | StorageError: There is no such file, or it can't be read.
        RefusedFile: It is no exported bank, or nobody's: its manifest is not signed.
    """
    with car.Reader(Path(path)) as reader:
        feed = CarriedEntries(reader)
        bank = feed.manifest.bank
        findings = Findings(told)
        keys = [] if keyring is None else [EpochKeys(bank, keyring, key) for key in sorted(keyring.keys())]
        prover = Prover(bank, feed, findings, keys)
        proof = prover.run(progress)
        for finding in _promised(feed, prover):
            proof.tally[finding.kind] += 1
            findings(finding)
        return findings.report(bank, proof, _about(Path(path), feed))


def _promised(feed: CarriedEntries, prover: Prover) -> Iterator[Finding]:
    """What the manifest says is in the file, and is not."""
    said, by = feed.manifest, to_did(feed.manifest.by)
    for head in said.heads:
        if head not in prover.known:
            yield Finding("missing entry", cid_text(head), "", "a head that the manifest names")
    if EntryId(bytes(said.bank)) not in prover.known:
        yield Finding("missing entry", cid_text(said.bank), "", "the founding entry")
    here = {"entries": prover.proof.entries, "bodies": feed.bodies_held, "blobs": feed.blobs}
    for name, count in here.items():
        if count != getattr(said, name) and feed.broken is None:
            told = f"the manifest says {getattr(said, name)} {name}, the file holds {count}"
            yield Finding("refused", "manifest", by, told)
    if feed.strays > 0:
        yield Finding("refused", "file", by, f"{feed.strays} bodies that no entry names")


def _about(path: Path, feed: CarriedEntries) -> dict[str, Any]:
    said = feed.manifest
    return {
        "name": path.name,
        "exported_by": to_did(said.by),
        "exported_at_ms": said.at,
        "entries": said.entries,
        "bodies": said.bodies,
        "blobs": said.blobs,
    }


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[BankId, car.Reader, Iterator[car.Block]]]:
    """An exported bank to be taken in: its id, the file, and the blocks after the manifest.

    Raises:
        InvalidInput | StorageError | RefusedFile: As for `verify_file`.
    """
    with car.Reader(path) as reader:
        blocks = reader.blocks()
        yield open_manifest(reader, blocks).bank, reader, blocks
