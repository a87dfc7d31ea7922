"""API keys of a peer: sealed to its owner, opened by nobody else, printed nowhere."""

from pathlib import Path

import pytest

import muniment
from muniment.base.errors import (
    InvalidInput,
    KeyringLocked,
    LimitExceeded,
    NotFound,
    RefusedBody,
    StoreBusy,
)
from muniment.identity.keys import box

KEY, OTHER = "sk-test-4711-very-secret", "sk-other-0815"


def files(home: Path) -> bytes:
    """All bytes that lie in a folder."""
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def test_a_key_is_kept_replaced_and_forgotten(tmp_path: Path) -> None:
    """It comes back from another process as it was, and looking at it makes nothing."""
    home = tmp_path / "home"
    with muniment.open(home) as peer:
        assert peer.credentials.list() == []
        assert peer.credentials.get("openai") is None
        assert not home.exists()
        made = peer.credentials.set("openai", KEY)
        assert made.provider == "openai"
        assert peer.credentials.set("lab-2.x_y", OTHER).fingerprint != made.fingerprint
    with muniment.open(home) as peer:
        assert peer.credentials.get("openai") == KEY
        assert [info.provider for info in peer.credentials.list()] == ["lab-2.x_y", "openai"]
        assert peer.credentials.set("openai", OTHER) == peer.credentials.list()[1]
        assert peer.credentials.get("openai") == OTHER
        assert peer.credentials.remove("openai").to_json() == {"provider": "openai", "fingerprint": None}
        assert peer.credentials.get("openai") is None
        with pytest.raises(NotFound, match=r"there are: lab-2\.x_y"):
            peer.credentials.remove("openai")


def test_no_file_holds_it_in_clear(tmp_path: Path) -> None:
    """Neither the peer's file, nor its log, nor the banks, nor an export."""
    with muniment.open(tmp_path / "home") as peer:
        agent = peer.agent("ava", create=True)
        agent.remember("tea")
        made = peer.credentials.set("openai", KEY)
        assert KEY.encode() not in files(tmp_path / "home")
        agent.export_to(tmp_path / "export.jsonl")
        for shown in (repr(peer.credentials), repr(peer), repr(made), str(made.to_json())):
            assert KEY not in shown
            assert KEY[-4:] not in shown
    assert KEY.encode() not in files(tmp_path)


def test_the_first_key_comes_before_the_first_memory(tmp_path: Path) -> None:
    """A folder that was made for a key is a home like any other."""
    with muniment.open(tmp_path / "home") as peer:
        peer.credentials.set("openai", KEY)
        agent = peer.choose_agent(for_write=True)
        agent.remember("tea")
        assert [info.name for info in peer.agents()] == ["default"]
        assert peer.agents()[0].controller == peer.init(name="laptop")["owner"]
        assert peer.credentials.get("openai") == KEY


def test_a_folder_that_holds_only_keys_can_still_be_set_up(tmp_path: Path) -> None:
    """`init` names the first agent and seals what is there."""
    with muniment.open(tmp_path / "home") as peer:
        peer.credentials.set("openai", KEY)
        done = peer.init(agent="ava", passphrase="correct horse")
        assert [agent["name"] for agent in done["agents"]] == ["ava"]
        assert done["keys"] == "passphrase"
        with pytest.raises(InvalidInput, match="set up already"):
            peer.init(agent="ben")
    with muniment.open(tmp_path / "home") as peer, pytest.raises(KeyringLocked):
        peer.credentials.get("openai")


def test_a_sealed_keyring_opens_for_its_passphrase_alone(tmp_path: Path) -> None:
    """Without it a key is neither given nor shown by its fingerprint; it can be replaced and forgotten."""
    home = tmp_path / "home"
    with muniment.open(home) as peer:
        peer.init(passphrase="correct horse")
        peer.credentials.set("openai", KEY)
    with muniment.open(home) as peer:
        with pytest.raises(KeyringLocked):
            peer.credentials.get("openai")
        with pytest.raises(KeyringLocked):
            peer.credentials.list()
        peer.credentials.set("openai", OTHER)
    with muniment.open(home, passphrase=lambda: "correct horse") as peer:
        assert peer.credentials.get("openai") == OTHER
    with muniment.open(home) as peer:
        peer.credentials.remove("openai")


def test_a_box_that_was_moved_altered_or_made_elsewhere_does_not_open(tmp_path: Path) -> None:
    """The box names its provider and is for one owner; the rest of the list is shown all the same."""
    with muniment.open(tmp_path / "home") as peer:
        peer.credentials.set("openai", KEY)
        peer.credentials.set("lab", OTHER)
        store = peer.made_store()
        sealed = store.credential("openai")
        assert sealed is not None
        for wrong in (sealed, sealed[:-1], b"", b"x" * 200, box(peer.owner(), b"anything", b"s" * 32)):
            store.set_credential("lab", wrong)
            with pytest.raises(RefusedBody, match="lab does not open here") as caught:
                peer.credentials.get("lab")
            assert caught.value.next_step == "Set it with: muniment credential set lab"
            assert [info.fingerprint is None for info in peer.credentials.list()] == [True, False]
        peer.credentials.set("lab", OTHER)
        assert peer.credentials.get("lab") == OTHER
    with muniment.open(tmp_path / "other") as other:
        other.credentials.set("lab", KEY)
        other.made_store().set_credential("lab", sealed)
        with pytest.raises(RefusedBody):
            other.credentials.get("lab")


@pytest.mark.parametrize("key", ["", "a b", "a\n", "ключ", "a\x00b", "\ud800"])
def test_what_is_no_key_is_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    """Before anything is made."""
    with muniment.open(tmp_path / "home") as peer:
        with pytest.raises(InvalidInput) as caught:
            peer.credentials.set("openai", key)
        assert not key or key not in str(caught.value)
        with pytest.raises(LimitExceeded):
            peer.credentials.set("openai", "x" * 4097)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("provider", ["", "a b", "UPPER", "../x", "x" * 33, "-x", "sk-live-4711", "é"])
def test_a_provider_is_a_short_name_and_no_key(tmp_path: Path, provider: str) -> None:
    """A key that was typed in its place is not stored as a name, and not repeated."""
    with muniment.open(tmp_path / "home") as peer:
        for call in (
            peer.credentials.get,
            peer.credentials.remove,
            lambda name: peer.credentials.set(name, KEY),
        ):
            with pytest.raises(InvalidInput) as caught:
                call(provider)
            assert not provider or len(provider) < 3 or provider not in str(caught.value)
    assert not (tmp_path / "home").exists()


def test_a_locked_file_is_told_and_what_was_there_stands(tmp_path: Path) -> None:
    """Another process that writes is waited for, and then named."""
    home = tmp_path / "home"
    with muniment.open(home, busy_ms=50) as peer, muniment.open(home, busy_ms=50) as other:
        peer.credentials.set("openai", KEY)
        with other.made_store().write() as link:
            link.run("UPDATE credentials SET sealed = sealed")
            with pytest.raises(StoreBusy):
                peer.credentials.set("openai", OTHER)
        assert peer.credentials.get("openai") == KEY
