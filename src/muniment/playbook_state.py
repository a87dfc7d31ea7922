"""The bullets of a bank, read from its records and judgements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muniment.bank import Bank
from muniment.base.clock import ms_of
from muniment.base.errors import MunimentError
from muniment.base.ids import VersionId, record_text
from muniment.base.limits import LIMITS
from muniment.judging import Judgement, Tally, judgements, tally
from muniment.ledger import records
from muniment.ledger.acts import Remember
from muniment.ledger.authority import Authority
from muniment.playbook_ops import GENERAL, PREFIX, is_id, section_name
from muniment.playbook_view import Bullet, credited
from muniment.project import own_keys
from muniment.reading import Reader, is_ahead
from muniment.store.base import Filter, State, VersionRow

TYPE = "bullet"
FIELD = "bullet"  # of the metadata
_LIVE = Filter(types=frozenset({TYPE}), states=frozenset({State.LIVE}))


@dataclass(frozen=True, slots=True)
class Standing:
    """A live bullet with its own counts, and its live versions."""

    bullet: Bullet
    live: tuple[VersionId, ...]


class Bullets:
    """Reads the bullets of one bank with one key; in an open `read` or `write` of the store."""

    def __init__(self, bank: Bank, key: bytes, reader: Reader, authority: Authority) -> None:
        self._bank, self._key, self._reader, self._authority = bank, key, reader, authority

    def standing(self) -> dict[str, Standing]:
        """All live bullets by id: the latest `Limits.bullets` versions that are due and open."""
        store = self._bank.store
        now = self._bank.host.clock.now_ms()
        named = [
            (store.version_id(row), row)
            for row in store.versions(store.select(_LIVE))
            if not is_ahead(row.at, now)
        ]
        named.sort(key=lambda pair: (pair[1].at, pair[0]), reverse=True)
        kept = named[: LIMITS.bullets]
        opened = self._reader.open([row for _, row in kept])
        names = {row.ord: name for name, row in kept}
        groups: dict[str, list[tuple[VersionId, VersionRow, Remember]]] = {}
        for row, act in opened:
            if (name := _id_of(act)) is not None:
                groups.setdefault(name, []).append((names[row.ord], row, act))
        judged = self._judged(groups)
        return {name: self._standing(name, live, judged[name]) for name, live in groups.items()}

    def credited(self, standing: dict[str, Standing]) -> list[Bullet]:
        """The bullets, with the counts of those that were merged into them and are gone."""
        bullets = [one.bullet for one in standing.values()]
        gone = {name for bullet in bullets for name in bullet.merged} - set(standing)
        return credited(bullets, {name: tally(found) for name, found in self._judged(gone).items()})

    def versions(self, name: str) -> list[VersionRow]:
        """Every version of a bullet, live or not."""
        rows = self._bank.store.of_group(records.group_of_key(PREFIX + name))
        return [row for row in rows if row.type == TYPE and row.state is not State.VOID]

    def refs(self, name: str) -> set[str]:
        """What the versions of a bullet say they come from, without those by guests of an agent's bank."""
        rows = [row for row in self.versions(name) if self._origin(row) != "peer"]
        return {act.ref for _, act in self._reader.open(rows) if act.ref is not None}

    def _judged(self, names: Iterable[str]) -> dict[str, list[Judgement]]:
        """The judgements of all versions of each bullet: an edit keeps its counts."""
        ids = {
            name: [self._bank.store.version_id(row) for row in self.versions(name)] for name in sorted(names)
        }
        every = [version for some in ids.values() for version in some]
        found = judgements(self._bank, self._key, self._authority, every)
        return {
            name: [one for version in some for one in found.get(version, [])] for name, some in ids.items()
        }

    def said(self, name: str) -> list[Judgement]:
        """The judgements of one bullet that count."""
        return self._judged([name])[name]

    def _standing(
        self, name: str, live: Sequence[tuple[VersionId, VersionRow, Remember]], judged: Sequence[Judgement]
    ) -> Standing:
        trust = self._reader.trust(self._authority)
        version, row, act = max(live, key=lambda one: (trust(one[1]), one[1].at, one[0]))
        counts: Tally = tally(judged)
        merged = {other for _, _, one in live for other in _merged(one)} - {name}
        bullet = Bullet(
            id=name,
            section=_section(act),
            text=act.text[: LIMITS.bullet_chars],
            helpful=counts.helpful,
            harmful=counts.harmful,
            version=str(version),
            record=record_text(row.record),
            origin=self._origin(row),
            touched_at_ms=max([ms_of(row.at), *(ms_of(one.at) for one in judged)]),
            merged=tuple(sorted(merged)),
            conflict=len({one.content for _, one, _ in live}) > 1,
        )
        return Standing(bullet, tuple(sorted(place for place, _, _ in live)))

    def _origin(self, row: VersionRow) -> str:
        own = own_keys(self._authority)
        if row.tool:
            return "tool"
        return "own" if own is None or row.author in own else "peer"


def _id_of(act: Remember) -> str | None:
    key = act.key or ""
    name = key.removeprefix(PREFIX)
    return name if key.startswith(PREFIX) and is_id(name) else None


def _section(act: Remember) -> str:
    """The section, which the title holds; a title that names none means the general one."""
    try:
        return section_name(act.title or GENERAL)
    except MunimentError:
        return GENERAL


def _merged(act: Remember) -> list[str]:
    """The ids that a version says were merged into it."""
    values = (act.metadata or {}).get(FIELD)
    names = values.get("merged") if isinstance(values, dict) else None
    return (
        [name for name in names if isinstance(name, str) and is_id(name)][: LIMITS.bullets]
        if isinstance(names, list)
        else []
    )
