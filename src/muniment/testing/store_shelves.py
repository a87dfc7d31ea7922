"""What every bank store must do for the archive: subclass `ShelfSuite` as `muniment.testing.stores` shows."""

from __future__ import annotations

from muniment.base.errors import StorageError
from muniment.base.ids import EntryId
from muniment.store.base import Filter, Naming, NamingRow
from muniment.store.shelf import Shelf
from muniment.testing.store_rows import World
from muniment.testing.stores import Stop, StoreSuite
from muniment.testing.tools import raises


class ShelfSuite:
    """Bodies are let go and put back, and versions are on the shelf or not."""

    make = StoreSuite.make
    world = StoreSuite.world

    def test_a_body_that_was_let_go_is_neither_here_nor_missing(self, world: World) -> None:
        """It is listed as released alone; put back, it is as before."""
        row, other = world.say(), world.say()
        place = (row.seq, row.act)
        (body,) = world.store.bodies([place])
        assert body is not None
        with world.store.write():
            world.store.release_bodies([place])
            world.store.release_bodies([place])
        assert world.store.bodies([place, (other.seq, 0)])[0] is None
        assert world.store.bodies([(other.seq, 0)])[0] is not None
        assert list(world.store.released()) == [place]
        assert list(world.store.released(after=place)) == []
        assert place not in [(seq, act) for seq, act, _ in world.store.absent()]
        assert world.store.figures().released == 1
        with world.store.write():
            world.store.put_body(*place, body)
        assert world.store.bodies([place]) == [body]
        assert list(world.store.released()) == []

    def test_the_first_time_that_an_erase_was_known_stays(self, world: World) -> None:
        """A later one changes nothing, and what is taken back with its transaction is not noted."""
        one, other = EntryId(b"1" * 32), EntryId(b"2" * 32)
        assert world.store.orders() == {}
        with world.store.write():
            world.store.note_orders({one: 5})
            world.store.note_orders({one: 3, other: 7})
        assert world.store.orders() == {one: 5, other: 7}
        with raises(Stop), world.store.write():
            world.store.note_orders({EntryId(b"3" * 32): 9})
            raise Stop
        assert world.store.orders() == {one: 5, other: 7}

    def test_a_missing_body_can_be_let_go_and_a_released_one_erased(self, world: World) -> None:
        """Each place is in one list at a time."""
        made = world.maker.entry(0, world.store.tips(world.maker.key(0)), acts=2, here=[True, False])
        seq = world.add(made).seq
        with world.store.write():
            world.store.release_bodies([(seq, 1)])
        assert list(world.store.released()) == [(seq, 1)]
        assert list(world.store.absent()) == []
        with world.store.write():
            world.store.erase_bodies([(seq, 1)])
        assert list(world.store.released()) == []
        assert list(world.store.absent()) == [(seq, 1, True)]

    def test_letting_go_is_undone_with_its_write(self, world: World) -> None:
        """An exception brings body, shelf and lists back."""
        row = world.say()
        before = world.store.bodies([(row.seq, 0)])
        with raises(Stop), world.store.write():
            world.store.release_bodies([(row.seq, 0)])
            world.store.shelve(row.ord, Shelf(True, False))
            raise Stop
        assert world.store.bodies([(row.seq, 0)]) == before
        assert list(world.store.released()) == []
        assert world.store.shelves([row.ord]) == {}

    def test_the_shelf_is_kept_filtered_and_counted(self, world: World) -> None:
        """What was noted last holds; nothing to note takes the row out; a rebuild empties it."""
        one, two, three = (world.say() for _ in range(3))
        with world.store.write():
            world.store.shelve(one.ord, Shelf(True, False))
            world.store.shelve(two.ord, Shelf(True, True))
            world.store.shelve(three.ord, Shelf(False, True))
        ords = [one.ord, two.ord, three.ord, 99]
        assert world.store.shelves(ords) == {
            one.ord: (True, False), two.ord: (True, True), three.ord: (False, True),
        }  # fmt: skip
        assert world.store.select(Filter(archived=True)) == [one.ord, two.ord]
        assert world.store.select(Filter(archived=False)) == [three.ord]
        assert [row.ord for row in world.store.newest(Filter(archived=False), 9)] == [three.ord]
        assert world.store.figures().archived == 2
        with world.store.write():
            world.store.shelve(one.ord, Shelf(False, False))
        assert set(world.store.shelves(ords)) == {two.ord, three.ord}
        with world.store.write():
            world.store.reset_derived()
        assert world.store.shelves(ords) == {}

    def test_archive_acts_are_listed_in_order(self, world: World) -> None:
        """Each act that names a version to archive it, and no other act."""
        row = world.say()
        version = world.store.version_id(row)
        rows = [NamingRow(version, Naming.ARCHIVE, row.seq, act) for act in (3, 1)]
        with world.store.write():
            world.store.add_namings([*rows, NamingRow(version, Naming.FORGET, row.seq, 2)])
        assert list(world.store.archive_acts()) == sorted(rows, key=lambda naming: naming.act)

    def test_compacting_changes_nothing_that_can_be_read(self, world: World) -> None:
        """Bodies that are here stay, those that are gone stay gone; it is refused inside a write."""
        rows = [world.say() for _ in range(20)]
        places = [(row.seq, 0) for row in rows]
        bodies = world.store.bodies(places)
        with world.store.write():
            world.store.release_bodies(places[::2])
            world.store.erase_bodies(places[1:2])
        world.store.compact()
        world.store.compact()
        kept = world.store.bodies(places)
        assert kept[3::2] == bodies[3::2]
        assert not any(kept[::2])
        assert kept[1] is None
        assert world.store.figures().dead_bytes == 0
        with world.store.write():
            world.store.put_body(*places[0], bodies[0] or b"")
        assert world.store.bodies(places[:1]) == bodies[:1]

    def test_rows_of_the_archive_change_only_inside_a_write(self, world: World) -> None:
        """Outside of one, each method refuses."""
        row = world.say()
        with raises(StorageError):
            world.store.release_bodies([(row.seq, 0)])
        with raises(StorageError):
            world.store.shelve(row.ord, Shelf(True, False))
