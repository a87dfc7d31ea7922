"""Every command gives the same result and the same error through the library, the command line, a chat, and MCP."""

import asyncio
import dataclasses
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import muniment
from muniment.access import hear, request_bytes
from muniment.bank_sharing import add_peer, peers, remove_peer, sync_now
from muniment.base.errors import MunimentError
from muniment.base.ids import cid_of, cid_text, parse_cid
from muniment.bindings import bind
from muniment.carried import verify_file
from muniment.commands import COMMANDS, Context, invoke
from muniment.custody import Custody
from muniment.granting import decide
from muniment.identity.did import parse_did, to_did
from muniment.identity.keys import keypair
from muniment.ledger.control import Revoke
from muniment.playbook_ops import Add
from muniment.remembering import Draft, remember
from muniment.surfaces.cli import main
from muniment.surfaces.cli.plain import WRITE
from muniment.surfaces.cli.pretty import DRAW
from muniment.surfaces.cli.remote import Answer
from muniment.surfaces.mcp.command_tools import tool_name
from muniment.surfaces.mcp.host import Grant, Host
from muniment.surfaces.serve.background import background
from muniment.surfaces.serve.options import options
from muniment.surfaces.serve.run import serve
from muniment.surfaces.slash import Slash
from muniment.surfaces.typed import params_of
from muniment.surfaces.worker import Worker
from muniment.testing.entropy import SeededEntropy
from muniment.testing.shared import SharedBank
from muniment.tokens import Tokens

Call = Callable[[Any, Any], Any]  # peer, agent -> result

FRIEND = to_did(keypair(bytes(32)).public)
TOKEN = SeededEntropy(b"token").bytes(6).hex()
SECRET = "sk-example-1234"
AWAY = f"muniment:?bank={cid_text(cid_of(b'away'))}&peer=http://127.0.0.1:9"
NOTES = [
    ("Build with nix, copy to prod", {"key": "deploy", "tags": ["ops"], "title": "Deploy"}),
    ("Build with nix, then copy to prod on Friday", {"key": "deploy", "tags": ["ops"], "title": "Deploy"}),
    ("Met Kim at the fair in Oslo", {"metadata": {"place": {"city": "Oslo"}, "n": 2}, "session": "trip"}),
    (
        "Kim deploys sensors at sea",
        {"session": "trip", "type": "message", "created_at": "2026-01-02T03:04:05Z"},
    ),
    ("The old editor was vim", {"key": "editor"}),
]


def listed(name: str) -> Callable[[Any], Any]:
    """A list of views, as the commands wrap it."""
    return lambda items: {name: [item.to_json() for item in items]}


def ancestral(records: Any) -> Any:
    """Records as the ancestor's verbs show them."""
    names = ("id", "created_at_ms", "kind", "source", "text")
    shown = [{**{name: getattr(record, name) for name in names}, "agent_did": "", "da_pointer": None,
              "metadata": dict(record.metadata)} for record in records]  # fmt: skip
    for view, record in zip(shown, records, strict=True):
        if record.archived:
            view["kind"] = "archived"
            view["da_pointer"] = {"backend": "muniment-blobs", "namespace": "agent-memory", "locator": ""}
    return {"count": len(shown), "records": shown}


def look(peer: Any) -> Any:
    """What `serve --check` does, by the library."""
    return serve(lambda: muniment.open(peer.home), options("127.0.0.1:0"), check=True)


def plain(result: Any) -> Any:
    """A view's own JSON."""
    return result.to_json()


def of_ava(config: Any) -> Any:
    """Settings of auto-recall, as the command names their agent."""
    return {"agent": "ava", **config.to_json()}


def trust(config: Any) -> Any:
    """Settings of trust, as the commands wrap them."""
    return {"agent": "ava", "settings": config.to_json()}


def settings(config: Any) -> Any:
    """Settings of a playbook, as the command wraps them."""
    return {"agent": "ava", "settings": config.to_json()}


LESSONS = [Add("Run the tests first", "ops"), Add("Build before you push"), Add("Ask twice")]
BULLETS = [lesson.id for lesson in LESSONS]
LEARNED = json.dumps(
    [{"op": "ADD", "text": "Drink tea"}, {"op": "UPDATE", "id": BULLETS[0], "judgement": "helpful"}]
)

STRANGER = to_did(keypair(b"a key from elsewhere, 32 bytes  ").public)


def void_entry(agent: Any) -> str:
    """An entry that a revocation left out of the bank `cut`."""
    entry: str = agent.bank("cut").verify().void_listed[0][0]
    return entry


def with_banks(peer: Any, agent: Any) -> None:
    """A bank with a member and an invite, one that was deleted, and one with an entry that was cut off."""
    agent.banks.new("team", description="how we work")
    agent.bank("team").remember(NOTES[0][0], key="deploy")
    agent.banks.grant("team", STRANGER, "write")
    agent.banks.invite("team")
    agent.banks.new("gone")
    agent.banks.delete("gone")
    asker = peer.host.keyring.create(b"somebody who asks, with 32 bytes")
    bank = parse_cid(agent.bank("team").bank_id)
    hear(peer, peer.bank(bank), asker, request_bytes(bank, asker, "write", "hello", peer.host.keyring))
    peer.made_store().others.add_route(bank, "http://127.0.0.1:9", "added", 1)
    agent.banks.new("cut")
    agent.banks.grant("cut", "owner", "write")
    owner, bank = peer.owner(), peer.bank(parse_cid(agent.bank("cut").bank_id))
    remember(bank, owner, [Draft("inside")])
    inside = bank.store.tips(owner)
    remember(bank, owner, [Draft("outside")])
    with bank.write():
        decide(bank, parse_did(agent.did), [Revoke(owner, inside)], peer.host.clock.now_ms())


