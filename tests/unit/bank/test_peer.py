"""A peer: nothing is made by looking, agents by name, one agent chosen by rules, settings that are told when wrong."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muniment
from muniment.base.errors import (
    Ambiguous,
    InputError,
    InvalidInput,
    KeyringLocked,
    LimitExceeded,
    NotFound,
    RefusedKey,
    UnknownAgent,
)
from muniment.choosing import AGENT_VARIABLE
from muniment.config import Settings, from_mapping, load
from muniment.identity.did import to_did
from muniment.identity.keys import keypair
from muniment.names import check_name
from muniment.peer import Peer

# Nothing is made by looking


def test_importing_and_opening_make_nothing(tmp_path: Path) -> None:
    """A folder is made by the first write, not by opening, asking, or a name that is not there."""
    home = tmp_path / "deep" / "peer"
    with muniment.open(home) as peer:
        assert peer.agents() == []
        assert not peer.exists
        for ask in (
            lambda: peer.agent("ava"),
            peer.choose_agent,
            lambda: peer.agent_info("ava"),
            lambda: peer.choose_agent("ava", for_write=True),
        ):
            with pytest.raises(UnknownAgent) as caught:
                ask()
            assert caught.value.next_step
        assert peer.name_of(bytes(32)) is None
        peer.doctor()
    assert not (tmp_path / "deep").exists()


def test_the_first_agent_makes_everything(tmp_path: Path) -> None:
    """Folder, keyring, peer.db, the owner's key and the bank are made with the first agent, for its user alone."""
    home = tmp_path / "peer"
    with muniment.open(home) as peer:
        peer.agent("ava", create=True)
        assert peer.exists
    names = {path.name for path in home.iterdir()}
    assert {"keyring", "peer.db", "banks", "journal"} <= names
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "keyring").stat().st_mode & 0o777 == 0o600
    with muniment.open(home) as peer:
        (info,) = peer.agents()
        assert info.name == "ava"
        assert peer.agent("ava").did == info.did


def test_a_closed_peer_can_be_closed_again(peer: Peer) -> None:
    """Closing twice is harmless."""
    peer.agent("ava", create=True)
    peer.close()
    peer.close()


# Agents


def test_an_unknown_agent_is_named_with_those_there_are(peer: Peer) -> None:
    """The error lists the agents there are, and says how to make one."""
    peer.agent("ava", create=True)
    peer.agent("bob", create=True)
    with pytest.raises(UnknownAgent) as caught:
        peer.agent("eve")
    assert isinstance(caught.value, NotFound)
    for word in ("eve", "ava", "bob"):
        assert word in caught.value.message
    assert "agent new" in caught.value.next_step
    assert len(peer.agents()) == 2


def test_create_makes_an_agent_once(peer: Peer) -> None:
    """Asking again gives the same agent, whatever the case; making it anew by name is refused."""
    one = peer.agent("Ava", create=True)
    assert peer.agent("ava", create=True).did == one.did
    assert peer.agent("AVA").bank_id == one.bank_id
    with pytest.raises(InvalidInput):
        peer.new_agent("aVA")
    assert [info.name for info in peer.agents()] == ["Ava"]


def test_agents_are_apart(peer: Peer) -> None:
    """Each has a key and a bank of its own, and sees nothing of the other's."""
    ava, bob = peer.agent("ava", create=True), peer.agent("bob", create=True)
    ava.remember("tea of ava", key="k")
    bob.remember("tea of bob", key="k")
    assert ava.did != bob.did
    assert ava.bank_id != bob.bank_id
    assert [hit.record.text for hit in ava.recall("tea")] == ["tea of ava"]
    assert [hit.record.text for hit in bob.recall("tea")] == ["tea of bob"]
    assert peer.agent_info("bob").records == 1


def test_an_agents_bank_is_held_by_its_controller_and_it(peer: Peer) -> None:
    """The owner is admin(0), the agent admin(1); a controller that is named takes the owner's place."""
    ava = peer.agent("ava", create=True)
    (info,) = peer.agents()
    levels = {to_did(m.key): (str(m.level), m.agent) for m in ava._bank.authority.members(0)}
    assert levels == {info.controller: ("admin(0)", False), ava.did: ("admin(1)", True)}
    cold = to_did(keypair(b"c" * 32).public)
    bob = peer.new_agent("bob", controller=cold)
    levels = {to_did(m.key): (str(m.level), m.agent) for m in bob._bank.authority.members(0)}
    assert levels == {cold: ("admin(0)", False), bob.did: ("admin(1)", True)}
    assert bob.remember("works without the controller's key here").created
    with pytest.raises(RefusedKey):
        peer.new_agent("eve", controller="did:key:z6Mk")
    assert peer.agents()[-1].name == "bob"


