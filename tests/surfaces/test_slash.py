"""Slash lines: parsed as a shell would, spelled as the ancestor does, answered in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import muniment
from muniment.agent import Agent
from muniment.auto_config import AutoRecallConfig
from muniment.commands import COMMANDS, Command, Example, Param, table
from muniment.session import Session
from muniment.surfaces.slash import Slash, is_slash


@pytest.fixture
def ava(tmp_path: Path) -> Iterator[Agent]:
    """The agent that acts."""
    with muniment.open(tmp_path / "peer") as peer:
        yield peer.agent("ava", create=True)


@pytest.fixture
def talk(ava: Agent) -> Session:
    """The conversation."""
    return ava.session("talk")


@pytest.fixture
def slash(talk: Session) -> Slash:
    """Its slash lines."""
    return Slash(talk)


class Told:
    """What a command of a test was told, as its result."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    def to_json(self) -> dict[str, Any]:
        """The parameters."""
        return self.params


@pytest.fixture
def banks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with bank commands whose result is what they were told, whatever the real ones do."""
    from muniment.surfaces.cli import plain

    levels = ("read", "write", "admin")
    texts = {
        "bank new": ("name", "?description"),
        "bank list": (),
        "bank delete": ("bank",),
        "bank grant": ("bank", "agent", "level"),
        "bank import": ("ticket", "?level"),
        "bank attach": ("bank", "?session"),
        "bank config show": (),
        "bank config set": ("name", "value"),
    }

    def param(name: str) -> Param:
        bare = name.removeprefix("?")
        choices = levels if bare == "level" else ()
        return Param(bare, "text", bare, required=bare == name, positional=bare == name, choices=choices)

    def handler(_context: Any, /, **params: Any) -> Any:
        return Told(params)

    module = ModuleType("muniment.commands.bank_family_of_a_test")
    module.COMMANDS = {  # type: ignore[attr-defined]
        name: Command(name, "About.", (Example(name, "x"),), tuple(map(param, names)), "none", True, handler)
        for name, names in texts.items()
    }
    monkeypatch.setitem(sys.modules, module.__name__, module)
    write = dict(plain.WRITE)
    for name in texts:
        monkeypatch.setitem(table._INDEX, name, ("bank_family_of_a_test", "Does it."))
        write[name] = lambda told: repr(told.params)
    monkeypatch.setattr(plain, "WRITE", write)
    monkeypatch.setattr("muniment.surfaces.slash.ANSWERS", {})


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("/memory recall tea", True),
        ("/memory", True),
        ("  /MEMORY list", True),
        ("!chaz memory list", True),
        ("!ava-bot memory", True),
        ("/memorys list", False),
        ("! memory list", False),
        ("!chaz memories", False),
        ("please /memory list", False),
        ("", False),
    ],
)
def test_a_line_for_memory_is_told_from_others(line: str, meant: bool) -> None:
    """Both forms, in any case, and only at the beginning of the line."""
    assert is_slash(line) is meant


def test_a_line_that_is_not_for_memory_is_refused(slash: Slash) -> None:
    """A host that hands everything on is told so."""
    assert slash("hello").startswith("Error: ")


def test_words_are_parted_as_a_shell_parts_them(slash: Slash, ava: Agent) -> None:
    """Quotes hold words together and are not kept; an option may come before or after."""
    slash("""/memory remember --key 'my tea' "two  words" --tag a --tag=b -m place.city=Oslo""")
    record = ava.get("my tea")
    assert record.text == "two  words"
    assert record.tags == ("a", "b")
    assert record.metadata == {"place": {"city": "Oslo"}}


def test_an_open_quote_is_said(slash: Slash) -> None:
    """Nothing is guessed."""
    assert slash("/memory remember 'tea") == (
        "Error: A quote is not closed. Close it, or put a backslash before it."
    )


def test_words_after_two_dashes_are_no_options(slash: Slash, ava: Agent) -> None:
    """A text may begin with a dash."""
    slash("/memory remember --key dash -- --tag")
    assert ava.get("dash").text == "--tag"


def test_answers_are_in_the_ancestors_words(slash: Slash) -> None:
    """As it said when it kept, found, and found nothing."""
    assert slash("/memory remember tea --key drink").startswith("Remembered: drink = tea\n")
    assert slash("!chaz memory recall tea").startswith("- **drink**: tea (20")
    assert slash("/memory recall zzz") == "No memories found matching 'zzz'."
    assert slash("/memory records list").startswith("- **drink**: tea (20")


def test_the_same_command_by_its_own_name(slash: Slash) -> None:
    """Words of several parts, and all words that are left for a query."""
    slash("/memory save-skill deploy --step one --step two --description Ship")
    assert slash("/memory skills show deploy").splitlines()[:3] == ["deploy: Ship", "1. one", "2. two"]
    assert "deploy" in slash("/memory recall how do I ship one")


WRONG = [
    ("/memory recal x", "Did you mean `/memory recall`?"),
    ("/memory recall --limt 3 x", "Did you mean --limit?"),
    ("/memory recall --limit", "lacks its value"),
    ("/memory recall --limit x tea", "whole number"),
    ("/memory recall --limit 0 tea", "the least is 1"),
    ("/memory get a b", "no use for 'b'"),
    ("/memory get", "needs `ref`"),
    ("/memory get nothing", "No record"),
    ("/memory clear --undo=yes", "takes no value"),
    ("/memory recall tea --home /tmp", "no option"),
    ("/memory recall tea --agent eve", "no option"),
    ("/memory credential set openai", "can't be done in a chat"),
    ("/memory mcp", "can't be done in a chat"),
    ("/memory init", "can't be done in a chat"),
    ("/memory records export /tmp/x", "files of the machine"),
    ("/memory records import /etc/passwd", "files of the machine"),
    ("/memory records", "no command"),
]


@pytest.mark.parametrize(("line", "said"), WRONG, ids=[row[0] for row in WRONG])
def test_what_is_wrong_is_said_in_the_chat(slash: Slash, line: str, said: str) -> None:
    """As a sentence that begins with `Error`, whose hints can be typed there."""
    reply = slash.reply(line)
    assert not reply.ok
    assert reply.text.startswith("Error: ")
    assert said in reply.text
    assert "`muniment " not in reply.text
    assert reply.data["error"] in {"InvalidInput", "UnknownRecord"}


def test_files_are_named_only_where_the_host_allows_it(talk: Session, ava: Agent, tmp_path: Path) -> None:
    """With `files` the same lines work."""
    ava.remember("tea")
    trusted = Slash(talk, files=True)
    assert "1 version written" in trusted(f"/memory records export '{tmp_path / 'out.jsonl'}'")
    assert "already there" in trusted(f"/memory records import '{tmp_path / 'out.jsonl'}'")


def test_hiding_everything_asks_for_a_typed_word(slash: Slash, ava: Agent) -> None:
    """Nothing is done before it was typed, and no other word will do."""
    ava.remember("tea")
    asked = slash.reply("/memory clear")
    assert not asked.ok
    assert "send: /memory clear --confirm clear" in asked.text
    assert not slash.reply("/memory clear --confirm yes").ok
    assert ava.stats().records == 1
    assert slash("/memory clear --confirm clear").startswith(
        "ava: 1 memory forgotten; `/memory clear --undo`"
    )
    assert ava.stats().records == 0
    assert slash("/memory clear --undo") == "ava: 1 memory brought back"


def test_secrets_of_invites_stay_out_of_a_chat(slash: Slash, ava: Agent) -> None:
    """In words and in data."""
    ava.remember("muniment:?bank=b&invite=SECRET&level=read", key="i")
    reply = slash.reply("/memory get i")
    assert "invite=…" in reply.text
    assert "SECRET" not in reply.text + str(reply.data)


def test_help_lists_what_can_be_typed(slash: Slash) -> None:
    """Each line of it is a command, spelled as it is typed here."""
    lines = slash("/memory help").splitlines()
    assert "/memory recall: Find memories that answer a question." in lines
    assert any(line.startswith("/memory records list: ") for line in lines)
    assert not any(line.startswith("/memory mcp") for line in lines)


# Bank commands


@pytest.mark.usefixtures("banks")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/memory new notes 'Shared notes'", {"name": "notes", "description": "Shared notes"}),
        ("/memory new notes", {"name": "notes", "description": None}),
        ("/memory list", {}),
        ("/memory", {}),
        ("/memory bank list", {}),
        ("/memory grant notes ava read", {"bank": "notes", "agent": "ava", "level": "read"}),
        ("/memory grant notes ava w", {"bank": "notes", "agent": "ava", "level": "write"}),
        ("/memory import muniment:?bank=b read", {"ticket": "muniment:?bank=b", "level": "read"}),
        ("/memory attach notes", {"bank": "notes", "session": "talk"}),
        ("/memory config", {}),
        ("/memory config show", {}),
        ("/memory config set max_entries 5", {"name": "max_entries", "value": "5"}),
        ("/memory del notes --confirm delete", {"bank": "notes"}),
    ],
)
def test_bank_commands_stand_without_their_group(slash: Slash, line: str, told: dict[str, Any]) -> None:
    """Spelled as the ancestor spells them, with words by their place, and the session of the chat."""
    reply = slash.reply(line)
    assert reply.ok, reply.text
    assert reply.data == told


@pytest.mark.usefixtures("banks")
def test_a_bank_is_not_deleted_by_one_line(slash: Slash) -> None:
    """It asks for a word."""
    assert "--confirm delete" in slash("/memory delete notes")


@pytest.mark.usefixtures("banks")
def test_words_too_many_are_refused(slash: Slash) -> None:
    """A description of several words needs quotes, and the answer says so."""
    assert "Put quotes around words that belong together" in slash("/memory new notes Shared notes")


def test_the_settings_are_shown_as_the_ancestor_showed_them() -> None:
    """One a line, the equal signs below each other."""
    from muniment.surfaces.slash_words import ANSWERS

    text = ANSWERS["bank config show"](AutoRecallConfig(max_entries=5, auto_recall_banks=("a", "b")), {})
    assert text.splitlines()[:5] == [
        "Auto-recall config:",
        "──────────────────────",
        "auto_recall_enabled = true",
        "max_entries         = 5",
        "auto_recall_banks   = a,b",
    ]
    assert "(all attached)" in ANSWERS["bank config show"](AutoRecallConfig(), {})


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from([*COMMANDS, "records", "--", "-n", "--tag", "=", "x", "'", '"', "\\", "help"])
        | st.text(max_size=6),
        max_size=6,
    )
)
def test_whatever_is_typed_is_answered(slash: Slash, words: list[str]) -> None:
    """No line raises, and none that is wrong is taken for right."""
    line = "/memory " + " ".join(word for word in words if word not in {"key mine", "agent new"})
    reply = slash.reply(line)
    assert isinstance(reply.text, str)
    assert reply.ok or reply.data
