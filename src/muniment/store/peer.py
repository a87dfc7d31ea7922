"""`peer.db`: what one installation knows beside its banks. Never synced (design section 6)."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from muniment.base.errors import InvalidInput
from muniment.base.ids import BankId, cid_text
from muniment.store import migrate
from muniment.store.connection import Connections
from muniment.store.custody import CustodyStore
from muniment.store.link import Link
from muniment.store.migrate import PEER, Kind
from muniment.store.routes import RouteStore
from muniment.store.visitors import VisitorStore

BankKind = Literal["agent", "shared"]
_BANK = "SELECT bank, kind, name, agent, file, listed, created FROM banks "
_AGENT = "SELECT name, key, bank, controller, created FROM agents "


class AgentRow(NamedTuple):
    """An agent of this peer: its name as given, public key, bank, its controller's key, and when it was made."""

    name: str
    key: bytes
    bank: BankId
    controller: bytes
    created_ms: int


class BankRow(NamedTuple):
    """A bank of this peer.

    Attributes:
        kind: `agent` for an agent's own bank, else `shared`.
        name: What it is called here; need not be unique.
        agent: Public key of the agent whose bank it is, or None.
        file: File name in the folder `banks`.
        listed: False once it was taken off the list; its file stays.
        created_ms: When it came to this peer, Unix ms.
    """

    bank: BankId
    kind: BankKind
    name: str
    agent: bytes | None
    file: str
    listed: bool
    created_ms: int