GOOD = ["a", "Ava", "ava-2", "Ævar Øst", "記憶", "a.b_c", "x" * 64, "two words"]
BAD = ["", " ", " ava", "ava ", "a\nb", "a\0b", "\u202eabc", "-ava", "--help", "\ud800", "a\tb"]


@pytest.mark.parametrize("name", GOOD)
def test_a_name_that_can_be_typed_is_taken(peer: Peer, name: str) -> None:
    """Letters of any script, digits and signs; found again as it was given."""
    made = peer.agent(name, create=True)
    assert peer.agent(name).did == made.did
    assert peer.agents()[0].name == name


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_can_not_be_typed_or_shown_is_refused(peer: Peer, name: str) -> None:
    """Empty, padded, unprintable or looking like an option; nothing is made."""
    with pytest.raises(InvalidInput):
        peer.agent(name, create=True)
    assert not peer.exists


def test_a_long_name_is_refused_with_its_limit(peer: Peer) -> None:
    """64 characters, and the error says so."""
    with pytest.raises(LimitExceeded) as caught:
        peer.agent("x" * 65, create=True)
    assert (caught.value.allowed, caught.value.given) == (64, 65)


@given(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, categories=None), max_size=70))
def test_a_name_is_good_or_told(name: str) -> None:
    """Any text at all is taken or refused by name."""
    with contextlib.suppress(InputError):
        check_name(name)


# Which agent is meant


def test_the_only_agent_is_meant(peer: Peer) -> None:
    """With one agent none has to be named; with two the error lists them."""
    ava = peer.agent("ava", create=True)
    assert peer.choose_agent().did == ava.did
    peer.agent("bob", create=True)
    for for_write in (False, True):
        with pytest.raises(Ambiguous) as caught:
            peer.choose_agent(for_write=for_write)
        assert caught.value.choices == ["ava", "bob"]
        assert "--agent" in caught.value.next_step


def test_the_very_first_write_makes_default(peer: Peer) -> None:
    """Only a write makes the agent `default`, and only where there is none."""
    with pytest.raises(UnknownAgent):
        peer.choose_agent()
    made = peer.choose_agent(for_write=True)
    assert made.name == "default"
    assert peer.choose_agent().did == peer.choose_agent(for_write=True).did == made.did


