"""The conformance suite of blob stores: subclass `BlobSuite`, say how a store is made, and run it by pytest.

```python
from muniment.testing.blobs import BlobSuite

class TestMine(BlobSuite):
    def make(self, folder):
        return MyBlobs(folder)

    def damage(self, store, name, data):
        ...  # put other bytes under the name, behind the store's back
```
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from muniment.base.errors import BlobDamaged, InvalidInput, LimitExceeded, UnknownBlob
from muniment.base.ids import BlobName
from muniment.base.limits import LIMITS
from muniment.blobs.base import BlobStore, name_of
from muniment.testing.tools import fixture, parametrize, raises


class BlobSuite:
    """What every place for blobs must do."""

    def make(self, folder: Path) -> BlobStore:
        """A new, empty store; `folder` is empty and its own."""
        raise NotImplementedError

    def damage(self, store: BlobStore, name: BlobName, data: bytes) -> None:
        """Put other bytes under a name, behind the store's back."""
        raise NotImplementedError

    @fixture
    def store(self, tmp_path: Path) -> Iterator[BlobStore]:
        """The store under test."""
        store = self.make(tmp_path)
        yield store
        store.close()
        store.close()

    @parametrize("data", [b"", b"x", bytes(range(256)) * 9000], ids=["none", "one", "many"])
    def test_what_was_put_is_there_under_its_hash(self, store: BlobStore, data: bytes) -> None:
        """Whole, in parts, by size and in the list; putting it again changes nothing."""
        name = store.put(data)
        assert name == name_of(data)
        assert store.put(data) == name
        assert store.get(name) == data
        assert store.has(name)
        assert store.size(name) == len(data)
        assert store.read(name, 0, len(data)) == data
        assert store.read(name, len(data) // 2, len(data) // 4) == data[len(data) // 2 :][: len(data) // 4]
        assert [(info.name, info.size) for info in store.list()] == [(name, len(data))]

    def test_what_is_not_there_is_said_to_be_unknown(self, store: BlobStore) -> None:
        """Each question about a blob that is not here names it; deleting it is no error."""
        name = name_of(b"nobody has this")
        assert not store.has(name)
        assert not store.delete(name)
        for ask in (store.get, store.size, lambda one: store.read(one, 0, 1)):
            with raises(UnknownBlob, match="bafkr4i"):
                ask(name)
        assert list(store.list()) == []

    def test_a_deleted_blob_is_gone(self, store: BlobStore) -> None:
        """And it alone; it can be put again."""
        one, two = store.put(b"one"), store.put(b"two")
        assert store.delete(one)
        assert not store.has(one)
        assert [info.name for info in store.list()] == [two]
        assert store.put(b"one") == one
        assert store.get(one) == b"one"

    def test_a_damaged_blob_is_never_given_out(self, store: BlobStore) -> None:
        """Other bytes, fewer and more of them: an error that says so, and `put` mends it."""
        data = b"the words of a pack" * 40
        name = store.put(data)
        for wrong in (b"X" + data[1:], data[:-1], data + b"!", b""):
            self.damage(store, name, wrong)
            with raises(BlobDamaged, match="bafkr4i"):
                store.get(name)
        with raises(BlobDamaged):
            store.read(name, 0, len(data))
        assert store.put(data) == name
        assert store.get(name) == data

    def test_a_part_beyond_the_end_is_an_error(self, store: BlobStore) -> None:
        """A part that is shorter than asked for is never given out."""
        name = store.put(b"0123456789")
        with raises(BlobDamaged):
            store.read(name, 5, 6)
        assert store.read(name, 10, 0) == b""

    @parametrize("name", [b"", b"short", b"../../../../etc/passwd".ljust(33, b"x"), "text"])
    def test_no_name_leads_out_of_the_store(self, store: BlobStore, name: bytes) -> None:
        """Only 32 bytes are a name; nothing else becomes part of a path."""
        wrong = BlobName(name)
        for ask in (store.get, store.has, store.size, store.delete, lambda one: store.read(one, 0, 1)):
            with raises(InvalidInput):
                ask(wrong)

    def test_what_is_too_large_is_refused(self, store: BlobStore) -> None:
        """Before anything is written."""
        with raises(LimitExceeded):
            store.put(bytes(LIMITS.blob_bytes + 1))
        assert list(store.list()) == []

    def test_threads_put_and_get_at_once(self, store: BlobStore) -> None:
        """The same and different blobs, all whole."""
        wrong: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for step in range(5):
                    data = f"{number % 2} {step}".encode() * 500
                    assert store.get(store.put(data)) == data
            except BaseException as error:  # noqa: BLE001 - told by the test's own thread
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert len(list(store.list())) == 10
