"""Feedback: saying of a memory that it helped, or did harm (design sections 3 and 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muniment.bank import Bank
from muniment.base.errors import InvalidInput, LimitExceeded, NotPermitted
from muniment.base.ids import VersionId, record_text
from muniment.base.limits import LIMITS
from muniment.judging import SCORES, Judgement, judgements, tally_of, voice_of
from muniment.ledger.acts import Act, Feedback
from muniment.ledger.authority import Authority
from muniment.project import Projector
from muniment.query import choice
from muniment.reading import Reader
from muniment.store.base import VersionRow
from muniment.writing import Writer


@dataclass(frozen=True, slots=True)
class Judged:
    """What `feedback` did.

    Attributes:
        id: The record that was judged; `version` the words.
        feedback: The act that says it, as `<entry id>/<act index>`.
        created: False if it was said before: a replay counts once.
        helpful: How often these words were judged to help by now; `harmful` to do harm.
    """

    id: str
    version: str
    judgement: str
    feedback: str
    created: bool
    helpful: int
    harmful: int

    def to_json(self) -> dict[str, Any]:
        """The result as `--json` prints it."""
        return {
            "id": self.id, "version": self.version, "judgement": self.judgement, "feedback": self.feedback,
            "created": self.created, "helpful": self.helpful, "harmful": self.harmful,
        }  # fmt: skip


def check_id(value: str | None) -> None:
    """Refuse a name of a judgement or batch that is empty, not printable or too long.

    Raises:
        InvalidInput | LimitExceeded: As their names say.
    """
    if value is None:
        return
    if len(value) > LIMITS.feedback_id_chars:
        raise LimitExceeded("id characters", LIMITS.feedback_id_chars, len(value), "Use a short name.")
    if not value.strip() or not value.isprintable():
        raise InvalidInput(f"not a name for a judgement: {value[:40]!r}", "Use letters, digits and dashes.")


def judge(bank: Bank, key: bytes, reader: Reader, ref: str, judgement: str, id: str | None) -> Judged:  # noqa: A002
    """Judge the version that is shown of a record, or the one that `ref` names.

    Raises:
        InvalidInput | LimitExceeded: No such judgement, or an id that is none.
        UnknownRecord | Ambiguous: As for `Memory.get`.
        NotPermitted: The key may not write, or its judgement would not count in this bank.
    """
    score = SCORES[choice(judgement, tuple(SCORES), "judgement")]
    check_id(id)
    now = bank.host.clock.now_ms()
    with bank.write() as authority:
        authority.check_write(key, now)
        check_voice(key, authority)
        group, exact = reader.find(ref, authority)
        row = exact or reader.shown(group, authority)
        version = bank.store.version_id(row)
        said = _said(bank, key, authority, group, id)
        if said is not None and said.score == score:
            act, created = said.act, False
        else:
            (act,), created = commit(bank, key, [Feedback(version, score, id)], now), True
        counts = tally_of(bank, key, bank.rulings.authority, _same_words(bank, group, row))
    return Judged(
        record_text(row.record), str(version), judgement, str(act), created, counts.helpful, counts.harmful
    )


def check_voice(key: bytes, authority: Authority) -> None:
    """Refuse a judgement that would count for nothing.

    Raises:
        NotPermitted: The bank is an agent's own, and the key neither its nor its controller's.
    """
    if voice_of(key, authority) is None:
        raise NotPermitted(
            "in an agent's own memory only the agent and its controller judge",
            "Judge it in a bank that you share, or let the agent do it.",
        )


def _same_words(bank: Bank, group: Sequence[VersionRow], row: VersionRow) -> list[VersionId]:
    return [bank.store.version_id(one) for one in group if one.ord == row.ord or (
        one.state is row.state and one.content == row.content)]  # fmt: skip


def _said(
    bank: Bank,
    key: bytes,
    authority: Authority,
    group: Sequence[VersionRow],
    id: str | None,  # noqa: A002
) -> Judgement | None:
    """What the caller said of a record under that id."""
    if id is None:
        return None
    found = judgements(bank, key, authority, [bank.store.version_id(row) for row in group])
    voice = voice_of(key, authority)
    same = [one for some in found.values() for one in some if one.id == id and one.voice == voice]
    return max(same, key=lambda one: (one.at, one.act), default=None)


def commit(bank: Bank, key: bytes, acts: Sequence[Act], now: int) -> list[VersionId]:
    """Write acts that name versions; in an open `bank.write()`. Their places, in order."""
    names: list[VersionId] = []
    for at in range(0, len(acts), LIMITS.acts_per_entry):
        part = acts[at : at + LIMITS.acts_per_entry]
        entry, seq = Writer(bank, key).commit_acts(bank.rulings.authority, part, now)
        Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), part)
        names += [VersionId(entry.id, index) for index in range(len(part))]
    return names