# One row a command at least: what is typed, the same by the library, and how the library's result reads as JSON.
SAME: list[tuple[str, list[str], Call, Callable[[Any], Any]]] = [
    ("remember", ["remember", "tea", "--key", "k", "--tag", "b", "--tag", "a", "--meta", "x.y=1"],
     lambda _, a: a.remember("tea", key="k", tags=["b", "a"], metadata={"x": {"y": 1}}), plain),
    ("remember", ["remember", NOTES[4][0], "--key", "editor"],
     lambda _, a: a.remember(NOTES[4][0], key="editor"), plain),
    ("recall", ["recall", "when", "do", "we", "deploy?"], lambda _, a: a.recall("when do we deploy?"), plain),
    ("recall", ["recall", "deploy", "--no-context", "-n", "1"],
     lambda _, a: a.recall("deploy", limit=1, context=False), plain),
    ("recall", ["recall", "deploy", "in", "2022", "--dates", "filter"],
     lambda _, a: a.recall("deploy in 2022", dates="filter"), plain),
    ("recall", ["recall", "kim", "--meta", "place.city=Oslo", "--session", "trip"],
     lambda _, a: a.recall("kim", metadata={"place.city": "Oslo"}, session="trip"), plain),
    ("recall", ["recall"], lambda _, a: a.recall(), plain),
    ("recall", ["recall", "zzz"], lambda _, a: a.recall("zzz"), plain),
    ("get", ["get", "deploy"], lambda _, a: a.get("deploy"), plain),
    ("list", ["list"], lambda _, a: a.list(), listed("records")),
    ("list", ["list", "--limit", "1", "--offset", "1", "--source", "self"],
     lambda _, a: a.list(limit=1, offset=1, source="self"), listed("records")),
    ("history", ["history", "deploy"], lambda _, a: a.history("deploy"), listed("records")),
    ("forget", ["forget", "editor"], lambda _, a: a.forget("editor"), listed("records")),
    ("clear", ["clear"], lambda _, a: a.clear(), plain),
    ("save-skill", ["save-skill", "ship it", "--step", "build", "--step", "copy", "--description", "Ship"],
     lambda _, a: a.save_skill("ship it", ["build", "copy"], "Ship"), plain),
    ("skills list", ["skills", "list"], lambda _, a: a.skills(), listed("skills")),
    ("skills show", ["skills", "show", "Greet"], lambda _, a: a.skill("greet"), plain),
    ("feedback", ["feedback", "deploy", "helpful", "--id", "run-2"],
     lambda _, a: a.feedback("deploy", "helpful", id="run-2"), plain),
    ("feedback", ["feedback", "deploy", "harmful", "--bank", "team"],
     lambda _, a: a.bank("team").feedback("deploy", "harmful"), plain),
    ("playbook show", ["playbook", "show"], lambda _, a: a.playbook.show(), plain),
    ("playbook show", ["playbook", "show", "--section", "ops", "--max-tokens", "60", "--bank", "ava"],
     lambda _, a: a.playbook.show(section="ops", max_tokens=60), plain),
    ("playbook add", ["playbook", "add", "Look at the logs", "--section", "ops"],
     lambda _, a: a.playbook.add("Look at the logs", "ops"), plain),
    ("playbook edit", ["playbook", "edit", BULLETS[0], "Test first"],
     lambda _, a: a.playbook.edit(BULLETS[0], "Test first"), plain),
    ("playbook merge", ["playbook", "merge", "--bullet", BULLETS[0], "--bullet", BULLETS[1], "--text", "Both"],
     lambda _, a: a.playbook.merge(BULLETS, "Both"), plain),
    ("playbook delete", ["playbook", "delete", BULLETS[0]], lambda _, a: a.playbook.delete(BULLETS[0]), plain),
    ("playbook delete", ["playbook", "delete", "--undo", BULLETS[2]],
     lambda _, a: a.playbook.delete(BULLETS[2], undo=True), plain),
    ("playbook apply", ["playbook", "apply", LEARNED, "--id", "run-3"],
     lambda _, a: a.playbook.apply(json.loads(LEARNED), id="run-3"), plain),
    ("playbook evict", ["playbook", "evict", "--dry-run"], lambda _, a: a.playbook.evict(dry_run=True), plain),
    ("playbook evict", ["playbook", "evict"], lambda _, a: a.playbook.evict(), plain),
    ("playbook config", ["playbook", "config"], lambda _, a: a.playbook.config(), settings),
    ("playbook config", ["playbook", "config", "set", "max_bullets", "7"],
     lambda _, a: a.playbook.configure(max_bullets=7), settings),
    ("playbook config", ["playbook", "config", "reset"], lambda _, a: a.playbook.configure(policy=None), settings),
    ("playbook review list", ["playbook", "review", "list"], lambda _, a: a.playbook.proposals(), listed("proposals")),
    ("playbook review accept", ["playbook", "review", "accept", "night"],
     lambda _, a: a.playbook.accept("night"), plain),
    ("playbook review reject", ["playbook", "review", "reject", "nightly"],
     lambda _, a: a.playbook.reject("nightly"), plain),
    ("agent tools", ["agent", "tools", "--only", "recall"], lambda _, a: a.allow_tools(["recall"]),
     lambda names: {"agent": "ava", "tools": list(names)}),
    ("agent tools", ["agent", "tools"], lambda _, a: a.allowed_tools(),
     lambda names: {"agent": "ava", "tools": names}),
    ("mcp", ["mcp", "--print-config", "cursor"],
     lambda p, _: invoke("mcp", Context(p.home), {"print_config": "cursor"}), plain),
    ("why", ["why", "kim at sea", "deploy"], lambda _, a: a.why("kim at sea", "deploy"), plain),
    ("why", ["why", "kim", "deploy", "--tag", "ops"], lambda _, a: a.why("kim", "deploy", tags=["ops"]), plain),
    ("stats", ["stats"], lambda _, a: a.stats(), plain),
    ("erase", ["erase", "deploy", "--dry-run"], lambda _, a: a.erase("deploy", dry_run=True), plain),
    ("erase", ["erase", "--key", "kept", "--dry-run"], lambda _, a: a.erase(key="kept", dry_run=True), plain),
    ("archive", ["archive", "deploy"], lambda _, a: a.archive("deploy"), plain),
    ("archive", ["archive", "--query", "archived words", "--limit", "5", "--larger-than", "0", "--dry-run"],
     lambda _, a: a.archive(query="archived words", limit=5, larger_than=0, dry_run=True), plain),
    ("archive", ["archive", "--older-than", "1d", "--larger-than", "10", "--type", "message", "--dry-run"],
     lambda _, a: a.archive(older_than="1d", larger_than="10", type="message", dry_run=True), plain),
    ("fetch", ["fetch", "deploy"], lambda _, a: a.fetch("deploy"), plain),
    ("restore", ["restore", "kept"], lambda _, a: a.restore("kept"), listed("records")),
    ("restore", ["restore", "deploy"], lambda _, a: a.restore("deploy"), listed("records")),
    ("recall", ["recall", "--fetch", "archived", "words"], lambda _, a: a.recall("archived words", fetch=True), plain),
    ("list", ["list", "--state", "archived"], lambda _, a: a.list(states=["archived"]), listed("records")),
    ("blobs list", ["blobs", "list"], lambda p, _: p.blobs.list(), listed("packs")),
    ("blobs gc", ["blobs", "gc", "--dry-run"], lambda p, _: p.blobs.collect(dry_run=True), plain),
    ("custody accept", ["custody", "accept", FRIEND, "--space", "5MB", "--days", "30"],
     lambda p, _: Custody(p).accept(FRIEND, space="5MB", days=30), plain),
    ("custody list", ["custody", "list"], lambda p, _: Custody(p).list(), plain),
    ("custody status", ["custody", "status"], lambda p, _: Custody(p).status(), plain),
    ("custody challenge", ["custody", "challenge"], lambda p, _: Custody(p).challenge(), plain),
    ("custody offer", ["custody", "offer", "holder", "--days", "9"],
     lambda p, _: Custody(p).offer("holder", days=9), listed("given")),
    ("recall", ["recall", "deploy", "--floor", "--no-rerank"],
     lambda _, a: a.recall("deploy", floor=True, rerank=False), plain),
    ("recall", ["recall", "deploy", "--rerank"], lambda _, a: a.recall("deploy", rerank=True), plain),
    ("context", ["context", "when do we deploy with nix?"],
     lambda _, a: a.session("default").preview([{"role": "user", "content": "when do we deploy with nix?"}]), plain),
    ("context", ["context", '[{"role": "user", "content": "where is Lisbon?"}]', "--session", "s"],
     lambda _, a: a.session("s").preview([{"role": "user", "content": "where is Lisbon?"}]), plain),
    ("bank attach", ["bank", "attach", "wiki", "--session", "s"], lambda _, a: a.session("s").attach("wiki"),
     lambda bank: {"session": "s", "changed": True, "bank": bank._asdict(), "attached": [bank._asdict()]}),
    ("bank detach", ["bank", "detach", "wiki"], lambda _, a: a.session("default").detach("wiki"),
     lambda changed: {"session": "default", "changed": changed, "bank": None, "attached": []}),
    ("bank config", ["bank", "config"], lambda _, a: a.auto_recall_config(), of_ava),
    ("bank config", ["bank", "config", "set", "max_entries", "5"],
     lambda _, a: a.configure_auto_recall(max_entries=5), of_ava),
    ("bank config", ["bank", "config", "set", "auto_recall_banks", "wiki"],
     lambda _, a: a.configure_auto_recall(auto_recall_banks=["wiki"]), of_ava),
    ("bank config", ["bank", "config", "reset", "floor"], lambda _, a: a.configure_auto_recall(floor=None), of_ava),
    ("bank config", ["bank", "config", "reset"], lambda _, a: a.reset_auto_recall(), of_ava),
    ("import", ["import", "notes.txt"], lambda _, a: a.import_from("notes.txt"), plain),
    ("export", ["export", "library.jsonl"], lambda _, a: a.export_to("library.jsonl"),
     lambda n: {"path": "library.jsonl", "records": n}),
    ("export", ["export", "library.md", "--format", "markdown"],
     lambda _, a: a.export_to("library.md", format="markdown"), lambda n: {"path": "library.md", "records": n}),
    ("agent new", ["agent", "new", "ben"], lambda p, _: p.agent_info(p.new_agent("ben").name), plain),
    ("agent list", ["agent", "list"], lambda p, _: p.agents(), listed("agents")),
    ("agent show", ["agent", "show", "ava"], lambda p, _: p.agent_info("ava"), plain),
    ("agent show", ["agent", "show"], lambda p, _: p.agent_info("ava"), plain),
    ("key mine", ["key", "mine"], lambda _, a: a.claim(), lambda entry: {"agent": "ava", "entry": entry}),
    ("key list", ["key", "list"], lambda p, _: p.keys.list(), listed("keys")),
    ("key rotate", ["key", "rotate"], lambda p, _: p.keys.rotate("ava"), plain),
    ("key not-mine", ["key", "not-mine"], lambda p, _: p.keys.rotate("ava", not_mine=True), plain),
    ("agent trust show", ["agent", "trust", "show"], lambda _, a: a.trust(), trust),
    ("agent trust set", ["agent", "trust", "set", "sources", "self,tool"],
     lambda _, a: a.configure_trust(sources=["self", "tool"]), trust),
    ("agent trust set", ["agent", "trust", "set", "blocked", "owner"],
     lambda _, a: a.configure_trust(blocked="owner"), trust),
    ("agent trust reset", ["agent", "trust", "reset"], lambda _, a: a.reset_trust(), trust),
    ("bank new", ["bank", "new", "crew", "--description", "who we are"],
     lambda _, a: a.banks.new("crew", description="who we are"), plain),
    ("bank new", ["bank", "new", "crew", "--owner"], lambda p, _: p.banks.new("crew"), plain),
    ("bank list", ["bank", "list", "--all"], lambda _, a: a.banks.list(all=True), listed("banks")),
    ("bank describe", ["bank", "describe", "team"], lambda _, a: a.banks.describe("team"), plain),
    ("bank describe", ["bank", "describe", "team", "--title", "T"],
     lambda _, a: a.banks.describe("team", title="T"), plain),
    ("bank members", ["bank", "members", "team"], lambda _, a: a.banks.members("team"), listed("members")),
    ("bank grant", ["bank", "grant", "team", "owner", "write", "--until", "2090-01-01", "--delegable"],
     lambda _, a: a.banks.grant("team", "owner", "write", until="2090-01-01", delegable=True), plain),
    ("bank grant", ["bank", "grant", "ava", STRANGER, "read", "--as-agent"],
     lambda _, a: a.banks.grant("ava", STRANGER, "read", as_agent=True), plain),
    ("bank revoke", ["bank", "revoke", "team", STRANGER, "--cascade"],
     lambda _, a: a.banks.revoke("team", STRANGER, cascade=True), plain),
    ("bank rekey", ["bank", "rekey", "team"], lambda _, a: a.banks.rekey("team"), plain),
    ("bank rekey", ["bank", "rekey", "team", "--reader", STRANGER],
     lambda _, a: a.banks.rekey("team", reader=STRANGER), plain),
    ("bank adopt", ["bank", "adopt", "cut", "VOID"], lambda _, a: a.banks.adopt("cut", void_entry(a)), plain),
    ("bank rename", ["bank", "rename", "team", "crew"], lambda _, a: a.banks.rename("team", "crew"), plain),
    ("bank delete", ["bank", "delete", "team"], lambda _, a: a.banks.delete("team"), plain),
    ("bank undelete", ["bank", "undelete", "gone"], lambda _, a: a.banks.undelete("gone"), plain),
    ("bank fork", ["bank", "fork", "team", "team 2"], lambda _, a: a.banks.fork("team", "team 2"), plain),
    ("bank invite new", ["bank", "invite", "new", "team", "write", "--uses", "2", "--until", "2090-01-01"],
     lambda _, a: a.banks.invite("team", "write", uses=2, until="2090-01-01"), plain),
    ("bank invite list", ["bank", "invite", "list", "team"], lambda _, a: a.banks.invites("team"), listed("invites")),
    ("bank invite revoke", ["bank", "invite", "revoke", "team", "INVITE"],
     lambda _, a: a.banks.withdraw("team", a.banks.invites("team")[0].id), plain),
    ("remember", ["remember", "tea", "--bank", "team"], lambda _, a: a.bank("team").remember("tea"), plain),
    ("recall", ["recall", "-b", "team", "nix"], lambda _, a: a.bank("team").recall("nix"), plain),
    ("get", ["get", "deploy", "--bank", "team"], lambda _, a: a.bank("team").get("deploy"), plain),
    ("list", ["list", "--bank", "team"], lambda _, a: a.bank("team").list(), listed("records")),
    ("history", ["history", "deploy", "--bank", "team"], lambda _, a: a.bank("team").history("deploy"),
     listed("records")),
    ("forget", ["forget", "deploy", "--bank", "team"], lambda _, a: a.bank("team").forget("deploy"),
     listed("records")),
    ("why", ["why", "nix", "deploy", "--bank", "team"], lambda _, a: a.bank("team").why("nix", "deploy"), plain),
    ("stats", ["stats", "--bank", "team"], lambda _, a: a.bank("team").stats(), plain),
    ("import", ["import", "notes.txt", "--bank", "team"],
     lambda _, a: a.bank("team").import_from("notes.txt"), plain),
    ("verify", ["verify", "--bank", "team"], lambda _, a: a.bank("team").verify(), plain),
    ("check", ["check", "--bank", "team"], lambda _, a: a.bank("team").check(),
     lambda found: {"agent": "ava", "ok": True, "rebuilt": False, "problems": found}),
    ("credential set", ["credential", "set", "lab"], lambda p, _: p.credentials.set("lab", SECRET), plain),
    ("credential list", ["credential", "list"], lambda p, _: p.credentials.list(), listed("credentials")),
    ("credential remove", ["credential", "remove", "openai"], lambda p, _: p.credentials.remove("openai"), plain),
    ("init", ["init", "--name", "laptop"], lambda p, _: p.init(name="laptop"), dict),
    ("check", ["check"], lambda _, a: a.check(),
     lambda found: {"agent": "ava", "ok": True, "rebuilt": False, "problems": found}),
    ("check", ["check", "--rebuild"], lambda _, a: a.check(rebuild=True),
     lambda found: {"agent": "ava", "ok": True, "rebuilt": True, "problems": found}),
    ("verify", ["verify"], lambda _, a: a.verify(), plain),
    ("verify", ["verify", "ava"], lambda _, a: a.bank("ava").verify(), plain),
    ("verify", ["verify", "bank.car"], lambda *_: verify_file("bank.car"), plain),
    ("verify", ["verify", "bank.car", "--open"],
     lambda p, _: verify_file("bank.car", keyring=p.host.keyring), plain),
    ("import", ["import", "bank.car"], lambda p, _: p.import_bank("bank.car"), plain),
    ("bank export", ["bank", "export", "ava", "line.car"], lambda _, a: a.bank("ava").export_bank("line.car"), plain),
    ("reindex", ["reindex", "--home", "meaning line"],
     lambda *_: muniment.open("meaning library").choose_agent("ava").reindex(), plain),
    ("recall", ["recall", "deploy", "--mode", "hybrid"], lambda _, a: a.recall("deploy", mode="hybrid"), plain),
    ("agent bind", ["agent", "bind", "did:example:ava"], lambda p, a: bind(p, a, "did:example:ava"), plain),
    ("token new", ["token", "new", "--rights", "write", "--label", "phone"],
     lambda p, a: Tokens(p).new(a, "write", label="phone"), plain),
    ("token list", ["token", "list"], lambda p, _: Tokens(p).list(), listed("tokens")),
    ("token revoke", ["token", "revoke", TOKEN], lambda p, _: Tokens(p).revoke(TOKEN), plain),
    ("bank share", ["bank", "share", "team", "--address", "https://a.example"],
     lambda _, a: a.banks.share("team", address=["https://a.example"]), plain),
    ("bank unshare", ["bank", "unshare", "team"], lambda _, a: a.banks.unshare("team"), plain),
    ("bank import", ["bank", "import", AWAY, "read", "--note", "hi"],
     lambda _, a: a.banks.import_ticket(AWAY, "read", note="hi"), plain),
    ("bank requests", ["bank", "requests"], lambda _, a: a.banks.requests(), listed("requests")),
    ("bank approve", ["bank", "approve", "ASKED", "--level", "read"],
     lambda _, a: a.banks.approve(a.banks.requests()[0].id, level="read"), plain),
    ("bank deny", ["bank", "deny", "ASKED"], lambda _, a: a.banks.deny(a.banks.requests()[0].id), plain),
    ("sync", ["sync", "team", "--peer", "http://127.0.0.1:9"],
     lambda p, _: sync_now(p, "team", ("http://127.0.0.1:9",)), plain),
    ("peers list", ["peers", "list"], lambda p, _: peers(p), listed("peers")),
    ("peers add", ["peers", "add", "team", "https://b.example"],
     lambda p, _: add_peer(p, "team", "https://b.example"), plain),
    ("peers remove", ["peers", "remove", "team", "http://127.0.0.1:9"],
     lambda p, _: remove_peer(p, "team", "http://127.0.0.1:9"), plain),
    ("serve", ["serve", "--check", "--listen", "127.0.0.1:0"], lambda p, _: look(p), plain),
    ("memory grant", ["memory", "grant", "--agent-did", "ava", "--text", "tea", "--source", "tool", "--kind",
                      "granted", "--metadata", '{"a": 1}'],
     lambda _, a: a.remember("tea", metadata={"a": 1, "claimed": {"kind": "granted", "source": "tool"}}, tool=True),
     lambda made: {"id": made.id, "agent_did": "", "created_at_ms": 0, "kind": "self_noted", "source": "tool",
                   "text": "tea", "metadata": {"a": 1, "claimed": {"kind": "granted", "source": "tool"}},
                   "da_pointer": None}),
    ("memory recall", ["memory", "recall", "--agent-did", "ava", "--query", "kim", "--k", "2", "--mode", "text"],
     lambda _, a: [hit.record for hit in a.recall("kim", limit=2, mode="text")], ancestral),
    ("memory list", ["memory", "list", "--agent-did", "ava", "--limit", "2"], lambda _, a: a.list(limit=2), ancestral),
    ("memory archive", ["memory", "archive", "--agent-did", "ava", "--record-id", "deploy"],
     lambda _, a: (a.archive("deploy"), a.get("deploy"))[1], lambda record: ancestral([record])["records"][0]),
    ("doctor", ["doctor"], lambda p, _: p.doctor(), lambda found: {"ok": True, **listed("findings")(found)}),
]  # fmt: skip

