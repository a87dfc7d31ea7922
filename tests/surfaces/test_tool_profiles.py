"""Each ancestor's profile: its exact names, schemas, defaults and words, over our own memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.agent import Agent
from muniment.peer import Peer
from muniment.surfaces.tools import Kit
from muniment.testing.embedders import RandomEmbedder
from muniment.testing.shared import SharedBank


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    """A peer."""
    with muniment.open(tmp_path / "peer") as peer:
        yield peer


@pytest.fixture
def ava(peer: Peer) -> Agent:
    """The agent whose tools these are."""
    return peer.agent("ava", create=True)


def kit(agent: Agent, profile: str) -> Kit:
    """The tools of a profile, bound."""
    return muniment.tools(profile).bind(agent)


def schema(profile: str, name: str) -> dict[str, Any]:
    """A tool's schema without its descriptions."""
    found = next(one for one in muniment.tools(profile).definitions("anthropic") if one["name"] == name)
    whole: dict[str, Any] = json.loads(json.dumps(found["input_schema"]))
    for one in whole["properties"].values():
        one.pop("description", None)
    return whole


LIST = {"type": "array", "items": {"type": "string"}}
TEXT = {"type": "string"}


def test_the_schemas_are_the_ancestors() -> None:
    """Names, types, what is required, defaults and bounds."""
    assert schema("chaz", "remember") == {
        "type": "object",
        "properties": {"key": TEXT, "value": TEXT, "tags": LIST, "bank": TEXT},
        "required": ["key", "value"],
    }
    assert schema("chaz", "recall") == {
        "type": "object",
        "properties": {
            "query": TEXT,
            "tags": LIST,
            "limit": {"type": "integer", "minimum": 1, "default": 10},
            "bank": TEXT,
        },
        "required": ["query"],
    }
    assert schema("chaz", "list_memory_banks") == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    assert schema("chatty", "remember")["properties"] == {"content": TEXT, "title": TEXT, "tags": TEXT}
    top_k = {"type": "integer", "minimum": 1, "maximum": 20, "default": 5}
    assert schema("chatty", "search_memory")["properties"] == {"query": TEXT, "top_k": top_k}
    assert schema("chatty", "save_skill")["required"] == ["name", "description", "steps"]
    assert set(schema("tenzro", "memory_grant")["properties"]) == {
        "agent_did",
        "text",
        "kind",
        "source",
        "metadata",
    }
    recall = schema("tenzro", "memory_recall")
    assert recall["required"] == ["agent_did", "query"]
    assert recall["properties"]["k"]["default"] == 10
    assert recall["properties"]["mode"]["default"] == "hybrid"


# chaz


def test_chaz_keeps_and_finds_under_a_key(ava: Agent) -> None:
    """In the ancestor's lines; the same key again takes the place of the old value."""
    tools = kit(ava, "chaz")
    said = tools.call("remember", {"key": "project.deadline", "value": "2026-05-01"})
    assert said.splitlines()[0] == "Remembered: project.deadline = 2026-05-01"
    tools.call("remember", {"key": "project.deadline", "value": "2026-06-01", "tags": ["project", "chaz"]})
    found = tools.call("recall", {"query": "deadline", "tags": ["project"], "limit": 5})
    assert found.startswith("- **project.deadline**: 2026-06-01 [tags: chaz, project] (20")
    assert len(found.splitlines()) == 1
    assert tools.call("recall", {"query": ""}) == found


def test_chaz_says_in_four_ways_that_it_found_nothing(ava: Agent) -> None:
    """By query, by tags, by both, by neither; it is an answer, not an error."""
    tools = kit(ava, "chaz")
    assert tools.call("recall", {"query": ""}) == "No memories found: none are stored."
    assert tools.call("recall", {"query": "", "tags": ["a", "b"]}) == "No memories found with tags [a, b]."
    assert tools.call("recall", {"query": "q"}) == "No memories found matching 'q'."
    assert (
        tools.call("recall", {"query": "q", "tags": ["a"]}) == "No memories found matching 'q' with tags [a]."
    )
    assert tools.answer("recall", {"query": "q"}).ok


def test_chaz_uses_shared_banks_by_name(peer: Peer, ava: Agent) -> None:
    """As its walkthrough has it: one agent writes, another recalls and may not write."""
    ben = peer.agent("ben", create=True)
    bank = SharedBank(peer, peer.agent("host", create=True), "project-notes")
    bank.grant(ava, "write")
    bank.grant(ben, "read")
    entry = {"key": "architecture.sessions", "value": "Each has its own DB.", "bank": "project-notes"}
    said = kit(ava, "chaz").call("remember", entry)
    assert said.startswith("Remembered in bank 'project-notes': architecture.sessions = Each has its own DB.")
    found = kit(ben, "chaz").call("recall", {"query": "sessions", "bank": "project-notes"})
    assert found.startswith("- **architecture.sessions**: Each has its own DB. (20")
    assert found.endswith("(from ava, peer)")
    assert not kit(ben, "chaz").answer("remember", entry).ok
    listed = kit(ben, "chaz").call("list_memory_banks", {}).splitlines()
    assert listed[0].startswith("- **self** (Write): ")
    assert listed[1] == f"- **project-notes** (Read): {bank.id}"


