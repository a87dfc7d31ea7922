"""JSON-RPC over a real server: who may ask what for whom, what replays do, and the ancestor's methods."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.bindings import bind
from muniment.client import Client, key_from_file, new_key_file
from muniment.commands import COMMANDS
from muniment.identity.http_signatures import Key, key_of
from muniment.surfaces.rpc.methods import method_of, methods
from muniment.surfaces.rpc.tenzro import METHODS

from .serving import ask, key, nonce, owner_key, send, served, signed


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two agents, a memory each."""
    place = tmp_path / "home"
    with muniment.open(place) as peer:
        for name in ("ava", "ben"):
            peer.agent(name, create=True).remember(f"{name} keeps the deploy key", key="deploy")
    return place


@pytest.fixture
def url(home: Path):
    """A server over it."""
    with served(home) as url:
        yield url


def did(home: Path, name: str) -> str:
    """An agent's DID."""
    with muniment.open(home) as peer:
        return peer.agent(name).did


def texts(answer: Any) -> list[str]:
    """The texts of what was recalled."""
    return [hit["record"]["text"] for hit in answer["result"]["hits"]]


def reason(answer: Any) -> str:
    """An error's word."""
    return str(answer["error"]["data"]["reason"])


def test_an_agent_reaches_its_own_memory_and_no_other(url: str, home: Path) -> None:
    """The key decides; an argument that names another agent is refused, as one that names nobody is."""
    ava = key(home, "ava")
    assert texts(ask(url, ava, "memory.recall", {"query": "deploy key"})) == ["ava keeps the deploy key"]
    assert texts(ask(url, ava, "memory.recall", {"query": "deploy", "agent_did": did(home, "ava")}))
    answers = [ask(url, ava, "memory.recall", {"query": "deploy", "agent_did": name})
               for name in (did(home, "ben"), "ben", "nobody", "did:key:z6Mk", "did:web:example.com")]  # fmt: skip
    assert {reason(answer) for answer in answers} == {"not_permitted"}
    assert len({answer["error"]["message"] for answer in answers}) == 1


def test_a_controller_acts_for_each_of_its_agents_by_name(url: str, home: Path) -> None:
    """With several agents one has to be named; the memory is the agent's own, signed by the agent."""
    owner = owner_key(home)
    unnamed = ask(url, owner, "memory.recall", {"query": "deploy"})
    assert (reason(unnamed), unnamed["error"]["data"]["choices"]) == ("ambiguous", ["ava", "ben"])
    for name in ("ben", did(home, "ben")):
        found = ask(url, owner, "memory.recall", {"query": "deploy", "agent_did": name})
        assert texts(found) == ["ben keeps the deploy key"]
    ask(url, owner, "memory.remember", {"text": "tea", "key": "t", "agent_did": "ben"})
    assert ask(url, key(home, "ben"), "memory.get", ["t"])["result"]["author"] == did(home, "ben")


def test_a_stranger_is_refused_and_leaves_nothing(url: str, home: Path) -> None:
    """A good signature by a key that owns no agent here is 403, whatever is asked, and no nonce is kept."""
    stranger = key_of(bytes(32))
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "rpc.discover"}).encode()
    status, _, data = send(url, body, signed(url, stranger, body))
    assert (status, reason(json.loads(data))) == (403, "not_permitted")
    with muniment.open(home) as peer:
        rows = peer.standing_store()._connections.link().run("SELECT * FROM nonces")  # type: ignore[union-attr]
    assert rows == []


def test_a_controller_elsewhere_needs_only_its_seed(home: Path, tmp_path: Path) -> None:
    """An agent made for a key of another machine obeys that key, and the installation's owner does not speak for it."""
    seed = tmp_path / "seed"
    controller = new_key_file(seed)
    with muniment.open(home) as peer:
        peer.new_agent("kim", controller=controller)
    with served(home) as url, Client(url, key_from_file(seed)) as kim:
        assert kim.remember("the fair is in Oslo").created
        assert [hit.record.text for hit in kim.recall("fair")] == ["the fair is in Oslo"]
        refused = ask(url, owner_key(home), "memory.recall", {"query": "fair", "agent_did": "kim"})
        assert reason(refused) == "not_permitted"


