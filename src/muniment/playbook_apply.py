"""Doing a batch of operations on a playbook, in one transaction (design sections 3 and 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from muniment.bank import Bank
from muniment.base.errors import LimitExceeded
from muniment.base.limits import LIMITS
from muniment.feedback import check_voice, commit
from muniment.judging import SCORES, voice_of
from muniment.ledger.acts import Feedback, Forget
from muniment.ledger.authority import Authority
from muniment.playbook_ops import PREFIX, Add, Batch, Delete, Edit, Merge, Operation, Update
from muniment.playbook_state import FIELD, TYPE, Bullets, Standing
from muniment.reading import Reader
from muniment.remembering import Draft, remember, vectors_of
from muniment.store.base import State

DONE, SAME, UNKNOWN = "done", "unchanged", "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one operation: the bullet that it concerned, and `done`, `unchanged` or `unknown`."""

    op: str
    bullet: str
    outcome: str

    def to_json(self) -> dict[str, Any]:
        """The outcome as `--json` prints it."""
        return {"op": self.op, "bullet": self.bullet, "outcome": self.outcome}


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a batch.

    Attributes:
        batch: Its id: applied again under it, nothing changes.
        pending: It waits for a review, and nothing was done yet.
        outcomes: One for each operation, in the order in which they were done.
    """

    batch: str
    pending: bool
    outcomes: tuple[Outcome, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The report as `--json` prints it."""
        return {
            "batch": self.batch,
            "pending": self.pending,
            "outcomes": [one.to_json() for one in self.outcomes],
        }


@dataclass(slots=True)
class _Plan:
    """What a batch comes to, by what is there now."""

    drafts: list[Draft] = field(default_factory=list)
    acts: list[Feedback] = field(default_factory=list)
    forget: list[Standing] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    # Numbers of the outcomes that depend on whether a draft was written.
    awaited: list[int] = field(default_factory=list)
    later: list[Update] = field(default_factory=list)  # judgements of bullets that this batch adds

    def note(self, one: Operation, id: str, outcome: str) -> None:  # noqa: A002
        self.outcomes.append(Outcome(one.op, id, outcome))


Vectors = Mapping[tuple[str | None, str], bytes | None]


def prepare(bank: Bank, key: bytes, reader: Reader, batch: Batch) -> Vectors:
    """The vectors that a batch needs, by key and text: an embedder may take its time, so no bank is locked meanwhile.

    Raises:
        LimitExceeded | InvalidInput | NotPermitted: As for `apply`.
    """
    reader.enter()
    with bank.store.read():
        drafts = _plan(Bullets(bank, key, reader, bank.authority), bank, key, bank.authority, batch).drafts
    made = vectors_of(bank, key, drafts)[0] if drafts else []
    return {(one.key, one.text): data for one, data in zip(drafts, made, strict=True)}


