"""A witness of what each bank held, in a file outside the peer folder (design section 8, "Head witness").

Whoever can write to the peer folder can put an older copy of it back: every signature in it holds, and the
journal is as old as the rest. The witness is not in that copy. It keeps, for each bank, how many entries there
were, a hash chain over their ids in the order in which they came, and the tips of this peer's keys.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muniment.base.errors import FutureFormat, InvalidInput, RolledBack, StoreCorrupt
from muniment.base.ids import BankId, EntryId, cid_text, parse_cid
from muniment.base.limits import LIMITS
from muniment.identity.did import to_did
from muniment.platform.files import locked, read_small, replace
from muniment.store.base import BankStore

VARIABLE = "MUNIMENT_WITNESS"
VERSION = 1
_CHUNK = 2048
_START = hashlib.sha256(b"muniment/witness/1").digest()
_STEP = (
    "An older copy was put back, or entries were taken out. Restore the newest copy or sync with another peer. "
    "If you put this copy there yourself: `muniment key mine`."
)


def configured(home: Path, setting: str | None, wait: float) -> Witness | None:
    """The witness that `MUNIMENT_WITNESS` or else the setting names; a relative path is one from the peer folder.

    Raises:
        InvalidInput: It would lie in the folder that it is to witness.
    """
    asked = os.environ.get(VARIABLE) or setting
    if not asked:
        return None
    path = (home / Path(asked).expanduser()).resolve()
    if path.is_relative_to(home.resolve()):
        raise InvalidInput(
            f"the witness {path} lies in the peer folder", "Put it elsewhere: on another disk, best of all."
        )
    return Witness(path, wait)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a bank: `entries` of them, `chain` over their ids in order, tips by DID."""

    entries: int = 0
    chain: bytes = _START
    tips: Mapping[str, tuple[EntryId, ...]] = field(default_factory=dict)


class Witness:
    """The witness file of one peer folder.

    Args:
        path: Where it lies; not in the peer folder, else it is put back with it.
        wait: Seconds to wait for another process that writes it.
    """

    def __init__(self, path: Path, wait: float = 10.0) -> None:
        self.path, self._wait = path, wait

    def banks(self) -> list[str]:
        """Ids of all banks that were seen, as text."""
        return sorted(self._load())

    def seen(self, bank: BankId) -> Seen | None:
        """What was seen of a bank; None if nothing.

        Raises:
            StoreCorrupt | FutureFormat | StorageError: The file can't be used.
        """
        return self._load().get(cid_text(bank))

    def note(self, store: BankStore, keys: Iterable[bytes]) -> None:
        """Take in what was written since; on the disk when this returns.

        Args:
            store: The bank, not in a transaction.
            keys: The public keys of this peer.

        Raises:
            StorageError: It can't be written. The bank's own write stands.
        """
        name = cid_text(store.bank)
        with locked(f"{self.path}.lock", self._wait):
            banks = self._load()
            before = banks.get(name, Seen())
            upto = store.figures().entries
            if upto <= before.entries:
                return
            chain = before.chain
            for _, entry in _ids(store, before.entries, upto):
                chain = _link(chain, entry)
            tips = {to_did(key): found for key in keys if (found := store.tips(key))}
            banks[name] = Seen(upto, chain, tips)
            self._save(banks)

    def renew(self, store: BankStore, keys: Iterable[bytes]) -> None:
        """Take the bank as it is now, whatever was seen before."""
        with locked(f"{self.path}.lock", self._wait):
            banks = self._load()
            banks.pop(cid_text(store.bank), None)
            self._save(banks)
        self.note(store, keys)

    def check(self, store: BankStore) -> None:
        """Compare a bank with what was seen of it; costs a walk over its ids.

        Raises:
            RolledBack: It is older, or entries are gone or in another order.
        """
        seen = self.seen(store.bank)
        if seen is None:
            return
        name, here = cid_text(store.bank), store.figures().entries
        if here < seen.entries:
            gaps = "; ".join(reason for _, _, reason in self.gaps(store, _Held(store)))
            raise RolledBack(
                f"bank {name} has {here} entries and its witness has seen {seen.entries}"
                + (f": {gaps}" if gaps else ""),
                _STEP,
            )
        chain, count = _START, 0
        for seq, entry in _ids(store, 0, seen.entries):
            count += 1
            if seq != count:
                break
            chain = _link(chain, entry)
        if count != seen.entries or chain != seen.chain:
            raise RolledBack(f"bank {name} does not hold the entries that its witness has seen", _STEP)

    def gaps(self, store: BankStore, known: Container[EntryId]) -> list[tuple[str, str, str]]:
        """Tips that were seen and are not among `known`: (id, author DID, reason)."""
        seen = self.seen(store.bank)
        if seen is None:
            return []
        here = store.figures().entries
        return [
            (
                cid_text(tip),
                did,
                f"rolled back: the witness has seen the tip {cid_text(tip)}, {here} entries are here",
            )
            for did, tips in sorted(seen.tips.items())
            for tip in tips
            if tip not in known
        ]

    def _load(self) -> dict[str, Seen]:
        data = read_small(str(self.path), LIMITS.witness_bytes)
        if data is None:
            return {}
        try:
            fields = json.loads(data)
            ours = fields["muniment"] == "witness"
            version = fields["version"] if ours else None
            if version == VERSION:
                return {name: _read(value) for name, value in fields["banks"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidInput):
            version = None
        if isinstance(version, int) and version > VERSION:
            raise FutureFormat(f"{self.path} was written by a newer version", "Update muniment.")
        raise StoreCorrupt(
            f"{self.path} is no witness file", "Restore it, or move it away and begin a new one."
        )

    def _save(self, banks: Mapping[str, Seen]) -> None:
        fields = {
            "muniment": "witness",
            "version": VERSION,
            "banks": {
                name: {
                    "entries": seen.entries,
                    "chain": seen.chain.hex(),
                    "tips": {did: [cid_text(tip) for tip in tips] for did, tips in seen.tips.items()},
                }
                for name, seen in sorted(banks.items())
            },
        }
        replace(str(self.path), json.dumps(fields, indent=1).encode() + b"\n")


class _Held:
    """Which entries a store holds."""

    def __init__(self, store: BankStore) -> None:
        self._store = store

    def __contains__(self, entry: object) -> bool:
        return isinstance(entry, bytes) and self._store.seq_of(EntryId(entry)) is not None


def _ids(store: BankStore, after: int, upto: int) -> Iterator[tuple[int, EntryId]]:
    """Ids of entries in the order in which they came, with their numbers."""
    for start in range(after + 1, upto + 1, _CHUNK):
        stamps = store.stamps(range(start, min(start + _CHUNK, upto + 1)))
        yield from ((seq, stamps[seq][0]) for seq in sorted(stamps))


def _link(chain: bytes, entry: EntryId) -> bytes:
    return hashlib.sha256(chain + entry).digest()


def _read(value: Any) -> Seen:
    chain, entries = bytes.fromhex(value["chain"]), value["entries"]
    if len(chain) != len(_START) or type(entries) is not int or entries < 0:
        raise ValueError("a bank of the witness")
    tips = {did: tuple(map(parse_cid, tips)) for did, tips in value["tips"].items()}
    return Seen(entries, chain, tips)
