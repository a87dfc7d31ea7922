"""Auto-recall over real banks: what is searched, what is shown, what stays silent, and what is never done."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from muniment.agent import Agent
from muniment.auto_config import AutoRecallConfig
from muniment.base.errors import Ambiguous, InvalidInput, LimitExceeded, NotPermitted, UnknownBank
from muniment.base.limits import LIMITS
from muniment.ledger.acts import Set
from muniment.peer import Peer
from muniment.project import Projector
from muniment.remembering import Draft
from muniment.session import Session
from muniment.testing.embedders import CountingEmbedder, FailingEmbedder, RandomEmbedder, SlowEmbedder
from muniment.testing.shared import SharedBank
from muniment.writing import Writer

MakePeer = Callable[..., Peer]
HOUR = 3_600_000
CHATTER = [f"thanks, note {n} about tea and the garden" for n in range(40)]


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def agent_says(text: str) -> dict[str, Any]:
    """A message of the agent."""
    return {"role": "assistant", "content": text}


def bullets(block: str) -> list[str]:
    """The records of a block."""
    return [line for line in block.splitlines() if line.startswith("- [")]


@pytest.fixture
def ben(peer: Peer) -> Agent:
    """Another agent of the peer, who founds shared banks."""
    return peer.agent("ben", create=True)


@pytest.fixture
def talk(ava: Agent) -> Session:
    """A conversation of an agent who knows where Kim works, how to deploy, and much about tea."""
    ava.remember("Kim's workshop is in Bergen", key="kim")
    ava.remember("Build with nix, copy to prod", title="deploy process")
    ava.remember_many([Draft(text) for text in CHATTER])
    return ava.session("talk")


@pytest.fixture
def shared(peer: Peer, ben: Agent) -> Callable[[str, str], SharedBank]:
    """Makes shared banks with one record."""

    def make(name: str, text: str) -> SharedBank:
        bank = SharedBank(peer, ben, name)
        bank.remember(text, key="naming")
        return bank

    return make


def test_the_block_is_as_designed(
    talk: Session, ava: Agent, shared: Callable[[str, str], SharedBank]
) -> None:
    """Own memory first, then each bank under its name, with who said it where that was somebody else."""
    conventions = shared("project-conventions", "Use kebab-case for all new crates we build for prod")
    conventions.grant(ava)
    talk.attach("project-conventions")
    assert talk.context([user("how do we build crates for prod?")]) == (
        "## Relevant Memories\n"
        "- [deploy process]: Build with nix, copy to prod\n"
        "_(from bank: project-conventions)_\n"
        "- [naming]: Use kebab-case for all new crates we build for prod (from ben, peer, 2026-01-01)"
    )


# The query


def test_the_latest_user_text_counts_first(talk: Session) -> None:
    """A new subject is answered before the old one, which the ancestor's first ten words held on to."""
    messages = [
        user("Where is the workshop of Kim, in Bergen?"),
        agent_says("In Bergen."),
        user("How do we build for prod?"),
    ]
    assert bullets(talk.context(messages))[0] == "- [deploy process]: Build with nix, copy to prod"


def test_a_question_is_read_with_what_was_said_before(talk: Session) -> None:
    """A question that means nothing alone is answered by way of the message before it."""
    messages = [user("Tell me about Kim's workshop"), agent_says("What of it?"), user("and where is that?")]
    assert bullets(talk.context(messages)) == ["- [kim]: Kim's workshop is in Bergen"]


def test_the_latest_user_text_counts_behind_many_messages_of_the_agent(talk: Session) -> None:
    """However long the agent works on a question, it stays the question."""
    messages = [user("How do we build for prod?"), *(agent_says(f"step {n} is done") for n in range(9))]
    assert len(bullets(talk.context(messages))) == 1


