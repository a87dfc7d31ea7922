"""Skills, a clean slate, the banks an agent may open, and the tools that it has."""

from __future__ import annotations

import pytest

from muniment import skills
from muniment.agent import Agent
from muniment.base.errors import Ambiguous, InvalidInput, NotPermitted, UnknownBank, UnknownRecord
from muniment.ledger.acts import Set
from muniment.peer import Peer
from muniment.project import Projector
from muniment.remembering import Draft
from muniment.testing.shared import SharedBank
from muniment.writing import Writer

STEPS = ["Build with nix", "Copy to prod\nand wait", "3. Look at the logs"]


@pytest.fixture
def ben(peer: Peer) -> Agent:
    """Another agent of the peer."""
    return peer.agent("ben", create=True)


# Skills


def test_a_skill_keeps_its_steps_in_order(ava: Agent) -> None:
    """Steps come back as they were given, whatever stands in them."""
    ava.save_skill(" Deploy  it ", STEPS, "Put a release on prod")
    skill = ava.skill("deploy IT")
    assert (skill.name, skill.description, skill.steps) == (
        "Deploy it",
        "Put a release on prod",
        tuple(STEPS),
    )
    assert skill.record.type == "skill"


def test_recall_finds_a_skill_by_the_words_of_a_step(ava: Agent) -> None:
    """Each step stands in the record's text."""
    made = ava.save_skill("deploy", STEPS, "Put a release on prod")
    assert ava.recall("who should look at the logs?")[0].record.id == made.id


def test_a_skill_saved_again_takes_the_place_of_the_old_one(ava: Agent) -> None:
    """One skill a name; the old steps stay in the history."""
    ava.save_skill("deploy", ["one"])
    made = ava.save_skill("DEPLOY", ["two"])
    assert len(made.superseded) == 1
    assert [skill.steps for skill in ava.skills()] == [("two",)]
    assert [record.state for record in ava.history("skill:deploy")] == ["live", "superseded"]


@pytest.mark.parametrize(
    ("name", "steps"), [("", ["x"]), (" \n", ["x"]), ("a", []), ("a", ["x", " "]), ("a", "steps"), ("a", [1])]
)
def test_a_skill_without_a_name_or_steps_is_refused(ava: Agent, name: str, steps: list[str]) -> None:
    """Nothing is kept of it."""
    with pytest.raises(InvalidInput):
        ava.save_skill(name, steps)
    assert ava.skills() == []


def test_a_skill_of_another_program_is_read_line_by_line(ava: Agent) -> None:
    """A record of type `skill` without our metadata has its numbered lines as steps."""
    ava.remember("Description: Ship it\n1. Build\n2) Copy\n- Look", title="Ship", type="skill")
    skill = ava.skill("ship")
    assert (skill.description, skill.steps) == ("Ship it", ("Build", "Copy", "Look"))


@pytest.mark.parametrize("field", [1, "x", {"steps": "no list"}, {"steps": [1], "name": 3}, {"steps": []}])
def test_odd_metadata_of_a_skill_breaks_nothing(ava: Agent, field: object) -> None:
    """What is no list of steps is passed over, and the text is read."""
    ava.remember("1. Build", title="Ship", type="skill", metadata={"skill": field})
    assert ava.skill("Ship").steps == ("Build",)


def test_a_note_is_no_skill(ava: Agent) -> None:
    """Asking for its steps says so; a name that is nowhere is unknown."""
    ava.remember("tea", key="tea")
    with pytest.raises(InvalidInput, match="no skill"):
        ava.skill("tea")
    with pytest.raises(UnknownRecord):
        ava.skill("coffee")


def test_skills_are_named_by_their_place_in_the_alphabet(ava: Agent) -> None:
    """The list is in order, whatever the case."""
    for name in ("b", "C", "a"):
        ava.save_skill(name, ["x"])
    assert [one.name for one in ava.skills()] == ["a", "b", "C"]
    assert skills.key_of("A  B") == "skill:a b"


# A clean slate


def test_clear_hides_everything_and_undo_brings_it_back(ava: Agent) -> None:
    """What was forgotten before stays forgotten."""
    ava.remember("one", key="one")
    ava.remember("two", key="two")
    ava.remember("three", key="three")
    ava.forget("three")
    assert ava.clear().records == 2
    assert ava.recall() == []
    assert len(ava.list(states=["forgotten"])) == 3
    assert ava.clear(undo=True).records == 2
    assert {record.key for record in ava.list()} == {"one", "two"}


def test_clear_is_undone_once(ava: Agent) -> None:
    """There is nothing left to bring back, and nothing where nothing was cleared."""
    with pytest.raises(UnknownRecord, match="nothing was cleared"):
        ava.clear(undo=True)
    ava.remember("one")
    ava.clear()
    ava.clear(undo=True)
    with pytest.raises(UnknownRecord):
        ava.clear(undo=True)


def test_what_is_remembered_after_a_clear_stays(ava: Agent) -> None:
    """Undo adds the old memories to the new ones; the new version of a key holds."""
    ava.remember("old", key="a")
    ava.clear()
    ava.remember("new", key="a")
    ava.clear(undo=True)
    assert ava.get("a").text == "new"


