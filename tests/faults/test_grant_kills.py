"""`kill -9` between the steps of a decision: the bank's word stands or does not, and doing it again ends well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import muniment
from muniment.base.errors import NotPermitted
from muniment.identity.did import parse_did
from muniment.peer import Peer
from muniment.refs import refs

DIES = """
import os, signal, sys
import muniment
from importlib import import_module

home, where, name, line = sys.argv[1:]

def die(*args, **more):
    os.kill(os.getpid(), signal.SIGKILL)

holder = import_module(where)
for part in name.split(".")[:-1]:
    holder = getattr(holder, part)
setattr(holder, name.split(".")[-1], die)
with muniment.open(home) as peer:
    ava = peer.agent("ava")
    exec(line)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A peer with two agents and a bank of the first."""
    with muniment.open(tmp_path / "peer") as peer:
        ava = peer.agent("ava", create=True)
        peer.agent("ben", create=True)
        ava.remember("own")
        ava.banks.new("team")
        ava.bank("team").remember("we build with nix")
    return tmp_path / "peer"


def killed(home: Path, where: str, name: str, line: str) -> None:
    """Run a line in another process, which is killed when it comes to the function of that name."""
    source = str(Path(muniment.__path__[0]).parent)
    guard = os.environ.get("PYTHONPATH", "")
    done = subprocess.run(
        [sys.executable, "-c", DIES, str(home), where, name, line],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, guard])},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def clean(peer: Peer) -> None:
    """Nothing is half done in any bank."""
    for agent in ("ava", "ben"):
        assert peer.agent(agent).check() == []
    assert peer.agent("ava").bank("team").check() == []


def test_a_kill_between_control_entry_and_ref(home: Path) -> None:
    """The grant stands and opens the bank; the ref is written by the next grant, which signs nothing new."""
    killed(home, "muniment.shared_banks", "put_ref", "ava.banks.grant('team', 'ben', 'write')")
    with muniment.open(home) as peer:
        ava, ben = peer.agent("ava"), peer.agent("ben")
        assert refs(ben._bank, parse_did(ben.did)) == []
        ben.bank("team").remember("ben was here")
        assert ava.banks.grant("team", "ben", "write").done == "unchanged"
        assert [ref.name for ref in refs(ben._bank, parse_did(ben.did))] == ["team"]
        clean(peer)


def test_a_kill_between_revocation_and_ref(home: Path) -> None:
    """The key is out; the ref that stayed opens nothing."""
    with muniment.open(home) as peer:
        peer.agent("ava").banks.grant("team", "ben", "write")
    killed(home, "muniment.shared_banks", "drop_ref", "ava.banks.revoke('team', 'ben')")
    with muniment.open(home) as peer:
        ben = peer.agent("ben")
        assert len(refs(ben._bank, parse_did(ben.did))) == 1
        with pytest.raises(NotPermitted):
            ben.bank("team").list()
        clean(peer)


INSIDE = [
    ("muniment.granting", "settle_epoch", "ava.banks.grant('team', 'ben', 'read')"),
    ("muniment.writing", "Writer.start_epoch", "ava.banks.revoke('team', 'ben')"),
    ("muniment.writing", "Writer.start_epoch", "ava.banks.rekey('team')"),
]


@pytest.mark.parametrize(("where", "name", "line"), INSIDE, ids=["grant", "revoke", "rekey"])
def test_a_kill_inside_the_transaction(home: Path, where: str, name: str, line: str) -> None:
    """Neither the control entry nor the epoch is there: all of it, or none."""
    if "revoke" in line:
        with muniment.open(home) as peer:
            peer.agent("ava").banks.grant("team", "ben", "admin")
    with muniment.open(home) as peer:
        before = peer.agent("ava").bank("team").verify().to_json()
    killed(home, where, name, line)
    with muniment.open(home) as peer:
        ava = peer.agent("ava")
        assert ava.bank("team").verify().to_json() == before
        ava.bank("team").remember("goes on")
        clean(peer)


def test_a_kill_while_a_bank_is_made(home: Path) -> None:
    """A file without a name on the list is nobody's bank; the name is still free."""
    killed(home, "muniment.store.peer", "PeerStore.add_bank", "ava.banks.new('crew')")
    with muniment.open(home) as peer:
        ava = peer.agent("ava")
        assert [bank.name for bank in ava.banks.list(all=True)] == ["ava", "ben", "team"]
        ava.banks.new("crew")
        ava.bank("crew").remember("made after all")
        clean(peer)


@pytest.mark.parametrize("step", ["Writer.start_epoch", "PeerStore.replace_key"])
def test_a_kill_while_a_key_is_rotated(home: Path, step: str) -> None:
    """Before the entry is on the disk the old key goes on; after it the new one does."""
    where = "muniment.writing" if step.startswith("Writer") else "muniment.store.peer"
    with muniment.open(home) as peer:
        old = peer.agent("ava").did
    killed(home, where, step, "peer.keys.rotate('ava')")
    with muniment.open(home) as peer:
        ava = peer.agent("ava")
        assert (ava.did == old) is (step == "Writer.start_epoch")
        ava.remember("goes on")
        assert {record.source for record in ava.list()} == {"self"}
        peer.keys.rotate("ava")
        peer.agent("ava").remember("and on")
        assert peer.agent("ava").check() == []
