"""What happens in a year: who says what on which day, and what is asked about it. Pure: equal arguments, equal years.

Conversations are told in turns, each spread over the whole year: so every quarter has some of each. Beside them each
bank has facts that are corrected over and over, reminders that are forgotten, and secrets that are erased.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import sets
from benchmarks.synthetic import Synthetic

SETS = ("locomo", "beam", "longmemeval")
BANKS = ("ava", "ben", "cleo", "team")  # the memories of three agents, and one that they share
UNIT = 12  # messages told at once, at most
FACTS = 8  # in each bank
PLACES = ("boathouse", "greenhouse", "observatory", "chapel", "orchard", "lighthouse", "quarry", "windmill")


@dataclass(frozen=True, slots=True)
class Said:
    """Something told: `slot` names it for the simulation, `key` and `session` as `remember` has them."""

    slot: str
    text: str
    key: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the slots that answer it."""

    text: str
    relevant: frozenset[str]


@dataclass(slots=True)
class Day:
    """What happens in one bank on one day."""

    told: list[Said] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Story:
    """A year of one bank.

    Attributes:
        days: What happens, by day.
        asked: Questions, by the day from which they can be answered.
        markers: Words that stand in one secret each, by its slot.
    """

    days: list[Day]
    asked: list[tuple[int, Asked]] = field(default_factory=list)
    markers: dict[str, str] = field(default_factory=dict)


def material(data: Path | None, conversations: int = 8, turns: int = 60) -> list[sets.Bank]:
    """Conversations of the data sets in a folder, or of drawn words."""
    if data is not None:
        return [bank for name in SETS for bank in sets.load(data, name)]
    words, out = Synthetic(), []
    texts = list(words.texts(conversations * turns))
    counts: dict[str, int] = {}
    for text in texts:
        for word in set(_split(text)):
            counts[word] = counts.get(word, 0) + 1
    for number in range(conversations):
        bank = sets.Bank(f"drawn-{number}")
        for place in range(turns):
            text = texts[number * turns + place]
            row = bank.add(text, 1 + place // UNIT)
            rare = sorted(set(_split(text)), key=lambda word: (counts[word], word))
            if place % 3 == 0:
                bank.questions.append(sets.Question(" ".join(rare[2:5]), {row}, {bank.sessions[row - 1]}))
        out.append(bank)
    return out


def _split(text: str) -> list[str]:
    return text.lower().rstrip(".").split()


def write(told: list[sets.Bank], days: int, seed: int = 1) -> dict[str, Story]:
    """The stories of all banks.

    Args:
        told: Conversations; they go to the banks in turns.
        days: How long it takes.
        seed: Of what is made up.
    """
    stories = {name: Story([Day() for _ in range(days)]) for name in BANKS}
    for number, conversation in enumerate(told):
        _conversation(stories[BANKS[number % len(BANKS)]], conversation, days)
    for number, (name, story) in enumerate(stories.items()):
        _daily(story, name, days, random.Random(seed * 100 + number))
    for story in stories.values():
        story.asked.sort(key=lambda one: one[0])
    return stories


def _units(conversation: sets.Bank) -> Iterator[list[int]]:
    """Rows that are told at once: parts of one session."""
    unit: list[int] = []
    for row, session in enumerate(conversation.sessions, 1):
        if unit and (len(unit) == UNIT or conversation.sessions[unit[-1] - 1] != session):
            yield unit
            unit = []
        unit.append(row)
    if unit:
        yield unit


def _conversation(story: Story, conversation: sets.Bank, days: int) -> None:
    units = list(_units(conversation))
    when: dict[int, int] = {}
    for number, unit in enumerate(units):
        day = int((number + 0.5) / len(units) * days)
        for row in unit:
            when[row] = day
            session = f"{conversation.name} {conversation.sessions[row - 1]}"
            said = Said(f"{conversation.name}/{row}", conversation.texts[row - 1], session=session)
            story.days[day].told.append(said)
    for question in conversation.questions:
        slots = frozenset(f"{conversation.name}/{row}" for row in question.relevant)
        day = max(when[row] for row in question.relevant)
        story.asked.append((day, Asked(question.text, slots)))


def fact(name: str, number: int, code: int) -> Said:
    """A fact of a bank, in its newest form."""
    place = PLACES[number % len(PLACES)]
    return Said(f"fact {number} {code}", f"The key code of {name}'s {place} is {code}.", key=f"code.{place}")


def about(name: str, number: int) -> str:
    """The question that the fact answers."""
    return f"What is the key code of {name}'s {PLACES[number % len(PLACES)]}?"


def _daily(story: Story, name: str, days: int, chance: random.Random) -> None:
    for day in range(days):
        here = story.days[day]
        if day % 3 == 0:
            here.told.append(fact(name, day // 3 % FACTS, chance.randrange(10_000, 99_999)))
        if day % 4 == 1:
            slot = f"reminder {day}"
            here.told.append(Said(slot, f"Reminder of day {day}: call {chance.choice(PLACES)} number {day}."))
            if day + 9 < days:
                story.days[day + 9].forgotten.append(slot)
        if day % 7 == 2:
            slot, marker = f"secret {day}", "".join(chance.choices("bcdfghjklmnpqrstvwxz", k=14))
            story.markers[slot] = marker
            text = (
                f"The password of the {chance.choice(PLACES)} is {marker}. " + "Nobody else may see it. " * 40
            )
            here.told.append(Said(slot, text, session=f"secrets {day // 28}"))
            gone = day + (5 if day % 2 else 110)  # before it is archived, or after
            if gone < days - 1:
                story.days[gone].erased.append(slot)


def counts(stories: dict[str, Story]) -> dict[str, Any]:
    """How much happens."""
    days = [day for story in stories.values() for day in story.days]
    return {
        "told": sum(len(day.told) for day in days),
        "forgotten": sum(len(day.forgotten) for day in days),
        "erased": sum(len(day.erased) for day in days),
        "questions": sum(len(story.asked) for story in stories.values()),
    }
