"""A peer: one installation, with its folder, keyring, agents and banks (design sections 2, 6 and 11)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from muniment.agent import Agent
from muniment.archive.options import options as archive_options
from muniment.archive_room import ArchiveRoom
from muniment.bank import Bank, Host
from muniment.base.clock import Clock
from muniment.base.errors import (
    Ambiguous,
    InvalidInput,
    LimitExceeded,
    StorageError,
    UnknownAgent,
    UnknownBank,
)
from muniment.base.ids import BankId, cid_text
from muniment.base.limits import LIMITS
from muniment.config import Settings, load
from muniment.founding import agent_founders, found
from muniment.identity.did import parse_did, to_did
from muniment.keyring.custody import Keyring
from muniment.keyring.journal import Journal
from muniment.platform.clock import SystemClock
from muniment.platform.entropy import Entropy, SystemEntropy
from muniment.platform.folders import PeerFolder, home_path
from muniment.store.base import BankStore, State
from muniment.store.peer import AgentRow, PeerStore
from muniment.store.sqlite import SqliteStore
from muniment.views import AgentInfo

if TYPE_CHECKING:
    from muniment.blob_care import Blobs
    from muniment.credentials import Credentials
    from muniment.doctor import Finding
    from muniment.embed.base import Embedder
    from muniment.meaning import Meaning
    from muniment.session import Session

AGENT_VARIABLE = "MUNIMENT_AGENT"
OWNER = "owner"
DEFAULT_AGENT = "default"
UNSEALED = "file mode"  # keys that nothing but the mode of their file protects


class Peer:
    """One installation. Looking makes nothing; the first write makes the folder, the owner's key and the agent.

    Attributes:
        home: The peer folder.
        archive: Its packs, and who else may have blobs.
    """

    def __init__(
        self,
        home: Path,
        passphrase: Callable[[], str] | None = None,
        *,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        busy_ms: int | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self.home = home
        self.folder = PeerFolder(home)
        settings = load(home)
        self._busy_ms = settings.busy_ms if busy_ms is None else busy_ms
        entropy = entropy or SystemEntropy()
        keyring = Keyring.open(self.folder, passphrase, entropy)
        journal = Journal(self.folder)
        meaning = self._meaning(settings, embedder)
        clock = clock or SystemClock()
        self.archive = ArchiveRoom(self.folder, archive_options(settings.archive), clock)
        self.host = Host(keyring, journal, clock, entropy, settings, meaning, self.archive)
        self._store: PeerStore | None = None
        self._banks: dict[str, Bank] = {}
        self._lock = threading.RLock()

    def _meaning(self, settings: Settings, embedder: Embedder | None) -> Meaning | None:
        """The embedder that is given, or that the settings describe; it is opened when it is needed."""
        block = settings.embedding
        if embedder is None and not block:
            return None
        from muniment.meaning import Meaning

        def opened() -> Embedder:
            from muniment.embed.factory import open_embedder

            return embedder or open_embedder(block or {}, self.credentials.get)

        return Meaning(opened)

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Peer({str(self.home)!r})"

    @property
    def exists(self) -> bool:
        """Whether anything was written here before."""
        return (self.home / "peer.db").exists()

    def close(self) -> None:
        """Let go of all files; harmless when done twice."""
        with self._lock:
            for bank in self._banks.values():
                bank.close()
            self._banks.clear()
            if self._store is not None:
                self._store.close()
                self._store = None
            self.archive.close()
            self.host.journal.close()
            if self.host.meaning is not None:
                self.host.meaning.close()

    # Agents

    def agents(self) -> list[AgentInfo]:
        """The agents of this peer, by name."""
        return [self._info(row) for row in self._rows()]

    def agent_info(self, name: str) -> AgentInfo:
        """One agent, with the number of its records.

        Raises:
            UnknownAgent: None goes by that name.
        """
        return self._info(self._row(name), count=True)

    def agent(self, name: str, create: bool = False) -> Agent:
        """The agent of that name.

        Args:
            name: As it was made, in any case.
            create: Make it, with a key and a bank of its own, if there is none.

        Raises:
            UnknownAgent: None goes by that name, and `create` is False.
        """
        row = self._find(name)
        if row is None:
            if not create:
                self._row(name)
            return self.new_agent(name, _or_existing=True)
        return self._open(row)

    def new_agent(self, name: str, controller: str | None = None, *, _or_existing: bool = False) -> Agent:
        """Make an agent: a key, and a bank held by its controller and it.

        Args:
            name: Unique on this peer, whatever the case.
            controller: DID of the key that owns the agent; this peer's owner if not given.

        Raises:
            InvalidInput: The name is taken, empty or not printable.
            RefusedKey: The controller's DID holds no usable key.
        """
        check_name(name)
        owner_did = None if controller is None else parse_did(controller)
        self.folder.make()
        with self._lock, self.folder.lock("agents"):
            if (row := self._find(name)) is not None:
                if _or_existing:
                    return self._open(row)
                raise InvalidInput(f"there is an agent {row.name!r} already", "Choose another name.")
            owner = owner_did or self._owner()
            key = self.host.keyring.create(label=name)
            by = owner if self.host.keyring.has(owner) else key
            founders = agent_founders(key, owner)
            store = found(self.host, by, founders, self._make_store)
            now = self.host.clock.now_ms()
            try:
                row = self._made_store().add_agent(name, key, store.bank, owner, now)
            finally:
                store.close()
            return self._open(row)

    def choose_agent(self, asked: str | None = None, *, for_write: bool = False) -> Agent:
        """The agent that is meant: the one asked for, `MUNIMENT_AGENT`, the configured one, or the only one.

        Args:
            asked: A name, or None.
            for_write: At the very first write an agent `default` is made.

        Raises:
            UnknownAgent: There is none, or none of that name; an unknown name never makes one.
            Ambiguous: There are several and none is named.
        """
        name = asked or os.environ.get(AGENT_VARIABLE) or self.host.settings.agent
        if name:
            return self.agent(name)
        rows = self._rows()
        if len(rows) == 1:
            return self._open(rows[0])
        if not rows:
            if for_write:
                return self.agent(DEFAULT_AGENT, create=True)
            raise UnknownAgent(
                f"nothing is remembered in {self.home} yet", 'Start with: muniment remember "…"'
            )
        names = [row.name for row in rows]
        raise Ambiguous(
            "this peer has several agents", names, "Name one with --agent, or set MUNIMENT_AGENT."
        )

    def session(self, name: str, agent: str | Agent) -> Session:
        """A conversation of an agent of this peer; see `Agent.session`.

        Raises:
            UnknownAgent: None goes by that name.
            InvalidInput | LimitExceeded: The session's name is none, or a long one.
        """
        return (self.agent(agent) if isinstance(agent, str) else agent).session(name)

    def name_of(self, key: bytes) -> str | None:
        """What this peer calls a key: an agent's name, `owner`, or a name given to it; None if nothing."""
        store = self._peer_store()
        if store is None:
            return None
        row = store.agent_by_key(key)
        return store.name_of(key) if row is None else row.name

    @property
    def credentials(self) -> Credentials:
        """The API keys of embedding servers, sealed."""
        from muniment.credentials import Credentials

        return Credentials(self)

    @property
    def blobs(self) -> Blobs:
        """The packs in which archived texts lie."""
        from muniment.blob_care import Blobs

        return Blobs(self)

    def all_banks(self) -> list[Bank]:
        """Every bank of this peer, also those that are not listed any more.

        Raises:
            StorageError: One of them can't be opened.
        """
        store = self._peer_store()
        rows = [] if store is None else store.banks(unlisted=True)
        return [self.bank(row.bank) for row in rows]

    # Set-up and care

    def init(
        self,
        *,
        name: str | None = None,
        agent: str | None = None,
        passphrase: str | None = None,
        use_system_keyring: bool = False,
    ) -> dict[str, Any]:
        """Choose how keys are kept, name this peer, and make the first agent.

        Not needed: the first write does the same with the defaults. In a folder that is in use already, keys
        that are not sealed yet are sealed, and the name is changed.

        Raises:
            InvalidInput: Both ways of keeping keys are chosen, the keys are sealed already, or there is
                nothing to choose in a folder that is in use.
            MissingExtra: The system keyring is chosen and its extra is not installed.
        """
        sealing = passphrase is not None or use_system_keyring
        if passphrase is not None and use_system_keyring:
            raise InvalidInput("a passphrase and the system keyring are both chosen", "Choose one.")
        settled = bool(self._rows())  # a folder that only holds API keys is not
        if settled and (agent is not None or not (sealing or name)):
            raise InvalidInput(
                f"{self.home} is set up already", "See `muniment agent list`, `muniment doctor`."
            )
        if name is not None:
            check_name(name)
        self.folder.make()
        if sealing:
            self._seal_keys(passphrase)
        if not settled:
            self.new_agent(agent or DEFAULT_AGENT)
        if name is not None:
            self._made_store().set_meta("name", name)
        return {
            "home": str(self.home),
            "name": self._made_store().meta("name"),
            "owner": to_did(self._owner()),
            "keys": self.host.keyring.protection,
            "agents": [info.to_json() for info in self.agents()],
        }

    def _seal_keys(self, passphrase: str | None) -> None:
        keyring = self.host.keyring
        if keyring.protection not in {None, UNSEALED}:
            raise InvalidInput(f"the keys are sealed already, by {keyring.protection}")
        if passphrase is None:
            keyring.use_system_keyring()
        elif passphrase:
            keyring.set_passphrase(None, lambda: passphrase)
        else:
            raise InvalidInput("an empty passphrase seals nothing", "Choose one of several words.")

    def doctor(self) -> list[Finding]:
        """What is well and what is not on this machine and in this folder."""
        from muniment.doctor import examine

        return examine(self)

    # Inside

    def _peer_store(self, *, create: bool = False) -> PeerStore | None:
        with self._lock:
            if self._store is None and (create or self.exists):
                self._store = PeerStore.open(self.home / "peer.db", busy_ms=self._busy_ms, create=create)
            return self._store

    def _made_store(self) -> PeerStore:
        store = self._peer_store(create=True)
        assert store is not None  # noqa: S101 - it was just made
        return store

    def _rows(self) -> list[AgentRow]:
        store = self._peer_store()
        return [] if store is None else store.agents()

    def _find(self, name: str) -> AgentRow | None:
        store = self._peer_store()
        return None if store is None else store.agent_by_name(name)

    def _row(self, name: str) -> AgentRow:
        row = self._find(name)
        if row is None:
            known = ", ".join(row.name for row in self._rows()) or "none yet"
            raise UnknownAgent(
                f"no agent is called {name[:80]!r} (there are: {known})",
                f"Make it with: muniment agent new {name[:80]}",
            )
        return row

    def _info(self, row: AgentRow, *, count: bool = False) -> AgentInfo:
        records = None
        if count:
            records = self.bank(row.bank).store.counts().get(State.LIVE, 0)
        return AgentInfo(
            row.name, to_did(row.key), to_did(row.controller), cid_text(row.bank), row.created_ms, records
        )

    def _open(self, row: AgentRow) -> Agent:
        return Agent(row.name, row.key, self.bank(row.bank), self.name_of, self)

    def bank(self, bank: BankId) -> Bank:
        """An opened bank of this peer, shared by all who ask.

        Raises:
            UnknownBank: It is not one of this peer's.
            StorageError: Its file is missing, foreign, broken or of a newer version.
        """
        with self._lock:
            name = cid_text(bank)
            if name not in self._banks:
                listed = self._peer_store()
                if listed is None or listed.bank(bank) is None:
                    raise UnknownBank(f"no bank {name} is on this peer", "See `muniment agent list`.")
                path = self.home / "banks" / f"{name}.db"
                if not path.exists():
                    raise StorageError(
                        f"the bank's file {path} is missing", "Restore it from a backup or another peer."
                    )
                store = SqliteStore.open(path, bank=bank, busy_ms=self._busy_ms)
                self._banks[name] = Bank(store, self.host, self.home / "index" / name)
            return self._banks[name]

    def _make_store(self, bank: BankId) -> BankStore:
        banks = self.folder.sub("banks").make()
        return SqliteStore.create(Path(banks.path) / f"{cid_text(bank)}.db", bank, busy_ms=self._busy_ms)

    def standing_store(self) -> PeerStore | None:
        """The file `peer.db`, if anything was written here."""
        return self._peer_store()

    def made_store(self) -> PeerStore:
        """The file `peer.db`, in a folder that is made if it must be."""
        self.folder.make()
        return self._made_store()

    def owner(self) -> bytes:
        """The public key of this peer's owner, which is made if it must be."""
        with self.folder.lock("agents"):
            return self._owner()

    def _owner(self) -> bytes:
        """The peer's first key: controller of every agent made here unless another is named."""
        store = self._made_store()
        owner: bytes | None = store.meta(OWNER)
        if owner is None:
            owner = self.host.keyring.create(label=OWNER)
            store.set_meta(OWNER, owner)
            store.set_name(owner, OWNER)
        return owner


def check_name(name: str) -> None:
    """Refuse a name that can't be typed or shown.

    Raises:
        InvalidInput | LimitExceeded: As their names say.
    """
    if len(name) > LIMITS.name_chars:
        raise LimitExceeded("name characters", LIMITS.name_chars, len(name))
    if not name.strip() or name != name.strip() or not name.isprintable() or name.startswith("-"):
        raise InvalidInput(f"not a name: {name!r}", "Use letters, digits and signs, without spaces around.")


def open_peer(
    home: str | Path | None = None,
    *,
    passphrase: Callable[[], str] | None = None,
    busy_ms: int | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    embedder: Embedder | None = None,
) -> Peer:
    """Open the peer folder; nothing is made before the first write.

    Args:
        home: The folder; `MUNIMENT_HOME` or the user's data folder if not given.
        passphrase: Asked when a sealed keyring has to be opened.
        busy_ms: How long a write waits for another process; 10,000 unless configured.
        clock: Where the time of day comes from.
        entropy: Where random bytes come from.
        embedder: What turns text into vectors, in place of the one that `config.yaml` describes.
    """
    return Peer(home_path(home), passphrase, clock=clock, entropy=entropy, busy_ms=busy_ms, embedder=embedder)