WRONG: list[tuple[str, list[str], Call]] = [
    ("remember", ["remember", "x", "--key", "k" * 600], lambda _, a: a.remember("x", key="k" * 600)),
    ("remember", ["remember", "x", "--key", ""], lambda _, a: a.remember("x", key="")),
    ("remember", ["remember", "x", "--type", "thing"], lambda _, a: a.remember("x", type="thing")),
    ("remember", ["remember", "x", "--created-at", "soon"], lambda _, a: a.remember("x", created_at="soon")),
    ("recall", ["recall", "x", "--limit", "0"], lambda _, a: a.recall("x", limit=0)),
    ("recall", ["recall", "x", "--limit", "1001"], lambda _, a: a.recall("x", limit=1001)),
    ("recall", ["recall", "x", "--mode", "magic"], lambda _, a: a.recall("x", mode="magic")),
    ("recall", ["recall", "x", "--author", "nobody"], lambda _, a: a.recall("x", author="nobody")),
    ("recall", ["recall", "x", "--source", "friend"], lambda _, a: a.recall("x", source="friend")),
    ("recall", ["recall", "x", "--state", "lost"], lambda _, a: a.recall("x", states=["lost"])),
    ("get", ["get", "nothing"], lambda _, a: a.get("nothing")),
    ("list", ["list", "--offset", "-1"], lambda _, a: a.list(offset=-1)),
    ("list", ["list", "--since", "soon"], lambda _, a: a.list(since="soon")),
    ("history", ["history", "nothing"], lambda _, a: a.history("nothing")),
    ("forget", ["forget", "nothing"], lambda _, a: a.forget("nothing")),
    ("forget", ["forget", "nothing", "--undo"], lambda _, a: a.forget("nothing", undo=True)),
    ("clear", ["clear", "--undo"], lambda _, a: a.clear(undo=True)),
    ("save-skill", ["save-skill", "x"], lambda _, a: a.save_skill("x", [])),
    ("save-skill", ["save-skill", " ", "--step", "x"], lambda _, a: a.save_skill(" ", ["x"])),
    ("skills list", ["skills", "list", "--limit", "0"], lambda _, a: a.skills(limit=0)),
    ("skills show", ["skills", "show", "nothing"], lambda _, a: a.skill("nothing")),
    ("skills show", ["skills", "show", "deploy"], lambda _, a: a.skill("deploy")),
    ("feedback", ["feedback", "deploy", "great"], lambda _, a: a.feedback("deploy", "great")),
    ("feedback", ["feedback", "nothing", "helpful"], lambda _, a: a.feedback("nothing", "helpful")),
    ("playbook show", ["playbook", "show", "--section", " "], lambda _, a: a.playbook.show(section=" ")),
    ("playbook add", ["playbook", "add", " "], lambda _, a: a.playbook.add(" ")),
    ("playbook add", ["playbook", "add", "x" * 2001], lambda _, a: a.playbook.add("x" * 2001)),
    ("playbook edit", ["playbook", "edit", "no-such", "x"], lambda _, a: a.playbook.edit("no-such", "x")),
    ("playbook merge", ["playbook", "merge", "--bullet", "a"], lambda _, a: a.playbook.merge(["a"])),
    ("playbook delete", ["playbook", "delete", "no-such"], lambda _, a: a.playbook.delete("no-such")),
    ("playbook delete", ["playbook", "delete", "No Id"], lambda _, a: a.playbook.delete("No Id")),
    ("playbook apply", ["playbook", "apply", '[{"op": "DROP"}]'], lambda _, a: a.playbook.apply([{"op": "DROP"}])),
    ("playbook evict", ["playbook", "evict", "--undo"], lambda _, a: a.playbook.evict(undo=True)),
    ("playbook config", ["playbook", "config", "set", "magic", "1"], lambda _, a: a.playbook.configure(magic=1)),
    ("playbook config", ["playbook", "config", "reset", "magic"], lambda _, a: a.playbook.configure(magic=None)),
    ("playbook review list", ["playbook", "review", "list", "--bank", "none"],
     lambda _, a: a.bank("none").playbook.proposals()),
    ("playbook review accept", ["playbook", "review", "accept", "none"], lambda _, a: a.playbook.accept("none")),
    ("playbook review reject", ["playbook", "review", "reject", "none"], lambda _, a: a.playbook.reject("none")),
    ("agent tools", ["agent", "tools", "--only", "recal"], lambda _, a: a.allow_tools(["recal"])),
    ("mcp", ["mcp", "--print-config", "emacs"],
     lambda p, _: invoke("mcp", Context(p.home), {"print_config": "emacs"})),
    ("why", ["why", "x", "nothing"], lambda _, a: a.why("x", "nothing")),
    ("stats", ["stats", "--agent", "eve"], lambda p, _: p.choose_agent("eve").stats()),
    ("erase", ["erase", "nothing", "--yes"], lambda _, a: a.erase("nothing")),
    ("erase", ["erase", "--yes"], lambda _, a: a.erase()),
    ("erase", ["erase", "deploy", "--version", "--yes"], lambda _, a: a.erase("deploy", version=True)),
    ("clear", ["clear", "--erase", "--undo", "--yes"], lambda _, a: a.clear(erase=True, undo=True)),
    ("archive", ["archive"], lambda _, a: a.archive()),
    ("archive", ["archive", "--query", " "], lambda _, a: a.archive(query=" ")),
    ("archive", ["archive", "nothing"], lambda _, a: a.archive("nothing")),
    ("archive", ["archive", "--older-than", "soon"], lambda _, a: a.archive(older_than="soon")),
    ("fetch", ["fetch", "nothing"], lambda _, a: a.fetch("nothing")),
    ("restore", ["restore", "nothing"], lambda _, a: a.restore("nothing")),
    ("blobs list", ["blobs", "list", "--home", "foreign"], lambda *_: muniment.open("foreign").blobs.list()),
    ("blobs gc", ["blobs", "gc", "--home", "foreign"], lambda *_: muniment.open("foreign").blobs.collect()),
    ("custody offer", ["custody", "offer", "nowhere"], lambda p, _: Custody(p).offer("nowhere")),
    ("custody accept", ["custody", "accept", "did:key:z"], lambda p, _: Custody(p).accept("did:key:z")),
    ("custody accept", ["custody", "accept", FRIEND, "--space", "much"],
     lambda p, _: Custody(p).accept(FRIEND, space="much")),
    ("custody list", ["custody", "list", "--home", "foreign"], lambda *_: Custody(muniment.open("foreign")).list()),
    ("custody challenge", ["custody", "challenge", "--blob", "x"], lambda p, _: Custody(p).challenge("x")),
    ("custody status", ["custody", "status", "--home", "foreign"],
     lambda *_: Custody(muniment.open("foreign")).status()),
    ("context", ["context", "x", "--budget-tokens", "-1"],
     lambda _, a: a.session("default").preview([], budget_tokens=-1)),
    ("bank attach", ["bank", "attach", "nothing"], lambda _, a: a.session("default").attach("nothing")),
    ("bank attach", ["bank", "attach", "ava"], lambda _, a: a.session("default").attach("ava")),
    ("bank detach", ["bank", "detach", "nothing"], lambda _, a: a.session("default").detach("nothing")),
    ("bank config", ["bank", "config", "set", "max_entries", "21"],
     lambda _, a: a.configure_auto_recall(max_entries=21)),
    ("bank config", ["bank", "config", "set", "magic", "yes"], lambda _, a: a.configure_auto_recall(magic="yes")),
    ("bank config", ["bank", "config", "reset", "magic"], lambda _, a: a.configure_auto_recall(magic=None)),
    ("import", ["import", "missing.json"], lambda _, a: a.import_from("missing.json")),
    ("import", ["import", "notes.txt", "--format", "csv"], lambda _, a: a.import_from("notes.txt", format="csv")),
    ("export", ["export", "missing/folder/x.md", "--format", "markdown"],
     lambda _, a: a.export_to("missing/folder/x.md", format="markdown")),
    ("export", ["export", "missing/folder/x.jsonl"], lambda _, a: a.export_to("missing/folder/x.jsonl")),
    ("agent new", ["agent", "new", "AVA"], lambda p, _: p.new_agent("AVA")),
    ("agent new", ["agent", "new", "n" * 65], lambda p, _: p.new_agent("n" * 65)),
    ("agent list", ["agent", "list", "--home", "foreign"], lambda *_: muniment.open("foreign").agents()),
    ("agent show", ["agent", "show", "eve"], lambda p, _: p.agent_info("eve")),
    ("key mine", ["key", "mine", "--agent", "eve"], lambda p, _: p.choose_agent("eve").claim()),
    ("key list", ["key", "list", "--home", "foreign"], lambda *_: muniment.open("foreign").keys.list()),
    ("key rotate", ["key", "rotate", "--agent", "eve"], lambda p, _: p.keys.rotate("eve")),
    ("key not-mine", ["key", "not-mine", "--agent", "eve"], lambda p, _: p.keys.rotate("eve", not_mine=True)),
    ("agent trust show", ["agent", "trust", "show", "--agent", "eve"], lambda p, _: p.agent("eve").trust()),
    ("agent trust set", ["agent", "trust", "set", "sources", "friend"],
     lambda _, a: a.configure_trust(sources="friend")),
    ("agent trust set", ["agent", "trust", "set", "blocked", "nobody"],
     lambda _, a: a.configure_trust(blocked="nobody")),
    ("agent trust set", ["agent", "trust", "set", "peer_weight", "2"],
     lambda _, a: a.configure_trust(peer_weight="2")),
    ("agent trust reset", ["agent", "trust", "reset", "--agent", "eve"], lambda p, _: p.agent("eve").reset_trust()),
    ("bank new", ["bank", "new", "TEAM"], lambda _, a: a.banks.new("TEAM")),
    ("bank new", ["bank", "new", "ava"], lambda _, a: a.banks.new("ava")),
    ("bank new", ["bank", "new", "crew", "--recovery", "me"], lambda _, a: a.banks.new("crew", recovery="me")),
    ("bank list", ["bank", "list", "--agent", "eve"], lambda p, _: p.agent("eve").banks.list()),
    ("bank describe", ["bank", "describe", "none"], lambda _, a: a.banks.describe("none")),
    ("bank members", ["bank", "members", "gone"], lambda _, a: a.banks.members("gone")),
    ("bank grant", ["bank", "grant", "team", "nobody", "read"], lambda _, a: a.banks.grant("team", "nobody", "read")),
    ("bank grant", ["bank", "grant", "team", "owner", "king"], lambda _, a: a.banks.grant("team", "owner", "king")),
    ("bank grant", ["bank", "grant", "team", "owner", "admin(0)"],
     lambda _, a: a.banks.grant("team", "owner", "admin(0)")),
    ("bank grant", ["bank", "grant", "team", "owner", "read", "--until", "2021-01-01"],
     lambda _, a: a.banks.grant("team", "owner", "read", until="2021-01-01")),
    ("bank revoke", ["bank", "revoke", "team", "owner"], lambda _, a: a.banks.revoke("team", "owner")),
    ("bank revoke", ["bank", "revoke", "team", "ava"], lambda _, a: a.banks.revoke("team", "ava")),
    ("bank rekey", ["bank", "rekey", "team", "--owner"], lambda p, _: p.banks.rekey("team")),
    ("bank adopt", ["bank", "adopt", "team", "bafy"], lambda _, a: a.banks.adopt("team", "bafy")),
    ("bank rename", ["bank", "rename", "ava", "crew"], lambda _, a: a.banks.rename("ava", "crew")),
    ("bank delete", ["bank", "delete", "ava"], lambda _, a: a.banks.delete("ava")),
    ("bank undelete", ["bank", "undelete", "team"], lambda _, a: a.banks.undelete("team")),
    ("bank fork", ["bank", "fork", "team", "cut"], lambda _, a: a.banks.fork("team", "cut")),
    ("bank invite new", ["bank", "invite", "new", "team", "admin(0)"], lambda _, a: a.banks.invite("team", "admin(0)")),
    ("bank invite list", ["bank", "invite", "list", "none"], lambda _, a: a.banks.invites("none")),
    ("bank invite revoke", ["bank", "invite", "revoke", "team", "x"], lambda _, a: a.banks.withdraw("team", "x")),
    ("remember", ["remember", "tea", "--bank", "none"], lambda _, a: a.bank("none").remember("tea")),
    ("recall", ["recall", "tea", "--bank", "gone"], lambda _, a: a.bank("gone").recall("tea")),
    ("credential set", ["credential", "set", "No Name"], lambda p, _: p.credentials.set("No Name", SECRET)),
    ("credential list", ["credential", "list", "--home", "foreign"],
     lambda *_: muniment.open("foreign").credentials.list()),
    ("credential remove", ["credential", "remove", "lab"], lambda p, _: p.credentials.remove("lab")),
    ("init", ["init", "--agent", "ava"], lambda p, _: p.init(agent="ava")),
    ("check", ["check", "--agent", "eve"], lambda p, _: p.choose_agent("eve").check()),
    ("reindex", ["reindex"], lambda _, a: a.reindex()),
    ("recall", ["recall", "x", "--mode", "vector"], lambda _, a: a.recall("x", mode="vector")),
    ("agent bind", ["agent", "bind", "ava"], lambda p, a: bind(p, a, "ava")),
    ("token new", ["token", "new", "--rights", "all"], lambda p, a: Tokens(p).new(a, "all")),  # type: ignore[arg-type]
    ("token list", ["token", "list", "--home", "foreign"], lambda *_: Tokens(muniment.open("foreign")).list()),
    ("token revoke", ["token", "revoke", "nothing"], lambda p, _: Tokens(p).revoke("nothing")),
    ("bank share", ["bank", "share", "team", "--uses", "3"], lambda _, a: a.banks.share("team", uses=3)),
    ("bank unshare", ["bank", "unshare", "nothing"], lambda _, a: a.banks.unshare("nothing")),
    ("bank import", ["bank", "import", "muniment:?bank=x"], lambda _, a: a.banks.import_ticket("muniment:?bank=x")),
    ("bank requests", ["bank", "requests", "--agent", "eve"], lambda p, _: p.choose_agent("eve")),
    ("bank approve", ["bank", "approve", "nothing"], lambda _, a: a.banks.approve("nothing")),
    ("bank deny", ["bank", "deny", "nothing"], lambda _, a: a.banks.deny("nothing")),
    ("sync", ["sync", "wiki"], lambda p, _: sync_now(p, "wiki")),
    ("peers list", ["peers", "list", "--home", "foreign"], lambda *_: peers(muniment.open("foreign"))),
    ("peers add", ["peers", "add", "team", "http://127.0.0.1:9"],
     lambda p, _: add_peer(p, "team", "http://127.0.0.1:9")),
    ("peers remove", ["peers", "remove", "team", "nowhere"], lambda p, _: remove_peer(p, "team", "nowhere")),
    ("serve", ["serve", "--listen", "nowhere"], lambda *_: options("nowhere")),
    ("memory grant", ["memory", "grant", "--agent-did", "ava", "--text", "x", "--metadata", '{"a": "' + "x" * 70_000
                      + '"}'], lambda _, a: a.remember("x", metadata={"a": "x" * 70_000})),
    ("memory recall", ["memory", "recall", "--agent-did", "ava", "--query", "x", "--mode", "vector"],
     lambda _, a: a.recall("x", mode="vector")),
    ("memory list", ["memory", "list", "--agent-did", "eve"], lambda p, _: p.agent("eve")),
    ("memory archive", ["memory", "archive", "--agent-did", "eve", "--record-id", "x"], lambda p, _: p.agent("eve")),
    ("verify", ["verify", "--agent", "eve"], lambda p, _: p.choose_agent("eve").verify()),
    ("verify", ["verify", "notes.txt"], lambda *_: verify_file("notes.txt")),
    ("verify", ["verify", "missing.car"], lambda *_: verify_file("missing.car")),
    ("verify", ["verify", "nobody"], lambda _, a: a.bank("nobody").verify()),
    ("import", ["import", "cut.car"], lambda p, _: p.import_bank("cut.car")),
    ("bank export", ["bank", "export", "nobody", "x.car"], lambda _, a: a.bank("nobody").export_bank("x.car")),
    ("bank export", ["bank", "export", "ava", "missing/x.car"],
     lambda _, a: a.bank("ava").export_bank("missing/x.car")),
]  # fmt: skip

