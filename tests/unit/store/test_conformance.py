"""The two stores of the package under the public suite, and the random walk of one against the other."""

from pathlib import Path

import pytest
from hypothesis import settings

from muniment.base.ids import BankId
from muniment.store.base import BankStore
from muniment.store.memory import MemoryStore
from muniment.store.sqlite import SqliteStore
from muniment.testing.store_machine import StoreMachine
from muniment.testing.store_many import ManySuite
from muniment.testing.store_shelves import ShelfSuite
from muniment.testing.store_vectors import VectorSuite
from muniment.testing.stores import StoreSuite


class TestSqlite(StoreSuite):
    def make(self, folder: Path, bank: BankId) -> BankStore:
        return SqliteStore.create(folder / "bank.db", bank)


class TestMemory(StoreSuite):
    def make(self, folder: Path, bank: BankId) -> BankStore:
        return MemoryStore(bank)


class TestSqliteVectors(VectorSuite):
    def make(self, folder: Path, bank: BankId) -> BankStore:
        return SqliteStore.create(folder / "bank.db", bank)


class TestMemoryVectors(VectorSuite):
    def make(self, folder: Path, bank: BankId) -> BankStore:
        return MemoryStore(bank)


class TestSqliteMany(ManySuite):
    def make(self, folder: Path, bank: BankId) -> BankStore:
        return SqliteStore.create(folder / "bank.db", bank)


class TestMemoryMany(ManySuite):
    def make(self, folder: Path, bank: BankId) -> BankStore:
        return MemoryStore(bank)


class _Machine(StoreMachine):
    def open_store(self, folder: Path, bank: BankId, again: bool) -> BankStore:
        path = folder / "bank.db"
        return SqliteStore.open(path) if again else SqliteStore.create(path, bank, salt=b"memory")


@pytest.mark.filterwarnings("error")
class TestRandomWalk(_Machine.TestCase):
    settings = settings(max_examples=25, stateful_step_count=30)


class TestSqliteShelves(ShelfSuite):
    make = TestSqlite.make


class TestMemoryShelves(ShelfSuite):
    make = TestMemory.make
