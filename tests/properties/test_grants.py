"""Three agents grant, revoke, delegate, rekey, wait and restart: who may read and write is what a tiny model says."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from muniment.base.errors import InvalidInput, NotPermitted, WaitingForKey
from muniment.memory import Memory
from muniment.peer import Peer
from muniment.refs import refs
from muniment.testing.clock import START_MS, TickingClock
from muniment.testing.entropy import SeededEntropy

HOUR = 3_600_000
ORDER = {"relay": 1, "read": 2, "write": 3, "admin(1)": 4, "admin(0)": 5}
NAMES = ("ava", "ben", "cleo")
OTHERS = st.sampled_from(NAMES[1:])


@dataclass(frozen=True)
class Lease:
    """One grant, as the model knows it."""

    level: str
    until: int | None
    delegable: bool
    by: str

    def more_than(self, other: Lease) -> bool:
        """Whether it gives more than another, in level, time or delegation."""
        if self.level != other.level:
            return ORDER[self.level] > ORDER[other.level]
        longer = other.until is not None and (self.until is None or self.until > other.until)
        return longer or (self.delegable and not other.delegable)


class Model:
    """Who holds what in the bank `team`, that ava founded."""

    def __init__(self) -> None:
        self.leases: dict[str, list[Lease]] = {name: [] for name in NAMES}
        self.leases["ava"] = [Lease("admin(0)", None, False, "ava")]
        self.keyed = {"ava"}  # who holds the newest key
        self.texts: set[str] = set()

    def now(self, name: str, ms: int) -> list[Lease]:
        """What has not ended."""
        return [one for one in self.leases[name] if one.until is None or ms < one.until]

    def strongest(self, name: str, ms: int) -> int:
        """The strongest level, as a number; 0 for nothing."""
        return max((ORDER[one.level] for one in self.now(name, ms)), default=0)

    def readers(self, ms: int) -> set[str]:
        """Who may read."""
        return {name for name in NAMES if self.strongest(name, ms) >= ORDER["read"]}

    def may_give(self, by: str, lease: Lease, ms: int) -> bool:
        """Whether somebody may grant that."""
        for own in self.now(by, ms):
            if own.level.startswith("admin") and ORDER[lease.level] < ORDER[own.level]:
                return True
            within = own.until is None or (lease.until is not None and lease.until <= own.until)
            fits = ORDER[lease.level] <= ORDER[own.level] and not lease.level.startswith("admin")
            if own.delegable and not lease.delegable and fits and within:
                return True
        return False

    def may_take(self, by: str, name: str, ms: int) -> bool:
        """Whether somebody may take away all that another holds."""
        return all(
            any(
                ORDER[held.level] < ORDER[own.level]
                if own.level.startswith("admin")
                else own.delegable
                and held.by == by
                and not held.delegable
                and ORDER[held.level] <= ORDER[own.level]
                for own in self.now(by, ms)
            )
            for held in self.leases[name]
        )

    def settle(self, ms: int) -> None:
        """What an admin's write does: it cuts what has ended, and seals to the readers of now."""
        for name in NAMES:
            self.leases[name] = self.now(name, ms)
        self.keyed = self.readers(ms)


