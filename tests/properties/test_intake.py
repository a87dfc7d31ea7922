"""Frames of any size and order make of a bank what its entries make of it one by one."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.test_convergence import History, scramble, union, world

from muniment import check
from muniment.base.ids import cid_of
from muniment.intake import Intake
from muniment.store.memory import MemoryStore
from muniment.store.sqlite import SqliteStore


@settings(max_examples=6)
@given(st.integers(0, 1 << 32))
def test_frames_are_as_entries_one_by_one(seed: int) -> None:
    """A random history, shuffled, repeated, split and cut into frames, shows what the origin shows, also in a file."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, world(seed) as replicas:
        History(replicas, chance).run(30)
        parcels = union(replicas)
        origin = replicas.at("carol")
        origin.take(parcels)
        expected = origin.shown()
        asked = {cid_of(envelope) for envelope, _ in parcels}
        for store in (
            MemoryStore(replicas.bank),
            SqliteStore.create(Path(folder) / "bank.db", replicas.bank),
        ):
            other = replicas.fresh("frames", store)
            other.name = "carol"
            intake, left = Intake(other.bank), scramble(parcels, chance)
            while left:
                size = chance.choice([1, 3, 10, 1000])
                intake.take_many(left[:size], asked)
                left = left[size:]
            assert other.shown() == expected
            assert check.check(other.bank) == []
            other.bank.close()