def test_asked_beats_variable_beats_setting(make_peer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name that was asked for, then MUNIMENT_AGENT, then the setting."""
    peer = make_peer("chosen", config="agent: cyd\n")
    for name in ("ava", "bob", "cyd"):
        peer.agent(name, create=True)
    assert peer.choose_agent().name == "cyd"
    monkeypatch.setenv(AGENT_VARIABLE, "bob")
    assert peer.choose_agent().name == "bob"
    assert peer.choose_agent("ava").name == "ava"
    monkeypatch.setenv(AGENT_VARIABLE, "eve")
    with pytest.raises(UnknownAgent):
        peer.choose_agent(for_write=True)


def test_a_name_never_makes_an_agent(peer: Peer) -> None:
    """A mistyped name is an error, also for a write on an empty peer."""
    with pytest.raises(UnknownAgent):
        peer.choose_agent("avva", for_write=True)
    assert not peer.exists


# Many at once


def test_threads_share_a_peer(peer: Peer) -> None:
    """Eight threads that make the same agent and write at once: one agent, every memory, one chain."""
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            agent = peer.agent("ava", create=True)
            for count in range(10):
                agent.remember(f"thread{number} note{count}")
                agent.recall(f"thread{number}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    ava = peer.agent("ava")
    assert ava.stats().records == 80
    assert len(ava._bank.store.tips(ava._key)) == 1
    for number in range(8):
        assert len(ava.recall(f"thread{number}", limit=100, context=False)) >= 10


# Setting up


def test_init_chooses_and_makes_the_first_agent(tmp_path: Path) -> None:
    """The answer says what was made; with nothing left to choose it is refused, and so is choosing both ways."""
    with muniment.open(tmp_path / "peer") as peer:
        with pytest.raises(InvalidInput):
            peer.init(passphrase="x", use_system_keyring=True)
        assert not peer.exists
        said = peer.init(agent="ava", name="desk")
        assert [agent["did"] for agent in said["agents"]] == [peer.agent("ava").did]
        assert (said["name"], said["home"]) == ("desk", str(tmp_path / "peer"))
        for again in ({}, {"agent": "bob"}):
            with pytest.raises(InvalidInput) as caught:
                peer.init(**again)
            assert "set up already" in caught.value.message
        assert [info.name for info in peer.agents()] == ["ava"]
    with muniment.open(tmp_path / "other") as peer:
        assert [agent["name"] for agent in peer.init()["agents"]] == ["default"]


def test_a_key_sealed_under_a_passphrase_needs_it(tmp_path: Path) -> None:
    """Without the passphrase nothing is written or opened; with it all is as before."""
    with muniment.open(tmp_path / "peer") as peer:
        peer.init(agent="ava", passphrase="correct horse")
    with muniment.open(tmp_path / "peer", passphrase=lambda: "correct horse") as peer:
        peer.agent("ava").remember("tea")
    with muniment.open(tmp_path / "peer") as peer, pytest.raises(KeyringLocked):
        peer.agent("ava").remember("no")


# Settings


def test_plain_ranks_as_the_ancestor_did(make_peer: Any) -> None:
    """`analyzer: plain`: lower-case words without stems, no stop words, no conversation, k1=1.5 and b=0.75."""
    import math

    texts = ["Running the race", "He runs the runs", "the the the", "a race to run"]
    peer = make_peer("plain", config="analyzer: plain\n")
    ava = peer.agent("ava", create=True)
    for text in texts:
        ava.remember(text, session="s")
    documents = [[word for word in text.lower().split() if len(word) >= 2] for text in texts]
    average = sum(map(len, documents)) / len(documents)

    def bm25(query: list[str], document: list[str]) -> float:
        total = 0.0
        for word in query:
            df = sum(word in other for other in documents)
            idf = math.log((len(documents) - df + 0.5) / (df + 0.5) + 1)
            tf = document.count(word)
            total += idf * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * len(document) / average))
        return total

    for query in ("the race", "runs", "running", "run the"):
        expected = {t: bm25(query.split(), d) for t, d in zip(texts, documents, strict=True)}
        hits = ava.recall(query)
        assert {h.record.text: h.signals["text"] for h in hits} == {
            text: pytest.approx(score, abs=1e-6) for text, score in expected.items() if score > 0
        }


def test_settings_of_another_index_make_it_anew(make_peer: Any) -> None:
    """The same bank under another analyzer is indexed again, and nothing is lost."""
    peer = make_peer("changed")
    ava = peer.agent("ava", create=True)
    ava.remember("Running races")
    assert len(ava.recall("run")) == 1
    ava._bank.tidy(force=True)
    peer.close()
    peer = make_peer("changed", config="analyzer: plain\n")
    ava = peer.agent("ava")
    assert ava.recall("run") == []
    assert len(ava.recall("running")) == 1


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("- a\n- b\n", "settings"), ("just words\n", "settings"), ("analyzer: fancy\n", "analyzer"),
        ("agnt: ava\n", "agnt"),
        ("k1: -1\n", "k1"), ("k1: high\n", "k1"), ("k1: true\n", "k1"), ("b: 1.5\n", "b"),
        ("k1: .nan\n", "k1"),
        ("busy_ms: 1.5\n", "busy_ms"), ("busy_ms: -1\n", "busy_ms"), ("context: 1\n", "context"),
        ("agent: ''\n", "agent"),
        ("agent: [a]\n", "agent"), ("language: xx\n", "language"), ("a: b: c\n", "YAML"), ("\x00", "YAML"),
        ("!!python/object/apply:os.system ['true']\n", "YAML"), ("1: 2\n", "1"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_wrong_setting_is_told(tmp_path: Path, text: str, word: str) -> None:
    """Unknown names and values without meaning are an error that names them, the file and what to do."""
    home = tmp_path / "peer"
    home.mkdir()
    (home / "config.yaml").write_text(text, "utf-8")
    with pytest.raises(InvalidInput) as caught:
        use(home)
    assert word in caught.value.message
    assert caught.value.next_step


def use(home: Path) -> None:
    """Whatever a setting can be wrong for."""
    with Peer(home) as peer:
        peer.agent("ava", create=True).remember("tea")
        peer.agent("ava").recall("tea")


def test_settings_are_read(tmp_path: Path) -> None:
    """What the file says holds; what is not said is as by default; an empty file says nothing."""
    assert load(tmp_path) == Settings()
    (tmp_path / "config.yaml").write_bytes(b"")
    assert load(tmp_path) == Settings()
    chosen = Settings(agent="ava", analyzer="plain", language="de", k1=1.2, b=0.5, context=False, busy_ms=5)
    (tmp_path / "config.yaml").write_text(
        "agent: ava\nanalyzer: plain\nlanguage: de\nk1: 1.2\nb: 0.5\ncontext: false\nbusy_ms: 5\n"
    )
    assert load(tmp_path) == chosen
    assert from_mapping({}, "here") == Settings()
    (tmp_path / "config.yaml").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(InvalidInput):
        load(tmp_path)


def test_check_tells_how_far_it_is(make_peer: Any) -> None:
    """Both passes over the entries are told, in order, up to the whole; so is a rebuild's."""
    agent = make_peer("home").agent("ava", create=True)
    for number in range(5):
        agent.remember(f"tea {number}")
    told: list[tuple[int, int]] = []
    assert agent.check(progress=lambda done, total: told.append((done, total))) == []
    entries = agent.stats().entries
    assert told == [(done, 2 * entries) for done in range(1, 2 * entries + 1)]