class Grants(RuleBasedStateMachine):
    """The local commands against the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = TickingClock(START_MS)
        self.count = 0
        self.model = Model()

    def teardown(self) -> None:
        """All banks are clean at the end."""
        for name in NAMES:
            assert self.peer.agent(name).check() == []
        assert self.memory("ava").check() == []
        self.peer.close()
        shutil.rmtree(self.folder)

    def open(self) -> None:
        """Open the folder, as a new process would."""
        self.count += 1
        self.peer = Peer(self.folder / "peer", clock=self.clock, entropy=SeededEntropy(bytes([self.count])))

    def memory(self, name: str) -> Memory:
        """An agent's way into the bank."""
        return self.peer.agent(name).bank("team")

    @initialize()
    def found(self) -> None:
        """Three agents and a bank."""
        self.open()
        for name in NAMES:
            self.peer.agent(name, create=True)
        self.peer.agent("ava").banks.new("team")

    @contextmanager
    def allowed(self, right: bool) -> Iterator[None]:
        """What the model allows is done, and what it does not is refused."""
        try:
            yield
        except (NotPermitted, InvalidInput):
            assert not right
        else:
            assert right

    @rule(
        by=st.sampled_from(NAMES),
        to=OTHERS,
        level=st.sampled_from(["relay", "read", "write", "admin(1)"]),
        hours=st.sampled_from([None, 1, 3]),
        delegable=st.booleans(),
    )
    def grant(self, by: str, to: str, level: str, hours: int | None, delegable: bool) -> None:
        """One grants another something."""
        if by == to or (delegable and level == "admin(1)"):
            return
        until = None if hours is None else START_MS + hours * HOUR
        ms, model = self.clock.ms, self.model
        lease = Lease(level, until, delegable, by)
        ended = {n for n in NAMES if model.now(n, ms) != model.leases[n]}
        admin = any(one.level.startswith("admin") for one in model.now(by, ms))
        if admin and all(model.may_take(by, n, ms) for n in ended):
            for name in ended:
                model.leases[name] = model.now(name, ms)
            if ended:
                model.keyed = model.readers(ms)
        elif admin and ended:
            for name in ended:
                if model.may_take(by, name, ms):
                    model.leases[name] = model.now(name, ms)
                    model.keyed = model.readers(ms)
        right = (until is None or until > ms) and model.may_give(by, lease, ms)
        narrows = any(held.more_than(lease) for held in model.leases[to])
        if narrows:
            right = right and model.may_take(by, to, ms)
        entry = None
        with self.allowed(right):
            entry = self.peer.agent(by).banks.grant("team", to, level, until=until, delegable=delegable).entry
        if entry is None:
            return
        same = [
            one
            for one in model.now(to, ms)
            if (one.level, one.until, one.delegable) == (level, until, delegable)
        ]
        if narrows:
            model.leases[to] = [lease]
        elif not same:
            model.leases[to].append(lease)
        if admin:
            model.keyed = model.readers(ms)
        elif level != "relay" and by in model.keyed:
            model.keyed.add(to)

    @rule(by=st.sampled_from(NAMES), whom=OTHERS)
    def revoke(self, by: str, whom: str) -> None:
        """One takes from another, or leaves."""
        ms, model = self.clock.ms, self.model
        right = bool(model.leases[whom])
        right = right and (bool(model.now(by, ms)) if by == whom else model.may_take(by, whom, ms))
        if by != whom and not any(o.level.startswith("admin") or o.delegable for o in model.now(by, ms)):
            right = False
        admin = by != whom and any(one.level.startswith("admin") for one in model.now(by, ms))
        with self.allowed(right):
            self.peer.agent(by).banks.revoke("team", whom)
        if right:
            model.leases[whom] = []
            if admin:
                model.keyed = model.readers(ms)

    @rule(by=st.sampled_from(NAMES))
    def rekey(self, by: str) -> None:
        """One asks for a new key."""
        ms = self.clock.ms
        right = self.model.strongest(by, ms) >= ORDER["admin(1)"]
        with self.allowed(right):
            self.peer.agent(by).banks.rekey("team")
        if right:
            self.model.keyed = self.model.readers(ms)

    @rule(by=st.sampled_from(NAMES))
    def write(self, by: str) -> None:
        """One remembers; who is no admin waits where the readers have changed."""
        self.count += 1
        text, ms, model = f"word {self.count}", self.clock.ms, self.model
        strongest = model.strongest(by, ms)
        right = strongest >= ORDER["write"]
        ended = {n for n in NAMES if model.now(n, ms) != model.leases[n]}
        waits = right and strongest < ORDER["admin(1)"] and model.keyed != model.readers(ms)
        try:
            with self.allowed(right):
                self.memory(by).remember(text)
        except WaitingForKey:
            assert waits
            return
        assert not waits
        if right:
            model.texts.add(text)
        if strongest >= ORDER["admin(1)"]:
            for name in ended:
                if model.may_take(by, name, ms):
                    model.leases[name] = model.now(name, ms)
            model.keyed = model.readers(ms)

    @rule(hours=st.sampled_from([1, 2]))
    def wait(self, hours: int) -> None:
        """Time passes; what has ended shuts."""
        self.clock.ms += hours * HOUR

    @rule()
    def restart(self) -> None:
        """Another process."""
        self.peer.close()
        self.open()

    @invariant()
    def the_doors_are_as_the_model_says(self) -> None:
        """Each agent reads all that counts, or nothing at all; its refs open nothing."""
        if not hasattr(self, "peer"):
            return
        ms = self.clock.ms
        for name in NAMES:
            try:
                seen = {record.text for record in self.memory(name).list(limit=1000)}
            except NotPermitted:
                assert name not in self.model.readers(ms), name
            else:
                assert name in self.model.readers(ms), name
                assert seen == self.model.texts, name
            agent = self.peer.agent(name)
            named = {ref.name for ref in refs(agent._bank, agent._key)}
            assert named <= {"team"}


TestGrants = Grants.TestCase
TestGrants.settings = settings(
    max_examples=25,
    stateful_step_count=16,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