def test_older_messages_are_forgotten(talk: Session) -> None:
    """What was said more than five messages ago asks for nothing any more."""
    old = [user("How do we build for prod?")]
    assert talk.context([*old, *(user(f"and page {n}?") for n in range(6))]) == ""


def test_what_tools_return_asks_for_nothing(talk: Session) -> None:
    """A stranger's text does not choose what the agent remembers."""
    tool = {"role": "tool", "content": "How do we build with nix for prod?"}
    part = {"role": "user", "content": [{"type": "tool_result", "content": "How do we build for prod?"}]}
    assert talk.context([user("go on, look"), tool, part]) == ""


# Silence


@pytest.mark.parametrize(
    "text",
    [
        "Where does the zebra sleep?",
        "xqzzt vbnmk plokij",
        "What is the capital of Portugal?",
        "thanks!",
        "Thank you so much",
    ],
)
def test_what_was_never_stored_yields_nothing(talk: Session, text: str) -> None:
    """Another topic, nonsense, and words that are in every record: no heading, no line, nothing."""
    assert talk.context([user(text)]) == ""


@pytest.mark.parametrize(
    "text", ["What Is It?", "WHERE WAS THAT", "and then?", "", "   ", "👍", "…", "Is IT the AND?"]
)
def test_stop_words_ask_for_nothing_in_any_case(talk: Session, ava: Agent, text: str) -> None:
    """Function words alone find no record, not even one that is made of them."""
    ava.remember("what is it and where was that then")
    assert talk.context([user(text)]) == ""
    assert talk.context([]) == ""


def test_a_search_that_finds_is_silent_below_the_floor(talk: Session, ava: Agent) -> None:
    """Recall would list the tea; unasked it is not worth a word."""
    text = "what does the doctor say about tea with ibuprofen and alcohol?"
    assert ava.recall(text)
    assert talk.context([user(text)]) == ""


# Banks


def test_every_granted_and_attached_bank_is_searched_and_no_other(
    talk: Session, ava: Agent, shared: Callable[[str, str], SharedBank]
) -> None:
    """Neither a bank without a grant nor one that is not attached says anything, and nobody complains."""
    names = ["one", "two", "three", "four", "five"]
    for name in names:
        bank = shared(name, f"crate names of team {name} are in kebab case")
        bank.grant(ava)
        talk.attach(bank.id)
    shared("no grant", "crate names without a grant are in kebab case")
    talk.attach("no grant")
    shared("not attached", "crate names unattached are in kebab case").grant(ava)
    block = talk.context([user("kebab case for crate names?")])
    assert [line for line in block.splitlines() if "bank" in line] == [f"_(from bank: {n})_" for n in names]
    assert len(bullets(block)) == 5


def test_a_revoked_bank_drops_out_on_the_next_turn(
    talk: Session, ava: Agent, shared: Callable[[str, str], SharedBank]
) -> None:
    """A grant opens it from the next turn on, a revocation shuts it from the next turn on."""
    bank = shared("crates", "crate names are in kebab case")
    talk.attach("crates")
    asked = [user("crate names?")]
    assert talk.context(asked) == ""
    bank.grant(ava)
    assert "from bank: crates" in talk.context(asked)
    bank.revoke(ava)
    assert talk.context(asked) == ""
    assert [one.name for one in talk.attached()] == ["crates"]


def test_attach_and_detach_act_on_the_next_turn(
    talk: Session, peer: Peer, ava: Agent, shared: Callable[[str, str], SharedBank]
) -> None:
    """They are told by id or name, may be said twice, and hold for this session of this agent alone."""
    bank = shared("Crates", "crate names are in kebab case")
    bank.grant(ava)
    asked = [user("crate names?")]
    assert talk.attached() == []
    assert talk.attach("crates") == talk.attach(bank.id) == (bank.id, "Crates")
    assert [one.id for one in peer.session("talk", "ava").attached()] == [bank.id]
    assert peer.session("talk", ava).context(asked) == talk.context(asked) != ""
    assert ava.session("another").attached() == peer.session("talk", "ben").attached() == []
    assert talk.detach("crates") is True
    assert talk.detach(bank.id) is False
    assert talk.context(asked) == ""


