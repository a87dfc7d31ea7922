"""The ancestor's four verbs, with its flags and its view of a record, over this system's own commands.

What differs, and why: `kind` and `source` are derived from who signed, so claimed ones are checked for their words,
kept under `metadata.claimed` and not believed; vector and hybrid recall on a node without an embedder are refused, as
its documents say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from muniment.base.errors import EmbedderUnavailable, InvalidInput
from muniment.base.limits import LIMITS
from muniment.commands.context import Context
from muniment.commands.table import COMMANDS as ALL
from muniment.commands.table import Command, Example, Param, Result, family

if TYPE_CHECKING:
    from muniment.agent import Agent

KINDS = ("granted", "recalled", "self_noted", "archived")
SOURCES = ("controller", "tool", "peer", "self")
_OTHER_SPELLINGS = {"selfnoted": "self_noted", "self-noted": "self_noted", "self_": "self"}
_STATES = ("live", "archived")


class RecordView:
    """A record as the ancestor shows it."""

    def __init__(self, record: Mapping[str, Any], agent: Agent, asked: str) -> None:
        archived = record.get("state") == "archived" or bool(record.get("pointer"))
        pointer = record.get("pointer")
        self.values: dict[str, Any] = {
            "id": record["id"],
            "agent_did": asked if asked.startswith("did:") else agent.did,
            "created_at_ms": record["created_at_ms"],
            "kind": "archived" if archived else record["kind"],
            "source": record["source"],
            "text": record["text"],
            "metadata": dict(record["metadata"]),
            "da_pointer": pointer
            and {"backend": "muniment-blobs", "namespace": "agent-memory", "locator": pointer},
        }

    def to_json(self) -> dict[str, Any]:
        """The record as `--json` prints it."""
        return self.values


class RecordViews(list[RecordView]):
    """Records as the ancestor lists them."""

    def to_json(self) -> dict[str, Any]:
        """The list as `--json` prints it."""
        return {"count": len(self), "records": [view.to_json() for view in self]}


def _spelt(name: str, value: str | None, known: tuple[str, ...]) -> str | None:
    if value is None:
        return None
    word = _OTHER_SPELLINGS.get(value.lower(), value.lower())
    if word not in known:
        raise InvalidInput(f"`{name}` is {value[:80]!r}", f"It is one of: {', '.join(known)}.")
    return word


def _grant(
    context: Context,
    /,
    *,
    agent_did: str,
    text: str,
    kind: str | None,
    source: str | None,
    metadata: Mapping[str, Any] | None,
) -> Result:
    claimed = {"kind": _spelt("kind", kind, KINDS), "source": _spelt("source", source, SOURCES)}
    said = {name: value for name, value in claimed.items() if value is not None}
    kept = {**(metadata or {}), **({"claimed": said} if said else {})}
    agent = context.agent_of(agent_did)
    # A tool's words weigh less, and that is all that a claim can change.
    made = agent.remember(text, metadata=kept or None, tool=said.get("source") == "tool")
    return RecordView(agent.get(made.version).to_json(), agent, agent_did)


def _recall(context: Context, /, *, agent_did: str, query: str, k: int, mode: str) -> Result:
    agent = context.agent_of(agent_did)
    found = agent.recall(query, limit=k, mode=mode)
    if mode != "text" and query.strip() and found.mode != mode:
        raise EmbedderUnavailable(
            f"{mode} recall needs an embedder, and this node has none that answers",
            "Ask with mode `text`, or configure an embedder here.",
        )
    return RecordViews(RecordView(hit.record.to_json(), agent, agent_did) for hit in found)


def _list(context: Context, /, *, agent_did: str, limit: int) -> Result:
    known = next(param.choices for param in ALL["list"].params if param.name == "states")
    states = [state for state in _STATES if state in known]
    agent = context.agent_of(agent_did)
    found = agent.list(limit=limit, states=states)
    return RecordViews(RecordView(record.to_json(), agent, agent_did) for record in found)


def _archive(context: Context, /, *, agent_did: str, record_id: str) -> Result:
    agent = context.agent_of(agent_did)
    agent.archive(record_id)
    return RecordView(agent.get(record_id).to_json(), agent, agent_did)


_AGENT = Param("agent_did", "text", "The agent: its DID, a DID bound to it, or its name here", required=True,
               metavar="DID")  # fmt: skip

COMMANDS = family(
    Command(
        "memory grant",
        "Keeps a memory, as `remember` does. What is claimed of its kind and source is kept in its metadata under "
        "`claimed`; the record shows what the signature proves.",
        (Example('muniment memory grant --agent-did ava --text "Budget: 400 a day"', "keep a memory"),),
        (
            _AGENT,
            Param("text", "text", "The words to keep", required=True, metavar="TEXT"),
            Param("kind", "text", "A claimed kind: granted, recalled, self_noted or archived", metavar="KIND"),
            Param("source", "text", "A claimed source: controller, tool, peer or self", metavar="SOURCE"),
            Param("metadata", "object", "A JSON object", metavar="JSON"),
        ),
        "write",
        True,
        _grant,
        local=True,
    ),
    Command(
        "memory recall",
        "Finds memories, as `recall` does. Vector and hybrid recall without an embedder are an error here.",
        (Example('muniment memory recall --agent-did ava --query "budget" --mode text', "by words"),),
        (
            _AGENT,
            Param("query", "text", "What to look for", required=True, metavar="QUERY"),
            Param("k", "integer", "At most so many records", 10, minimum=1, maximum=LIMITS.recall_limit,
                  metavar="N"),
            Param("mode", "text", "By words, by meaning, or by both", "hybrid", metavar="MODE",
                  choices=("vector", "text", "hybrid")),
        ),
        "read",
        False,
        _recall,
        local=True,
    ),
    Command(
        "memory list",
        "Lists memories, newest first, archived ones too.",
        (Example("muniment memory list --agent-did ava --limit 20", "the newest twenty"),),
        (
            _AGENT,
            Param("limit", "integer", "At most so many records", 50, minimum=1, maximum=LIMITS.recall_limit,
                  metavar="N"),
        ),
        "read",
        False,
        _list,
        local=True,
    ),
    Command(
        "memory archive",
        "Moves a memory's text to content-addressed storage; it is still found.",
        (Example("muniment memory archive --agent-did ava --record-id 0197…", "by its id"),),
        (_AGENT, Param("record_id", "text", "The record's id", required=True, metavar="ID")),
        "write",
        True,
        _archive,
        local=True,
    ),
)  # fmt: skip
