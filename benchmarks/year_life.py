"""Three agents on two peers live through a story, day by day; what must hold is asserted on the way.

    life = Life(stories, folder, Pace(days=365))
    result = life.run()

`desk` has ava and cleo, `laptop` has ben and guests. Each agent's memory lies on both peers, readable by an agent of
the other; `team` is written by all three. Each request is a call of the real programs on a real disk; only the clock is
the simulation's.
"""

from __future__ import annotations

import hashlib
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import metrics
from benchmarks.year_story import FACTS, PLACES, Asked, Day, Said, Story, about
from benchmarks.year_world import Failed, Machine, disk, holding

from muniment.base.ids import record_text, uuid7
from muniment.testing.clock import START_MS

DAY_MS = 86_400_000
GUEST_STAYS = 9  # days


@dataclass(frozen=True, slots=True)
class Pace:
    """How often what happens, in days."""

    days: int = 365
    sample: int = 14
    policy: int = 7
    older_than: int = 60
    larger_than: int = 256
    desk_crash: int = 9
    laptop_crash: int = 41
    guest: int = 40
    rekey: int = 30
    offline: tuple[int, int] = (61, 5)  # in each so many days, so many without a sync
    care: int = 91  # checks and proofs


@dataclass(slots=True)
class Held:
    """What one bank must hold, by what was acknowledged.

    Attributes:
        states: Version -> what must have become of it.
        versions: Slot -> version; `words` its text.
        facts: Key -> the slot that is current.
        guests: What guests said in time, version by version; `late` what they said after they were cut.
        gone: What must stand nowhere: markers and sealed bytes of what was erased.
        seen: recall@10 of each question when it was first asked, and when last.
    """

    id: str
    states: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    words: dict[str, Said] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    guests: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    gone: list[bytes] = field(default_factory=list)
    seen: dict[str, list[float]] = field(default_factory=dict)