def apply(bank: Bank, key: bytes, reader: Reader, batch: Batch, vectors: Vectors | None = None) -> Applied:
    """Do the operations, all or none; what names no bullet, or was done before, changes nothing.

    Args:
        bank: Where.
        key: Who does it.
        reader: Reads the bank with that key.
        batch: What to do.
        vectors: From `prepare`, where the bank is locked by the caller already.

    Raises:
        LimitExceeded: The playbook would have more than `Limits.bullets`.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    now = bank.host.clock.now_ms()
    vectors = prepare(bank, key, reader, batch) if vectors is None else vectors
    with bank.write() as authority:
        authority.check_write(key, now)
        if any(isinstance(one, Update) for one in batch.operations):
            check_voice(key, authority)
        plan = _plan(Bullets(bank, key, reader, authority), bank, key, authority, batch)
        given = [vectors.get((one.key, one.text)) for one in plan.drafts]
        kept = remember(bank, key, plan.drafts, made=(given, None)) if plan.drafts else []
        for number, result in zip(plan.awaited, kept, strict=True):
            if not result.created:
                one = plan.outcomes[number]
                plan.outcomes[number] = Outcome(one.op, one.bullet, SAME)
        after = Bullets(bank, key, reader, authority)
        _later(plan, after, bank, batch.id)
        # Also what this batch wrote of them just now.
        rows = [
            row for one in plan.forget for row in after.versions(one.bullet.id) if row.state is State.LIVE
        ]
        gone = tuple(sorted({bank.store.version_id(row) for row in rows}))
        commit(bank, key, [*plan.acts, *([Forget(versions=gone)] if gone else [])], now)
    return Applied(batch.id, False, tuple(plan.outcomes))


def _plan(bullets: Bullets, bank: Bank, key: bytes, authority: Authority, batch: Batch) -> _Plan:
    plan, standing = _Plan(), bullets.standing()
    texts: dict[str, Draft] = {}  # of the bullets that the batch writes
    for one in batch.operations:
        if isinstance(one, Add):
            _add(plan, one, bullets, standing, f"playbook:{batch.id}")
        elif isinstance(one, Update):
            _update(plan, one, bullets, (voice_of(key, authority), batch.id), bank)
        elif isinstance(one, Edit):
            _edit(plan, one, bullets, standing, texts, f"playbook:{batch.id}")
        elif isinstance(one, Merge):
            _merge(plan, one, bullets, standing, texts, f"playbook:{batch.id}")
        else:
            _delete(plan, one, standing)
    added = sum(outcome.op == Add.op and outcome.outcome == DONE for outcome in plan.outcomes)
    if added and len(standing) + added > LIMITS.bullets:
        raise LimitExceeded(
            "bullets", LIMITS.bullets, len(standing) + added, "Make room with `muniment playbook evict`."
        )
    return plan


def _draft(plan: _Plan, one: Operation, id: str, draft: Draft) -> None:  # noqa: A002
    plan.awaited.append(len(plan.outcomes))
    plan.drafts.append(draft)
    plan.note(one, id, DONE)


def _add(plan: _Plan, one: Add, bullets: Bullets, standing: Mapping[str, Standing], ref: str) -> None:
    # What a batch said once is not said again, even if it was deleted since.
    if one.id in standing or ref in bullets.refs(one.id):
        plan.note(one, one.id, SAME)
        return
    _draft(plan, one, one.id, Draft(one.text, key=PREFIX + one.id, title=one.section, type=TYPE, ref=ref))


def _update(plan: _Plan, one: Update, bullets: Bullets, said: tuple[bytes | None, str], bank: Bank) -> None:
    rows = bullets.versions(one.id)
    if not rows:
        plan.later.append(one)
        plan.note(one, one.id, UNKNOWN)
        return
    mine = [judged for judged in bullets.said(one.id) if (judged.voice, judged.id) == said]
    score = SCORES[one.judgement]
    last = max(mine, key=lambda judged: (judged.at, judged.act), default=None)
    if last is not None and last.score == score:
        plan.note(one, one.id, SAME)
        return
    version = max((row.at, bank.store.version_id(row)) for row in rows)[1]
    plan.acts.append(Feedback(version, score, said[1]))
    plan.note(one, one.id, DONE)


def _later(plan: _Plan, bullets: Bullets, bank: Bank, batch: str) -> None:
    """Judge what the batch itself has added just now."""
    for one in plan.later:
        rows = bullets.versions(one.id)
        if rows:
            version = max((row.at, bank.store.version_id(row)) for row in rows)[1]
            plan.acts.append(Feedback(version, SCORES[one.judgement], batch))
            number = plan.outcomes.index(Outcome(one.op, one.id, UNKNOWN))
            plan.outcomes[number] = Outcome(one.op, one.id, DONE)


def _new_version(found: Standing, text: str, merged: Sequence[str], ref: str) -> Draft:
    bullet = found.bullet
    metadata = {FIELD: {"merged": list(merged)}} if merged else None
    return Draft(text, key=PREFIX + bullet.id, title=bullet.section, type=TYPE, metadata=metadata, ref=ref)


def _edit(
    plan: _Plan,
    one: Edit,
    bullets: Bullets,
    standing: Mapping[str, Standing],
    texts: dict[str, Draft],
    ref: str,
) -> None:
    found = standing.get(one.id)
    if found is None:
        plan.note(one, one.id, UNKNOWN)
    elif (found.bullet.text == one.text and not found.bullet.conflict) or ref in bullets.refs(one.id):
        plan.note(one, one.id, SAME)
    else:
        texts[one.id] = _new_version(found, one.text, found.bullet.merged, ref)
        _draft(plan, one, one.id, texts[one.id])


def _merge(
    plan: _Plan,
    one: Merge,
    bullets: Bullets,
    standing: Mapping[str, Standing],
    texts: dict[str, Draft],
    ref: str,
) -> None:
    there = [standing[name] for name in one.ids if name in standing]
    if len(there) < 2:
        plan.note(one, one.ids[0], UNKNOWN)
        return
    leader, others = there[0], there[1:]
    name = leader.bullet.id
    if ref in bullets.refs(name):
        plan.note(one, name, SAME)
        return
    merged = {other for found in there for other in found.bullet.merged}
    merged = (merged | {found.bullet.id for found in others}) - {name}
    edited = texts.get(name)
    text = one.text or (leader.bullet.text if edited is None else edited.text)
    if edited is not None:  # the same batch edits it: one new version says both
        number = plan.drafts.index(edited)
        del plan.drafts[number], plan.awaited[number]
    texts[name] = _new_version(leader, text, sorted(merged), ref)
    plan.forget += others
    _draft(plan, one, name, texts[name])


def _delete(plan: _Plan, one: Delete, standing: Mapping[str, Standing]) -> None:
    found = standing.get(one.id)
    if found is None:
        plan.note(one, one.id, UNKNOWN)
        return
    plan.forget.append(found)
    plan.note(one, one.id, DONE)
