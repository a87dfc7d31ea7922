"""A random walk over a bank store, compared at each look with `MemoryStore`.

```python
from muniment.testing.store_machine import StoreMachine

class Machine(StoreMachine):
    def open_store(self, folder, bank, again):
        path = folder / "bank.db"
        return SqliteStore.open(path) if again else SqliteStore.create(path, bank, salt=b"memory")

TestMachine = Machine.TestCase
```
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, precondition, rule

from muniment.base.ids import BankId, EntryId, VersionId
from muniment.store.base import BankStore, Filter, Naming, NamingRow, State, ValueRow, Verdict
from muniment.store.memory import MemoryStore
from muniment.testing.store_rows import Made, Maker, everything, version

_FILTERS = (
    Filter(facets=(1,)),
    Filter(facets=(1, 2), states=frozenset(State)),
    Filter(session="s1", tool=False),
    Filter(states=frozenset([State.FORGOTTEN, State.VOID])),
    Filter(types=frozenset(["skill"]), recalled=False),
)


class _Undone(Exception):
    pass


class StoreMachine(RuleBasedStateMachine):
    """Subclass it and say how the store is opened; writes may fail half-way, and the store may be reopened."""

    made: Bundle[Made] = Bundle("made")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="store-machine-"))
        self.maker = Maker()
        self.model: BankStore = MemoryStore(self.maker.bank)
        self.store = self.open_store(self.folder, self.maker.bank, False)
        self.stored: list[Made] = []
        self.versions = 0

    def open_store(self, folder: Path, bank: BankId, again: bool) -> BankStore:
        """The store under test, new and empty, or `again` as it was left; its salt is `b"memory"`."""
        raise NotImplementedError

    def both(self, call: Callable[[BankStore], Any], *, undone: bool = False) -> Any:
        """Do the same to the store and to the model, and compare what comes back."""
        results = [self._one(store, call, undone) for store in (self.store, self.model)]
        assert results[0] == results[1]
        return results[0]

    @staticmethod
    def _one(store: BankStore, call: Callable[[BankStore], Any], undone: bool) -> Any:
        result = None
        try:
            with store.write():
                result = call(store)
                if undone:
                    raise _Undone
        except _Undone:
            pass
        return result

    @initialize(target=made)
    def found(self) -> Made:
        """Store the founding entry."""
        founding = self.maker.founding
        self.both(lambda store: store.add_entry(founding.row, founding.bodies))
        self.stored.append(founding)
        return founding

    @rule(
        target=made,
        author=st.integers(0, 2),
        prev=st.lists(made, max_size=3),
        acts=st.integers(0, 3),
        here=st.lists(st.booleans(), max_size=3),
        local=st.booleans(),
        keep=st.booleans(),
        undone=st.booleans(),
    )
    def add_entry(
        self,
        author: int,
        prev: list[Made],
        acts: int,
        here: list[bool],
        local: bool,
        keep: bool,
        undone: bool,
    ) -> Made:
        """Make an entry; store it now, or leave it to arrive after its children."""
        ids: list[EntryId] = [one.id for one in prev]
        made = self.maker.entry(author, ids, acts=acts, here=here, local=local)
        if keep:
            self.both(lambda store: store.add_entry(made.row, made.bodies), undone=undone)
            if not undone:
                self.stored.append(made)
        return made

    @rule(made=made)
    def arrive(self, made: Made) -> None:
        """Store an entry that was made earlier."""
        if made not in self.stored:
            self.both(lambda store: store.add_entry(made.row, made.bodies))
            self.stored.append(made)

    @rule(data=st.data(), verdict=st.sampled_from(Verdict), readable=st.booleans(), undone=st.booleans())
    def rule_on(self, data: st.DataObject, verdict: Verdict, readable: bool, undone: bool) -> None:
        """Change a verdict."""
        seq = data.draw(st.integers(1, len(self.stored)))
        self.both(lambda store: store.rule(seq, verdict, readable), undone=undone)

    @rule(data=st.data(), act=st.integers(0, 2), undone=st.booleans())
    def erase_or_fetch(self, data: st.DataObject, act: int, undone: bool) -> None:
        """Erase a body that is here, or put one that is not."""
        made = data.draw(st.sampled_from(self.stored))
        if act >= len(made.bodies):
            return
        seq = self.model.seq_of(made.id) or 0
        if self.model.bodies([(seq, act)])[0] is None:
            body = self.maker.body(made, act)
            self.both(lambda store: store.put_body(seq, act, body), undone=undone)
        else:
            self.both(lambda store: store.erase_bodies([(seq, act)]), undone=undone)

    @rule(
        data=st.data(),
        facets=st.lists(st.integers(1, 3) | st.just(-(1 << 63)), max_size=3),
        group=st.sampled_from([None, b"a" * 16, b"b" * 16]),
        session=st.sampled_from([None, "s1", "\ud800"]),
        kind=st.sampled_from(["note", "skill"]),
        tool=st.booleans(),
        undone=st.booleans(),
    )
    def add_version(
        self,
        data: st.DataObject,
        facets: list[int],
        group: bytes | None,
        session: str | None,
        kind: str,
        tool: bool,
        undone: bool,
    ) -> None:
        """Add a version for an act that has none."""
        made = data.draw(st.sampled_from(self.stored))
        act = data.draw(st.integers(0, 2))
        if act >= len(made.bodies) or self.model.version_at(VersionId(made.id, act)):
            return

        def call(store: BankStore) -> Any:
            entry = store.entry(made.id)
            assert entry is not None
            number = 0 if session is None else store.session_number(session, create=True)
            created = data.draw(st.integers(0, 3)) if store is self.store else self._created
            self._created = created
            row = version(entry, act, group=group, session=number, type=kind, tool=tool, created=created)
            return store.add_versions([row], [facets])

        self.both(call, undone=undone)

    _created = 0

    @precondition(lambda self: self.model.watermark().last_ord > 0)
    @rule(
        data=st.data(),
        state=st.sampled_from(State),
        ended=st.none() | st.integers(0, 1 << 60),
        undone=st.booleans(),
    )
    def set_state(self, data: st.DataObject, state: State, ended: int | None, undone: bool) -> None:
        """Change a version's state."""
        rows = list(self.model.versions_after(0, self.model.watermark().last_ord))
        if rows:
            row = data.draw(st.sampled_from(rows))
            self.both(lambda store: store.set_state(row.ord, state, ended), undone=undone)

    @rule(
        data=st.data(), named=made, act=st.integers(0, 2), kind=st.sampled_from(Naming), undone=st.booleans()
    )
    def name(self, data: st.DataObject, named: Made, act: int, kind: Naming, undone: bool) -> None:
        """Name a version, here or not, and set a value."""
        seq = data.draw(st.integers(1, len(self.stored)))
        naming = NamingRow(VersionId(named.id, act), kind, seq, 1)

        def call(store: BankStore) -> None:
            store.add_namings([naming, naming])
            store.add_values([ValueRow("ref", "name", seq, act), ValueRow("bank", f"n{act}", seq, 0)])

        self.both(call, undone=undone)

    @rule(undone=st.booleans())
    def reset(self, undone: bool) -> None:
        """Empty the derived tables."""
        self.both(lambda store: store.reset_derived(), undone=undone)

    @rule()
    def reopen(self) -> None:
        """Close the store and open it again."""
        self.store.close()
        self.store = self.open_store(self.folder, self.maker.bank, True)

    @rule()
    def look(self) -> None:
        """Both say the same."""
        with self.store.read():
            seen = everything(self.store, self.maker, _FILTERS)
        expected = everything(self.model, self.maker, _FILTERS)
        for name, value in expected.items():
            assert seen[name] == value, name

    def teardown(self) -> None:
        """Both say the same, and neither finds anything wrong with itself."""
        try:
            if self.stored:
                self.look()
                assert (self.store.check(), self.model.check()) == ([], [])
        finally:
            self.store.close()
            shutil.rmtree(self.folder)