def test_a_bank_that_is_not_there_is_named(talk: Session, peer: Peer, ava: Agent, ben: Agent) -> None:
    """Unknown and ambiguous names are errors, and one's own memory needs no attaching."""
    with pytest.raises(UnknownBank, match="nowhere"):
        talk.attach("nowhere")
    SharedBank(peer, ben, "Ben")
    with pytest.raises(Ambiguous, match=r"bafyrei.*bafyrei"):
        talk.attach("ben")
    with pytest.raises(InvalidInput, match="own memory"):
        talk.attach(ava.bank_id)
    with pytest.raises(InvalidInput, match="peer"):
        Agent("alone", ava._key, ava._bank, peer.name_of).session("talk")
    with pytest.raises(InvalidInput, match="name"):
        ava.session(" ")
    with pytest.raises(LimitExceeded):
        ava.session("x" * (LIMITS.session_chars + 1))


def test_another_agents_words_are_marked_in_its_own_bank_too(
    talk: Session, peer: Peer, ava: Agent, ben: Agent
) -> None:
    """What Ben noted for himself is Ben's, and a tool's words are a tool's, whoever kept them."""
    ben.remember("the crate names are in kebab case", title="crates")
    SharedBank.of(peer, ben).grant(ava)
    talk.attach("ben")
    ava.remember("crate names say the linter", tool=True, title="lint")
    block = talk.context([user("crate names?")])
    assert "- [crates]: the crate names are in kebab case (from ben, peer, 2026-01-01)" in block
    assert "- [lint]: crate names say the linter (from ava, tool, 2026-01-01)" in block


# Settings


def test_settings_act_on_the_next_turn(
    talk: Session, ava: Agent, shared: Callable[[str, str], SharedBank]
) -> None:
    """Which banks, how many records, how long, how sure, and whether at all; reset takes all of it back."""
    for name in ("one", "two"):
        bank = shared(name, f"crate names of {name}")
        bank.grant(ava)
        talk.attach(name)
    ava.remember_many([Draft(f"crate names, part {n}, and some more words") for n in range(6)])
    asked = [user("crate names?")]
    assert len(bullets(talk.context(asked))) == 3 + 2
    assert ava.configure_auto_recall(max_entries="5").max_entries == 5
    assert len(bullets(talk.context(asked))) == 5 + 2
    ava.configure_auto_recall(auto_recall_banks=["TWO"], max_entries=1)
    assert talk.context(asked).count("from bank") == 1
    assert "from bank: two" in talk.context(asked)
    ava.configure_auto_recall(auto_recall_banks=[])
    assert "from bank" not in talk.context(asked)
    ava.configure_auto_recall(max_entry_chars=12)
    assert bullets(talk.context(asked))[0].endswith("]: crate names…")
    ava.configure_auto_recall(floor=1.0)
    assert talk.context([user("crate names of zebras?")]) == ""
    ava.configure_auto_recall(auto_recall_enabled="off")
    assert talk.context(asked) == ""
    assert ava.reset_auto_recall() == AutoRecallConfig() == ava.auto_recall_config()
    assert len(bullets(talk.context(asked))) == 3 + 2


