"""From acts to records: which versions of a memory are live (design section 5).

Pure: the outcome is a function of the set of versions and of the acts that name them, whatever order they
arrived in. A *group* is all versions of one record: those of one record key, or, without a key, those of
one author under one id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from muniment.base.ids import VersionId
from muniment.ledger.acts import words


class Trust(IntEnum):
    """How much a version's origin weighs: a lower one never hides a higher one."""

    TOOL = 0
    PEER = 1
    OWN = 2  # the bank's agent and its controller


class Outcome(IntEnum):
    """What becomes of a version; the order is that of precedence, the last that applies."""

    LIVE = 0
    SUPERSEDED = 1
    FORGOTTEN = 2
    ERASED = 3
    VOID = 4


@dataclass(frozen=True, slots=True)
class Version:
    """What deciding needs of one version. `over` are the versions that it says it supersedes."""

    id: VersionId
    at: int
    trust: Trust
    content: bytes
    counts: bool = True
    over: frozenset[VersionId] = frozenset()


def group_of_key(key: str) -> bytes:
    """16 bytes that name a record key within its bank."""
    value = words(key)
    raw = value if isinstance(value, bytes) else value.encode()
    return hashlib.sha256(b"key\0" + raw).digest()[:16]


def trust_of(author: bytes, *, tool: bool, own: frozenset[bytes] | None) -> Trust:
    """The trust of a version: `own` holds the agent's and controller's keys, None in a shared bank."""
    if tool:
        return Trust.TOOL
    return Trust.OWN if own is None or author in own else Trust.PEER


def resolve(
    group: Sequence[Version], forgets: Mapping[VersionId, Sequence[int]], erased: Iterable[VersionId] = ()
) -> dict[VersionId, tuple[Outcome, int | None]]:
    """Decide all versions of one group.

    Superseding goes through void versions: what a void version named stays named by whoever names that one.
    It does not go through erased ones: what they named is gone with their words, here or on another replica.

    Args:
        group: All versions of the group, void ones too.
        forgets: For each version the clocks of the forget acts that hide it and are not undone.
        erased: Versions with a standing erase.

    Returns:
        For each version its outcome, and the clock at which it stopped being live (None: it is live).
    """
    gone = frozenset(erased)
    ended = _ends([version for version in group if version.id not in gone])
    result: dict[VersionId, tuple[Outcome, int | None]] = {}
    for version in group:
        outcome, end = Outcome.LIVE, ended.get(version.id)
        if end is not None:
            outcome = Outcome.SUPERSEDED
        if hidden := forgets.get(version.id):
            outcome, end = Outcome.FORGOTTEN, min([*hidden, *([end] if end is not None else [])])
        if version.id in gone:
            outcome = Outcome.ERASED
        if not version.counts:
            outcome = Outcome.VOID
        result[version.id] = (outcome, end)
    return result


def _ends(group: Sequence[Version]) -> dict[VersionId, int]:
    """The earliest clock at which a counting version of no lower trust reaches each version through `over`.

    From the earliest on, so that what one has reached need not be walked again by a later one.
    """
    by_id = {version.id: version for version in group}
    sources = sorted((version for version in group if version.counts), key=lambda version: version.at)
    ended: dict[VersionId, int] = {}
    for trust in {version.trust for version in group}:
        seen: set[VersionId] = set()
        for source in sources:
            stack = list(source.over) if source.trust >= trust else []
            while stack:
                name = stack.pop()
                other = by_id.get(name)
                if other is None or name in seen or name == source.id:
                    continue
                seen.add(name)
                if other.trust == trust:
                    ended[name] = source.at
                stack.extend(other.over)
    return ended


def newest(versions: Sequence[Version]) -> Version:
    """The version that is shown where several are live: highest trust, then clock, then id."""
    return max(versions, key=lambda v: (v.trust, v.at, v.id))
