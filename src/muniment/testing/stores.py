"""The conformance suite of bank stores: subclass `StoreSuite`, say how a store is made, and run it by pytest.

```python
from muniment.testing.stores import StoreSuite

class TestMine(StoreSuite):
    def make(self, folder, bank):
        return MyStore(folder / "bank", bank)
```

Every test ends with `check()`, which must find nothing. A random walk that compares a store with
`MemoryStore` is in `muniment.testing.store_machine`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from muniment.base.errors import InvalidInput, StorageError
from muniment.base.ids import BankId, EntryId, VersionId, cid_of
from muniment.store.base import (
    LIVE_ONLY,
    BankStore,
    Change,
    Filter,
    Naming,
    NamingRow,
    State,
    ValueRow,
    Verdict,
    VersionRow,
    facet,
)
from muniment.testing.ledger import START_MS
from muniment.testing.store_rows import Maker, World, everything, version
from muniment.testing.tools import fixture, raises

ODD_WORDS = ["", "plain", "nul\0inside", "\ud800 half a pair", "عربى\u200f", "🏺", "' OR 1=1 --", "x" * 256]


class Stop(Exception):
    """Raised on purpose inside a write."""


class StoreSuite:
    """What every bank store must do."""

    def make(self, folder: Path, bank: BankId) -> BankStore:
        """A new, empty store of `bank`; `folder` is empty and its own."""
        raise NotImplementedError

    @fixture
    def world(self, tmp_path: Path) -> Iterator[World]:
        """A store to test; it is checked and closed afterwards."""
        maker = Maker()
        world = World(self.make(tmp_path, maker.bank), maker)
        yield world
        assert world.store.check() == []
        world.store.close()
        world.store.close()

    # Transactions

    def test_an_exception_undoes_all_of_a_write(self, world: World) -> None:
        """Entries, bodies, tips, versions, facets, states, namings, values, sessions and marks come back."""
        row = world.say(facets=(7,), group=b"g" * 16)
        before = everything(world.store, world.maker, [Filter(facets=(7,)), Filter(facets=(8,))])
        made = world.maker.entry(1, [row_id(world, row), cid_of(b"elsewhere")], acts=2, here=[True, False])
        with raises(Stop), world.store.write():
            seq = world.store.add_entry(made.row, made.bodies)
            world.store.rule(row.seq, Verdict.VOID, False)
            world.store.erase_bodies([(row.seq, 0)])
            world.store.put_body(seq, 1, b"x" * 300)
            session = world.store.session_number("s", create=True)
            world.store.add_versions([version(world.store.entry_at(seq), session=session)], [[7, 8]])
            world.store.set_state(row.ord, State.FORGOTTEN, 5)
            world.store.add_namings([NamingRow(VersionId(made.id, 0), Naming.FORGET, seq, 1)])
            world.store.add_values([ValueRow("ref", "name", seq, 0)])
            world.store.reset_derived()
            raise Stop
        assert everything(world.store, world.maker, [Filter(facets=(7,)), Filter(facets=(8,))]) == before
        world.say(author=1)

    def test_a_nested_write_is_part_of_the_outer_one(self, world: World) -> None:
        """Leaving an inner write commits nothing; leaving the outer one by an exception undoes both."""
        made = world.maker.entry()
        with raises(Stop), world.store.write():
            with world.store.write():
                world.store.add_entry(made.row, made.bodies)
            raise Stop
        assert world.store.seq_of(made.id) is None

    def test_half_of_a_write_is_never_kept(self, world: World) -> None:
        """An inner write that failed fails the outer one, even if the error was caught on the way."""
        first, second = world.maker.entry(), world.maker.entry()
        with raises(StorageError), world.store.write():
            world.store.add_entry(first.row, first.bodies)
            with raises(Stop), world.store.write():
                world.store.add_entry(second.row, second.bodies)
                raise Stop
        assert world.store.seq_of(first.id) is None
        world.add(first)

    def test_rows_change_only_inside_a_write(self, world: World) -> None:
        """Each method that changes something refuses to outside of `write()`, and inside of a bare `read()`."""
        row = world.say()
        made = world.maker.entry()
        calls = [
            lambda: world.store.add_entry(made.row, made.bodies),
            lambda: world.store.rule(1, Verdict.VOID, True),
            lambda: world.store.put_body(1, 9, b"x"),
            lambda: world.store.erase_bodies([(row.seq, 0)]),
            lambda: world.store.add_versions([version(world.store.entry_at(1))], [[]]),
            lambda: world.store.set_state(row.ord, State.VOID, None),
            lambda: world.store.add_namings([]),
            lambda: world.store.add_values([]),
            lambda: world.store.session_number("new", create=True),
            world.store.reset_derived,
        ]
        for call in calls:
            with raises(StorageError):
                call()
            with world.store.read(), raises(StorageError):
                call()
        with world.store.read(), world.store.read(), raises(StorageError), world.store.write():
            pass
        with world.store.write(), world.store.read():
            world.store.rule(1, Verdict.COUNTS, True)

    def test_another_thread_sees_what_was_committed(self, world: World) -> None:
        """A thread reads what another thread wrote, and writes itself."""
        made = world.maker.entry()
        seen: list[int | None] = []

        def work() -> None:
            seen.append(world.store.seq_of(world.maker.founding.id))
            world.add(made)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert seen == [1]
        assert world.store.seq_of(made.id) == 2

    def test_a_closed_store_says_so(self, tmp_path: Path) -> None:
        """After `close` a call is a named error."""
        maker = Maker()
        store = self.make(tmp_path, maker.bank)
        store.close()
        with raises(StorageError), store.write():
            pass

    # Entries and bodies

    def test_an_entry_comes_back_as_it_was_stored(self, world: World) -> None:
        """All columns and bodies of an entry are kept, and its `seq` counts up."""
        made = world.maker.entry(3, [world.maker.founding.id], acts=3, here=[True, False, True], local=False)
        row = world.add(made)
        assert row.seq == 2
        wanted = made.row
        assert (row.id, row.author, row.at, row.prev) == (made.id, wanted.author, wanted.at, wanted.prev)
        assert (row.envelope, row.epoch, row.local) == (
            made.row.envelope,
            (world.maker.founding.id, 1),
            False,
        )
        assert world.store.entry(made.id) == row == world.store.entry_at(2)
        assert world.store.stamps([2, 99]) == world.store.stamps(range(2, 40)) == {2: (row.id, row.epoch)}
        assert world.store.bodies([(2, 0), (2, 1), (2, 2), (3, 0)]) == [*made.bodies, None]
        assert list(world.store.absent()) == [(2, 1, False)]
        assert world.store.seq_of(cid_of(b"none")) is None
        assert world.store.entry(EntryId(cid_of(b"none"))) is None

    def test_an_entry_is_stored_once(self, world: World) -> None:
        """Storing an entry again is an error, and nothing of it is kept."""
        made = world.maker.entry()
        world.add(made)
        with raises(InvalidInput):
            world.add(made)
        assert [row.seq for row in world.store.entries()] == [1, 2]

    def test_entries_are_listed_by_what_they_are(self, world: World) -> None:
        """Control, verdict, author and `after` narrow the list; verdicts can be changed."""
        rows = [world.add(world.maker.entry(n % 2, acts=n % 3)) for n in range(6)]
        with world.store.write():
            world.store.rule(rows[2].seq, Verdict.WAITING, True)
            world.store.rule(rows[3].seq, Verdict.VOID, False)
        listed = [row.seq for row in world.store.entries(control=True)]
        assert listed == [1, rows[0].seq, rows[3].seq]
        assert [row.seq for row in world.store.entries(verdict=Verdict.WAITING)] == [rows[2].seq]
        assert [row.readable for row in world.store.entries(verdict=Verdict.VOID)] == [False]
        assert [row.seq for row in world.store.entries(author=world.maker.key(1), after=rows[2].seq)] == [
            rows[3].seq,
            rows[5].seq,
        ]

    def test_the_list_may_be_written_to_while_it_is_read(self, world: World) -> None:
        """A loop over entries goes on when they are ruled on and others are added."""
        for _ in range(3):
            world.add(world.maker.entry())
        seen = []
        for row in world.store.entries():
            seen.append(row.seq)
            if row.seq <= 2:
                world.add(world.maker.entry(1))
        assert seen[:4] == [1, 2, 3, 4]

    def test_twins_share_author_and_clock(self, world: World) -> None:
        """Entries by one author at one clock value are found, signed here or not."""
        one = world.add(world.maker.entry(1, at_ms=START_MS + 5))
        two = world.add(world.maker.entry(1, at_ms=START_MS + 5, local=False))
        world.add(world.maker.entry(2, at_ms=START_MS + 5))
        assert [row.seq for row in world.store.twins(one.author, one.at)] == [one.seq, two.seq]

    def test_last_at_is_the_greatest_up_to_a_bound(self, world: World) -> None:
        """Own and foreign entries count alike; those beyond the bound do not."""
        assert world.store.last_at(0) == 0
        own = world.add(world.maker.entry())
        foreign = world.add(world.maker.entry(1, at_ms=START_MS + 10**6, local=False))
        far = world.add(world.maker.entry(1, at_ms=START_MS + 10**9, local=False))
        assert world.store.last_at(far.at) == far.at
        assert world.store.last_at(far.at - 1) == foreign.at
        assert world.store.last_at(foreign.at - 1) == own.at

    def test_tips_do_not_depend_on_the_order_of_arrival(self, world: World) -> None:
        """A fork and a join, child before parent: tips are those that the same author does not name."""
        root = world.maker.entry(1)
        left, right = world.maker.entry(1, [root.id]), world.maker.entry(1, [root.id])
        join = world.maker.entry(1, [left.id, right.id])
        other = world.maker.entry(2, [join.id])
        world.add(join)
        world.add(other)
        assert world.store.wanted() == {left.id, right.id}
        assert world.store.tips(world.maker.key(1)) == (join.id,)
        world.add(left)
        assert world.store.wanted() == {right.id, root.id}
        world.add(root)
        world.add(right)
        assert world.store.wanted() == frozenset()
        assert world.store.tips(world.maker.key(1)) == (join.id,)
        assert world.store.tips(world.maker.key(2)) == (other.id,)
        assert world.store.tips(world.maker.key(77)) == ()

    def test_a_body_may_come_later_and_be_erased(self, world: World) -> None:
        """A missing body is listed until it comes; an erased one is gone and can come again."""
        made = world.maker.entry(acts=2, here=[False, True])
        row = world.add(made)
        body = world.maker.body(made, 0)
        with world.store.write():
            world.store.put_body(row.seq, 0, body)
        assert list(world.store.absent()) == []
        with world.store.write():
            with raises(InvalidInput):
                world.store.put_body(row.seq, 0, body)
            world.store.erase_bodies([(row.seq, 0), (row.seq, 1), (row.seq, 1)])
        assert world.store.bodies([(row.seq, 0), (row.seq, 1)]) == [None, None]
        assert list(world.store.absent()) == [(row.seq, 0, True), (row.seq, 1, True)]
        with world.store.write():
            world.store.put_body(row.seq, 0, body)
            world.store.erase_bodies([(row.seq, 0)])
            world.store.put_body(row.seq, 0, body)
        assert world.store.bodies([(row.seq, 0)]) == [body]

    def test_many_bodies_in_the_order_asked_for(self, world: World) -> None:
        """A long list of places, with repeats, comes back in its order."""
        made = world.maker.entry(acts=40)
        row = world.add(made)
        places = [(row.seq, act) for act in reversed(range(40))] * 2
        assert world.store.bodies(places) == list(reversed(made.bodies)) * 2

    # Versions and what names them

    def test_versions_are_numbered_densely(self, world: World) -> None:
        """Numbers count up from 1; a write undone gives its numbers back, a reset never does."""
        first, second = world.say(), world.say()
        with raises(Stop), world.store.write():
            world.store.add_versions([version(world.store.entry_at(1))], [[]])
            raise Stop
        assert (first.ord, second.ord, world.say().ord) == (1, 2, 3)
        with world.store.write():
            world.store.set_state(3, State.FORGOTTEN, None)
            world.store.reset_derived()
            ords = world.store.add_versions([version(world.store.entry_at(first.seq))], [[]])
            world.store.set_state(4, State.FORGOTTEN, None)
        assert ords == [4]
        assert world.store.watermark() == (4, 2, 2)
        assert world.store.changes(0, 9) == [Change(2, 4, State.FORGOTTEN)]

    def test_a_version_is_found_by_each_of_its_names(self, world: World) -> None:
        """By number, place, record, group and write digest."""
        row = world.say(group=b"g" * 16, type="skill", tool=True, ended=9, created=-5)
        other = world.say(record=row.record, write=row.write)
        assert world.store.versions([other.ord, 99, row.ord]) == [other, row]
        assert list(world.store.versions_after(0, 1)) == [row]
        assert world.store.version_at(world.store.version_id(row)) == row
        assert world.store.version_at(VersionId(EntryId(cid_of(b"none")), 0)) is None
        assert world.store.of_record(row.record) == [row, other]
        assert world.store.of_write(row.write) == [row, other]
        assert world.store.of_group(b"g" * 16) == [row]
        assert (row.type, row.tool, row.ended, row.created) == ("skill", True, 9, -5)

    def test_an_act_is_one_version_at_most(self, world: World) -> None:
        """A second version for the same act is refused."""
        row = world.say()
        with raises(InvalidInput), world.store.write():
            world.store.add_versions([version(world.store.entry_at(row.seq))], [[]])

    def test_a_changed_state_is_noted(self, world: World) -> None:
        """Counts, live members of a group, and the list of changes follow a state."""
        with world.store.write():
            session = world.store.session_number("talk", create=True)
        rows = [world.say(group=b"k" * 16, session=session) for _ in range(3)]
        with world.store.write():
            world.store.set_state(rows[0].ord, State.SUPERSEDED, rows[1].at)
            world.store.set_state(rows[1].ord, State.ERASED, rows[2].at)
            world.store.set_state(rows[0].ord, State.FORGOTTEN, None)
        assert world.store.counts() == {State.LIVE: 1, State.FORGOTTEN: 1, State.ERASED: 1}
        assert [row.ord for row in world.store.of_group(b"k" * 16, live=True)] == [rows[2].ord]
        assert world.store.changes(1, 3) == [Change(2, 2, State.ERASED), Change(3, 1, State.FORGOTTEN)]
        with raises(InvalidInput), world.store.write():
            world.store.set_state(99, State.VOID, None)

    def test_namings_are_found_from_both_ends(self, world: World) -> None:
        """By what is named, also before it is here, and by what names; the same naming twice is one."""
        row = world.say()
        target, unknown = world.store.version_id(row), VersionId(EntryId(cid_of(b"later")), 3)
        rows = [NamingRow(target, Naming.FORGET, row.seq, 0), NamingRow(unknown, Naming.OVER, row.seq, 1)]
        with world.store.write():
            world.store.add_namings([*rows, rows[0]])
        assert world.store.namings([unknown, target]) == [rows[1], rows[0]]
        assert world.store.namings_by(row.seq) == rows
        assert world.store.namings_by(row.seq, 1) == [rows[1]]
        assert world.store.namings_by(99) == []

    def test_any_words_name_values_and_sessions(self, world: World) -> None:
        """NUL, half surrogate pairs, other scripts and SQL are words like others."""
        with world.store.write():
            numbers = [world.store.session_number(words, create=True) for words in ODD_WORDS]
            world.store.add_values([ValueRow(words, words, 1, n) for n, words in enumerate(ODD_WORDS)])
        assert len(set(numbers)) == len(ODD_WORDS)
        assert 0 not in numbers
        assert world.store.session_names([*numbers, 0, 99]) == dict(zip(numbers, ODD_WORDS, strict=True))
        assert [world.store.session_number(words, create=False) for words in ODD_WORDS] == numbers
        assert world.store.session_number("unknown", create=False) == 0
        for n, words in enumerate(ODD_WORDS):
            assert world.store.values(words) == [ValueRow(words, words, 1, n)]
            assert world.store.values(words, words) == world.store.values(words)
            assert world.store.values(words, "other") == []

    # Filters

    def test_each_filter_holds(self, world: World) -> None:
        """Every field of a filter keeps what it says, alone and together, in both ways of asking."""
        with world.store.write():
            session = world.store.session_number("talk", create=True)
        red, big = (facet(world.store.salt, "tag", "", word) for word in ("red", "big"))
        rows = [
            world.say(facets=(red,), created=100),
            world.say(facets=(red, big), created=300, type="skill", tool=True),
            world.say(author=1, created=200, session=session, recalled=True),
            world.say(author=2, created=200, state=State.FORGOTTEN),
        ]
        cases: list[tuple[Filter, set[int]]] = [
            (LIVE_ONLY, {0, 1, 2}),
            (Filter(facets=(red,)), {0, 1}),
            (Filter(facets=(big, red)), {1}),
            (Filter(facets=(red + 1,)), set()),
            (Filter(authors=frozenset([world.maker.key(0), world.maker.key(50)])), {0, 1}),
            (Filter(authors=frozenset()), set()),
            (Filter(not_authors=frozenset([world.maker.key(1)])), {0, 1}),
            (Filter(types=frozenset(["skill", "bullet"])), {1}),
            (Filter(tool=True), {1}),
            (Filter(tool=False, recalled=False), {0}),
            (Filter(recalled=True), {2}),
            (Filter(session="talk"), {2}),
            (Filter(session="unknown"), set()),
            (Filter(since=200), {1, 2}),
            (Filter(until=200), {0}),
            (Filter(since=100, until=300, facets=(red,)), {0}),
            (Filter(states=frozenset([State.FORGOTTEN])), {3}),
            (Filter(states=frozenset()), set()),
            (Filter(states=frozenset(State)), {0, 1, 2, 3}),
        ]
        for wanted, expected in cases:
            ords = [rows[n].ord for n in sorted(expected)]
            assert world.store.select(wanted) == ords, wanted
            newest = world.store.newest(wanted, 10)
            assert sorted(row.ord for row in newest) == ords, wanted
            assert newest == sorted(newest, key=lambda row: (-row.created, -row.at, -row.ord))
            assert world.store.newest(wanted, 1, 1) == newest[1:2]

    def test_as_of_shows_what_was_live_then(self, world: World) -> None:
        """A clock value before the end of a version finds it; what is void or erased is not shown."""
        rows = [world.say() for _ in range(4)]
        with world.store.write():
            world.store.set_state(rows[0].ord, State.SUPERSEDED, rows[1].at)
            world.store.set_state(rows[2].ord, State.ERASED, rows[3].at)
            world.store.set_state(rows[3].ord, State.VOID, None)
        moments = [[row.ord for row in rows[: n + 1]] for n in range(4)]
        shown = [world.store.select(Filter(as_of=row.at, states=frozenset())) for row in rows]
        assert moments[0] == [1] == shown[0]
        assert shown[1:] == [[2], [2], [2]]
        assert world.store.select(Filter(as_of=rows[1].at - 1)) == [1]
        assert world.store.newest(Filter(as_of=rows[0].at), 5)[0].ord == 1

    def test_equal_times_have_an_order_too(self, world: World) -> None:
        """The newest stand by time, clock and number."""
        with world.store.write():
            session = world.store.session_number("talk", create=True)
            row = world.add(world.maker.entry(acts=3))
            acts = [
                version(row, act, session=session, created=created) for act, created in enumerate((7, 5, 7))
            ]
            world.store.add_versions(acts, [[], [], []])
        assert [found.ord for found in world.store.newest(LIVE_ONLY, 9)] == [3, 1, 2]

    def test_figures_count(self, world: World) -> None:
        """Entries, sessions, authors and the oldest live version."""
        assert world.store.figures()[:4] == (1, 0, 1, None)
        world.say(author=1, created=50)
        gone = world.say(author=1, created=10)
        with world.store.write():
            world.store.session_number("talk", create=True)
            world.store.set_state(gone.ord, State.FORGOTTEN, 1)
        assert world.store.figures()[:4] == (3, 1, 2, 50)

    def test_a_reset_keeps_entries_and_bodies(self, world: World) -> None:
        """Derived tables are empty, the generation is another, and entries are as they were."""
        row = world.say(facets=(1,))
        with world.store.write():
            world.store.session_number("talk", create=True)
            world.store.reset_derived()
        assert world.store.watermark() == (1, 0, 2)
        assert (world.store.counts(), world.store.select(Filter(facets=(1,)))) == ({}, [])
        assert world.store.session_number("talk", create=False) == 0
        assert world.store.bodies([(row.seq, 0)])[0] is not None
        assert len(list(world.store.entries())) == 2


def row_id(world: World, row: VersionRow) -> EntryId:
    """The id of a version's entry."""
    return world.store.version_id(row).entry
