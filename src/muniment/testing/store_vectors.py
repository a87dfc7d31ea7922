"""What every bank store must do with vectors: subclass `VectorSuite` as `muniment.testing.stores` shows."""

from __future__ import annotations

from muniment.base.ids import VersionId
from muniment.store.base import BankStore, Naming, NamingRow, State, Verdict, VersionRow
from muniment.testing.store_rows import World
from muniment.testing.stores import StoreSuite

MODEL = "test/model"


def give(world: World, row: VersionRow, *, author: int = 0, model: str = MODEL) -> int:
    """Store an entry with one vector of a version; returns the entry's number."""
    entry = world.add(world.maker.entry(author, world.store.tips(world.maker.key(author))))
    with world.store.write():
        world.store.add_namings([NamingRow(world.store.version_id(row), Naming.VECTOR, entry.seq, 0)])
        world.store.add_vectors([(entry.seq, 0, model)])
    return entry.seq


def seqs(store: BankStore, model: str = MODEL) -> list[tuple[int, int]]:
    """(version, entry of its vector) of all vectors of a model."""
    return [(place.ord, place.seq) for place in store.vectors(model, 0, store.watermark().last_ord)]


class VectorSuite:
    """Vectors are found by model and version, while their entries count."""

    make = StoreSuite.make
    world = StoreSuite.world

    def test_vectors_come_by_model_in_order_of_versions(self, world: World) -> None:
        """Of several vectors of a version all are given, by their clock; other models' are not."""
        one, two, three = (world.say() for _ in range(3))
        late = give(world, two)
        early = give(world, one)
        other = give(world, one, model="test/other")
        again = give(world, one, author=1)
        assert seqs(world.store) == [(one.ord, early), (one.ord, again), (two.ord, late)]
        assert seqs(world.store, "test/other") == [(one.ord, other)]
        assert seqs(world.store, "nobody's") == []
        assert list(world.store.vectors(MODEL, one.ord, three.ord)) == world.store.vectors_of(
            MODEL, [two.ord]
        )
        assert world.store.models() == {MODEL: 3, "test/other": 1}

    def test_a_place_says_whose_version_and_who_signed_when(self, world: World) -> None:
        """Owner, signer and clock are those of the two entries."""
        row = world.say(author=1)
        seq = give(world, row, author=2)
        (place,) = world.store.vectors_of(MODEL, [row.ord])
        signer = world.store.entry_at(seq)
        assert place == (row.ord, world.maker.key(1), seq, 0, signer.author, signer.at)
        assert signer.author == world.maker.key(2)

    def test_only_entries_that_count_give_vectors(self, world: World) -> None:
        """A void or unreadable entry's vector is as if it were not there, and comes back with it."""
        row = world.say()
        seq = give(world, row)
        for verdict, readable in ((Verdict.VOID, True), (Verdict.WAITING, True), (Verdict.COUNTS, False)):
            with world.store.write():
                world.store.rule(seq, verdict, readable)
            assert seqs(world.store) == []
            assert world.store.lacking(MODEL, 0, 9) == [row.ord]
        with world.store.write():
            world.store.rule(seq, Verdict.COUNTS, True)
        assert seqs(world.store) == [(row.ord, seq)]
        assert world.store.lacking(MODEL, 0, 9) == []

    def test_what_lacks_a_vector_is_live_and_goes_on(self, world: World) -> None:
        """Live versions without a vector of the model come in order, a part at a time."""
        rows = [world.say() for _ in range(5)]
        give(world, rows[1])
        give(world, rows[2], model="test/other")
        with world.store.write():
            world.store.set_state(rows[3].ord, State.FORGOTTEN, rows[3].at)
        first, third, fifth = rows[0].ord, rows[2].ord, rows[4].ord
        assert world.store.lacking(MODEL, 0, 9) == [first, third, fifth]
        assert world.store.lacking(MODEL, first, 1) == [third]
        assert world.store.lacking("nobody's", 0, 2) == [first, rows[1].ord]

    def test_a_vector_may_come_before_its_version(self, world: World) -> None:
        """Named by an act that is not projected yet, it is found as soon as the version is there."""
        entry = world.add(world.maker.entry())
        vector = world.add(world.maker.entry(1))
        with world.store.write():
            world.store.add_namings([NamingRow(VersionId(entry.id, 0), Naming.VECTOR, vector.seq, 0)])
            world.store.add_vectors([(vector.seq, 0, MODEL)])
        assert seqs(world.store) == []
        row = world.say()
        assert seqs(world.store) == []
        assert give(world, row) == seqs(world.store)[0][1]

    def test_touching_is_a_change_that_changes_nothing(self, world: World) -> None:
        """Indexes are told, the state stays; a version that is not there is passed over."""
        rows = [world.say() for _ in range(2)]
        before = world.store.watermark()
        with world.store.write():
            world.store.touch([rows[1].ord, rows[0].ord, 99])
        after = world.store.watermark()
        changes = world.store.changes(before.last_change, after.last_change)
        assert [(change.ord, change.state) for change in changes] == [
            (rows[1].ord, State.LIVE),
            (rows[0].ord, State.LIVE),
        ]
        assert world.store.versions([row.ord for row in rows]) == rows

    def test_a_rebuild_begins_without_vectors(self, world: World) -> None:
        """They are derived, and made again by projecting."""
        give(world, world.say())
        with world.store.write():
            world.store.reset_derived()
        assert world.store.models() == {}
        assert seqs(world.store) == []