def test_an_empty_memory_is_cleared_without_a_trace(ava: Agent) -> None:
    """No entry is written for nothing."""
    before = ava.stats().entries
    assert ava.clear().records == 0
    assert ava.stats().entries == before


def test_many_memories_are_cleared_at_once(ava: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than one act can name are hidden by several, and brought back together."""
    from muniment import forgetting

    monkeypatch.setattr(forgetting, "_AT_ONCE", 7)
    ava.remember_many([Draft(f"note {number}") for number in range(30)])
    assert ava.clear().records == 30
    assert ava.stats().records == 0
    assert ava.clear(undo=True).records == 30


# Banks


def test_the_banks_are_those_that_the_own_key_opens(peer: Peer, ava: Agent, ben: Agent) -> None:
    """`self` first, then what was granted, with its level; what was not granted is not there."""
    notes, other = SharedBank(peer, ben, "notes"), SharedBank(peer, ben, "other")
    notes.grant(ava, "write")
    assert [(bank.name, bank.level) for bank in ava.reachable_banks()] == [
        ("self", "admin(1)"),
        ("notes", "write"),
    ]
    assert other.id not in {bank.id for bank in ava.reachable_banks()}
    notes.revoke(ava)
    assert [bank.name for bank in ava.reachable_banks()] == ["self"]


def test_an_agent_writes_into_a_bank_with_its_own_key(peer: Peer, ava: Agent, ben: Agent) -> None:
    """The record says who wrote it, to the founder too."""
    notes = SharedBank(peer, ben, "Notes")
    notes.grant(ava, "write")
    ava.reachable_bank("notes").remember("Use kebab-case", key="naming")
    record = ben.reachable_bank(notes.id).get("naming")
    assert (record.author, record.source) == (ava.did, "peer")
    assert ava.recall("kebab") == []
    assert ava.reachable_bank("self") is ava
    assert ava.reachable_bank(ava.bank_id) is ava


def test_a_shut_bank_looks_as_if_it_were_not_there(peer: Peer, ava: Agent, ben: Agent) -> None:
    """The same words for no grant and for no such bank; the next step lists what is open."""
    SharedBank(peer, ben, "notes")
    said = []
    for name in ("notes", "nowhere"):
        with pytest.raises(UnknownBank) as caught:
            ava.reachable_bank(name)
        said.append(caught.value.message.replace(name, "X") + caught.value.next_step)
    assert said[0] == said[1]
    assert "self" in said[0]


def test_a_bank_that_may_only_be_read_refuses_a_write(peer: Peer, ava: Agent, ben: Agent) -> None:
    """The level is asked at the write."""
    notes = SharedBank(peer, ben, "notes")
    notes.grant(ava, "read")
    with pytest.raises(NotPermitted):
        ava.reachable_bank("notes").remember("x")


def test_two_banks_of_one_name_are_told_apart_by_id(peer: Peer, ava: Agent, ben: Agent) -> None:
    """The name alone is refused with both ids."""
    found = [SharedBank(peer, ben, "notes") for _ in range(2)]
    for one in found:
        one.grant(ava)
    with pytest.raises(Ambiguous) as caught:
        ava.reachable_bank("NOTES")
    assert set(caught.value.choices) == {one.id for one in found}
    assert ava.reachable_bank(found[0].id).bank_id == found[0].id


def test_an_agent_without_a_peer_knows_no_other_banks(ava: Agent) -> None:
    """It says so."""
    lone = Agent("lone", ava._key, ava._bank, lambda _: None)
    with pytest.raises(InvalidInput, match="not opened by a peer"):
        lone.reachable_banks()


# Allowed tools


def test_an_agent_has_all_tools_until_it_is_said_which(ava: Agent) -> None:
    """None is all of them, an empty list is none; the setting survives another opening."""
    assert ava.allowed_tools() is None
    assert ava.allow_tools(["recall", "recall", "history"]) == ("recall", "history")
    assert Agent("again", ava._key, ava._bank, lambda _: None).allowed_tools() == ("recall", "history")
    assert ava.allow_tools([]) == ()
    assert ava.allow_tools(None) is None


@pytest.mark.parametrize("names", [["recal"], "recall", ["recall", ""]])
def test_a_tool_that_is_none_is_refused(ava: Agent, names: list[str]) -> None:
    """And what holds is not changed."""
    ava.allow_tools(["history"])
    with pytest.raises(InvalidInput):
        ava.allow_tools(names)
    assert ava.allowed_tools() == ("history",)


def test_a_guest_does_not_choose_an_agents_tools(peer: Peer, ava: Agent, ben: Agent) -> None:
    """A value signed by somebody who may merely write in the bank counts for nothing."""
    ava.allow_tools(["recall"])
    SharedBank.of(peer, ava).grant(ben, "write")
    act = Set("tools", "allowed", [])
    with ava._bank.write() as authority:
        writer = Writer(ava._bank, ben._key)
        _, seq = writer.commit_acts(authority, [act], ava._bank.host.clock.now_ms())
        Projector(ava._bank.store, authority).entry(ava._bank.store.entry_at(seq), [act])
    assert ava.allowed_tools() == ("recall",)
