"""The owner's side of custody: blobs are given to holders, who have to prove again and again that they have them.

Everything that a holder says is checked: a receipt against what was agreed on, a proof against the receipt, without
the blob. A holder that fails raises an alarm and counts no more; then the blob goes to another one (section 9).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from muniment.archive import custody, tree
from muniment.archive.custody import SAMPLE, Challenge
from muniment.archive.options import DAY_MS, size
from muniment.archive.pack import directory_of
from muniment.archive.source import fetch
from muniment.base.errors import InvalidInput, MunimentError, StorageError, UnknownBlob
from muniment.base.ids import BlobName, blob_text, parse_blob
from muniment.custody_desk import signer
from muniment.custody_download import resumed
from muniment.custody_links import Ask, asked, check_holder, link_to
from muniment.custody_views import (
    Accepted,
    Challenged,
    CustodyList,
    CustodyStatus,
    Holding,
    Keeping,
    Outcome,
    ends_soon,
    status_of,
)
from muniment.identity.did import parse_did, to_did
from muniment.store.custody import Allowed, CustodyStore, Given

if TYPE_CHECKING:
    from muniment.peer import Peer

_MOST_DAYS = 36_500
_LEFT_MS = 60_000  # a term is a little shorter than what is asked for, so that clocks may differ


class Custody:
    """Custody on one peer."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._room = peer, peer.archive

    def offer(self, to: str, blob: str | None = None, *, days: int = 90) -> list[Holding]:
        """Give a pack to a holder, or all packs of this peer; one that it has already is promised anew.

        A transfer that was cut goes on where it was when it is offered again.

        Args:
            to: The address of its `muniment serve`, or another peer's folder.
            blob: A pack's name; all packs if not given.
            days: For how long.

        Raises:
            InvalidInput: The address is none, or there is no pack.
            UnknownBlob: The pack is not here, or the holder says no.
            RefusedProof: Its receipt is not what was agreed on.
            Unreachable | SyncError | StorageError: As their names say; what was promised before stays.
        """
        _check_days(days)
        address = check_holder(to)
        if address == str(self._peer.home.absolute()):
            raise InvalidInput("that is this peer", "Give packs to another one.")
        mine = self._mine()
        names = mine if blob is None else [parse_blob(blob)]
        if not names:
            raise InvalidInput("there is no pack to give", "Archive something first: muniment archive")
        until = self._now() + days * DAY_MS - _LEFT_MS
        with link_to(self._peer, address) as ask:
            return [self._holding(self._give(ask, address, name, until)) for name in names]

    def accept(self, did: str, *, space: str | int = "1000MB", days: int = 365) -> Accepted:
        """Keep packs of another peer's owner here from now on; no space: take no more of them.

        Args:
            did: Of the other peer's owner.
            space: Bytes in all, such as `500MB`.
            days: For how long one receipt may promise it.

        Raises:
            InvalidInput | RefusedKey: As their names say.
        """
        _check_days(days)
        row = Allowed(parse_did(did), size(space, "space"), days)
        if row.owner == self._peer.owner():
            raise InvalidInput("that is this peer's own owner", "Give the DID of another one.")
        self._peer.made_store().custody.allow(row, self._now())
        return Accepted(did, row.bytes, days)

    def list(self) -> CustodyList:
        """Who keeps packs of this peer, and whose packs are kept here."""
        store, now = self._standing(), self._now()
        if store is None:
            return CustodyList(None, [], [], [])
        given = [self._holding(row) for row in store.given()]
        kept = [
            Keeping(blob_text(row.blob), to_did(row.owner), row.size, row.until, row.receipt is not None)
            for row in store.kept()
            if row.until > now
        ]
        allowed = [Accepted(to_did(row.owner), row.bytes, row.days) for row in store.allowed()]
        return CustodyList(to_did(self._peer.owner()), given, kept, allowed)

    def challenge(self, blob: str | None = None) -> Challenged:
        """Ask each holder now for chunks that nobody could foresee, and give packs to others where one fails.

        Args:
            blob: Only about this pack.

        Raises:
            UnknownBlob: Nobody keeps that pack.
            StorageError: What came of it can't be noted.
        """
        store = self._standing()
        rows = [] if store is None else store.given()
        if blob is not None:
            rows = [row for row in rows if row.blob == parse_blob(blob)]
            if not rows:
                raise UnknownBlob(f"nobody keeps {blob}", "Give it away: muniment custody offer")
        outcomes = [self.prove(row) for row in rows]
        again = [
            self._holding(row) for name in dict.fromkeys(row.blob for row in rows) for row in self.mend(name)
        ]
        return Challenged(outcomes, again)

    def status(self) -> CustodyStatus:
        """How each pack stands: holders, alarms, and days since it was last proven."""
        store = self._standing()
        given = [] if store is None else store.given()
        lines = [] if store is None else store.log()
        names = self._mine()
        return status_of(names, given, lines, self._room.options.copies, self._now())

    # One step each, for who does them by and by

    def prove(self, row: Given) -> Outcome:
        """Let one holder prove one pack, and note how it went.

        Raises:
            StorageError: It can't be noted.
        """
        store = self._peer.made_store().custody
        alarm: str | None = None
        try:
            with link_to(self._peer, row.address) as ask:
                self._prove(ask, row)
        except StorageError:
            raise
        except MunimentError as error:
            alarm = error.message[:200]
        if row.until <= self._now():
            alarm = "its term is over"
        store.judge(row.blob, row.holder, self._now(), alarm, alarm or "proven")
        return Outcome(blob_text(row.blob), to_did(row.holder), row.address, alarm is None, alarm)

    def mend(self, blob: BlobName) -> Sequence[Given]:
        """Give a pack to other holders that are known, until as many as are wanted are in order.

        Raises:
            StorageError: What is known of it can't be read.
        """
        store, now = self._peer.made_store().custody, self._now()
        rows = store.given()
        mine = [row for row in rows if row.blob == blob]
        if all(row.alarm is None for row in mine):
            return []
        until = max(now + 90 * DAY_MS, *(row.until for row in mine)) - _LEFT_MS
        tried = {row.address for row in mine}
        found: list[Given] = []
        for address in dict.fromkeys(row.address for row in rows if row.address not in tried):
            if store.holders_of(blob, now) >= self._room.options.copies:
                break
            with suppress(MunimentError), link_to(self._peer, address) as ask:
                found.append(self._give(ask, address, blob, until))
        return found

    def due(self) -> Sequence[Given]:
        """The receipts for packs that this peer needs and of whose term less than a quarter is left."""
        store, now = self._standing(), self._now()
        rows = [] if store is None else [row for row in store.given() if ends_soon(row, now)]
        mine = set(self._mine()) if rows else set()
        return [row for row in rows if row.blob in mine]

    def renew(self, row: Given) -> Given:
        """Ask a holder for a new term, as long as the one that ends.

        Raises:
            UnknownBlob | RefusedProof | Unreachable | SyncError | StorageError: As for `offer`.
        """
        length = row.until - custody.read_receipt(row.receipt).at
        with link_to(self._peer, row.address) as ask:
            return self._give(ask, row.address, row.blob, self._now() + length)

    # Inside

    def _now(self) -> int:
        return self._peer.host.clock.now_ms()

    def _standing(self) -> CustodyStore | None:
        store = self._peer.standing_store()
        return None if store is None else store.custody

    def _mine(self) -> Sequence[BlobName]:
        """Packs here that this peer needs for itself."""
        if not self._room.begun:
            return []
        return [row.name for row in self._room.packs.index.packs() if not self._room.held(row.name)]

    def _holding(self, row: Given) -> Holding:
        receipt = custody.read_receipt(row.receipt)
        return Holding(
            blob_text(row.blob),
            to_did(row.holder),
            row.address,
            receipt.size,
            row.until,
            row.proven,
            row.alarm,
        )

    def _give(self, ask: Ask, address: str, blob: BlobName, until: int) -> Given:
        """Send what the holder lacks, and keep its receipt."""
        data = self._data(blob)
        leaves = tree.leaves_of(data)
        root = tree.root_of(leaves)
        wanted = {"blob": blob, "size": len(data), "root": root, "until": until}
        kind, said = asked(ask, "keep", ["wants", "receipt"], **wanted)
        if kind == "wants":
            for number in sorted(set(said["chunks"]) & set(range(len(leaves)))):
                part = data[number * tree.CHUNK : (number + 1) * tree.CHUNK]
                path = tree.path_of(leaves, number)
                asked(ask, "give", ["done"], blob=blob, number=number, data=part, path=path)
            kind, said = asked(ask, "keep", ["receipt"], **wanted)
        receipt = custody.read_receipt(said["said"])
        custody.check_receipt(receipt, self._peer.owner(), blob, len(data), root, until)
        row = Given(blob, receipt.by, address, said["said"], until, self._now(), None, None, None)
        store = self._peer.made_store().custody
        before = [old for old in store.given() if (old.blob, old.holder) == (blob, receipt.by)]
        if before:
            row = row._replace(proven=before[0].proven, tried=before[0].tried)
        store.give(row, [slot.pointer for slot in directory_of(data)])
        return row

    def _data(self, blob: BlobName) -> bytes:
        """A pack, from here or else from a holder that still has it; every chunk is verified."""
        try:
            return self._room.packs.blobs.get(blob)
        except (UnknownBlob, StorageError):
            download = resumed(self._peer, blob)
            data = fetch(download, [*self._room.sources, *self._room.holders()])
            download.chunks.clear()
            return data

    def _prove(self, ask: Ask, row: Given) -> None:
        me, entropy = self._peer.owner(), self._peer.host.entropy
        question = Challenge(
            me, row.holder, row.blob, entropy.bytes(custody.NONCE_BYTES), SAMPLE, self._now()
        )
        challenge = custody.signed(question, signer(self._peer, me))
        _, said = asked(ask, "prove", ["proof"], said=custody.to_bytes(challenge))
        proof, receipt = custody.read_proof(said["said"]), custody.read_receipt(row.receipt)
        custody.check_proof(proof, challenge, receipt, self._now())


def _check_days(days: int) -> None:
    if not 1 <= days <= _MOST_DAYS:
        raise InvalidInput(f"{days} days can't be promised", f"Use a number from 1 to {_MOST_DAYS}.")