def test_unset_means_all_banks_and_empty_means_none(ava: Agent) -> None:
    """The two are told apart, in whatever form they are given."""
    assert ava.auto_recall_config().auto_recall_banks is None
    assert ava.configure_auto_recall(auto_recall_banks="").auto_recall_banks == ()
    assert ava.auto_recall_config().to_json()["auto_recall_banks"] == []
    assert ava.configure_auto_recall(auto_recall_banks=None).auto_recall_banks is None
    assert ava.configure_auto_recall(auto_recall_banks=f"{ava.bank_id},ava").auto_recall_banks == (
        ava.bank_id,
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"max_entries": 0}, InvalidInput),
        ({"max_entries": 21}, LimitExceeded),
        ({"max_entries": True}, InvalidInput),
        ({"max_entries": "many"}, InvalidInput),
        ({"max_entry_chars": 2001}, LimitExceeded),
        ({"auto_recall_enabled": "perhaps"}, InvalidInput),
        ({"auto_recall_enabled": 1}, InvalidInput),
        ({"auto_recall_banks": 5}, InvalidInput),
        ({"auto_recall_banks": ["nowhere"]}, UnknownBank),
        ({"auto_recall_banks": [f"bank {n}" for n in range(257)]}, LimitExceeded),
        ({"floor": 0}, InvalidInput),
        ({"floor": "high"}, InvalidInput),
        ({"floor": float("nan")}, InvalidInput),
        ({"max_entry": 3}, InvalidInput),
        ({"max_entry": None}, InvalidInput),
    ],
)
def test_a_setting_without_meaning_is_refused(
    ava: Agent, changes: dict[str, Any], error: type[Exception]
) -> None:
    """The error names the setting, and nothing is written."""
    entries = ava.stats().entries
    with pytest.raises(error):
        ava.configure_auto_recall(max_entry_chars=100, **changes) if "max_entry_chars" not in changes else (
            ava.configure_auto_recall(**changes)
        )
    assert ava.stats().entries == entries
    assert ava.auto_recall_config() == AutoRecallConfig()


def test_settings_are_signed_and_a_guest_does_not_choose_them(peer: Peer, ava: Agent, ben: Agent) -> None:
    """They stand in the agent's bank; what a writer who is not the agent sets there has no effect."""
    ava.configure_auto_recall(max_entries=4)
    entries = ava.stats().entries
    ava.configure_auto_recall(max_entries=4)
    assert ava.stats().entries == entries  # the same again writes nothing
    SharedBank.of(peer, ava).grant(ben, "write")
    _set(ava, ben, "max_entries", 20)
    assert ava.auto_recall_config().max_entries == 4
    _set(ava, ava, "max_entries", "a newer form")
    assert ava.auto_recall_config().max_entries == 3
    with pytest.raises(NotPermitted):
        Agent("ben", ben._key, _other_bank(peer), peer.name_of, peer).configure_auto_recall(max_entries=2)


def _set(ava: Agent, by: Agent, name: str, value: Any) -> None:
    bank = ava._bank
    act = Set("auto_recall", name, value)
    with bank.write() as authority:
        _, seq = Writer(bank, by._key).commit_acts(authority, [act], bank.host.clock.now_ms())
        Projector(bank.store, bank.rulings.authority).entry(bank.store.entry_at(seq), [act])


def _other_bank(peer: Peer) -> Any:
    return peer.agent("carol", create=True)._bank


def test_settings_outlive_the_process(make_peer: MakePeer) -> None:
    """Another process of the same folder sees them, and the attachments."""
    peer = make_peer("home")
    ava = peer.agent("ava", create=True)
    bank = SharedBank(peer, ava, "crates")
    ava.session("talk").attach("crates")
    ava.configure_auto_recall(floor="0.25")
    again = make_peer("home", checked=False)
    assert again.agent("ava").auto_recall_config().floor == 0.25
    assert [one.id for one in again.agent("ava").session("talk").attached()] == [bank.id]
    again.close()


# What is left out


