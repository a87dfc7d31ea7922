"""What an MCP server offers to whom, without the protocol: tools, records as resources, and a prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from muniment.auto_recall import cut, neutral
from muniment.base.errors import MunimentError, UnknownRecord
from muniment.base.ids import cid_text
from muniment.identity.did import parse_did
from muniment.surfaces.mcp import command_tools
from muniment.surfaces.mcp.command_tools import Report
from muniment.surfaces.tools import Answer, Kit, tools
from muniment.surfaces.tools.words import FULL_CHARS, line, redact

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.memory import Memory
    from muniment.peer import Peer
    from muniment.views import Record

PAGE = 50
SESSION = "mcp"
NOTHING = "(Memory knows nothing that bears on this.)"
_URI = re.compile(r"memory://(did:key:z[1-9A-HJ-NP-Za-km-z]{1,128})/([0-9a-fA-F-]{36})")
_READS = frozenset({"recall", "list_memory_banks", "read_skill", "history"})
_DESTROYS = frozenset({"forget"})


class Grant(NamedTuple):
    """Who calls: an agent of this peer by name, and whether it may write."""

    agent: str
    rights: Literal["read", "write"] = "write"


Verify = Callable[[str], Grant | None]


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as it is listed: schemas, and what a client may rely on before it asks a person."""

    name: str
    description: str
    input: dict[str, Any]
    output: dict[str, Any]
    read_only: bool
    destructive: bool
    idempotent: bool


class Page(NamedTuple):
    """Some resources (address, name, what it begins with), and where the next ones begin."""

    rows: list[tuple[str, str, str]]
    cursor: str | None


class Host:
    """Answers for the agents of one peer. Its methods block: they are called in a thread of their own.

    Args:
        find: The agent of a name.
        profile: Of the tools.
        commands: Whether commands are offered as tools too.
        session: The conversation that `recall_context` asks for where none is named.
        remote: Whether the caller is on another machine, which has no business with this one's files and keys.
    """

    def __init__(
        self,
        find: Callable[[str], Agent],
        *,
        profile: str = "muniment",
        commands: bool = False,
        session: str | None = None,
        remote: bool = False,
    ) -> None:
        self._find, self._commands, self._remote = find, commands, remote
        self._session = session or SESSION
        self._set = tools(profile)

    @property
    def guide(self) -> str:
        """What the profile says for the system prompt."""
        return self._set.instructions

    def instructions(self, grant: Grant) -> str:
        """The same, with the agent's skills."""
        return redact(self._kit(grant).instructions())

    # Tools

    def offers(self, grant: Grant) -> list[Offer]:
        """The tools that the caller has: by the agent's settings, and by its own rights."""
        kit = self._kit(grant)
        found = [
            Offer(
                tool.name,
                tool.said(meaning=kit.desk.meaning),
                tool.input(),
                tool.output,
                tool.operation in _READS,
                tool.operation in _DESTROYS,
                idempotent=True,
            )
            for tool in kit.tools
        ]
        found += [Offer(*offer) for offer in self._command_offers(kit)]
        return [offer for offer in found if offer.read_only or grant.rights == "write"]

    def _command_offers(self, kit: Kit) -> list[tuple[Any, ...]]:
        # An agent that is told which tools it has has no commands beside them.
        if not self._commands or kit.agent.allowed_tools() is not None:
            return []
        return command_tools.offers(remote=self._remote)

    def question(self, grant: Grant, name: str, arguments: Mapping[str, Any]) -> tuple[str, str] | None:
        """What a person has to be asked before the call, and the word that agrees; None where nothing."""
        if not name.startswith(command_tools.PREFIX) or not self._offered(grant, name):
            return None
        return command_tools.question(name, arguments)

    def call(self, grant: Grant, name: str, arguments: Any, report: Report) -> Answer:
        """Answer a call."""
        kit = self._kit(grant)
        if name.startswith(command_tools.PREFIX) and self._offered(grant, name):
            return command_tools.call(kit.agent, name, arguments, report, remote=self._remote)
        tool = next((tool for tool in self._set.tools if tool.name == name), None)
        if tool is not None and tool.operation not in _READS and grant.rights != "write":
            return Answer(f"`{name}` writes, and this access may only read.", ok=False, error="NotPermitted")
        return kit.answer(name, arguments)

    def _offered(self, grant: Grant, name: str) -> bool:
        return any(offer.name == name for offer in self.offers(grant))

    # Records

    def resources(self, grant: Grant, cursor: str | None) -> Page:
        """The agent's live records, newest first."""
        start = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() and len(cursor) < 10 else 0
        agent = self._find(grant.agent)
        records = agent.list(limit=PAGE + 1, offset=start)
        rows = [self._row(agent, record) for record in records[:PAGE]]
        return Page(rows, str(start + PAGE) if len(records) > PAGE else None)

    @staticmethod
    def _row(agent: Agent, record: Record) -> tuple[str, str, str]:
        name = cut(neutral((record.title or record.key or record.type)[:400]), 80)
        return f"memory://{agent.did}/{record.id}", name, redact(cut(neutral(record.text[:800]), 100))

    def read(self, grant: Grant, uri: str) -> str:
        """A record as text, with its provenance.

        Raises:
            UnknownRecord: The address leads to nothing that this agent may read.
        """
        missing = UnknownRecord("no record stands at that address", "See `resources/list`.")
        match = _URI.fullmatch(uri)
        if match is None:
            raise missing
        try:
            me = self._find(grant.agent)
            return redact(line(me.as_seen(self._at(me, match[1]).get(match[2])), FULL_CHARS))
        except MunimentError:
            raise missing from None

    @staticmethod
    def _at(agent: Agent, did: str) -> Memory:
        """The agent at its own memory, or at that of another agent whose bank is open to it."""
        if did == agent.did:
            return agent
        store = agent.peer.standing_store()
        row = None if store is None else store.agent_by_key(parse_did(did))
        if row is None:
            raise UnknownRecord("no agent of this peer has that DID")
        return agent.reachable_bank(cid_text(row.bank))

    # The prompt

    def context(self, grant: Grant, message: str, session: str | None) -> str:
        """What memory knows of a turn that begins with this message."""
        talk = self._find(grant.agent).session(session or self._session)
        block = talk.context([{"role": "user", "content": message}])
        return redact(block) if block else NOTHING

    def _kit(self, grant: Grant) -> Kit:
        return self._set.bind(self._find(grant.agent))


def of_peer(peer: Peer, **options: Any) -> Host:
    """A host for all agents of a peer, whose callers are on other machines."""
    return Host(peer.agent, remote=True, **options)
