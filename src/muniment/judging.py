"""Judgements of memories: which count, and what they add up to (design sections 3 and 5).

A judgement is an act that names a version. With an id of its own it may be repeated, by a run that is tried again or
on another of the agent's devices, and counts once: of one voice and one id the newest stands, so a second thought
takes the place of the first. In an agent's bank only the agent's and its controller's judgements count, and they are
one voice; in a shared bank each writer's, each for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from muniment.bank import Bank
from muniment.base.ids import VersionId
from muniment.ledger.authority import Authority
from muniment.opening import SetPlace
from muniment.project import own_keys
from muniment.store.base import EntryRow, Naming, Verdict

HELPFUL, HARMFUL, NEUTRAL = 100, -100, 0
SCORES: Mapping[str, int] = {"helpful": HELPFUL, "harmful": HARMFUL, "neutral": NEUTRAL}
_ONE_VOICE = b""


class Judgement(NamedTuple):
    """One judgement that counts.

    Attributes:
        voice: Whose: a key, or empty for the agent and its controller in the agent's own bank.
        id: What it is named by; None: by its act.
        at: Its entry's clock; `act` its place, which breaks ties.
        score: -100 to 100.
    """

    voice: bytes
    id: str | None
    at: int
    act: VersionId
    score: int


class Tally(NamedTuple):
    """How often something was judged helpful, and how often harmful."""

    helpful: int = 0
    harmful: int = 0

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(self.helpful + other.helpful, self.harmful + other.harmful)


def tally(judgements: Iterable[Judgement]) -> Tally:
    """Count judgements, whatever their order and however often each is there."""
    standing: dict[tuple[bytes, str | VersionId], Judgement] = {}
    for one in judgements:
        name = one.voice, one.act if one.id is None else one.id
        if name not in standing or (one.at, one.act) > (standing[name].at, standing[name].act):
            standing[name] = one
    scores = [one.score for one in standing.values()]
    return Tally(sum(score > 0 for score in scores), sum(score < 0 for score in scores))


def voice_of(author: bytes, authority: Authority) -> bytes | None:
    """Whose word a key's judgement is; None where it does not count."""
    own = own_keys(authority)
    if own is None:
        return author
    return _ONE_VOICE if author in own else None


def judgements(
    bank: Bank, key: bytes, authority: Authority, versions: Sequence[VersionId]
) -> dict[VersionId, list[Judgement]]:
    """The judgements of each of these versions that count and open to the caller's key; in an open `read`."""
    places: list[tuple[VersionId, EntryRow, bytes, SetPlace]] = []
    entries: dict[int, EntryRow] = {}
    for name in bank.store.namings(versions):
        if name.kind is not Naming.FEEDBACK:
            continue
        entry = entries.get(name.seq) or bank.store.entry_at(name.seq)
        entries[name.seq] = entry
        voice = voice_of(entry.author, authority)
        gone = VersionId(entry.id, name.act) in authority.erasures
        if voice is not None and entry.verdict is Verdict.COUNTS and entry.readable and not gone:
            places.append((name.target, entry, voice, SetPlace(name.seq, name.act, entry.author)))
    if not places:
        return {}
    found: dict[VersionId, list[Judgement]] = {}
    acts = bank.opener(key).judged([place for *_, place in places])
    for (target, entry, voice, place), act in zip(places, acts, strict=True):
        if act is not None and act.version == target:
            said = VersionId(entry.id, place.act)
            found.setdefault(target, []).append(Judgement(voice, act.id, entry.at, said, act.score))
    return found


def tally_of(bank: Bank, key: bytes, authority: Authority, versions: Sequence[VersionId]) -> Tally:
    """What the judgements of these versions add up to."""
    return tally(one for some in judgements(bank, key, authority, versions).values() for one in some)
