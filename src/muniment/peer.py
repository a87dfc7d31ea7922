"""A peer: one installation, with its folder, keyring, agents and banks (design sections 2, 6 and 11)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from muniment.agent import Agent
from muniment.archive.options import options as archive_options
from muniment.archive_room import ArchiveRoom
from muniment.bank import Bank
from muniment.base.clock import Clock
from muniment.base.errors import (
    InvalidInput,
    StorageError,
    UnknownAgent,
    UnknownBank,
)
from muniment.base.ids import BankId, cid_text
from muniment.config import load
from muniment.custody_links import wire
from muniment.founding import agent_founders, found
from muniment.hosting import Models, host_of
from muniment.identity.did import parse_did, to_did
from muniment.names import check_name
from muniment.platform.clock import SystemClock
from muniment.platform.entropy import Entropy
from muniment.platform.folders import PeerFolder, home_path
from muniment.store.base import BankStore, State
from muniment.store.peer import AgentRow, PeerStore
from muniment.store.sqlite import SqliteStore
from muniment.views import AgentInfo

if TYPE_CHECKING:
    from muniment.blob_care import Blobs
    from muniment.carrying import CarriedIn
    from muniment.credentials import Credentials
    from muniment.doctor import Finding
    from muniment.embed.base import Embedder
    from muniment.embed.rerank import Reranker
    from muniment.rotation import Keys
    from muniment.session import Session
    from muniment.shared_banks import Banks

OWNER = "owner"


class Peer:
    """One installation. Looking makes nothing; the first write makes the folder, the owner's key and the agent.

    Attributes:
        home: The peer folder.
        archive: Its packs, and who else may have blobs.
        default_memory_banks: What the settings name, as of opening or the last `reload`.
        passphrase: Asked when a sealed keyring has to be opened, or None.
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
        reranker: Reranker | None = None,
    ) -> None:
        self.home = home
        self.passphrase = passphrase
        self.folder = PeerFolder(home)
        settings = load(home)
        self.default_memory_banks = settings.default_memory_banks
        self._busy_ms = settings.busy_ms if busy_ms is None else busy_ms
        clock = clock or SystemClock()
        self.archive = ArchiveRoom(self.folder, archive_options(settings.archive), clock)
        models = Models(embedder, reranker, self.credentials.get)
        self.host = host_of(
            self.archive,
            settings,
            models,
            passphrase=passphrase,
            clock=clock,
            entropy=entropy,
            busy_ms=self._busy_ms,
        )
        self._store: PeerStore | None = None
        self._banks: dict[str, Bank] = {}
        self._lock = threading.RLock()
        wire(self)

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
            for model in (self.host.meaning, self.host.reranking):
                if model is not None:
                    model.close()

    # Agents

    def agents(self) -> list[AgentInfo]:
        """The agents of this peer, by name."""
        return [self._info(row) for row in self.agent_rows()]

    def agent_info(self, name: str) -> AgentInfo:
        """One agent, with the number of its records.

        Raises:
            UnknownAgent: None goes by that name.
        """
        return self._info(self.agent_row(name), count=True)

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
                self.agent_row(name)
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
            store = found(self.host, by, founders, self.make_store)
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
        from muniment.choosing import chosen

        return chosen(self, asked, for_write=for_write)

    def session(self, name: str, agent: str | Agent) -> Session:
        """A conversation of an agent of this peer; see `Agent.session`.

        Raises:
            UnknownAgent: None goes by that name.
            InvalidInput | LimitExceeded: The session's name is none, or a long one.
        """
        return (self.agent(agent) if isinstance(agent, str) else agent).session(name)

    def reload(self) -> None:
        """Read `default_memory_banks` again, and give and attach what it names by now.

        Other settings hold from the next time the peer is opened.

        Raises:
            InvalidInput: The file is no list of settings, or one has no meaning; nothing is changed.
            MunimentError: A bank can't be made or granted.
        """
        from muniment.default_banks import reload

        self.default_memory_banks = load(self.home).default_memory_banks
        reload(self)

    def name_of(self, key: bytes) -> str | None:
        """What this peer calls a key: an agent's name, `owner`, or a name given to it; None if nothing."""
        store = self._peer_store()
        if store is None:
            return None
        row = store.agent_by_key(key)
        return store.name_of(key) if row is None else row.name

    @property
    def banks(self) -> Banks:
        """The banks of this peer, for its owner's key; see `Agent.banks` for an agent's."""
        from muniment.shared_banks import Banks

        return Banks(self, None)

    @property
    def keys(self) -> Keys:
        """The keys that sign on this installation."""
        from muniment.rotation import Keys

        return Keys(self)

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

    def import_bank(
        self, path: str | Path, *, progress: Callable[[int, int, int], None] | None = None
    ) -> CarriedIn:
        """Take in an exported bank, into the bank of its id here or as a new one; see `carrying.carry_in`.

        Raises:
            InvalidInput | RefusedFile | StorageError: As their names say; what was taken before stays.
        """
        from muniment.carrying import carry_in

        return carry_in(self, Path(path), progress=progress)

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
        from muniment.setting_up import set_up

        return set_up(self, name, agent, passphrase, use_system_keyring=use_system_keyring)

    def doctor(self, *, deep: bool = False) -> list[Finding]:
        """What is well and what is not on this machine and in this folder; see `examine`."""
        from muniment.doctor import examine

        return examine(self, deep=deep)

    # Inside

    def _peer_store(self, *, create: bool = False) -> PeerStore | None:
        with self._lock:
            if self._store is None and (create or self.exists):
                self._store = PeerStore.open(self.home / "peer.db", busy_ms=self._busy_ms, create=create)
                if self._store.meta("rotating") is not None:
                    from muniment.rotation import finish

                    finish(self)
            return self._store

    def _made_store(self) -> PeerStore:
        store = self._peer_store(create=True)
        assert store is not None  # noqa: S101 - it was just made
        return store

    def agent_rows(self) -> list[AgentRow]:
        """What `peer.db` says of all agents, by name."""
        store = self._peer_store()
        return [] if store is None else store.agents()

    def _find(self, name: str) -> AgentRow | None:
        store = self._peer_store()
        return None if store is None else store.agent_by_name(name)

    def agent_row(self, name: str) -> AgentRow:
        """What `peer.db` says of an agent.

        Raises:
            UnknownAgent: None goes by that name.
        """
        row = self._find(name)
        if row is None:
            known = ", ".join(row.name for row in self.agent_rows()) or "none yet"
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
                row = None if listed is None else listed.bank(bank)
                if row is None:
                    raise UnknownBank(f"no bank {name} is on this peer", "See `muniment bank list`.")
                path = self.home / "banks" / f"{name}.db"
                if not path.exists():
                    raise StorageError(
                        f"the bank's file {path} is missing", "Restore it from a backup or another peer."
                    )
                store = SqliteStore.open(path, bank=bank, busy_ms=self._busy_ms)
                enter = None if row.kind == "agent" else partial(self._enter, bank)
                self._banks[name] = Bank(store, self.host, self.home / "index" / name, enter)
            return self._banks[name]

    def _enter(self, bank: BankId) -> None:
        store = self._peer_store()
        row = None if store is None else store.bank(bank)
        if row is None or not row.listed:
            name = cid_text(bank)
            raise UnknownBank(
                f"the bank {name} was deleted on this peer", f"Take it back: muniment bank undelete {name}"
            )

    def make_store(self, bank: BankId) -> BankStore:
        """The empty file of a new bank."""
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


def open_peer(
    home: str | Path | None = None,
    *,
    passphrase: Callable[[], str] | None = None,
    busy_ms: int | None = None,
    clock: Clock | None = None,
    entropy: Entropy | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
) -> Peer:
    """Open the peer folder; nothing is made before the first write.

    Args:
        home: The folder; `MUNIMENT_HOME` or the user's data folder if not given.
        passphrase: Asked when a sealed keyring has to be opened.
        busy_ms: How long a write waits for another process; 10,000 unless configured.
        clock: Where the time of day comes from.
        entropy: Where random bytes come from.
        embedder: What turns text into vectors, in place of the one that `config.yaml` describes.
        reranker: What looks at the best records again, in place of the one that `config.yaml` describes.
    """
    return Peer(
        home_path(home),
        passphrase,
        clock=clock,
        entropy=entropy,
        busy_ms=busy_ms,
        embedder=embedder,
        reranker=reranker,
    )