TINY = Path(__file__).parents[1] / "unit" / "embed" / "tiny"
# What differs between two installations that did the same: ids, times, sizes of files, new keys, secrets and ports.
VOLATILE = {
    *("id", "entry", "version", "created_at_ms", "written_at_ms", "did", "bank", "file_bytes", "bytes"),
    *("name", "added_ms", "pointer", "locator", "before_bytes", "pack_bytes"),
    *("agent_did", "token", "expires_at_ms", "url", "new", "secret", "fingerprint", "tried_ms", "until_ms"),
    *("touched_at_ms", "proposed_at_ms", "feedback", "record"),
}


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two equal homes, one for each door; and a folder with something to import and a foreign home."""
    first, second = tmp_path / "library", tmp_path / "line"
    with muniment.open(first) as peer:
        agent = peer.agent("ava", create=True)
        for text, more in NOTES:
            agent.remember(text, **more)  # type: ignore[arg-type]
        agent.remember("archived words " * 20, key="kept")
        agent.archive("kept")
        agent.export_bank(tmp_path / "bank.car")
        agent.save_skill("Greet", ["Say hello", "Bow"], "Be polite")
        agent.playbook.apply(LESSONS, id="run-1")
        for judged in ("run-1", "run-2"):
            agent.playbook.judge(BULLETS[1], "harmful", id=judged)
        agent.playbook.configure(policy="review")
        agent.playbook.apply([{"op": "ADD", "text": "Sleep well"}], id="nightly")
        agent.playbook.configure(policy=None)
        agent.playbook.delete(BULLETS[2])
        peer.credentials.set("openai", SECRET)
        SharedBank(peer, agent, "wiki")
        peer.host = dataclasses.replace(peer.host, entropy=SeededEntropy(b"token"))
        assert Tokens(peer).new(agent).id == TOKEN
        with_banks(peer, agent)
        owner = to_did(peer.owner())
    with muniment.open(tmp_path / "holder") as holder:
        Custody(holder).accept(owner)
    shutil.copytree(first, second)
    for name in ("meaning library", "meaning line"):
        shutil.copytree(first, tmp_path / name)
        block = f"embedding:\n  backend: local\n  model: tiny\n  folder: {TINY}\n"
        (tmp_path / name / "config.yaml").write_text(block, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{SECRET}\n".encode())))
    Path("notes.txt").write_text("Ava: when do we deploy?\nBen: on Friday\n", "utf-8")
    Path("cut.car").write_bytes(Path("bank.car").read_bytes()[:-9])
    Path("foreign").mkdir()
    Path("foreign/packs.db").write_text("somebody's notes " * 100)
    Path("foreign/peer.db").write_text("somebody's notes " * 100)
    return first, second


def by_line(home: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line's JSON: a result, or an error."""
    capsys.readouterr()
    before = [] if "--home" in words else ["--home", str(home)]
    main([*before, "--json", *words])
    out, err = capsys.readouterr()
    return json.loads(out if out.strip() else err)  # a check that found something has a result and a code