def test_a_request_counts_once(url: str, home: Path) -> None:
    """The same bytes sent again are refused by name, before anything is done."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "memory.remember", "params": ["tea"]}).encode()
    headers = signed(url, key(home, "ava"), body)
    assert send(url, body, headers)[0] == 200
    status, more, data = send(url, body, headers)
    assert (status, json.loads(data)["error"]["data"]["rule"]) == (401, "replayed")
    assert more["accept-signature"].startswith('muniment=("@method"')


def test_a_request_does_not_outlive_a_restart(home: Path) -> None:
    """What was answered before a server stopped is not answered after it started again."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "memory.stats"}).encode()
    ava, once = key(home, "ava"), nonce()
    with served(home) as url:
        port = int(url.rpartition(":")[2])
        headers = signed(url, ava, body, once=once)
        assert send(url, body, headers)[0] == 200
    with served(home, port=port) as url:
        assert json.loads(send(url, body, headers)[2])["error"]["data"]["rule"] == "replayed"
        old = signed(url, ava, body, created=int(time.time()) - 30)
        assert json.loads(send(url, body, old)[2])["error"]["data"]["rule"] == "replayed"
        assert send(url, body, signed(url, ava, body))[0] == 200


def test_a_body_that_was_swapped_is_refused(url: str, home: Path) -> None:
    """A signature is for one body."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "memory.stats"}).encode()
    status, _, data = send(url, body.replace(b"stats", b"getit"), signed(url, key(home, "ava"), body))
    assert (status, json.loads(data)["error"]["data"]["rule"]) == (401, "wrong_digest")


def test_a_bound_did_names_the_agent(url: str, home: Path) -> None:
    """Another DID leads to the agent whose key says so, for those who may act for it anyway."""
    with muniment.open(home) as peer:
        bind(peer, peer.agent("ava"), "did:tenzro:machine:1b9d6bcd:77")
    name = {"agent_did": "did:tenzro:machine:1b9d6bcd:77"}
    for by in (key(home, "ava"), owner_key(home)):
        assert texts(ask(url, by, "memory.recall", {"query": "deploy", **name})) == [
            "ava keeps the deploy key"
        ]
    assert reason(ask(url, key(home, "ben"), "memory.recall", {"query": "x", **name})) == "not_permitted"


def test_errors_have_a_code_a_word_and_a_next_step(url: str, home: Path) -> None:
    """Faults of parameters are -32602; what the memory says is outside the protocol's own range."""
    ava = key(home, "ava")
    missing = ask(url, ava, "memory.get", {"ref": "nothing"})["error"]
    assert (missing["code"], missing["data"]["reason"], missing["data"]["exit_code"]) == (
        1003,
        "unknown_record",
        3,
    )
    assert missing["data"]["next_step"]
    for method, params, code in (
        ("memory.get", {}, -32602),
        ("memory.get", {"ref": 1}, -32602),
        ("memory.get", {"reff": "x"}, -32602),
        ("memory.get", ["a", "b", "c"], -32602),
        ("memory.recall", {"limit": 0}, -32602),
        ("memory.recall", {"agent_did": 5}, -32602),
        ("memory.nothing", {}, -32601),
        ("memory.import", {"path": "/etc/passwd"}, -32601),
        ("memory.key.mine", {}, -32601),
        ("memory.doctor", {}, -32601),
        ("memory.serve", {}, -32601),
        ("memory.memory.grant", {}, -32601),
    ):
        assert ask(url, ava, method, params)["error"]["code"] == code, method


