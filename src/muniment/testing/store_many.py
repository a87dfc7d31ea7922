"""What every bank store must do with many entries at once: subclass `ManySuite` as `muniment.testing.stores` shows."""

from __future__ import annotations

from pathlib import Path

from muniment.base.errors import InvalidInput
from muniment.base.ids import EntryId, VersionId
from muniment.store.base import Naming, NamingRow, Verdict
from muniment.testing.store_rows import Made, World, everything, version
from muniment.testing.stores import StoreSuite
from muniment.testing.tools import parametrize, raises


def mixed(world: World) -> list[Made]:
    """A chain, a fork and a join of one author, another's that follows none, a missing parent, missing bodies."""
    maker = world.maker
    root = maker.entry(1)
    left, right = maker.entry(1, [root.id]), maker.entry(1, [root.id], acts=3, here=[True, False, True])
    join = maker.entry(1, [left.id, right.id])
    other = maker.entry(2, [join.id, EntryId(root.id[:4] + bytes(32))], local=False)
    control = maker.entry(2, acts=0)
    return [root, left, right, join, other, control]


class ManySuite:
    """Storing and reading many entries says what storing and reading each of them says."""

    make = StoreSuite.make
    world = StoreSuite.world

    @parametrize("step", [1, 2, 5, -1])
    def test_many_at_once_are_as_one_after_the_other(self, world: World, tmp_path: Path, step: int) -> None:
        """In any order: rows, bodies, tips and wanted ids are the same."""
        made = mixed(world)
        made = made[::-1] if step < 0 else [made[at * step % len(made)] for at in range(len(made))]
        made = list(dict.fromkeys(made))
        (tmp_path / "other").mkdir()
        single = World(self.make(tmp_path / "other", world.maker.bank), world.maker)  # type: ignore[misc]
        for one in made:
            single.add(one)
        with world.store.write():
            half = len(made) // 2
            seqs = world.store.add_entries(
                [one.row for one in made[:half]], [one.bodies for one in made[:half]]
            )
            seqs += world.store.add_entries(
                [one.row for one in made[half:]], [one.bodies for one in made[half:]]
            )
            assert world.store.add_entries([], []) == []
        assert seqs == [single.store.seq_of(one.id) for one in made]
        assert everything(world.store, world.maker) == everything(single.store, world.maker)
        assert single.store.check() == []
        single.store.close()

    def test_what_is_stored_already_is_not_stored_again(self, world: World) -> None:
        """One that is here, or twice in the list, undoes the whole."""
        here = world.maker.entry(1)
        world.add(here)
        fresh = world.maker.entry(1, [here.id])
        for rows in ([fresh, here], [fresh, fresh]):
            with raises(InvalidInput), world.store.write():
                world.store.add_entries([one.row for one in rows], [one.bodies for one in rows])
        assert world.store.held([here.id, fresh.id]) == {here.id: world.store.seq_of(here.id)}

    def test_ids_follow_the_entries(self, world: World) -> None:
        """By kind and verdict, after a number; a changed verdict is counted, an unchanged one is not."""
        made = mixed(world)
        rows = [world.add(one) for one in made]
        counting = [(row.seq, row.at, row.id) for row in rows if not row.control]
        assert list(world.store.ids(control=False, verdict=Verdict.COUNTS)) == counting
        assert (
            list(world.store.ids(control=False, verdict=Verdict.COUNTS, after=counting[1][0])) == counting[2:]
        )
        before = world.store.rerulings()
        with world.store.write():
            world.store.rule(rows[0].seq, Verdict.COUNTS, readable=False)
        assert world.store.rerulings() == before
        with world.store.write():
            world.store.rule(rows[0].seq, Verdict.VOID, readable=True)
        assert world.store.rerulings() == before + 1
        assert [seq for seq, *_ in world.store.ids(control=False, verdict=Verdict.VOID)] == [rows[0].seq]

    def test_parcels_are_entries_as_they_came(self, world: World) -> None:
        """Envelope and bodies in the order asked for; None where one has not come or was erased; late ones too."""
        made = mixed(world)
        rows = [world.add(one) for one in made]
        late = world.maker.body(made[2], 1)
        with world.store.write():
            world.store.put_body(rows[2].seq, 1, late)
            world.store.erase_bodies([(rows[2].seq, 2)])
        (third, first) = world.store.parcels([rows[2].seq, rows[0].seq])
        assert third == (made[2].id, made[2].row.envelope, [made[2].bodies[0], late, None])
        assert first == (made[0].id, made[0].row.envelope, list(made[0].bodies))

    def test_twins_are_told_for_many(self, world: World) -> None:
        """Only pairs that are there."""
        row = world.add(world.maker.entry(1))
        there, other = (row.author, row.at), (row.author, row.at + 1)
        assert world.store.twinned([there, other, (world.maker.key(9), row.at)]) == {there}

    def test_taken_names_are_told_for_many(self, world: World) -> None:
        """Versions whose record id or key is taken, and entries that something names."""
        group = b"g" * 16
        row = world.say(group=group)
        lone = world.say()
        entry = world.store.entry_at(row.seq)
        same, free = version(entry, 1, record=lone.record), version(entry, 2)
        assert world.store.crowded([version(entry, 3, group=group), same, free]) == [True, True, False]
        with world.store.write():
            world.store.add_namings([NamingRow(VersionId(entry.id, 0), Naming.FORGET, lone.seq, 0)])
        other = world.store.entry_at(lone.seq)
        assert world.store.named([entry.id, other.id]) == {entry.id}

    def test_what_names_an_entry_that_is_not_here_names_it_when_it_comes(self, world: World) -> None:
        """Whether it comes alone or among others; acts of other entries are named as before."""
        maker = world.maker
        alone, among, never = (
            maker.entry(1, acts=2),
            maker.entry(2),
            EntryId(maker.founding.id[:4] + bytes(32)),
        )
        by = world.say()
        rows = [
            NamingRow(VersionId(alone.id, 1), Naming.FORGET, by.seq, 0),
            NamingRow(VersionId(among.id, 0), Naming.ARCHIVE, by.seq, 1),
            NamingRow(VersionId(never, 0), Naming.OVER, by.seq, 1),
            NamingRow(world.store.version_id(by), Naming.FEEDBACK, by.seq, 2),
        ]
        with world.store.write():
            world.store.add_namings(rows)
        ids = [alone.id, among.id, never, maker.founding.id]
        for step in range(3):
            assert world.store.named(ids) == set(ids[:3])
            assert world.store.namings([row.target for row in rows]) == rows
            assert set(world.store.namings_by(by.seq)) == set(rows)
            assert list(world.store.archive_acts()) == [rows[1]]
            assert world.store.check() == []
            if step == 0:
                world.add(alone)
            elif step == 1:
                with world.store.write():
                    more = [maker.entry(3), among, maker.entry(3)]
                    world.store.add_entries([one.row for one in more], [one.bodies for one in more])
        with world.store.write():
            world.store.reset_derived()
        assert world.store.named(ids) == set()