def test_nothing_is_said_twice(talk: Session, ava: Agent, shared: Callable[[str, str], SharedBank]) -> None:
    """Equal words in another bank, superseded ones, and what the conversation quotes already are left out."""
    shared("copy", "kim's  workshop is in BERGEN.").grant(ava)
    talk.attach("copy")
    asked = user("where is the workshop of Kim?")
    assert bullets(talk.context([asked])) == ["- [kim]: Kim's workshop is in Bergen"]
    ava.remember("Kim's workshop is in Oslo now", key="kim")
    lines = bullets(talk.context([asked]))
    assert lines[0] == "- [kim]: Kim's workshop is in Oslo now"
    assert len(lines) == 2  # the shared bank still says Bergen
    quoted = {"role": "tool", "content": "kim: Kim's workshop is in Oslo now"}
    assert len(bullets(talk.context([asked, quoted]))) == 1
    assert talk.context([{"role": "user", "content": talk.context([asked])}, asked]) == ""


def test_a_block_in_the_conversation_asks_for_nothing(talk: Session) -> None:
    """A host that keeps the blocks of earlier turns does not feed recall with its own answers."""
    block = talk.context([user("where is the workshop of Kim?")])
    assert block
    assert talk.context([user(block + "\n"), agent_says("noted"), user("go on")]) == ""


def test_what_is_dated_ahead_is_hidden_until_its_time(make_peer: MakePeer, clock: Any) -> None:
    """A record whose clock runs ahead says nothing yet."""
    ava = make_peer().agent("ava", create=True)
    clock.ms += HOUR
    ava.remember("Kim's workshop is in Bergen")
    clock.ms -= HOUR
    talk, asked = ava.session("talk"), [user("Kim's workshop?")]
    assert talk.context(asked) == ""
    clock.ms += HOUR
    assert talk.context(asked) != ""


def test_nothing_is_ever_written(
    talk: Session, ava: Agent, peer: Peer, shared: Callable[[str, str], SharedBank]
) -> None:
    """Neither the agent's bank nor a shared one gains an entry, and no record becomes another."""
    bank = shared("crates", "crate names are in kebab case")
    bank.grant(ava)
    talk.attach("crates")
    before = [ava.stats().entries, len(list(bank.bank.store.entries())), ava.stats().records]
    for text in ("where is Kim's workshop?", "crate names?", "what?", "zebras"):
        talk.context([user(text)])
        talk.recall_for([user(text)])
    assert [ava.stats().entries, len(list(bank.bank.store.entries())), ava.stats().records] == before


# Budgets


def test_the_block_keeps_its_budget_of_tokens(
    talk: Session, ava: Agent, shared: Callable[[str, str], SharedBank]
) -> None:
    """The best record of each bank comes before the second of any; with no room nothing is said at all."""
    ava.remember_many([Draft(f"crate names, part {n}") for n in range(4)])
    shared("crates", "crate names are in kebab case").grant(ava)
    talk.attach("crates")
    asked = [user("crate names?")]
    sizes = []
    for budget in range(0, 120, 3):
        block = talk.context(asked, budget_tokens=budget)
        assert len(block.encode()) <= 3 * budget
        sizes.append(len(bullets(block)))
    assert sizes[0] == 0
    assert max(sizes) == sizes[-1]
    assert sizes[-1] == 4
    both = talk.context(asked, budget_tokens=52)
    assert ("from bank: crates" in both, len(bullets(both))) == (True, 2)
    for budget in ({"budget_tokens": -1}, {"budget_ms": -1}):
        with pytest.raises(InvalidInput):
            talk.context(asked, **budget)


def test_the_time_is_looked_at_between_banks(
    talk: Session, ava: Agent, shared: Callable[[str, str], SharedBank]
) -> None:
    """When it is over, what is there is returned; one's own memory is always asked."""
    shared("crates", "crate names are in kebab case").grant(ava)
    talk.attach("crates")
    ava.remember("crate names are short")
    now = [0.0]

    def timer() -> float:
        now[0] += 0.04
        return now[0]

    hurried = Session(talk._peer, "talk", ava._key, ava._bank, timer)
    found = hurried.recall_for([user("crate names?")], budget_ms=30)
    assert [store.name for store in found.stores] == [None]
    assert found.degraded == "the time was over before all banks were searched"
    assert len(hurried.recall_for([user("crate names?")]).stores) == 2


