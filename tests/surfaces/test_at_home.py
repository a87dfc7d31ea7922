"""Who is not at home on a machine can neither name its files nor use its owner's key, whatever the door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.agent import Agent
from muniment.base.errors import BadAnswer, InvalidInput
from muniment.commands import COMMANDS, Context, invoke
from muniment.commands.table import Param
from muniment.surfaces.cli.plain import WRITE
from muniment.surfaces.cli.remote import Answer, read_as_told
from muniment.surfaces.mcp.command_tools import call
from muniment.surfaces.slash import Slash
from muniment.surfaces.tools.operations import Seat
from muniment.surfaces.typed import params_of, usage

from .conftest import Cli
from .serving import ask, key, served


@pytest.fixture
def ava(tmp_path: Path) -> Iterator[Agent]:
    """An agent with a memory, and a file that proves it."""
    with muniment.open(tmp_path / "peer") as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("the deploy window is Friday", key="deploy", metadata={"items": 1, "keys": [2]})
        agent.export_bank(tmp_path / "ava.car")
        yield agent


def test_verify_takes_one_target(ava: Agent) -> None:
    """A bank by place and one by name are two."""
    with pytest.raises(InvalidInput):
        invoke("verify", Seat(ava, here=True), {"target": "ava", "bank": "ava"})


def test_a_chat_without_files_looks_at_none(ava: Agent, tmp_path: Path) -> None:
    """What names a file is taken for a bank, whether the file is there or not."""
    file, missing = tmp_path / "ava.car", tmp_path / "none.car"
    near = Slash(ava.session("s"), files=True).reply(f"/memory verify {file}")
    assert near.data["bank"] == ava.bank_id
    far = Slash(ava.session("s"))
    assert [far.reply(f"/memory verify {path}").data["error"] for path in (file, missing)] == [
        "UnknownBank"
    ] * 2


def test_a_chat_without_files_has_no_owner(ava: Agent) -> None:
    """The flag that changes who acts is refused there."""
    line = "/memory new crew --owner"
    assert Slash(ava.session("s")).reply(line).data["error"] == "NotPermitted"
    assert Slash(ava.session("s"), files=True).reply(line).ok


@pytest.mark.parametrize("remote", [True, False])
def test_an_mcp_client_from_afar_has_no_owner_and_no_files(ava: Agent, tmp_path: Path, remote: bool) -> None:
    """One on this machine has both."""

    def told(tool: str, arguments: dict[str, Any]) -> bool:
        return call(ava, tool, arguments, lambda *_: None, remote=remote).ok

    assert told("muniment_bank_members", {"bank": "ava", "owner": True}) is not remote
    assert told("muniment_verify", {"target": str(tmp_path / "ava.car")}) is not remote


def test_a_caller_from_afar_has_no_owner_and_no_files(ava: Agent, tmp_path: Path) -> None:
    """An agent's key does not become the owner's by a word, and learns nothing of the server's disk."""
    home = ava.peer.home
    with served(home) as url:
        by = key(home, "ava")
        owner = ask(url, by, "memory.bank.members", {"bank": "ava", "owner": True})
        assert owner["error"]["data"]["reason"] == "not_permitted"
        for name in ("ava.car", "none.car"):
            answer = ask(url, by, "memory.verify", {"target": str(tmp_path / name)})
            assert answer["error"]["data"]["reason"] == "unknown_bank"


def test_a_file_of_this_machine_is_not_proved_from_afar(cli: Cli, ava: Agent, tmp_path: Path) -> None:
    """It is said before anything is sent."""
    far = ("--home", str(ava.peer.home), "--url", "https://memory.example")
    assert "from afar" in cli(*far, "verify", str(tmp_path / "ava.car"), "--json", code=2).error["message"]


def test_names_in_metadata_are_no_attributes(ava: Agent) -> None:
    """A record whose metadata has the names of methods reads from afar as it does here."""
    with Context(ava.peer.home, "ava") as context:
        result = invoke("get", context, {"ref": "deploy"})
        assert WRITE["get"](Answer(json.loads(json.dumps(result.to_json())))) == WRITE["get"](result)


def test_an_answer_of_another_version_is_no_bug_of_ours() -> None:
    """What can't be shown is the server's fault, and the next step says how to see it."""
    with pytest.raises(BadAnswer, match="--json"), read_as_told():
        WRITE["get"](Answer({"text": 7}))


@pytest.mark.parametrize(
    ("words", "params"),
    [
        (["x", "--rerank"], {"rerank": True}),
        (["--no-rerank", "x", "--floor"], {"rerank": False, "floor": True}),
        (["x", "--no-context"], {"context": False}),
        (["x"], {}),
    ],
)
def test_a_typed_flag_says_what_its_name_says(words: list[str], params: dict[str, bool]) -> None:
    """Those that can be said both ways, those that are off and those that are on until somebody says no."""
    assert params_of(COMMANDS["recall"], words) == {"query": "x", **params}


def test_a_flag_that_can_be_said_both_ways_is_offered_so() -> None:
    """In the line that says how a command is typed, and with its short name where it has one."""
    assert "[--rerank|--no-rerank]" in usage(COMMANDS["recall"])
    assert Param("all", "flag", "All", False, short="a").said_by == {"--all": True, "-a": True}
