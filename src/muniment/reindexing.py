"""Reindexing: give a vector of the active model to every memory that has none (design section 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muniment.bank import Bank
from muniment.base.errors import InvalidInput
from muniment.ledger.acts import Vector
from muniment.meaning import words_of
from muniment.project import Projector
from muniment.reading import Reader
from muniment.writing import Writer

_BATCH = 64  # memories embedded in one call and written as one entry


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a reindexing did: the model, how many memories got a vector, how many did not, and why."""

    model: str
    embedded: int
    left: int
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """Whether every memory that can be opened has a vector now."""
        return self.reason is None

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {"model": self.model, "embedded": self.embedded, "left": self.left, "reason": self.reason}


def reindex(
    bank: Bank, key: bytes, reader: Reader, progress: Callable[[int, int], None] | None = None
) -> Reindexed:
    """Embed what lacks a vector, batch by batch; stopped anywhere, it goes on where it was.

    Raises:
        InvalidInput: No embedder is configured.
        NotPermitted | MissingExtra | StorageError: As their names say.
    """
    meaning = bank.host.meaning
    if meaning is None:
        raise InvalidInput("no embedder is configured", "Name one under `embedding:` in config.yaml.")
    reader.enter()
    model, store = meaning.model, bank.store
    total = len(store.lacking(model, 0, 1 << 62)) if progress else 0
    after = embedded = shut = 0
    reason = None
    while ords := store.lacking(model, after, _BATCH):
        after = ords[-1]
        opened = reader.open(store.versions(ords))
        shut += len(ords) - len(opened)
        data, reason = meaning.documents([words_of(act) for _, act in opened])
        if reason is not None:
            break
        acts = [
            Vector(model, len(vector) // 2, vector, version=store.version_id(row))
            for (row, _), vector in zip(opened, data, strict=True)
            if vector is not None
        ]
        _write(bank, key, acts)
        embedded += len(acts)
        if progress:
            progress(embedded + shut, total)
    left = len(store.lacking(model, 0, 1 << 62))
    bank.tidy(force=True)
    return Reindexed(model, embedded, left, reason)


def _write(bank: Bank, key: bytes, acts: list[Vector]) -> None:
    if not acts:
        return
    now = bank.host.clock.now_ms()
    with bank.write() as authority:
        authority.check_write(key, now)
        _, seq = Writer(bank, key).commit_acts(authority, acts, now)
        Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), acts)
