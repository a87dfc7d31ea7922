"""Bringing an archived text back to where it can be read: from a pack here, or from who has it (design section 9).

Nothing that comes is believed: the payload must have the name that the archive act gives it, open under that act's
key, and, sealed again, be the very body that the record's author signed.
"""

from __future__ import annotations

from collections.abc import Callable

from muniment.archive.pack import open_payload
from muniment.archive.source import Download, fetch
from muniment.bank import Bank
from muniment.base.errors import BlobDamaged, MunimentError, Refused, RefusedPack, StorageError, UnknownBlob
from muniment.base.ids import BlobName, VersionId
from muniment.base.limits import LIMITS
from muniment.ledger import acts
from muniment.ledger import entry as entries
from muniment.ledger.acts import Archive, Remember
from muniment.opening import Opener
from muniment.shelf import ArchiveAct, Judge, opened
from muniment.store.base import VersionRow

Progress = Callable[[int, int], None]


def archive_acts(bank: Bank, opener: Opener, row: VersionRow) -> list[tuple[ArchiveAct, Archive]]:
    """The archive acts of a version that open, those that stand first.

    Also those that are not valid: what they lead to is held to the signed hash, so they can lead to the text alone.
    """
    judge = Judge(bank.store, bank.rulings.authority)
    return opened(opener, judge.of(bank.store.version_id(row), row.author, every=True))


def recover(bank: Bank, opener: Opener, row: VersionRow, archive: Archive, sealed: bytes) -> bytes:
    """The signed body of a version, from its sealed payload.

    Raises:
        RefusedPack: The payload is of something else, or what it makes is not what was signed.
    """
    payload = open_payload(sealed, archive.key)
    if payload.version != bank.store.version_id(row):
        raise RefusedPack("payload malformed", "it is of another version")
    body = opener.reseal(row, payload.nonce, payload.act)
    if body is None:
        raise RefusedPack("does not open", "the key of its epoch is not here")
    try:
        entries.check_body(opener.ref(row), body)
    except Refused:
        raise RefusedPack("payload malformed", "it is not what was signed") from None
    return body


def read(archive_body: bytes, opener: Opener, row: VersionRow) -> Remember:
    """The act in a body that was recovered."""
    plain = opener.unseal(row, archive_body)
    act = acts.from_bytes(acts.REMEMBER, plain)
    assert isinstance(act, Remember)  # noqa: S101 - a version is a remember act
    return act


def body_here(bank: Bank, opener: Opener, row: VersionRow) -> bytes | None:
    """The body of an archived version from a pack of this peer; None where none has it, or only damaged."""
    room = bank.host.archive
    if room is None or not room.begun:
        return None
    for _, archive in archive_acts(bank, opener, row):
        try:
            return recover(bank, opener, row, archive, room.packs.payload(BlobName(archive.pointer)))
        except (UnknownBlob, StorageError, RefusedPack):
            continue
    return None


def archived_body(bank: Bank, seq: int, act: int) -> bytes | None:
    """The signed body at a place whose text is in the archive, from a pack of this peer, with any key that opens it."""
    row = bank.store.version_at(VersionId(bank.store.entry_at(seq).id, act))
    if row is None:
        return None
    found = (body_here(bank, opener, row) for opener in bank.openers())
    return next((body for body in found if body is not None), None)


def body_from(
    bank: Bank, opener: Opener, row: VersionRow, *, keep: bool = True, progress: Progress | None = None
) -> bytes:
    """The body of an archived version, from a pack here or else from a holder; what comes is kept in a pack.

    Args:
        bank: The bank.
        opener: Of the caller's key.
        row: The version.
        keep: Whether a payload that came from elsewhere stays here.
        progress: Called with chunks that came, and how many there are.

    Raises:
        UnknownBlob: No valid archive act opens, or nobody in reach has the payload.
        BlobDamaged: All copies in reach are something else.
        StorageError: As its other subclasses name it.
    """
    room = bank.host.archive
    fault: MunimentError | None = None
    for _, archive in archive_acts(bank, opener, row) if room is not None else ():
        assert room is not None  # noqa: S101 - the loop is empty without one
        pointer = BlobName(archive.pointer)
        try:
            sealed, came = _payload(bank, pointer, progress)
            body = recover(bank, opener, row, archive, sealed)
        except (UnknownBlob, StorageError) as error:
            fault = error
        except RefusedPack as error:
            fault = BlobDamaged(
                f"the archive has something else: {error.message}", "Ask its author for the text."
            )
        else:
            if came and keep:
                room.packs.store([(pointer, sealed)])
            return body
    if fault is not None:
        raise fault
    raise UnknownBlob("the text of this record is not here", "Sync with a peer that has it.")


def _payload(bank: Bank, pointer: BlobName, progress: Progress | None) -> tuple[bytes, bool]:
    """A sealed payload, and whether it came from elsewhere."""
    room = bank.host.archive
    assert room is not None  # noqa: S101 - asked before
    try:
        return room.packs.payload(pointer), False
    except (UnknownBlob, StorageError) as error:
        if isinstance(error, UnknownBlob) and room.packs.follow():  # packs that came by another way
            return _payload(bank, pointer, progress)
        sources = [*room.sources, *room.holders(), *room.members(bank)]
        if not sources:
            raise
    return fetch(Download(pointer), sources, most=LIMITS.payload_bytes, progress=progress), True
