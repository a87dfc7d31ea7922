"""`muniment serve` over iroh: real endpoints, real peer folders, and what the settings say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment import sharing, syncing
from muniment.bank import Bank
from muniment.base.errors import InvalidInput, SyncRefused
from muniment.base.ids import BankId, parse_cid
from muniment.endpoint_key import LABEL, endpoint_seed
from muniment.identity.did import parse_did, to_did
from muniment.iroh_options import IrohOptions, iroh_options
from muniment.peer import Peer
from muniment.store.memory import MemoryStore
from muniment.surfaces.serve.background import background
from muniment.surfaces.serve.options import Options
from muniment.sync.dialling import Caller, dial

pytest.importorskip("iroh", reason="needs the extra p2p")

OPTIONS = replace(Options(), port=0, log=False, iroh="127.0.0.1:0")


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[tuple[Peer, Peer]]:
    """Two installations."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(muniment.open(tmp_path / name)) for name in ("ours", "theirs"))


def opener(peer: Peer) -> Any:
    """Opens a folder once more, as another process would."""
    return lambda: muniment.open(peer.home)


def shared(ours: Peer, theirs: Peer, level: str = "read") -> tuple[BankId, bytes]:
    """A bank of ours that is served and that a key of theirs may read."""
    theirs.agent("bea", create=True)
    key = theirs.owner()
    info = ours.banks.new("teas")
    ours.banks.grant("teas", to_did(key), level)
    bank = BankId(parse_cid(info.id))
    ours.made_store().others.share(bank, 1)
    return bank, key


def caller(peer: Peer, key: bytes) -> Caller:
    """Who dials."""
    return Caller(key, peer.host.keyring, peer.host.clock, peer.host.entropy, peer.home)


def pulled(ours: Peer, theirs: Peer, bank: BankId, key: bytes) -> syncing.SyncReport:
    """One round over iroh, at the address that tickets name."""
    (address,) = [one for one in sharing.addresses(ours) if one.startswith("iroh:")]
    held = Bank(MemoryStore(bank), theirs.host, theirs.home / "index" / "x")
    with dial(address, caller(theirs, key)) as link:
        return syncing.run(syncing.connect(held, key, link.binding), link.exchange)


def test_a_shared_bank_is_had_over_iroh(folders: tuple[Peer, Peer]) -> None:
    """Where to dial stands in the folder, as tickets name it; a round brings the bank."""
    ours, theirs = folders
    bank, key = shared(ours, theirs)
    with background(opener(ours), OPTIONS):
        assert pulled(ours, theirs, bank, key).done


def test_what_is_not_shared_or_not_granted_is_refused(folders: tuple[Peer, Peer]) -> None:
    """A stranger's key, and a bank that is served no more, look the same."""
    ours, theirs = folders
    bank, key = shared(ours, theirs)
    with background(opener(ours), OPTIONS):
        with pytest.raises(SyncRefused):
            pulled(ours, theirs, bank, parse_did(theirs.agent("bea").did))
        ours.made_store().others.unshare(bank)
        with pytest.raises(SyncRefused):
            pulled(ours, theirs, bank, key)


def test_the_address_stays_after_a_restart(folders: tuple[Peer, Peer]) -> None:
    """Same folder, same key, same port: an old ticket still leads there."""
    ours, theirs = folders
    bank, key = shared(ours, theirs)
    with background(opener(ours), OPTIONS):
        (first,) = [one for one in sharing.addresses(ours) if one.startswith("iroh:")]
    again = replace(OPTIONS, iroh=first.rpartition("@")[2])
    with background(opener(ours), again):
        assert first in sharing.addresses(ours)
        assert pulled(ours, theirs, bank, key).done


def test_the_endpoint_has_a_key_of_its_own(folders: tuple[Peer, Peer]) -> None:
    """It is no key that signs entries, and the same one at each start."""
    ours, _ = folders
    ours.agent("ava", create=True)
    seed = endpoint_seed(ours)
    assert endpoint_seed(ours) == seed
    held = ours.host.keyring.keys()
    labels = [ours.host.keyring.label(key) for key in held]
    assert labels.count(LABEL) == 1
    assert labels[0] == "owner"
    with muniment.open(ours.home) as again:
        assert endpoint_seed(again) == seed


def test_a_taken_port_keeps_the_server_from_starting(folders: tuple[Peer, Peer]) -> None:
    """It says so, and lets go of what it had."""
    ours, theirs = folders
    with background(opener(ours), OPTIONS):
        place = sharing.addresses(ours)[-1].rpartition("@")[2]
        with pytest.raises(InvalidInput, match="can't listen"):
            with background(opener(theirs), replace(OPTIONS, iroh=place)):
                pass


def test_the_settings_turn_it_on(folders: tuple[Peer, Peer]) -> None:
    """`serve.iroh` stands for --iroh."""
    ours, _ = folders
    ours.owner()
    (ours.home / "config.yaml").write_text(json.dumps({"serve": {"iroh": "127.0.0.1:0"}}))
    with background(opener(ours), replace(OPTIONS, iroh=None)):
        assert any(one.startswith("iroh:") for one in sharing.addresses(ours))


@pytest.mark.parametrize(
    ("block", "flag", "bind"),
    [
        (None, None, None),
        ({"iroh": True}, None, "0.0.0.0:8378"),
        ({"iroh": 9000}, None, "0.0.0.0:9000"),
        ({"iroh": True}, "127.0.0.1:9", "127.0.0.1:9"),
        ({"iroh": "[::1]:9"}, None, "[::1]:9"),
        (None, "7", "0.0.0.0:7"),
    ],
)
def test_where_to_listen(block: Any, flag: str | None, bind: str | None) -> None:
    """A port alone means every address of this machine; what is said at the start goes first."""
    assert iroh_options(block, flag) == IrohOptions(bind)


@pytest.mark.parametrize(
    "block",
    [
        {"iroh": "everywhere"}, {"iroh": 70_000}, {"iroh": "host.example:1"}, {"iroh": True, "iroh_at": "1.2.3.4:0"},
        {"iroh": True, "iroh_relays": "http://relay.example"}, {"iroh": True, "iroh_relays": [7]},
        {"discovery": True}, {"iroh": True, "discovery": "yes"},
    ],
    ids=str,
)  # fmt: skip
def test_settings_without_meaning_are_refused(block: dict[str, Any]) -> None:
    """Ports, places and relays are what they are; the LAN is told of iroh alone."""
    with pytest.raises(InvalidInput):
        iroh_options(block)