class Life:
    """One run."""

    def __init__(
        self, stories: dict[str, Story], folder: Path, pace: Pace, *, vectors: bool = False, seed: int = 5
    ) -> None:
        self.stories, self.pace, self.folder = stories, pace, folder
        self.desk = Machine("desk", folder / "desk", vectors=vectors)
        self.laptop = Machine("laptop", folder / "laptop", vectors=vectors)
        self.chance = random.Random(seed)
        self.banks: dict[str, Held] = {}
        self.dids: dict[str, str] = {}
        self.samples: list[dict[str, Any]] = []
        self.happened: dict[str, int] = {}
        self._crash: tuple[Machine, str] | None = (
            None  # who is still to be killed today, and in the middle of what
        )
        self._turn = self._rounds = 0
        self._guest: tuple[str, int] | None = None  # who is here, and until which day

    # Where what is

    def home(self, bank: str) -> tuple[Machine, str]:
        """Who keeps a bank: its machine and agent."""
        return (self.laptop, "ben") if bank == "ben" else (self.desk, "ava" if bank == "team" else bank)

    def replica(self, bank: str) -> tuple[Machine, str]:
        """Who reads it on the other machine."""
        return (self.desk, "ava") if bank == "ben" else (self.laptop, "ben")

    def _count(self, what: str, number: int = 1) -> None:
        self.happened[what] = self.happened.get(what, 0) + number

    # The run

    def run(self, told: Callable[[str], None] = lambda line: print(line, file=sys.stderr)) -> dict[str, Any]:
        """Live through it.

        Returns:
            Samples, what happened how often, and how it ended.
        """
        try:
            self._settle_in()
            for day in range(self.pace.days):
                self._live(day)
                last = day == self.pace.days - 1
                if (day + 1) % self.pace.sample == 0 or last:
                    if not self._online(day):
                        self._sync()
                    self.samples.append(self._sample(day, care=last))
                    told(_line(self.samples[-1]))
            fresh = self._fresh()
        finally:
            for machine in (self.desk, self.laptop):
                machine.kill()
        return {
            "days": self.pace.days, "happened": self.happened, "samples": self.samples, "fresh": fresh,
            "first_last": self._first_last(),
            "asked_at_end": {bank: len(self._asked(bank, self.pace.days)) for bank in self.banks},
        }  # fmt: skip

    def _at(self, day: int, hour: float) -> None:
        for machine in (self.desk, self.laptop):
            machine.now = START_MS + day * DAY_MS + int(hour * 3_600_000)

    def _settings(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        text = f"archive:\n  older_than: {self.pace.older_than}d\n  larger_than: {self.pace.larger_than}\n"
        (home / "config.yaml").write_text(text, "utf-8")

    def _settle_in(self) -> None:
        for machine in (self.desk, self.laptop):
            self._settings(machine.home)
        self._at(0, 0)
        for name, machine in (("ava", self.desk), ("cleo", self.desk), ("ben", self.laptop)):
            self.dids[name], bank = machine.call("make", agent=name)
            self.banks[name] = Held(bank)
        self.banks["team"] = Held(self.desk.call("found", agent="ava", name="team"))
        for bank, held in self.banks.items():
            machine, agent = self.home(bank)
            other, reader = self.replica(bank)
            members = [(reader, "read")] if bank != "team" else [("ben", "write"), ("cleo", "write")]
            for name, level in members:
                machine.call("grant", agent=agent, bank=held.id, did=self.dids[name], level=level)
            other.call("take_in", bank=held.id, name=f"{bank}'s")
            other.sync(machine, held.id, agent=reader)

    def _online(self, day: int) -> bool:
        period, off = self.pace.offline
        return day % period < period - off

    def _live(self, day: int) -> None:
        self._at(day, 8)
        self._plan_crash(day)
        for bank, story in self.stories.items():
            self._tell(bank, story.days[day], day)
        self._at(day, 18)
        for bank, story in self.stories.items():
            self._drop(bank, "forget", story.days[day].forgotten)
            self._drop(bank, "erase", story.days[day].erased)
        if self._policy_day(day):
            self._archive()
        if day % self.pace.rekey == self.pace.rekey - 1:
            for bank, held in self.banks.items():
                machine, agent = self.home(bank)
                machine.call("rekey", agent=agent, bank=held.id)
                self._count("rekeys")
        self._at(day, 20)
        if self._online(day):
            self._guests(day)
            self._sync()
        if self._crash is not None:
            self._crash[0].kill()
            self._count("kills at rest")
        if day % self.pace.care == self.pace.care - 1:
            self.desk.stop()  # a restart in good order
            self._care()

    def _policy_day(self, day: int) -> bool:
        return day % self.pace.policy == self.pace.policy - 1

    def _plan_crash(self, day: int) -> None:
        """Who is killed today, and in the middle of what."""
        self._crash = None
        for machine, every in ((self.desk, self.pace.desk_crash), (self.laptop, self.pace.laptop_crash)):
            if day % every == every // 2:
                days = [
                    story.days[day] for name, story in self.stories.items() if self.home(name)[0] is machine
                ]
                works = ["tell"]
                works += ["drop"] * any(one.forgotten or one.erased for one in days)
                works += ["archive"] * self._policy_day(day) + ["sync"] * self._online(day)
                self._turn += 1
                self._crash = machine, works[self._turn % len(works)]

    def _hit(self, machine: Machine, what: str) -> bool:
        """Whether it is to be killed now."""
        if self._crash != (machine, what):
            return False
        self._crash = None
        self._count(f"kills in {what}")
        return True

    # What people do

    def _tell(self, bank: str, day: Day, number: int) -> None:
        if not day.told:
            return
        held = self.banks[bank]
        machine, agent = self.home(bank)
        if bank == "team" and self._online(number):
            agent = ("ava", "ben", "cleo")[number % 3]
            machine = self.laptop if agent == "ben" else self.desk
        items = [self._item(said, machine.now + place) for place, said in enumerate(day.told)]
        known: list[str] = []
        if self._hit(machine, "tell"):
            machine.killed_in(self.chance, 0.02, "tell", agent=agent, bank=held.id, items=items)
            known = machine.did
        machine.call("tell", agent=agent, bank=held.id, items=items)
        assert machine.did[: len(known)] == known, "what was acknowledged before the crash is not there"
        for said, version in zip(day.told, machine.did, strict=True):
            self._note(held, said, version, machine.now)
        self._count("remembered", len(items))

    def _item(self, said: Said, now: int) -> dict[str, Any]:
        record = record_text(uuid7(now, self.chance.randbytes(10)))
        return {"text": said.text, "key": said.key, "session": said.session, "id": record, "created_at": now}

    def _note(self, held: Held, said: Said, version: str, now: int) -> None:
        if said.key is not None:
            before = held.facts.get(said.key)
            if before is not None:
                held.states[held.versions[before]] = "superseded"
                self._count("corrected")
            held.facts[said.key] = said.slot
        held.versions[said.slot], held.words[said.slot] = version, said
        held.states[version], held.times[version] = "live", now

    def _drop(self, bank: str, do: str, slots: list[str]) -> None:
        """Forget or erase."""
        if not slots:
            return
        held = self.banks[bank]
        machine, agent = self.home(bank)
        versions = [held.versions[slot] for slot in slots]
        given = {"agent": agent, "bank": held.id, "versions": versions}
        if do == "erase":
            other, reader = self.replica(bank)
            for who, name in ((machine, agent), (other, reader)):
                bodies = who.call("bodies", agent=name, bank=held.id, versions=versions)
                held.gone += [bytes(_unbase(body))[40:104] for body in bodies]
            held.gone += [self.stories[bank].markers[slot].encode() for slot in slots]
        if self._hit(machine, "drop"):
            machine.killed_in(self.chance, 0.02, do, **given)
        machine.call(do, **given)
        held.states |= dict.fromkeys(versions, "forgotten" if do == "forget" else "erased")
        self._count("forgotten" if do == "forget" else "erased", len(versions))

    def _archive(self) -> None:
        for bank, held in self.banks.items():
            machine, agent = self.home(bank)
            if self._hit(machine, "archive"):
                machine.killed_in(self.chance, 0.1, "policy", agent=agent, bank=held.id)
            done = machine.call("policy", agent=agent, bank=held.id)
            self._count("archived", done["archived"]["records"])

    def _guests(self, day: int) -> None:
        """One comes, says something, is cut, and says something more before it hears of it."""
        team = self.banks["team"]
        if (
            self._guest is None
            and day % self.pace.guest >= self.pace.guest // 4
            and day + GUEST_STAYS < self.pace.days
        ):
            name = f"guest{day}"
            did, _ = self.laptop.call("make", agent=name)
            self.desk.call("grant", agent="ava", bank=team.id, did=did, level="write")
            self._sync()
            self._guest_says(name, team.guests, "was here in time")
            self._guest, self.dids[name] = (name, day + GUEST_STAYS), did
        elif self._guest is not None and day >= self._guest[1]:
            name, self._guest = self._guest[0], None
            self._sync()
            self.desk.call("revoke", agent="ava", bank=team.id, did=self.dids[name])
            self._guest_says(name, team.late, "came too late")
            self._sync()
            try:
                self.laptop.call("tell", agent=name, bank=team.id, items=[{"text": "Once more."}])
                raise AssertionError("a revoked key was let write")
            except Failed as error:
                assert error.name == "NotPermitted", error  # noqa: PT017
            self._count("revoked")

    def _guest_says(self, name: str, to: list[str], what: str) -> None:
        items = [{"text": f"{name} {what}, {number}."} for number in range(3)]
        self.laptop.call("tell", agent=name, bank=self.banks["team"].id, items=items)
        to += self.laptop.did

    def _sync(self) -> None:
        """A round about each bank; who asks takes turns."""
        self._rounds += 1
        ends = (self.laptop, self.desk) if self._rounds % 2 else (self.desk, self.laptop)
        for bank, held in self.banks.items():
            if bank == "team" and any(self._hit(machine, "sync") for machine in ends):
                ends[0].sync(ends[1], held.id, cut=self.chance.randrange(4))
            received, sent, done = ends[0].sync(ends[1], held.id)
            assert done, f"{bank} is not done"
            self._count("entries synced", received + sent)
            wrote = [machine.call("care", bank=held.id) for machine in ends]
            if any(wrote):
                ends[0].sync(ends[1], held.id)

    # What must hold

    def _pairs(self) -> Iterator[tuple[str, Held, Machine, str]]:
        for bank, held in self.banks.items():
            for machine, agent in (self.home(bank), self.replica(bank)):
                yield bank, held, machine, agent

    def hold(self) -> None:
        """All that must be true whenever both have synced.

        Raises:
            AssertionError: With what is not.
        """
        digests: dict[str, dict[str, set[str]]] = {}
        for bank, held, machine, agent in self._pairs():
            states = machine.call("states", agent=agent, bank=held.id)
            wrong = {version: states.get(version) for version, state in held.states.items()
                     if states.get(version) != state}  # fmt: skip
            assert not wrong, f"{machine.name} lost or changed in {bank}: {list(wrong.items())[:5]}"
            for part, digest in machine.call("digest", agent=agent, bank=held.id).items():
                digests.setdefault(bank, {}).setdefault(part, set()).add(digest)
        unequal = [
            (bank, part) for bank, parts in digests.items() for part, ones in parts.items() if len(ones) > 1
        ]
        assert not unequal, f"replicas differ: {unequal}"
        self._hold_guests()
        self._hold_erased()

    def _hold_guests(self) -> None:
        team = self.banks["team"]
        for machine in (self.desk, self.laptop):
            said = [version.partition("/")[0] for version in team.guests]
            late = [version.partition("/")[0] for version in team.late]
            counts = machine.call("entries", bank=team.id, ids=said + late)
            assert all(counts[: len(said)]), f"{machine.name}: what a guest said in time is gone"
            assert not any(counts[len(said) :]), f"{machine.name}: a revoked key's late words count"

    def _hold_erased(self) -> None:
        needles = [needle for held in self.banks.values() for needle in held.gone]
        found = holding([self.desk.home, self.laptop.home], needles)
        assert not found, f"erased bytes are on the disk: {found[:5]}"

    def _care(self) -> None:
        for bank, held, machine, agent in self._pairs():
            problems = machine.call("check", agent=agent, bank=held.id)
            assert not problems, f"{machine.name}: {bank}: {problems[:5]}"
            assert machine.call("verify", agent=agent, bank=held.id), f"{machine.name}: {bank} is not proved"

    # What is measured

    def _sample(self, day: int, *, care: bool) -> dict[str, Any]:
        self.hold()
        if care:
            self._care()
        found: dict[str, Any] = {"day": day + 1, "banks": {}}
        scores: dict[str, list[float]] = {"current": [], "archived": []}
        times: list[float] = []
        for bank, held in self.banks.items():
            machine, agent = self.home(bank)
            rows = self._asked(bank, day)
            took = self._score(machine, agent, held, rows, scores, day)
            times += took
            self._facts(machine, agent, bank, held)
            self._fetched(machine, agent, held)
            live = machine.call("live", agent=agent, bank=held.id)
            found["banks"][bank] = {"live": live, "ms": statistics.median(took) if took else None,
                                    "recall": statistics.fmean(held.seen[q.text][-1] for q in rows) if rows else None,
                                    "archived": machine.call("archived", agent=agent, bank=held.id)}  # fmt: skip
        found["recall"] = {
            name: statistics.fmean(values) if values else None for name, values in scores.items()
        }
        found["asked"] = {name: len(values) for name, values in scores.items()}
        found["ms"] = statistics.median(times) if times else None
        found["live"] = sum(one["live"] for one in found["banks"].values())
        for machine in (self.desk, self.laptop):
            found[machine.name] = {"disk": disk(machine.home), "memory_mb": machine.call("memory_mb"),
                                   "up": (machine.now - machine.started) // DAY_MS, "crashes": machine.crashes,
                                   }  # fmt: skip
        return found

    def _asked(self, bank: str, day: int) -> list[Asked]:
        return [question for since, question in self.stories[bank].asked if since <= day]

    def _score(
        self,
        machine: Machine,
        agent: str,
        held: Held,
        rows: list[Asked],
        scores: dict[str, list[float]],
        day: int,
    ) -> list[float]:
        """recall@10 of each question, and the processor times."""
        old = START_MS + (day - self.pace.older_than - self.pace.policy) * DAY_MS
        took = []
        asked = [question.text for question in rows]
        for question, (versions, ms) in zip(
            rows, machine.call("ask", agent=agent, bank=held.id, questions=asked), strict=True
        ):
            wanted = {held.versions[slot] for slot in question.relevant}
            value = metrics.recall(versions, wanted)
            held.seen.setdefault(question.text, []).append(value)
            took.append(ms)
            shelved = all(held.times[version] < old and len(held.words[slot].text) > self.pace.larger_than
                          for slot in question.relevant for version in [held.versions[slot]])  # fmt: skip
            scores["archived" if shelved else "current"].append(value)
        return took

    def _facts(self, machine: Machine, agent: str, bank: str, held: Held) -> None:
        """The newest form of each fact comes first, and no older one at all."""
        numbers = [n for n in range(FACTS) if f"code.{PLACES[n % len(PLACES)]}" in held.facts]
        answers = machine.call("ask", agent=agent, bank=held.id, questions=[about(bank, n) for n in numbers])
        for number, (versions, _) in zip(numbers, answers, strict=True):
            slot = held.facts[f"code.{PLACES[number % len(PLACES)]}"]
            assert versions[:1] == [held.versions[slot]], (
                f"{bank}: {about(bank, number)} is not answered first"
            )
            stale = [version for version in versions if held.states.get(version, "live") != "live"]
            assert not stale, f"{bank}: {stale} is not live"

    def _fetched(self, machine: Machine, agent: str, held: Held) -> None:
        """Texts come back from the archive word for word."""
        slots = [slot for slot, said in held.words.items() if len(said.text) > self.pace.larger_than
                 and held.states[held.versions[slot]] == "live"]  # fmt: skip
        slots = self.chance.sample(slots, min(8, len(slots)))
        found = machine.call("fetch", agent=agent, bank=held.id, versions=[held.versions[s] for s in slots])
        assert found == [_hash(held.words[slot].text) for slot in slots], "an archived text is another one"

    def _fresh(self) -> dict[str, Any]:
        """The live records in new banks, told at once, none archived: what age costs is the difference."""
        fresh = Machine("fresh", self.folder / "fresh")
        self._settings(fresh.home)
        fresh.now = self.desk.now
        out: dict[str, Any] = {"banks": {}}
        try:
            for bank, held in self.banks.items():
                _, ident = fresh.call("make", agent=bank)
                new = Held(ident)
                live = [slot for slot, version in held.versions.items() if held.states[version] == "live"]
                items = [self._item(held.words[slot], held.times[held.versions[slot]]) for slot in live]
                fresh.call("tell", agent=bank, bank=ident, items=items)
                for slot, version in zip(live, fresh.did, strict=True):
                    new.versions[slot], new.words[slot] = version, held.words[slot]
                    new.times[version] = held.times[held.versions[slot]]
                out["banks"][bank] = self._compare(fresh, bank, held, new)
            out["disk"], out["memory_mb"] = disk(fresh.home), fresh.call("memory_mb")
            out["live"] = sum(fresh.call("live", agent=bank, bank=fresh.call("make", agent=bank)[1])
                              for bank in self.banks)  # fmt: skip
        finally:
            fresh.kill()
        return out

    def _compare(self, fresh: Machine, bank: str, held: Held, new: Held) -> dict[str, Any]:
        """Questions asked of both in turns."""
        rows = self._asked(bank, self.pace.days)
        machine, agent = self.home(bank)
        scores: dict[str, dict[str, list[float]]] = {}
        times: dict[str, list[float]] = {"aged": [], "fresh": []}
        for start in range(0, len(rows), 20):
            part = rows[start : start + 20]
            for name, who, by, one in (("aged", machine, agent, held), ("fresh", fresh, bank, new)):
                into = scores.setdefault(name, {"current": [], "archived": []})
                times[name] += self._score(who, by, one, part, into, self.pace.days - 1)
        return {
            name: {
                "ms": statistics.median(times[name]) if times[name] else None,
                "recall": _mean([x for values in found.values() for x in values]),
                "archived": _mean(found["archived"]),
            }
            for name, found in scores.items()
        }  # fmt: skip

    def _first_last(self) -> list[list[float]]:
        """recall@10 of each question when it was first asked and when last."""
        return [[values[0], values[-1]] for held in self.banks.values() for values in held.seen.values()]


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _unbase(text: str) -> bytes:
    import base64

    return base64.b64decode(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _line(sample: dict[str, Any]) -> str:
    r = {k: None if v is None else round(v, 3) for k, v in sample["recall"].items()}
    return (f"day {sample['day']}: {sample['live']} live, recall@10 {r}, {sample['ms'] or 0:.2f} ms, "
            f"desk {sample['desk']['memory_mb']:.0f} MB {sum(sample['desk']['disk'].values()) / 1e6:.1f} MB disk, "
            f"laptop {sample['laptop']['memory_mb']:.0f} MB {sum(sample['laptop']['disk'].values()) / 1e6:.1f}"
    )  # fmt: skip
