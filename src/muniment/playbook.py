"""A playbook: what an agent learned, bullet by bullet, in the bank where everything else is (design section 10).

Bullets are records of type `bullet` with ids that stay and counts that come from feedback. What is done with them are
acts like all others: signed, synced, undone by forgetting the other way round, and merged without any model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import muniment.playbook_config as config
import muniment.playbook_review as reviews
from muniment.auto_recall import neutral
from muniment.base.errors import InvalidInput, UnknownRecord
from muniment.base.ids import parse_version, record_text, uuid7
from muniment.feedback import commit
from muniment.forgetting import undo as unforget
from muniment.ledger.acts import Forget
from muniment.playbook_apply import DONE, Applied, Outcome, apply, prepare
from muniment.playbook_config import PlaybookConfig
from muniment.playbook_ops import (
    GENERAL,
    PREFIX,
    Add,
    Batch,
    Delete,
    Edit,
    Merge,
    Operation,
    Update,
    batch,
    batch_of,
    bullet_text,
    checked_id,
    operation_json,
    section_name,
)
from muniment.playbook_review import Proposal
from muniment.playbook_state import Bullets, Standing
from muniment.playbook_view import Bullet, Evicted, Shown, capped, evictions, fold, placed, render, within
from muniment.store.base import State
from muniment.values import newest, put

if TYPE_CHECKING:
    from muniment.bank import Bank
    from muniment.ledger.authority import Authority
    from muniment.reading import Reader

Proposals = list[Proposal]
_LAST, _EVICTED = "playbook.last", "evicted"
_DAY_MS = 86_400_000
_MOST_EVICTED = 4096  # versions that one act names


@dataclass(frozen=True, slots=True)
class Eviction:
    """What an eviction did, or would do (`dry_run`), or how many bullets its undoing brought back (`restored`)."""

    evicted: tuple[Evicted, ...]
    dry_run: bool = False
    restored: int = 0

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "evicted": [one.to_json() for one in self.evicted], "dry_run": self.dry_run, "restored": self.restored,
        }  # fmt: skip


class Playbook:
    """The playbook of one bank, for one key. Made by `Memory.playbook`.

    Args:
        bank: Where it is kept.
        key: Who reads and writes.
        reader: Reads the bank with that key.
        settle: What has to be done before a write.
    """

    def __init__(self, bank: Bank, key: bytes, reader: Reader, settle: Callable[[], None]) -> None:
        self._bank, self._key, self._reader, self._settle = bank, key, reader, settle

    # Reading

    def show(self, *, section: str | None = None, max_tokens: int | None = None) -> Shown:
        """The playbook as it stands, and its text for a prompt: the same bytes on every replica.

        Args:
            section: Only this one.
            max_tokens: Of the text at most, by three bytes each; the most valuable bullets stay.

        Raises:
            NotPermitted: The key may not read.
            InvalidInput | LimitExceeded: No such section can be.
        """
        wanted = None if section is None else section_name(section)
        if max_tokens is not None and max_tokens < 0:
            raise InvalidInput(f"max_tokens is {max_tokens}", "Use 0 or more.")
        authority = self._reader.enter()
        with self._bank.store.read():
            chosen = config.read(self._bank, authority, self._key)
            bullets = self._folded(authority, chosen)
        asked = [one for one in bullets if wanted in {None, one.section}]
        kept = capped(asked, chosen.max_bullets)
        if max_tokens is not None:
            kept = within(kept, max_tokens)
        return Shown(tuple(placed(kept)), len(bullets) - len(kept), render(kept))

    def _folded(self, authority: Authority, chosen: PlaybookConfig) -> list[Bullet]:
        bullets = Bullets(self._bank, self._key, self._reader, authority)
        return fold(bullets.credited(bullets.standing()), chosen.similarity)

    def config(self) -> PlaybookConfig:
        """How it is kept.

        Raises:
            NotPermitted: The key may not read.
        """
        authority = self._reader.enter()
        with self._bank.store.read():
            return config.read(self._bank, authority, self._key)

    # Writing

    def apply(self, operations: Iterable[Operation] | Any, *, id: str | None = None) -> Applied:  # noqa: A002
        """Do operations together, or, if the policy says so, have them wait for a review.

        Args:
            operations: A `Batch`, operations, or their JSON: a list of objects, or `{"id", "operations"}`.
            id: The run that they come from. The same batch again under the same id changes nothing, and its
                judgements count once; without an id its content names it.

        Raises:
            InvalidInput | LimitExceeded: They are none, contradict each other or are over a limit.
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
        """
        read = _batch(operations, id)
        self._settle()
        if self.config().policy == "review":
            reviews.propose(self._bank, self._key, read)
            return Applied(read.id, pending=True)
        return apply(self._bank, self._key, self._reader, read)

    def add(self, text: str, section: str = GENERAL) -> Outcome:
        """Add a bullet; one that is there changes nothing.

        Raises:
            InvalidInput | LimitExceeded | NotPermitted: As for `apply`.
        """
        return self._one(Add(bullet_text(text), section_name(section)))

    def edit(self, bullet: str, text: str) -> Outcome:
        """Other words for a bullet; it keeps its id and counts.

        Raises:
            UnknownRecord: There is none of that id.
            InvalidInput | LimitExceeded | NotPermitted: As for `apply`.
        """
        return self._one(Edit(checked_id(bullet), bullet_text(text)))

    def judge(self, bullet: str, judgement: str, *, id: str | None = None) -> Outcome:  # noqa: A002
        """Say that a bullet was `helpful` or `harmful`, or take that back (`neutral`).

        Raises:
            UnknownRecord: There is none of that id.
            InvalidInput | LimitExceeded | NotPermitted: As for `apply`.
        """
        return self._one(operation_of({"op": Update.op, "id": bullet, "judgement": judgement}), id)

    def merge(self, bullets: Sequence[str], text: str | None = None) -> Outcome:
        """Make bullets one: the first of them stays, with the counts of all.

        Raises:
            UnknownRecord: Fewer than two of them are there.
            InvalidInput | LimitExceeded | NotPermitted: As for `apply`.
        """
        words = {} if text is None else {"text": text}
        return self._one(operation_of({"op": Merge.op, "ids": list(bullets), **words}))

    def delete(self, bullet: str, *, undo: bool = False) -> Outcome:
        """Forget a bullet, or bring it back.

        Raises:
            UnknownRecord: There is none of that id, or nothing of it is forgotten.
            InvalidInput | NotPermitted: As for `apply`.
        """
        one = Delete(checked_id(bullet))
        if not undo:
            return self._one(one)
        self._settle()
        unforget(self._bank, self._key, self._reader, PREFIX + one.id)
        return Outcome(one.op, one.id, DONE)

    def _one(self, one: Operation, id: str | None = None) -> Outcome:  # noqa: A002
        """Do what a person asks for: at once, whatever the policy."""
        self._settle()
        host = self._bank.host
        named = batch([one], id or record_text(uuid7(host.clock.now_ms(), host.entropy.bytes(10))))
        (found,) = apply(self._bank, self._key, self._reader, named).outcomes
        if found.outcome == "unknown":
            raise UnknownRecord(f"no bullet {_shown(one)} is here", "See `muniment playbook show`.")
        return found

    def configure(self, **changes: Any) -> PlaybookConfig:
        """Change settings of `PlaybookConfig`; None takes one back to its default.

        Raises:
            InvalidInput: There is no such setting, or it can't have this value; nothing is changed.
            NotPermitted | StorageError: As their names say.
        """
        self._settle()
        config.write(self._bank, self._key, changes)
        return self.config()

    # Reviews

    def proposals(self) -> Proposals:
        """The batches that wait for a review, the oldest first.

        Raises:
            NotPermitted: The key may not read.
        """
        authority = self._reader.enter()
        with self._bank.store.read():
            return reviews.waiting(self._bank, authority, self._key)

    def accept(self, proposal: str) -> Applied:
        """Apply a batch that waits; in one transaction with its leaving the queue.

        Raises:
            UnknownRecord | Ambiguous: None goes by that name, or several do.
            LimitExceeded | NotPermitted: As for `apply`.
        """
        self._settle()
        authority = self._reader.enter()
        with self._bank.store.read():
            found = reviews.find(self._bank, authority, self._key, proposal)
        vectors = prepare(self._bank, self._key, self._reader, found.batch)
        with self._bank.write() as authority:
            found = reviews.find(self._bank, authority, self._key, found.id)
            done = apply(self._bank, self._key, self._reader, found.batch, vectors)
            reviews.remove(self._bank, self._key, found)
        return done

    def reject(self, proposal: str) -> Proposal:
        """Take a batch out of the queue; nothing of it is done.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As for `accept`.
        """
        self._settle()
        with self._bank.write() as authority:
            found = reviews.find(self._bank, authority, self._key, proposal)
            reviews.remove(self._bank, self._key, found)
        return found

    # Eviction

    def evict(self, *, dry_run: bool = False, undo: bool = False) -> Eviction:
        """Forget bullets that do harm, that nobody used for long, and that are beyond the cap.

        Args:
            dry_run: Only say which.
            undo: Bring back what the last eviction took.

        Raises:
            UnknownRecord: There is no eviction to undo.
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
        """
        if undo:
            self._settle()
            return Eviction((), restored=self._restore())
        if dry_run:
            authority = self._reader.enter()
            with self._bank.store.read():
                return Eviction(self._chosen(authority)[0], dry_run=True)
        self._settle()
        now = self._bank.host.clock.now_ms()
        with self._bank.write() as authority:
            authority.check_write(self._key, now)
            chosen, standing = self._chosen(authority)
            names = [name for one in chosen for name in (one.bullet.id, *one.bullet.folded)]
            gone = sorted({version for name in names for version in standing[name].live})
            acts = [
                Forget(versions=tuple(gone[at : at + _MOST_EVICTED]))
                for at in range(0, len(gone), _MOST_EVICTED)
            ]
            if acts:
                places = commit(self._bank, self._key, acts, now)
                put(self._bank, self._key, _LAST, {_EVICTED: [str(place) for place in places]})
        return Eviction(chosen)

    def _chosen(self, authority: Authority) -> tuple[tuple[Evicted, ...], dict[str, Standing]]:
        chosen = config.read(self._bank, authority, self._key)
        bullets = Bullets(self._bank, self._key, self._reader, authority)
        standing = bullets.standing()
        folded = fold(bullets.credited(standing), chosen.similarity)
        now = self._bank.host.clock.now_ms()
        found = evictions(folded, now, most=chosen.max_bullets, stale_ms=chosen.stale_days * _DAY_MS)
        return tuple(found), standing

    def _restore(self) -> int:
        now = self._bank.host.clock.now_ms()
        with self._bank.write() as authority:
            authority.check_write(self._key, now)
            places = newest(self._bank, authority, self._key, _LAST).get(_EVICTED)
            if not isinstance(places, list) or not places:
                raise UnknownRecord(
                    "no eviction is there to be undone", "One bullet: `muniment playbook delete --undo ID`."
                )
            before = self._bank.store.counts().get(State.LIVE, 0)
            commit(self._bank, self._key, [Forget(undo=tuple(map(parse_version, places)))], now)
            put(self._bank, self._key, _LAST, {_EVICTED: None})
            return self._bank.store.counts().get(State.LIVE, 0) - before


def operation_of(value: dict[str, Any]) -> Operation:
    """One operation from its JSON, as a batch would take it."""
    return batch_of([value]).operations[0]


def _batch(operations: Any, id: str | None) -> Batch:  # noqa: A002
    if isinstance(operations, Batch):
        return operations if id is None else batch(operations.operations, id)
    if isinstance(operations, dict):
        return batch_of(operations, id)
    items = list(operations)
    if all(isinstance(one, Operation) for one in items):
        return batch_of([operation_json(one) for one in items], id)
    return batch_of(items, id)


def _shown(one: Operation) -> str:
    names = one.ids if isinstance(one, Merge) else (one.id,)
    return neutral(", ".join(names))[:120]