def test_one_embedding_a_turn_however_many_banks(make_peer: MakePeer) -> None:
    """The question is embedded once, and not at all where nothing is asked."""
    counting = CountingEmbedder(RandomEmbedder(32))
    peer = make_peer("meant", embedder=counting)
    ava = peer.agent("ava", create=True)
    talk = ava.session("talk")
    for number in range(5):
        bank = SharedBank(peer, ava, f"bank {number}")
        bank.remember_many([Draft(f"crate {n} of bank {number}") for n in range(20)])
        talk.attach(bank.id)
    calls = counting.calls
    found = talk.recall_for(
        [user("hello"), agent_says("hi"), user("the third crate of bank 3?")], budget_ms=60_000
    )
    assert len(found.stores) == 6
    assert found.degraded is None
    assert counting.calls == calls + 1
    assert counting.texts[-1] == "the third crate of bank 3?"
    talk.context([user("and then?")])
    assert counting.calls == calls + 1


def test_a_slow_embedder_does_not_hold_a_turn_up(make_peer: MakePeer) -> None:
    """The words answer in time, and so they do while earlier questions still wait for their vectors."""
    release, asked = threading.Event(), threading.Semaphore(0)

    def sleep(_: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            asked.release()
            assert release.wait(60)

    peer = make_peer("slow", embedder=SlowEmbedder(RandomEmbedder(32), 1.0, sleep))
    ava = peer.agent("ava", create=True)
    ava.remember("Kim's workshop is in Bergen")
    talk, question = ava.session("talk"), [user("where is Kim's workshop?")]
    reasons = []
    for _ in range(6):
        found = talk.recall_for(question, budget_ms=20)
        assert len(found.stores[0].hits) == 1
        reasons.append(found.degraded)
    assert not release.is_set()  # every turn was over before the embedder answered
    assert reasons[0] == "the embedder did not answer in time"
    assert reasons[-1] == "the embedder is busy with earlier questions"
    release.set()
    for thread in threading.enumerate():
        if thread.name == "muniment-query":
            thread.join(60)
    assert talk.recall_for(question, budget_ms=60_000).degraded is None


def test_a_failing_embedder_leaves_the_words(make_peer: MakePeer) -> None:
    """The turn is answered by words, and the preview says why."""
    ava = make_peer("failing", embedder=FailingEmbedder(RandomEmbedder(32))).agent("ava", create=True)
    ava.remember("Kim's workshop is in Bergen")
    found = ava.session("talk").recall_for([user("Kim's workshop?")], budget_ms=60_000)
    assert found.degraded == "no embedder answers"
    assert len(found.stores[0].hits) == 1


def test_a_preview_tells_why(talk: Session) -> None:
    """Each record comes with the share of the question that it holds, and in JSON too."""
    found = talk.recall_for([user("where is the workshop of Kim?")])
    (hit,) = found.stores[0].hits
    assert hit.mass == 1.0
    assert hit.sigmas is None
    assert hit.reason.startswith("It holds 100% of what is asked: ")
    told = found.to_json()["stores"][0]
    assert told["name"] is None
    assert told["hits"][0]["hit"]["record"]["key"] == "kim"


def test_who_said_it_is_evidence(ava: Agent) -> None:
    """A record of the speaker that the question names clears a floor that its words alone would not clear."""
    for name, text in (("Kim", "the boat leaks"), ("Lee", "the boat leaks as well"), ("Kim", "tea is ready")):
        ava.remember(f"{name}: {text}", session="talk")
    ava.configure_auto_recall(floor=0.28)
    found = ava.session("asking").recall_for([user("Kim boat varnish painter")])
    best = found.stores[0].hits[0]
    assert best.hit.record.text == "Kim: the boat leaks"
    assert best.mass < 0.28
    assert "the question names its speaker" in best.reason