# chatty


def test_chattys_tag_map_becomes_metadata_and_tags(ava: Agent) -> None:
    """Given as a JSON text, an object, or nothing at all."""
    tools = kit(ava, "chatty")
    tags = {"project": "chatty", "topic": "ui", "bare": ""}
    for number, given in enumerate([json.dumps(tags), tags]):
        said = tools.answer("remember", {"content": f"dark mode {number}", "title": "Theme", "tags": given})
        assert said.text.splitlines()[0] == 'Stored in memory: "Theme"'
        assert said.data is not None
        record = ava.get(said.data["id"])
        assert record.metadata == tags
        assert record.tags == ("bare", "project:chatty", "topic:ui")
    for empty in ("", "null", None, "{}"):
        assert tools.answer("remember", {"content": f"plain {empty!r}", "title": "", "tags": empty}).ok
    assert ava.recall("dark", tags=["project:chatty"])


def test_chattys_search_is_a_json_object(ava: Agent) -> None:
    """With the ancestor's fields, and an id; nothing found is an empty list."""
    tools = kit(ava, "chatty")
    assert json.loads(tools.call("search_memory", {"query": "x", "top_k": 5})) == {"results": []}
    tools.call("remember", {"content": "Prefers dark mode", "title": "Theme", "tags": "{}"})
    row = json.loads(tools.call("search_memory", {"query": "dark"}))["results"][0]
    assert set(row) == {"text", "title", "relevance_score", "source", "id"}
    assert (row["text"], row["title"], row["source"]) == ("Prefers dark mode", "Theme", "memory")
    assert not tools.answer("search_memory", {"query": "x", "top_k": 21}).ok


def test_chattys_skills_are_read_whole(ava: Agent) -> None:
    """`read_skill` gives all steps, whatever the case of the name; no name leads to a file."""
    tools = kit(ava, "chatty")
    said = tools.call("save_skill", {"name": "Deploy", "description": "Ship", "steps": ["Build", "Copy"]})
    assert said.splitlines()[0] == 'Skill saved: "Deploy"'
    content = json.loads(tools.call("read_skill", {"name": "deploy"}))["content"]
    assert content == "Ship\n\n1. Build\n2. Copy"
    assert not tools.answer("read_skill", {"name": "../../etc/passwd"}).ok


def test_chattys_remember_asks_for_synonyms_only_without_an_embedder(ava: Agent, tmp_path: Path) -> None:
    """What the model is told depends on how it will be found."""
    about = kit(ava, "chatty").definitions("anthropic")[0]["description"]
    assert "Add synonyms" in about
    with muniment.open(tmp_path / "meaning", embedder=RandomEmbedder(8)) as peer:
        about = kit(peer.agent("a", create=True), "chatty").definitions("anthropic")[0]["description"]
    assert "without synonyms" in about


# tenzro


def test_tenzros_claims_are_kept_and_not_believed(ava: Agent) -> None:
    """A record says who wrote it; what it claimed stands in its metadata."""
    tools = kit(ava, "tenzro")
    told = {"agent_did": ava.did, "text": "Bonded SLA", "kind": "granted", "source": "controller",
            "metadata": {"topic": "procurement"}}  # fmt: skip
    made = json.loads(tools.call("memory_grant", told))
    assert (made["kind"], made["source"]) == ("self_noted", "self")
    row = json.loads(tools.call("memory_recall", {"agent_did": ava.did, "query": "SLA", "k": 5}))
    assert row["count"] == 1
    record = row["records"][0]
    claimed = {"kind": "granted", "source": "controller"}
    assert record["metadata"] == {"topic": "procurement", "claimed": claimed}
    assert (record["kind"], record["source"], record["agent_did"]) == ("self_noted", "self", ava.did)
    tools.call("memory_grant", {"text": "nothing claimed"})
    assert ava.recall("claimed")[0].record.metadata == {}


def test_tenzros_agent_did_is_no_identity(peer: Peer, ava: Agent) -> None:
    """Another agent's DID opens nothing, whatever the model fills in."""
    ben = peer.agent("ben", create=True)
    ben.remember("the secret of ben")
    for did in (ben.did, "did:key:zzz", ""):
        answer = kit(ava, "tenzro").answer("memory_recall", {"agent_did": did, "query": "secret"})
        assert not answer.ok
        assert "secret of ben" not in answer.text


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_tenzros_modes_degrade_to_words(ava: Agent, mode: str) -> None:
    """Without an embedder the words answer, and the answer says so."""
    ava.remember("Bonded SLA")
    found = json.loads(kit(ava, "tenzro").call("memory_recall", {"query": "SLA", "mode": mode}))
    assert found["count"] == 1
    assert "by words alone" in found["note"]
