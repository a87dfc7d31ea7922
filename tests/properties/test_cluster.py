"""Peers that write, forget, grant, revoke, rekey, die, are put back from old copies and have wrong clocks converge."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from muniment.testing.cluster import LEVELS, Cluster
from muniment.testing.link import Faults

NAMES = st.sampled_from(sorted(LEVELS))
WRITERS = st.sampled_from(["alfa", "bravo", "charlie"])
ADMINS = st.sampled_from(["alfa", "bravo"])
FAULTS = st.sampled_from([
    Faults(), Faults(), Faults(lose=0.2), Faults(cut_at=3000), Faults(repeat=0.3), Faults(late=0.3),
    Faults(flip=0.2), Faults(delay_ms=60_000), Faults(parted=True),
])  # fmt: skip
DAY = 86_400_000


class ClusterMachine(RuleBasedStateMachine):
    """Anything may happen in any order; at each quiet point everybody agrees."""

    @initialize(seed=st.integers(0, 1 << 16))
    def found(self, seed: int) -> None:
        """Five peers of one bank."""
        self.folder = Path(tempfile.mkdtemp())
        self.cluster = Cluster(self.folder, seed)
        self.cluster.settle()
        self.said = 0
        self.revoked = 0

    @rule(name=WRITERS, key=st.sampled_from([None, None, "plan", "naming"]))
    def write(self, name: str, key: str | None) -> None:
        """A memory, sometimes of a record that others write too."""
        self.said += 1
        self.cluster.write(name, f"{name} says {self.said}", key)

    @rule(name=WRITERS, number=st.integers(0, 9))
    def forget(self, name: str, number: int) -> None:
        """Something that is live there."""
        self.cluster.forget(name, number)

    @rule(by=ADMINS, name=st.sampled_from(["charlie", "delta", "echo"]))
    def grant(self, by: str, name: str) -> None:
        """Again, or to whom an admin does not know yet."""
        self.cluster.grant(by, name)

    @precondition(lambda self: self.revoked < 2)
    @rule(by=ADMINS, name=st.sampled_from(["bravo", "charlie", "delta"]))
    def revoke(self, by: str, name: str) -> None:
        """A cut at what the admin holds."""
        if by != name:
            self.revoked += self.cluster.revoke(by, name)

    @rule(by=ADMINS)
    def rekey(self, by: str) -> None:
        """A new epoch."""
        self.cluster.rekey(by)

    @rule(client=NAMES, server=NAMES, faults=FAULTS)
    def sync(self, client: str, server: str, faults: Faults) -> None:
        """A round over a link that may fail."""
        if client != server:
            self.cluster.sync(client, server, faults)

    @rule(name=NAMES)
    def kill(self, name: str) -> None:
        """The process is gone, the disk is not."""
        self.cluster.kill(name)

    @rule(name=NAMES)
    def backup(self, name: str) -> None:
        """A copy of the file."""
        self.cluster.backup(name)

    @rule(name=st.sampled_from(["bravo", "charlie", "delta", "echo"]))
    def restore(self, name: str) -> None:
        """The old copy comes back."""
        self.cluster.restore(name)

    @rule(name=NAMES, days=st.integers(-3, 3))
    def skew(self, name: str, days: int) -> None:
        """A clock that is days wrong."""
        self.cluster.skew(name, days * DAY)

    @rule()
    def rest(self) -> None:
        """A quiet point."""
        self.cluster.settle()
        self.cluster.check()

    def teardown(self) -> None:
        """A last quiet point."""
        if hasattr(self, "cluster"):
            try:
                self.rest()
            finally:
                with self.cluster:
                    pass
                shutil.rmtree(self.folder, ignore_errors=True)


class TestCluster(ClusterMachine.TestCase):
    settings = settings(max_examples=8, stateful_step_count=20, deadline=None)