def test_no_method_takes_a_file_or_a_secret_of_the_server() -> None:
    """Whatever the table holds, nothing that goes remote can name a path or be told a secret."""
    for command in methods().values():
        assert command.right != "none"
        assert not {param.type for param in command.params} & {"path", "secret"}
    assert {"memory.remember", "memory.recall", "memory.forget", "memory.verify"} <= set(methods())
    assert not {method_of(name) for name in ("import", "export", "check", "serve", "token new")} & set(
        methods()
    )


def test_a_notification_is_done_and_not_answered(url: str, home: Path) -> None:
    """Nothing comes back but 204, also where it failed."""
    ava = key(home, "ava")
    body = json.dumps([
        {"jsonrpc": "2.0", "method": "memory.remember", "params": {"text": "quiet", "key": "q"}},
        {"jsonrpc": "2.0", "method": "memory.get", "params": {"ref": "nothing"}},
    ]).encode()  # fmt: skip
    assert send(url, body, signed(url, ava, body))[0::2] == (204, b"")
    assert ask(url, ava, "memory.get", ["q"])["result"]["text"] == "quiet"


def test_a_batch_may_speak_of_several_agents(url: str, home: Path) -> None:
    """One signature covers the batch; each call is judged by itself."""
    owner = owner_key(home)
    body = json.dumps([
        {"jsonrpc": "2.0", "id": name, "method": "memory.get", "params": {"ref": "deploy", "agent_did": name}}
        for name in ("ava", "ben", "eve")
    ]).encode()  # fmt: skip
    answers = {one["id"]: one for one in json.loads(send(url, body, signed(url, owner, body))[2])}
    assert answers["ava"]["result"]["text"].startswith("ava")
    assert answers["ben"]["result"]["text"].startswith("ben")
    assert reason(answers["eve"]) == "not_permitted"


def test_discovery_lists_what_can_be_called(url: str, home: Path) -> None:
    """The OpenRPC document names every method, its parameters and their schemas, and nothing else."""
    found = ask(url, key(home, "ava"), "rpc.discover")["result"]
    listed = {method["name"]: method for method in found["methods"]}
    assert set(listed) == {*methods(), *METHODS}
    limit = next(p for p in listed["memory.recall"]["params"] if p["name"] == "limit")
    assert limit["schema"] == {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}
    assert listed["memory.get"]["params"][0]["required"] is True
    for method in found["methods"]:
        names = [p["name"] for p in method["params"]]
        assert len(names) == len(set(names))
        assert {"name", "summary", "params", "result"} <= method.keys()


# The ancestor's methods


@pytest.mark.parametrize("wrapped", [False, True], ids=["an object", "an array of one"])
def test_grant_list_and_recall_as_the_ancestor_has_them(url: str, home: Path, *, wrapped: bool) -> None:
    """Its parameters, its record view, its order; and what is claimed is kept without being believed."""
    ava, name = key(home, "ava"), did(home, "ava")

    def call(method: str, **params: Any) -> Any:
        return ask(url, ava, method, [params] if wrapped else params)["result"]

    text = "Preferred storage providers must post a bonded SLA"
    made = call("tenzro_memoryGrant", agent_did=name, text=text, kind="granted", source="controller",
                metadata={"topic": "procurement"})  # fmt: skip
    assert set(made) == {
        "id", "agent_did", "created_at_ms", "kind", "source", "text", "metadata", "da_pointer"
    }  # fmt: skip
    assert (made["agent_did"], made["text"], made["da_pointer"]) == (name, text, None)
    assert (made["kind"], made["source"]) == ("self_noted", "self")
    assert made["metadata"] == {
        "topic": "procurement",
        "claimed": {"kind": "granted", "source": "controller"},
    }
    listed = call("tenzro_listMemoryRecords", agent_did=name, limit=20)
    assert (listed["count"], listed["records"][0]) == (2, made)
    found = call("tenzro_memoryRecall", agent_did=name, query="bonded storage", k=5, mode="text")
    assert found == {"count": 1, "records": [made]}


