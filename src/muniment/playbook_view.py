"""What a playbook is, as a function of its bullets: folding, caps, order, bytes (design section 10). Pure.

Nothing here depends on the order in which bullets are given, on when they arrived or on who asks, so replicas that
hold the same acts render the same bytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muniment.auto_recall import neutral, tokens
from muniment.judging import Tally

HEADING = "# Playbook"
_WORD = re.compile(r"[^\W_]+(?:['’]t)?")
_TURNING = frozenset(
    [
        "not",
        "no",
        "never",
        "always",
        "without",
        "don't",
        "doesn't",
        "isn't",
        "cannot",
        "can't",
        "unless",
        "except",
    ]
)


@dataclass(frozen=True, slots=True)
class Bullet:
    """One thing that was learned.

    Attributes:
        id: Stays, whatever becomes of its words; the record key is `bullet:<id>`.
        section: Where it stands.
        text: The words.
        helpful: How often it was judged to help; `harmful` to do harm. Those of bullets merged or folded in count too.
        version: The version shown, `record` its record's id.
        origin: `own`, `peer` (in an agent's bank: another's words) or `tool`.
        touched_at_ms: When it was last written or judged, Unix milliseconds.
        merged: Ids of the bullets that were merged into it.
        folded: Ids of near-duplicates for which it stands.
        conflict: Its words were changed in two places at once; the newest are shown.
    """

    id: str
    section: str
    text: str
    helpful: int = 0
    harmful: int = 0
    version: str = ""
    record: str = ""
    origin: str = "own"
    touched_at_ms: int = 0
    merged: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    conflict: bool = False

    @property
    def value(self) -> int:
        """How much more often it helped than harmed."""
        return self.helpful - self.harmful

    def to_json(self) -> dict[str, Any]:
        """The bullet as `--json` prints it."""
        return {
            "id": self.id, "section": self.section, "text": self.text, "helpful": self.helpful,
            "harmful": self.harmful, "version": self.version, "record": self.record, "origin": self.origin,
            "touched_at_ms": self.touched_at_ms, "merged": list(self.merged), "folded": list(self.folded),
            "conflict": self.conflict,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """A playbook as it stands.

    Attributes:
        bullets: By section, the most valuable first.
        left_out: How many are there beyond the cap, the section or the budget that was asked for.
        text: The bytes for a prompt; empty without bullets.
    """

    bullets: tuple[Bullet, ...]
    left_out: int
    text: str

    def to_json(self) -> dict[str, Any]:
        """The playbook as `--json` prints it."""
        return {
            "bullets": [bullet.to_json() for bullet in self.bullets], "left_out": self.left_out, "text": self.text,
        }  # fmt: skip


def shingles(text: str) -> frozenset[str]:
    """The words of a text and its pairs of words: pairs tell "a before b" from "b before a"."""
    words = [word.casefold() for word in _WORD.findall(unicodedata.normalize("NFKC", text))]
    return frozenset([*words, *(f"{one} {two}" for one, two in zip(words, words[1:], strict=False))])


def alike(one: frozenset[str], two: frozenset[str], least: float) -> bool:
    """Whether two texts say nearly the same: by the share of shingles in common (Jaccard).

    Texts that differ by a number or by a word that turns the meaning are never alike.
    """
    if not one or not two or min(len(one), len(two)) < least * max(len(one), len(two)):
        return False
    if len(one & two) < least * len(one | two):
        return False
    differing = {shingle for shingle in one ^ two if " " not in shingle}
    return not any(word in _TURNING or any(map(str.isdigit, word)) for word in differing)


def credited(bullets: Iterable[Bullet], lost: Mapping[str, Tally]) -> list[Bullet]:
    """Bullets with the counts of those that were merged into them and are gone.

    Args:
        bullets: Those that are live, each with its own counts.
        lost: Counts of ids that are not live. Each is credited once, to the bullet of the smallest id that names it.
    """
    live = sorted(bullets, key=lambda one: one.id)
    left = dict(lost)
    out = []
    for bullet in live:
        extra = Tally()
        for name in bullet.merged:
            extra = extra.plus(left.pop(name, Tally()))
        out.append(
            replace(bullet, helpful=bullet.helpful + extra.helpful, harmful=bullet.harmful + extra.harmful)
        )
    return out


def fold(bullets: Iterable[Bullet], similarity: float) -> list[Bullet]:
    """Bullets of which near-duplicates of one section are one, with the counts of all.

    The one of more words stands for them, then the one of the smaller id: an order that depends on nothing else, and
    loses no detail.
    """
    words = {one: shingles(one.text) for one in bullets}
    standing: list[Bullet] = []
    behind: dict[str, list[Bullet]] = {}
    for bullet in sorted(words, key=lambda one: (-len(words[one]), one.id)):
        same = (
            one
            for one in standing
            if one.section == bullet.section and one.origin == bullet.origin
            and alike(words[one], words[bullet], similarity)
        )  # fmt: skip
        leader = next(same, None)
        if leader is None:
            standing.append(bullet)
        else:
            behind.setdefault(leader.id, []).append(bullet)
    return [_with(one, behind.get(one.id, [])) for one in standing]


def _with(leader: Bullet, others: Sequence[Bullet]) -> Bullet:
    return replace(
        leader,
        helpful=leader.helpful + sum(one.helpful for one in others),
        harmful=leader.harmful + sum(one.harmful for one in others),
        touched_at_ms=max([leader.touched_at_ms, *(one.touched_at_ms for one in others)]),
        folded=tuple(sorted(one.id for one in others)),
    )


def worth(bullet: Bullet) -> tuple[int, int, str]:
    """A key that sorts the most valuable first, then the latest touched, then by id."""
    return -bullet.value, -bullet.touched_at_ms, bullet.id


def capped(bullets: Iterable[Bullet], most: int) -> list[Bullet]:
    """The most valuable ones, as many as may be."""
    return sorted(bullets, key=worth)[:most]


def placed(bullets: Iterable[Bullet]) -> list[Bullet]:
    """In the order in which they are rendered: by section, value and id; never by time."""
    return sorted(bullets, key=lambda one: (one.section, -one.value, one.id))


def line(bullet: Bullet) -> str:
    """The line of a bullet: one line, with nothing in it that could pass for another bullet or heading."""
    mark = "" if bullet.origin == "own" else f" ({bullet.origin})"
    return (
        f"- [{bullet.id}] helpful={bullet.helpful} harmful={bullet.harmful} :: {neutral(bullet.text)}{mark}"
    )


def render(bullets: Iterable[Bullet]) -> str:
    """The playbook as text, the same bytes for the same bullets; empty without any."""
    lines: list[str] = []
    section = None
    for bullet in placed(bullets):
        if bullet.section != section:
            section = bullet.section
            lines += ["", f"## {neutral(section)}"]
        lines.append(line(bullet))
    return "\n".join([HEADING, *lines]) + "\n" if lines else ""


def within(bullets: Sequence[Bullet], budget: int) -> list[Bullet]:
    """The most valuable bullets whose rendering takes at most so many tokens, by `auto_recall.tokens`."""
    kept: list[Bullet] = []
    sections: set[str] = set()
    left = budget - tokens(HEADING + "\n")
    for bullet in sorted(bullets, key=worth):
        cost = tokens(line(bullet) + "\n")
        if bullet.section not in sections:
            cost += tokens(f"\n## {neutral(bullet.section)}\n")
        if cost <= left:
            left -= cost
            kept.append(bullet)
            sections.add(bullet.section)
    return kept


@dataclass(frozen=True, slots=True)
class Evicted:
    """A bullet that is to go, and why: `harmful`, `stale` or `over the cap`."""

    bullet: Bullet
    reason: str

    def to_json(self) -> dict[str, Any]:
        """The eviction as `--json` prints it."""
        return {"reason": self.reason, "bullet": self.bullet.to_json()}


def evictions(bullets: Iterable[Bullet], now_ms: int, *, most: int, stale_ms: int) -> list[Evicted]:
    """What is to go by value and age.

    A bullet is harmful that was judged so twice or more, and more often than helpful; stale if it helped no more than
    it harmed and nobody touched it for `stale_ms`. What is left beyond `most` goes by value, then age.
    """
    out: list[Evicted] = []
    left: list[Bullet] = []
    for bullet in sorted(bullets, key=lambda one: one.id):
        if bullet.harmful >= 2 and bullet.value < 0:
            out.append(Evicted(bullet, "harmful"))
        elif bullet.value <= 0 and now_ms - bullet.touched_at_ms > stale_ms:
            out.append(Evicted(bullet, "stale"))
        else:
            left.append(bullet)
    return [*out, *(Evicted(bullet, "over the cap") for bullet in sorted(left, key=worth)[most:])]
