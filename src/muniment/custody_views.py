"""What custody shows: who keeps what, how it was proven, and what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muniment.archive.options import DAY_MS
from muniment.base.ids import BlobName, blob_text
from muniment.identity.did import to_did
from muniment.store.custody import Given, Line


def _plain(view: Any) -> dict[str, Any]:
    return {name: getattr(view, name) for name in view.__slots__}


@dataclass(frozen=True, slots=True)
class Holding:
    """A pack of this peer that `holder` keeps until a moment; times are Unix ms, `alarm` is why it doesn't count."""

    blob: str
    holder: str
    address: str
    size: int
    until_ms: int
    proven_ms: int | None
    alarm: str | None

    def to_json(self) -> dict[str, Any]:
        """The receipt as `--json` prints it."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Keeping:
    """A pack that is kept here for `owner` until a moment (Unix ms); `whole` once all of it came."""

    blob: str
    owner: str
    size: int
    until_ms: int
    whole: bool

    def to_json(self) -> dict[str, Any]:
        """The pack as `--json` prints it."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Accepted:
    """An owner whose packs are kept here: up to `bytes` in all, each promised for up to `days`."""

    owner: str
    bytes: int
    days: int

    def to_json(self) -> dict[str, Any]:
        """The promise as `--json` prints it."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class CustodyList:
    """Both sides of custody here; `owner` is the DID that others accept, None where nothing was written yet."""

    owner: str | None
    given: list[Holding]
    kept: list[Keeping]
    accepted: list[Accepted]

    def to_json(self) -> dict[str, Any]:
        """Both sides as `--json` prints them."""
        return {
            "owner": self.owner,
            "given": [item.to_json() for item in self.given],
            "kept": [item.to_json() for item in self.kept],
            "accepted": [item.to_json() for item in self.accepted],
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one challenge went; `alarm` says why it went wrong."""

    blob: str
    holder: str
    address: str
    proven: bool
    alarm: str | None

    def to_json(self) -> dict[str, Any]:
        """The outcome as `--json` prints it."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Challenged:
    """All challenges of one run, and the packs that were given to other holders since one failed."""

    outcomes: list[Outcome]
    given: list[Holding]

    @property
    def well(self) -> bool:
        """Whether every holder proved what it keeps."""
        return all(outcome.proven for outcome in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """The run as `--json` prints it."""
        return {
            "outcomes": [item.to_json() for item in self.outcomes],
            "given": [item.to_json() for item in self.given],
        }


@dataclass(frozen=True, slots=True)
class BlobStatus:
    """How one pack stands.

    Attributes:
        here: Whether this peer lists it among its own packs.
        holders: Others whose receipt counts.
        days: Whole days since a holder that counts last proved it; None: none ever did.
        alarms: What is wrong, by holder.
    """

    blob: str
    here: bool
    holders: int
    days: int | None
    alarms: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The pack as `--json` prints it."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class CustodyStatus:
    """How all packs stand, how many holders are wanted, and the newest lines of the log."""

    copies: int
    blobs: list[BlobStatus]
    log: list[tuple[int, str, str, str]]

    def to_json(self) -> dict[str, Any]:
        """The status as `--json` prints it."""
        names = ("at_ms", "blob", "holder", "what")
        return {
            "copies": self.copies,
            "blobs": [item.to_json() for item in self.blobs],
            "log": [dict(zip(names, line, strict=True)) for line in self.log],
        }


def status_of(
    here: Sequence[BlobName], given: Sequence[Given], lines: Sequence[Line], copies: int, now: int
) -> CustodyStatus:
    """How packs stand at a moment, from receipts and the log."""
    found = []
    for name in dict.fromkeys([*here, *(row.blob for row in given)]):
        rows = [row for row in given if row.blob == name]
        alarms = {to_did(row.holder): _alarm(row, now) for row in rows if _alarm(row, now)}
        counted = [row for row in rows if not _alarm(row, now)]
        proven = [row.proven for row in counted if row.proven is not None]
        days = (now - max(proven)) // DAY_MS if proven else None
        found.append(BlobStatus(blob_text(name), name in here, len(counted), days, alarms))
    said = [(line.at, blob_text(line.blob), to_did(line.holder), line.what) for line in lines]
    return CustodyStatus(copies, found, said)


def _alarm(row: Given, now: int) -> str:
    return row.alarm or ("its term is over" if row.until <= now else "")


def ends_soon(row: Given, now: int) -> bool:
    """Whether less than a quarter of a receipt's term is left."""
    return row.until - now < (row.until - row.since) // 4