def filled(peer: muniment.Peer, words: list[str]) -> list[str]:
    """What is typed, with ids that only the folder knows."""
    agent = peer.agent("ava")
    known = {
        "VOID": lambda: void_entry(agent),
        "INVITE": lambda: agent.banks.invites("team")[0].id,
        "ASKED": lambda: agent.banks.requests()[0].id,
    }
    return [known[word]() if word in known else word for word in words]


def steady(value: Any, home: Path) -> Any:
    """A result without what differs between two installations: new ids, times, the folder."""
    if isinstance(value, dict):
        return {name: "…" if name in VOLATILE else steady(item, home) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [steady(item, home) for item in value]
    return value.replace(str(home), "HOME") if isinstance(value, str) else value


@pytest.mark.parametrize(("name", "words", "call", "read"), SAME, ids=[" ".join(row[1])[:50] for row in SAME])
def test_the_same_result(
    homes: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: list[str],
    call: Call,
    read: Callable[[Any], Any],
) -> None:
    """Two equal homes, asked through two doors, answer alike."""
    with muniment.open(homes[0]) as peer:
        expected = json.loads(json.dumps(read(call(peer, peer.agent("ava")))))
    if name == "export":
        theirs = expected["path"]
        ours = theirs.replace("library", "line")
        given = by_line(homes[1], [ours if word == theirs else word for word in words], capsys)
        told = re.compile(rb'"exported_at":[0-9]+|written [0-9: -]+ UTC')  # when it was written
        files = [told.sub(b"", Path(name).read_bytes()) for name in (ours, theirs)]
        assert files[0] == files[1]
        assert given == {**expected, "path": ours}
        return
    with muniment.open(homes[1]) as peer:
        words = filled(peer, words)
    assert steady(by_line(homes[1], words, capsys), homes[1]) == steady(expected, homes[0])


def goes_afar(name: str, words: list[str]) -> bool:
    """Whether a row can be asked of another installation: it names no file, and no agent but the usual one."""
    remote = COMMANDS[name].remote or name.startswith("memory ")
    return remote and not any(word.endswith((".car", ".txt")) or word == "eve" for word in words)


AFAR = [row for row in SAME if goes_afar(row[0], row[1])]


@pytest.mark.parametrize(("name", "words", "call", "read"), AFAR, ids=[" ".join(row[1])[:50] for row in AFAR])
def test_the_same_result_from_afar(
    homes: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    name: str,
    words: list[str],
    call: Call,
    read: Callable[[Any], Any],
) -> None:
    """What goes remote answers alike over JSON-RPC, in JSON and in words, also where people look."""
    with muniment.open(homes[0]) as peer:
        expected = json.loads(json.dumps(read(call(peer, peer.agent("ava")))))
    with muniment.open(homes[1]) as peer:
        words = filled(peer, words)
    with background(lambda: muniment.open(homes[1])) as url:
        given = by_line(homes[1], ["--url", url, *words], capsys)
        assert steady(given, homes[1]) == steady(expected, homes[0])
        if not COMMANDS[name].writes:
            here = shown(homes[1], words, capsys)
            assert shown(homes[1], ["--url", url, *words], capsys) == here


def shown(home: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a program reads without --json, and what a person is drawn."""
    capsys.readouterr()
    assert main(["--home", str(home), *words]) == 0
    return [line for line in capsys.readouterr().out.splitlines() if not line.startswith(("index", "file"))]


@pytest.mark.parametrize(("name", "words", "call", "read"), AFAR, ids=[" ".join(row[1])[:50] for row in AFAR])
def test_an_answer_reads_as_the_result_that_it_came_from(
    homes: tuple[Path, Path], name: str, words: list[str], call: Call, read: Callable[[Any], Any]
) -> None:
    """Lines and drawings of JSON that came from afar are those of the same result here, whatever was written."""
    with muniment.open(homes[1]) as peer:
        params = params_of(COMMANDS[name], filled(peer, words)[len(name.split()) :])
    with Context(homes[1], "ava") as context:
        result = invoke(name, context, params)
    answer = Answer(json.loads(json.dumps(result.to_json())))
    assert WRITE[name](answer) == WRITE[name](result)
    assert drawn(DRAW[name](answer)) == drawn(DRAW[name](result))


def drawn(what: Any) -> str:
    """What a person sees of a drawing, with its colours."""
    screen = io.StringIO()
    Console(file=screen, width=100, force_terminal=True).print(what)
    return screen.getvalue()


WRONG_AFAR = [row for row in WRONG if goes_afar(row[0], row[1])]


@pytest.mark.parametrize(
    ("name", "words", "call"), WRONG_AFAR, ids=[" ".join(row[1])[:50] for row in WRONG_AFAR]
)
def test_the_same_error_from_afar(
    homes: tuple[Path, Path], capsys: pytest.CaptureFixture[str], name: str, words: list[str], call: Call
) -> None:
    """Over JSON-RPC too, by the client's own check and by the server's."""
    with muniment.open(homes[0]) as peer, pytest.raises(MunimentError) as caught:
        call(peer, peer.agent("ava"))
    with background(lambda: muniment.open(homes[1])) as url:
        given = by_line(homes[1], ["--url", url, *words], capsys)
    assert (given["error"], given["exit_code"]) == (caught.value.name, caught.value.exit_code)


@pytest.mark.parametrize(("name", "words", "call"), WRONG, ids=[" ".join(row[1])[:50] for row in WRONG])
def test_the_same_error(
    homes: tuple[Path, Path], capsys: pytest.CaptureFixture[str], name: str, words: list[str], call: Call
) -> None:
    """What one door refuses, the other refuses under the same name and with the same exit code."""
    with muniment.open(homes[0]) as peer, pytest.raises(MunimentError) as caught:
        call(peer, peer.agent("ava"))
    given = by_line(homes[1], words, capsys)
    assert given["error"] == caught.value.name
    assert given["exit_code"] == caught.value.exit_code
    assert given["message"]


def test_every_command_is_compared() -> None:
    """A command that is added comes with its rows here."""
    assert {row[0] for row in SAME} == set(COMMANDS)
    cannot_fail = {"doctor"}
    assert {row[0] for row in WRONG} == set(COMMANDS) - cannot_fail


def test_text_from_a_pipe_is_the_same_text(
    homes: tuple[Path, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory read from standard input is what the library keeps of the same text."""
    text = "two\nlines, one of them \u202eodd"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{text}\n".encode())))
    by_line(homes[1], ["remember", "-", "--key", "piped"], capsys)
    with muniment.open(homes[1]) as peer:
        assert peer.agent("ava").get("piped").text == text


# The chat and MCP

NEVER_IN_A_CHAT = {
    "init",
    "mcp",
    "serve",
    "sync",
    "credential set",
}  # they ask for secrets, or start what runs already


def fits(words: list[str]) -> bool:
    """Whether a row says nothing about home and agent, which only a command line may choose."""
    return not {"--home", "--agent"} & set(words)


ROWS_SAME = [row for row in SAME if row[0] not in NEVER_IN_A_CHAT and fits(row[1])]
ROWS_WRONG = [row for row in WRONG if row[0] not in NEVER_IN_A_CHAT and fits(row[1])]


def by_chat(peer: muniment.Peer, name: str, words: list[str]) -> Any:
    """The data of the answer to a slash line; where a word is asked for, it is typed."""
    slash = Slash(peer.agent("ava").session("default"), files=True)
    words = filled(peer, words)
    prefix = "records " if name in {"list", "import", "export"} else ""
    line = f"/memory {prefix}{shlex.join(words)}"
    reply = slash.reply(line)
    if not reply.ok and set(reply.data) == {"confirm"}:
        reply = slash.reply(f"{line} --confirm {reply.data['confirm']}")
    return reply.data


def by_mcp(peer: muniment.Peer, name: str, words: list[str]) -> Any:
    """The structured content of the tool that stands for a command, by the official client; or its error."""
    pytest.importorskip("mcp", reason="needs the extra mcp")
    from mcp import Client, types
    from muniment.surfaces.mcp.server import ERROR, _Face, _server

    params = params_of(COMMANDS[name], filled(peer, words)[len(name.split()) :])

    async def person(_context: Any, asked: Any) -> types.ElicitResult:
        word = re.findall("`([a-z]+)`", asked.message)[-1]
        return types.ElicitResult(action="accept", content={"word": word})

    async def main() -> Any:
        worker = Worker("parity", 4)
        host = Host(peer.agent, commands=True)

        async def run(_: Grant, work: Callable[[], Any]) -> Any:
            return await worker.run(work)

        server = _server(_Face(host, run, lambda _: Grant("ava")), "")
        try:
            async with Client(server, elicitation_callback=person) as client:
                done = await client.call_tool(tool_name(name), json.loads(json.dumps(params)))
        finally:
            await worker.close()
        return {"error": done.meta[ERROR]} if done.is_error else done.structured_content

    return asyncio.run(main())


@pytest.mark.parametrize("door", [by_chat, by_mcp], ids=["chat", "mcp"])
@pytest.mark.parametrize(
    ("name", "words", "call", "read"), ROWS_SAME, ids=[" ".join(r[1])[:50] for r in ROWS_SAME]
)
def test_the_same_result_through_other_doors(
    homes: tuple[Path, Path],
    name: str,
    words: list[str],
    call: Call,
    read: Callable[[Any], Any],
    door: Callable[[muniment.Peer, str, list[str]], Any],
) -> None:
    """A chat and an MCP client are told what the library gives."""
    with muniment.open(homes[0]) as peer:
        expected = json.loads(json.dumps(read(call(peer, peer.agent("ava")))))
    with muniment.open(homes[1]) as peer:
        given = json.loads(json.dumps(door(peer, name, filled(peer, words))))
    assert steady(given, homes[1]) == steady(expected, homes[0])


@pytest.mark.parametrize("door", [by_chat, by_mcp], ids=["chat", "mcp"])
@pytest.mark.parametrize(("name", "words", "call"), ROWS_WRONG, ids=[" ".join(r[1])[:50] for r in ROWS_WRONG])
def test_the_same_error_through_other_doors(
    homes: tuple[Path, Path],
    name: str,
    words: list[str],
    call: Call,
    door: Callable[[muniment.Peer, str, list[str]], Any],
) -> None:
    """What the library refuses, a chat and an MCP client are refused under the same name."""
    with muniment.open(homes[0]) as peer, pytest.raises(MunimentError) as caught:
        call(peer, peer.agent("ava"))
    with muniment.open(homes[1]) as peer:
        assert door(peer, name, words)["error"] == caught.value.name


def test_every_command_is_compared_through_every_door() -> None:
    """What a chat and MCP don't offer is listed, and refused there."""
    assert {row[0] for row in ROWS_SAME} >= set(COMMANDS) - NEVER_IN_A_CHAT - {"reindex"}


def test_what_is_for_a_command_line_alone_is_refused_elsewhere(homes: tuple[Path, Path]) -> None:
    """By the chat with a hint, and by MCP as a tool that is not there."""
    with muniment.open(homes[0]) as peer:
        host = Host(peer.agent, commands=True)
        offered = {offer.name for offer in host.offers(Grant("ava"))}
        slash = Slash(peer.agent("ava").session("parity"), files=True)
        for name in sorted(NEVER_IN_A_CHAT & set(COMMANDS)):
            assert "command line" in slash(f"/memory {name}")
            assert tool_name(name) not in offered
