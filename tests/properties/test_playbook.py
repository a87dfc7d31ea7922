"""Playbooks converge: whatever order acts and batches come in, replicas render the same bytes (design section 1)."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.base.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.playbook import Playbook
from muniment.playbook_ops import Add, Batch, Delete, Edit, Merge, Operation, Update, batch, read_batch
from muniment.playbook_view import Bullet, alike, capped, evictions, fold, render, shingles, within
from muniment.testing.replicas import Replica, Replicas

WORDS = ["tests", "build", "push", "friday", "nix", "logs", "never", "before", "after", "3", "30"]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
SEEN = [
    Add(f"lesson {word} {n}", section) for n, word in enumerate(WORDS) for section in ("general", "shell")
]
names = st.sampled_from([one.id for one in SEEN] + ["no-such"])
harmless: st.SearchStrategy[Operation] = st.one_of(
    st.sampled_from(SEEN),
    st.builds(Update, names, st.sampled_from(["helpful", "harmful", "neutral"])),
)
operations: st.SearchStrategy[Operation] = st.one_of(
    harmless,
    st.builds(Edit, names, sentences),
    st.builds(lambda a, b: Merge((a, b)), names, names).filter(lambda one: len(set(one.ids)) == 2),
    st.builds(Delete, names),
)


def made(work: list[Operation], name: str) -> Batch | None:
    """A batch, unless its operations contradict each other."""
    try:
        return batch(work, name)
    except MunimentError:
        return None


def book(replica: Replica) -> Playbook:
    """The playbook of a replica, for its key."""
    return Playbook(replica.bank, replica.key, replica.reader(), lambda: None)


@contextmanager
def world(names: tuple[str, ...], seed: int = 0) -> Iterator[Replicas]:
    """A shared bank that all may write to."""
    with tempfile.TemporaryDirectory() as folder, Replicas(Path(folder), names, seed) as replicas:
        first = replicas.found({names[0]: "admin(0)"})
        for name in names[1:]:
            first.grant(name, "write")
            replicas.carry(names[0], name)
        yield replicas


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_replicas_render_the_same_bytes(data: st.DataObject) -> None:
    """Three writers, batches in any places, entries carried now and then and at last in any order."""
    chance = random.Random(data.draw(st.integers(0, 1 << 30)))
    writers = ("ava", "ben", "eve")
    with world(writers) as replicas:
        for step in range(data.draw(st.integers(1, 9))):
            work = made(data.draw(st.lists(operations, min_size=1, max_size=5)), f"run-{step % 4}")
            where = chance.choice(writers)
            if work is not None:
                book(replicas.at(where)).apply(work)
            if chance.random() < 0.2:
                book(replicas.at(where)).evict()
            if chance.random() < 0.4:
                source, target = chance.sample(writers, 2)
                replicas.carry(source, target)
        parcels = [parcel for name in writers for parcel in replicas.at(name).parcels()]
        for name in writers:
            chance.shuffle(parcels)
            replicas.at(name).take(parcels)
            replicas.at(name).take(parcels)  # waiting ones find their past; all else is there already
        texts = [book(replicas.at(name)).show().text for name in writers]
        assert texts[0] == texts[1] == texts[2]
        states = [book(replicas.at(name)).show().to_json() for name in writers]
        for state in states:
            for bullet in state["bullets"]:
                del (
                    bullet["version"],
                    bullet["record"],
                )  # of equal words by two writers either may stand for both
        assert states[0] == states[1] == states[2]


@given(st.lists(st.lists(harmless, max_size=4), min_size=2, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_independent_batches_commute_and_repeat(work: list[list[Operation]], chance: Any) -> None:
    """In two orders, the second time with every batch done twice: the same bytes."""
    batches = [one for n, some in enumerate(work) if (one := made(some, f"run-{n}")) is not None]
    base = batch(SEEN, "base")
    texts = []
    for twice in (False, True):
        with world(("ava",)) as replicas:
            mine = book(replicas.at("ava"))
            mine.apply(base)
            order = batches * 2 if twice else list(batches)
            chance.shuffle(order)
            for one in order:
                mine.apply(one)
            texts.append(mine.show().text)
    assert texts[0] == texts[1]


@given(st.lists(st.tuples(st.sampled_from(range(len(SEEN))), sentences), unique_by=lambda pair: pair[0], max_size=6),
       st.randoms(use_true_random=False))  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_changes_of_different_bullets_commute(edits: list[tuple[int, str]], chance: Any) -> None:
    """Each batch edits, judges or deletes a bullet of its own: any order, the same bytes."""
    batches = []
    for n, (place, text) in enumerate(edits):
        name = SEEN[place].id
        work: list[Operation] = [Delete(name)] if n % 3 == 2 else [Edit(name, text), Update(name, "helpful")]
        batches.append(batch(work, f"run-{n}"))
    texts = []
    for _ in range(2):
        with world(("ava",)) as replicas:
            mine = book(replicas.at("ava"))
            mine.apply(batch(SEEN, "base"))
            for one in batches:
                mine.apply(one)
            texts.append(mine.show().text)
        chance.shuffle(batches)
    assert texts[0] == texts[1]


bullets = st.lists(
    st.builds(
        Bullet,
        id=st.integers(0, 99).map(lambda n: f"b{n}"),
        section=st.sampled_from(["a", "b"]),
        text=sentences,
        helpful=st.integers(0, 3),
        harmful=st.integers(0, 3),
        touched_at_ms=st.integers(0, 100),
    ),
    unique_by=lambda one: one.id,
    max_size=14,
)


@given(bullets, st.sampled_from([0.5, 0.8, 1.0]), st.integers(1, 8), st.integers(0, 300),
       st.randoms(use_true_random=False))  # fmt: skip
def test_views_depend_on_no_order_lose_nothing_and_keep_their_caps(
    some: list[Bullet], similarity: float, most: int, budget: int, chance: Any
) -> None:
    """Folding keeps every count and id; caps and budgets hold; shuffled bullets give the same bytes."""
    other = list(some)
    chance.shuffle(other)
    folded = fold(some, similarity)
    assert sorted(folded, key=lambda b: b.id) == sorted(fold(other, similarity), key=lambda b: b.id)
    assert sorted(name for b in folded for name in (b.id, *b.folded)) == sorted(b.id for b in some)
    assert sum(b.helpful for b in folded) == sum(b.helpful for b in some)
    assert sum(b.harmful for b in folded) == sum(b.harmful for b in some)
    kept = capped(folded, most)
    assert len(kept) == min(most, len(folded))
    assert kept == capped(folded[::-1], most)
    assert render(kept) == render(kept[::-1])
    fitting = render(within(kept, budget))
    assert len(fitting.encode()) <= 3 * budget
    gone = {one.bullet.id for one in evictions(folded, 200, most=most, stale_ms=150)}
    assert len(folded) - len(gone) <= most
    assert [one.bullet.id for one in evictions(other, 200, most=most, stale_ms=150)] == [
        one.bullet.id for one in evictions(some, 200, most=most, stale_ms=150)
    ]


@given(sentences, sentences, st.sampled_from([0.5, 0.8, 1.0]))
def test_likeness_goes_both_ways(one: str, two: str, least: float) -> None:
    """And a text is like itself."""
    assert alike(shingles(one), shingles(two), least) == alike(shingles(two), shingles(one), least)
    assert alike(shingles(one), shingles(one), least)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["ADD", "UPDATE", "op", "id", "ids", "text", "helpful"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["op", "id", "ids", "text", "section", "judgement", "operations"]), inner),
    max_leaves=12,
)  # fmt: skip


@given(st.one_of(st.binary(max_size=200), _json.map(lambda value: json.dumps(value).encode())))
def test_any_bytes_are_a_batch_or_an_error_of_ours(data: bytes) -> None:
    """Nothing that a stranger sends ends in another error; what is taken is taken again unchanged."""
    try:
        read = read_batch(data)
    except (InvalidInput, LimitExceeded):
        return
    assert read_batch(json.dumps(read.to_json())) == read