class PeerStore:
    """The file `peer.db`, for many threads and processes at once. Each method is one transaction.

    Attributes:
        path: The file.
        visitors: The part about those who come over a network.
        others: The part about other peers.
        custody: The part about blobs that are kept for others, and by others.
    """

    def __init__(self, path: Path, connections: Connections) -> None:
        self.path = path
        self._connections = connections
        self.visitors = VisitorStore(connections)
        self.others = RouteStore(connections)
        self.custody = CustodyStore(connections)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        busy_ms: int = 10_000,
        create: bool = False,
        kind: Kind = PEER,
    ) -> PeerStore:
        """Open the file; an older schema is backed up and brought up to date first.

        Args:
            path: The file, in a folder that is there.
            busy_ms: How long to wait for a lock, in milliseconds.
            create: Make the file if there is none.
            kind: The application id and schema; other ones are for tests.

        Raises:
            NotFound: There is no file, and `create` is False.
            StorageError: As its subclasses name it.
        """
        place = Path(path)
        return cls(place, migrate.opened(place, kind, busy_ms=busy_ms, make=create))

    def close(self) -> None:
        """Close the connections of all threads; harmless when done twice."""
        self._connections.close()

    def link(self) -> Link:
        """This thread's connection."""
        return self._connections.link()

    def write(self) -> AbstractContextManager[Link]:
        """One durable transaction over several calls; re-entrant; an exception undoes all of it.

        Raises:
            StorageError: As its subclasses name it; nothing was kept.
        """
        return self._connections.write()

    # Values

    def meta(self, name: str) -> Any:
        """The bytes, text or number kept under `name`, or None."""
        rows = self._connections.link().run("SELECT value FROM meta WHERE name = ?", (name,))
        return rows[0][0] if rows else None

    def set_meta(self, name: str, value: bytes | str | int | None) -> None:
        """Keep a value under `name`; None removes it."""
        with self._connections.write() as link:
            if value is None:
                link.run("DELETE FROM meta WHERE name = ?", (name,))
            else:
                link.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))

    # Agents

    def add_agent(self, name: str, key: bytes, bank: BankId, controller: bytes, created_ms: int) -> AgentRow:
        """Note a new agent, and its bank if that is not on the list yet.

        Raises:
            InvalidInput: An agent of that name (whatever the case), key or bank is there.
        """
        with self._connections.write() as link:
            if self.agent_by_name(name) is not None:
                raise InvalidInput(f"there is an agent {name!r} already", "Choose another name.")
            if self.bank(bank) is None:
                self.add_bank(bank, "agent", name, created_ms, agent=key)
            link.run(
                "INSERT INTO agents (folded, name, key, bank, controller, created) VALUES (?, ?, ?, ?, ?, ?)",
                (name.casefold(), name, key, bank, controller, created_ms),
            )
        return AgentRow(name, key, bank, controller, created_ms)

    def agents(self) -> list[AgentRow]:
        """All agents, by name."""
        return [_agent(row) for row in self._connections.link().run(_AGENT + "ORDER BY folded")]

    def agent_by_name(self, name: str) -> AgentRow | None:
        """The agent of that name, whatever the case; None if there is none."""
        try:
            folded = name.casefold()
            folded.encode()
        except UnicodeEncodeError:
            return None
        rows = self._connections.link().run(_AGENT + "WHERE folded = ?", (folded,))
        return _agent(rows[0]) if rows else None

    def agent_by_key(self, key: bytes) -> AgentRow | None:
        """The agent with that public key; None if there is none."""
        rows = self._connections.link().run(_AGENT + "WHERE key = ?", (key,))
        return _agent(rows[0]) if rows else None

    def agents_of(self, controller: bytes) -> list[AgentRow]:
        """The agents whose controller has that public key, by name."""
        rows = self._connections.link().run(_AGENT + "WHERE controller = ? ORDER BY folded", (controller,))
        return [_agent(row) for row in rows]

    def replace_key(self, old: bytes, new: bytes) -> None:
        """Let an agent go on under another key, with its bank and its sessions.

        Raises:
            InvalidInput: The new key is another agent's.
        """
        with self._connections.write() as link:
            if self.agent_by_key(new) is not None:
                raise InvalidInput("that key is another agent's", "Use a key of its own.")
            link.run("UPDATE agents SET key = ? WHERE key = ?", (new, old))
            link.run("UPDATE banks SET agent = ? WHERE agent = ?", (new, old))
            for (name,) in link.run("SELECT name FROM sessions WHERE agent = ?", (old,)):
                renamed = new + name[len(old) :]
                sql = "INSERT INTO sessions SELECT ?, ?, created FROM sessions WHERE name = ?"
                link.run(sql, (renamed, new, name))
                link.run("UPDATE attachments SET session = ? WHERE session = ?", (renamed, name))
                link.run("DELETE FROM sessions WHERE name = ?", (name,))

    # Banks

    def add_bank(
        self, bank: BankId, kind: BankKind, name: str, created_ms: int, *, agent: bytes | None = None
    ) -> BankRow:
        """Put a bank on the list.

        Raises:
            InvalidInput: It is there already.
        """
        file = f"{cid_text(bank)}.db"
        with self._connections.write() as link:
            if self.bank(bank) is not None:
                raise InvalidInput(f"bank {cid_text(bank)} is on the list already")
            link.run(
                "INSERT INTO banks (bank, kind, name, agent, file, listed, created) VALUES (?, ?, ?, ?, ?, 1, ?)",
                (bank, kind, name, agent, file, created_ms),
            )
        return BankRow(bank, kind, name, agent, file, True, created_ms)

    def banks(self, *, unlisted: bool = False) -> list[BankRow]:
        """Banks on the list, oldest first; with `unlisted` also those taken off it."""
        where = "" if unlisted else "WHERE listed = 1 "
        return [_bank(row) for row in self._connections.link().run(_BANK + where + "ORDER BY created, bank")]

    def bank(self, bank: BankId) -> BankRow | None:
        """One bank, listed or not; None if it never was here."""
        rows = self._connections.link().run(_BANK + "WHERE bank = ?", (bank,))
        return _bank(rows[0]) if rows else None

    def list_bank(self, bank: BankId, listed: bool) -> None:
        """Take a bank off the list, or put it back; its file is not touched."""
        with self._connections.write() as link:
            link.run("UPDATE banks SET listed = ? WHERE bank = ?", (int(listed), bank))

    def rename_bank(self, bank: BankId, name: str) -> None:
        """Call a bank otherwise on this peer."""
        with self._connections.write() as link:
            link.run("UPDATE banks SET name = ? WHERE bank = ?", (name, bank))

    # Sessions

    def attach(self, agent: bytes, session: str, bank: BankId, created_ms: int) -> bool:
        """Attach a bank to an agent's session; False if it was attached already.

        Args:
            agent: The agent's public key: two agents' sessions of one name are two.
            session: The session's name.
            bank: A bank of this peer, listed or not.
            created_ms: When, Unix ms: the session begins with its first bank.
        """
        name = _session(agent, session)
        with self._connections.write() as link:
            if link.run("SELECT 1 FROM attachments WHERE session = ? AND bank = ?", (name, bank)):
                return False
            link.run("INSERT OR IGNORE INTO sessions VALUES (?, ?, ?)", (name, agent, created_ms))
            link.run("INSERT INTO attachments VALUES (?, ?)", (name, bank))
        return True

    def detach(self, agent: bytes, session: str, bank: BankId) -> bool:
        """Detach a bank again; False if it was not attached."""
        name = _session(agent, session)
        with self._connections.write() as link:
            sql = "SELECT 1 FROM attachments WHERE session = ? AND bank = ?"
            there = bool(link.run(sql, (name, bank)))
            link.run("DELETE FROM attachments WHERE session = ? AND bank = ?", (name, bank))
            link.run(
                "DELETE FROM sessions WHERE name = ?1 "
                "AND NOT EXISTS (SELECT 1 FROM attachments WHERE session = ?1)",
                (name,),
            )
        return there

    def attached(self, agent: bytes, session: str) -> list[BankRow]:
        """The banks attached to a session, those that came to this peer first; unlisted ones are left out."""
        where = "WHERE listed = 1 AND bank IN (SELECT bank FROM attachments WHERE session = ?) "
        sql = _BANK + where + "ORDER BY created, bank"
        return [_bank(row) for row in self._connections.link().run(sql, (_session(agent, session),))]

    def sessions(self, agent: bytes) -> list[str]:
        """The names of an agent's sessions that have a bank attached, oldest first."""
        sql = "SELECT name FROM sessions WHERE agent = ? ORDER BY created, name"
        rows = self._connections.link().run(sql, (agent,))
        return [row[0][len(agent) :].decode("utf-8", "surrogatepass") for row in rows]

    # Names

    def set_name(self, key: bytes, name: str | None) -> None:
        """Call a public key by a name on this peer; None forgets the name."""
        with self._connections.write() as link:
            if name is None:
                link.run("DELETE FROM names WHERE key = ?", (key,))
            else:
                link.run("INSERT OR REPLACE INTO names (key, name) VALUES (?, ?)", (key, name))

    def name_of(self, key: bytes) -> str | None:
        """What a public key is called here: an agent's name, else the name given to it, else None."""
        sql = "SELECT name FROM agents WHERE key = ?1 UNION ALL SELECT name FROM names WHERE key = ?1 LIMIT 1"
        rows = self._connections.link().run(sql, (key,))
        return str(rows[0][0]) if rows else None

    def names(self) -> dict[bytes, str]:
        """All names given to keys that are no agents of this peer."""
        return dict(self._connections.link().run("SELECT key, name FROM names ORDER BY name"))

    # Credentials

    def set_credential(self, provider: str, sealed: bytes | None) -> None:
        """Keep a provider's sealed API key in place of any other; None forgets it."""
        with self._connections.write() as link:
            if sealed is None:
                link.run("DELETE FROM credentials WHERE provider = ?", (provider,))
            else:
                link.run(
                    "INSERT OR REPLACE INTO credentials (provider, sealed) VALUES (?, ?)", (provider, sealed)
                )

    def credential(self, provider: str) -> bytes | None:
        """A provider's sealed API key; None if there is none."""
        sql = "SELECT sealed FROM credentials WHERE provider = ?"
        rows = self._connections.link().run(sql, (provider,))
        return rows[0][0] if rows else None

    def credentials(self) -> list[str]:
        """The providers that have a key, by name."""
        rows = self._connections.link().run("SELECT provider FROM credentials ORDER BY provider")
        return [row[0] for row in rows]


def _session(agent: bytes, name: str) -> bytes:
    return agent + name.encode("utf-8", "surrogatepass")


def _agent(row: tuple[Any, ...]) -> AgentRow:
    name, key, bank, controller, created = row
    return AgentRow(name, key, BankId(bank), controller, created)


def _bank(row: tuple[Any, ...]) -> BankRow:
    bank, kind, name, agent, file, listed, created = row
    return BankRow(BankId(bank), kind, name, agent, file, bool(listed), created)
