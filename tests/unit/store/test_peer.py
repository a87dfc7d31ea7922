"""`peer.db`: agents, banks, names and values of one installation."""

import threading
from pathlib import Path

import pytest

from muniment.base.errors import InvalidInput, StorageError, StoreReadOnly
from muniment.base.ids import BankId, cid_of
from muniment.store.connection import Connections
from muniment.store.peer import AgentRow, BankRow, PeerStore

KEY, OTHER, OWNER = b"k" * 32, b"o" * 32, b"w" * 32
BANK, SHARED = BankId(cid_of(b"bank")), BankId(cid_of(b"shared"))


@pytest.fixture
def store(tmp_path: Path):
    """An empty peer file; its pages are checked afterwards."""
    store = PeerStore.open(tmp_path / "peer.db", create=True)
    yield store
    link = store._connections.link()
    assert link.run("PRAGMA integrity_check") == [("ok",)]
    assert link.run("PRAGMA foreign_key_check") == []
    store.close()
    store.close()


def test_an_agent_is_found_by_name_and_key(store: PeerStore) -> None:
    """The name is found in any case, and its bank is on the list."""
    row = store.add_agent("Ada Straße", KEY, BANK, OWNER, 5)
    assert row == AgentRow("Ada Straße", KEY, BANK, OWNER, 5)
    assert store.agent_by_name("ada STRASSE") == store.agent_by_key(KEY) == row
    assert store.agents() == store.agents_of(OWNER) == [row]
    assert store.agents_of(KEY) == []
    assert store.agent_by_name("ada") is None
    assert store.agent_by_name("\ud800") is None
    assert store.agent_by_key(OTHER) is None
    assert store.banks() == [BankRow(BANK, "agent", "Ada Straße", KEY, store.bank(BANK).file, True, 5)]
    assert store.bank(BANK).file.startswith("bafyrei")


def test_a_taken_name_key_or_bank_is_refused(store: PeerStore) -> None:
    """Nothing of a refused agent is kept."""
    store.add_agent("ada", KEY, BANK, OWNER, 5)
    for name, key, bank in [("ADA", OTHER, SHARED), ("bea", KEY, SHARED), ("bea", OTHER, BANK)]:
        with pytest.raises(InvalidInput):
            store.add_agent(name, key, bank, OWNER, 6)
    assert len(store.agents()) == len(store.banks(unlisted=True)) == 1


def test_a_bank_can_be_unlisted_and_listed(store: PeerStore) -> None:
    """A bank off the list is still known, and comes back."""
    store.add_bank(SHARED, "shared", "team", 7)
    with pytest.raises(InvalidInput):
        store.add_bank(SHARED, "shared", "team", 8)
    store.list_bank(SHARED, False)
    assert store.banks() == []
    assert [row.listed for row in store.banks(unlisted=True)] == [False]
    store.list_bank(SHARED, True)
    store.rename_bank(SHARED, "crew")
    assert store.bank(SHARED) == store.banks()[0]
    assert (store.bank(SHARED).name, store.bank(SHARED).agent) == ("crew", None)
    assert store.bank(BANK) is None


def test_names_of_keys(store: PeerStore) -> None:
    """An agent's own name comes before one given to its key; names can be changed and forgotten."""
    store.set_name(KEY, "stranger")
    store.set_name(OTHER, "guest")
    store.set_name(OTHER, "friend")
    assert store.names() == {OTHER: "friend", KEY: "stranger"}
    store.add_agent("ada", KEY, BANK, OWNER, 5)
    assert [store.name_of(key) for key in (KEY, OTHER, OWNER)] == ["ada", "friend", None]
    store.set_name(OTHER, None)
    assert store.name_of(OTHER) is None


def test_values_of_the_installation(store: PeerStore) -> None:
    """Bytes, text and numbers come back as they were; None removes."""
    for value in (b"\0bytes", "text", 7):
        store.set_meta("owner", value)
        assert store.meta("owner") == value
    store.set_meta("owner", None)
    assert store.meta("owner") is None


def test_sealed_keys_of_providers(store: PeerStore) -> None:
    """One for each provider: replaced, listed by name, forgotten."""
    assert (store.credential("openai"), store.credentials()) == (None, [])
    store.set_credential("openai", b"one")
    store.set_credential("lab", b"\0two")
    store.set_credential("openai", b"three")
    assert (store.credential("openai"), store.credential("lab")) == (b"three", b"\0two")
    assert store.credentials() == ["lab", "openai"]
    store.set_credential("openai", None)
    store.set_credential("openai", None)
    assert store.credentials() == ["lab"]


def test_several_calls_are_one_write(store: PeerStore) -> None:
    """An exception undoes all calls inside one `write()`."""

    def fail() -> None:
        with store.write():
            store.set_meta("a", 1)
            store.add_agent("ada", KEY, BANK, OWNER, 5)
            raise StorageError("stop")

    with pytest.raises(StorageError):
        fail()
    assert (store.meta("a"), store.agents(), store.banks()) == (None, [], [])


def test_two_openers_make_one_file(tmp_path: Path) -> None:
    """Threads that all make the file at once end up with the same one, and no draft is left."""
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            store = PeerStore.open(tmp_path / "peer.db", create=True)
            store.set_meta(f"n{number}", number)
            store.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    store = PeerStore.open(tmp_path / "peer.db")
    assert [store.meta(f"n{number}") for number in range(4)] == [0, 1, 2, 3]
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["peer.db"]


def test_a_reader_of_connections_never_writes(store: PeerStore) -> None:
    """The connections under both stores keep a read-only opener from writing."""
    connections = Connections(store.path, busy_ms=100, readonly=True)
    with pytest.raises(StoreReadOnly), connections.write():
        pass
    connections.close()


def test_sessions_attach_banks_once(store: PeerStore) -> None:
    """Attaching and detaching twice change nothing, and sessions of two agents are two, whatever they are called."""
    store.add_bank(SHARED, "shared", "later", 9)
    store.add_bank(BANK, "shared", "first", 5)
    assert store.attached(KEY, "talk") == []
    assert store.attach(KEY, "talk", SHARED, 10) is True
    assert store.attach(KEY, "talk", SHARED, 11) is False
    assert store.attach(KEY, "talk", BANK, 12) is True
    assert [row.name for row in store.attached(KEY, "talk")] == ["first", "later"]
    assert store.attached(OTHER, "talk") == store.attached(KEY, "Talk") == store.attached(KEY, "\ud800") == []
    store.list_bank(BANK, listed=False)
    assert [row.name for row in store.attached(KEY, "talk")] == ["later"]
    store.list_bank(BANK, listed=True)
    assert store.detach(KEY, "talk", SHARED) is True
    assert store.detach(KEY, "talk", SHARED) is False
    assert [row.name for row in store.attached(KEY, "talk")] == ["first"]
    assert store.detach(KEY, "talk", BANK) is True
    link = store._connections.link()
    assert link.run("SELECT * FROM sessions") == link.run("SELECT * FROM attachments") == []