def test_what_a_tool_said_is_marked_so(url: str, home: Path) -> None:
    """The one claim that only lowers trust is taken."""
    ava = key(home, "ava")
    params = {"agent_did": did(home, "ava"), "text": "72 degrees", "source": "tool"}
    assert ask(url, ava, "tenzro_memoryGrant", params)["result"]["source"] == "tool"


def test_meaning_without_an_embedder_is_refused(url: str, home: Path) -> None:
    """Vector and hybrid recall are a clear error on a node without an embedder; hybrid is the default."""
    ava, name = key(home, "ava"), did(home, "ava")
    for more in ({}, {"mode": "hybrid"}, {"mode": "vector"}):
        error = ask(url, ava, "tenzro_memoryRecall", {"agent_did": name, "query": "deploy", **more})["error"]
        assert error["data"]["reason"] in {"embedder_unavailable", "invalid_input"}
        assert "embedder" in error["message"] + error["data"]["next_step"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tenzro_memoryGrant", {"text": "x"}),
        ("tenzro_memoryGrant", {"agent_did": "ava"}),
        ("tenzro_memoryGrant", {"agent_did": "ava", "text": "x", "kind": "dreamt"}),
        ("tenzro_memoryGrant", {"agent_did": "ava", "text": "x", "source": "god"}),
        ("tenzro_memoryGrant", {"agent_did": "ava", "text": "x", "metadata": [1]}),
        ("tenzro_memoryRecall", {"agent_did": "ava", "query": "x", "k": 0}),
        ("tenzro_memoryRecall", {"agent_did": "ava", "query": "x", "mode": "magic"}),
        ("tenzro_memoryRecall", {"agent_did": "ava", "query": "x", "limit": 3}),
        ("tenzro_listMemoryRecords", {"agent_did": "ava", "limit": True}),
        ("tenzro_memoryArchive", {"agent_did": "ava"}),
        ("tenzro_memoryRecall", ["ava", "x", 1, "text", 5]),
    ],
)
def test_wrong_parameters_are_said_so(url: str, home: Path, method: str, params: Any) -> None:
    """Each is -32602, with the name of the error."""
    error = ask(url, key(home, "ava"), method, params)["error"]
    assert (error["code"], error["data"]["error"] in {"InvalidInput", "LimitExceeded"}) == (-32602, True)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_only_the_agent_and_its_controller_may(url: str, home: Path, method: str) -> None:
    """Memory methods are owner methods."""
    params = {"text": "x", "query": "x", "record_id": "x"}
    known = {p.name for p in COMMANDS[METHODS[method]].params}
    given = {"agent_did": did(home, "ava"), **{n: v for n, v in params.items() if n in known}}
    assert reason(ask(url, key(home, "ben"), method, given)) == "not_permitted"


def test_archiving_as_the_ancestor_has_it(url: str, home: Path) -> None:
    """An archived record is listed as such, with its pointer, and still found."""
    ava, name = key(home, "ava"), did(home, "ava")
    made = ask(url, ava, "tenzro_memoryGrant", {"agent_did": name, "text": "an old story of a lighthouse"})[
        "result"
    ]
    gone = ask(url, ava, "tenzro_memoryArchive", {"agent_did": name, "record_id": made["id"]})["result"]
    assert (gone["id"], gone["kind"]) == (made["id"], "archived")
    assert gone["da_pointer"]["locator"]
    found = ask(url, ava, "tenzro_memoryRecall", {"agent_did": name, "query": "lighthouse", "mode": "text"})
    assert [record["id"] for record in found["result"]["records"]] == [made["id"]]


def test_a_key_is_not_a_name(home: Path) -> None:
    """A key's name is its own: a signer can't show another agent's."""
    ava, ben = key(home, "ava"), key(home, "ben")
    with served(home) as url:
        liar = Key(ava.keyid, ben.sign)
        body = b'{"jsonrpc":"2.0","id":1,"method":"memory.stats"}'
        assert (
            json.loads(send(url, body, signed(url, liar, body))[2])["error"]["data"]["rule"]
            == "bad_signature"
        )
