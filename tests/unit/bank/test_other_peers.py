"""What is kept of other peers: addresses that may be believed, requests with their caps, how a lane waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import muniment
from muniment.access import approve, hear, request_bytes, requests
from muniment.base import codec
from muniment.base.errors import InvalidInput, LimitExceeded, MunimentError, NotPermitted, RefusedTicket
from muniment.base.ids import BankId, cid_of, parse_cid
from muniment.base.limits import LIMITS
from muniment.config import from_mapping
from muniment.identity.did import to_did
from muniment.peer import Peer
from muniment.sharing import Contacts, addresses, listens, server, speaker
from muniment.store.routes import RequestRow
from muniment.syncer import FIRST_S, MOST_S, backoff


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Peer]:
    """Ava's installation, with a bank `team`."""
    with muniment.open(tmp_path) as made:
        made.agent("ava", create=True).banks.new("team")
        yield made


def team(peer: Peer) -> BankId:
    """The bank's id."""
    return BankId(parse_cid(peer.agent("ava").banks.describe("team").id))


def stranger(peer: Peer, number: int = 0) -> bytes:
    """A key that is nobody's member."""
    return peer.host.keyring.create(bytes([number + 1]) * 32)


def say(peer: Peer, by: bytes, level: str = "write", note: str = "") -> None:
    """Ask for the bank."""
    bank = team(peer)
    hear(peer, peer.bank(bank), by, request_bytes(bank, by, level, note, peer.host.keyring))


def test_backoff_doubles_up_to_a_bound_and_is_never_in_step() -> None:
    """At least half of the wait is certain, the rest is drawn."""
    assert backoff(1, 0) == FIRST_S / 2
    assert backoff(1, 255) == FIRST_S
    assert backoff(3, 255) == 4 * FIRST_S
    assert backoff(1_000, 255) == MOST_S
    assert backoff(5, 10) != backoff(5, 11)


@pytest.mark.parametrize(
    ("by", "told", "taken"),
    [
        ("https://a.example", "https://b.example", True),
        ("https://a.example", "http://127.0.0.1:8377", False),
        ("https://a.example", "http://169.254.169.254/latest", False),
        ("https://a.example", "http://10.0.0.7", False),
        ("https://a.example", "http://router", False),
        ("https://a.example", "http://nas.local", False),
        ("http://10.0.0.7", "http://10.0.0.8", True),
        ("https://a.example", "ftp://b.example", False),
        ("https://a.example", f"iroh:{'a' * 64}", True),
        (None, "https://b.example", False),
    ],
)
def test_a_member_cannot_have_this_machines_network_knocked_at(
    peer: Peer, by: str | None, told: str, taken: bool
) -> None:
    """An address inside is taken only from who was reached inside, and none from who dialled in."""
    Contacts(peer, by).learn(team(peer), (told,))
    assert [row.address for row in peer.made_store().others.routes()] == ([told] if taken else [])


def test_addresses_of_one_bank_are_bounded(peer: Peer) -> None:
    """However many a member tells."""
    contacts = Contacts(peer, "https://a.example")
    for number in range(LIMITS.routes + 5):
        contacts.learn(team(peer), (f"https://b{number}.example",))
    assert len(peer.made_store().others.routes(team(peer))) == LIMITS.routes


def test_a_configured_address_goes_before_where_it_listens(peer: Peer, tmp_path: Path) -> None:
    """Tickets name the public one; without it where the server listened last."""
    listens(peer, "http", ["http://127.0.0.1:8377"])
    assert addresses(peer) == ("http://127.0.0.1:8377",)
    (tmp_path / "config.yaml").write_text("serve: {public_url: 'https://a.example/'}\n")
    with muniment.open(tmp_path) as again:
        assert addresses(again) == ("https://a.example",)
    listens(peer, "http", [])
    assert addresses(peer) == ()
    with pytest.raises(RefusedTicket):
        listens(peer, "http", ["nowhere"])


def test_a_request_is_queued_once_for_each_key_and_level(peer: Peer) -> None:
    """Asking again adds nothing; another level does; approving answers all of a key."""
    key = stranger(peer)
    for level in ("write", "write", "read"):
        say(peer, key, level)
    found = requests(peer, peer.agent_row("ava").key)
    assert [one.level for one in found] == ["write", "read"]
    approve(peer, peer.agent_row("ava").key, found[1].id)
    assert requests(peer, peer.agent_row("ava").key) == []


def test_requests_for_one_bank_are_bounded_and_end(peer: Peer) -> None:
    """A flood of strangers leaves room for no more than the cap; what is over makes room."""
    others, bank = peer.made_store().others, team(peer)
    for number in range(LIMITS.requests):
        assert others.ask(RequestRow(bank, number.to_bytes(32), "read", "", 1_000, 2_000))
    assert not others.ask(RequestRow(bank, b"z" * 32, "read", "", 1_000, 2_000))
    assert others.ask(RequestRow(bank, b"z" * 32, "read", "", 2_000, 3_000))
    assert [row.key for row in others.requests(2_500)] == [b"z" * 32]


@pytest.mark.parametrize("spoil", ["note", "sig", "key", "bank", "level", "field"])
def test_a_request_that_is_not_well_formed_is_refused(peer: Peer, spoil: str) -> None:
    """Altered after it was signed, by another key, for another bank, of no level, or with more in it."""
    key, bank = stranger(peer), team(peer)
    said = codec.decode(request_bytes(bank, key, "read", "", peer.host.keyring), LIMITS.claim_bytes)
    changed = {
        "note": "more",
        "sig": bytes(64),
        "key": stranger(peer, 1),
        "bank": cid_of(b"x"),
        "level": "boss",
    }
    said[spoil] = changed.get(spoil, 1)
    with pytest.raises(MunimentError):
        hear(peer, peer.bank(bank), key, codec.encode(said))
    assert requests(peer, peer.agent_row("ava").key) == []


def test_a_long_note_is_not_sent(peer: Peer) -> None:
    """The stranger's words are few."""
    with pytest.raises(LimitExceeded):
        request_bytes(team(peer), stranger(peer), "read", "x" * 201, peer.host.keyring)


def test_who_may_not_grant_sees_no_requests(peer: Peer) -> None:
    """They are shown to those who could answer."""
    peer.agent("ben", create=True)
    peer.agent("ava").banks.grant("team", "ben", "write")
    say(peer, stranger(peer))
    assert peer.agent("ben").banks.requests() == []
    assert len(peer.agent("ava").banks.requests()) == 1


def test_the_strongest_key_of_a_peer_speaks(peer: Peer) -> None:
    """An admin's before a writer's; none where none is a member."""
    peer.agent("ben", create=True)
    peer.agent("ava").banks.grant("team", "ben", "write")
    bank = peer.bank(team(peer))
    assert speaker(peer, bank) == peer.agent_row("ava").key
    assert server(peer).find(team(peer), stranger(peer), b"") is None
    peer.agent("ava").banks.share("team")
    assert server(peer).find(team(peer), stranger(peer), b"") == (bank, peer.agent_row("ava").key)


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("delegable", [False, True])
def test_of_two_equal_keys_the_one_that_was_let_in_first_speaks(
    peer: Peer, monkeypatch: pytest.MonkeyPatch, swapped: bool, delegable: bool
) -> None:
    """What a key was granted here a moment ago is not known elsewhere, whichever of the two sorts first."""
    old, new = sorted((stranger(peer, 0), stranger(peer, 1)), reverse=swapped)
    ava = peer.agent("ava").banks
    ava.grant("team", to_did(old), "write", delegable=delegable)
    ava.grant("team", to_did(new), "write")
    monkeypatch.setattr(peer.host.keyring, "keys", lambda: (new, old))  # a peer that holds these two alone
    assert speaker(peer, peer.bank(team(peer))) == old


def test_a_stranger_can_share_nothing(peer: Peer) -> None:
    """Whoever shares is a member; whoever invites could grant."""
    ben = peer.agent("ben", create=True)
    with pytest.raises(NotPermitted):
        ben.banks.share("team")
    peer.agent("ava").banks.grant("team", "ben", "write")
    assert ben.banks.share("team").invite is None
    with pytest.raises(NotPermitted):
        ben.banks.share("team", invite="write")


@pytest.mark.parametrize(
    "values",
    [
        {"sync": {"interval": 0}},
        {"sync": {"live": "yes"}},
        {"sync": {"speed": 1}},
        {"sync": 3},
        {"serve": {"public_url": "ftp://a"}},
        {"serve": {"port": 1}},
    ],
)
def test_settings_without_meaning_are_refused(values: dict[str, object]) -> None:
    """The message names the block."""
    with pytest.raises(InvalidInput, match=r"sync|serve"):
        from_mapping(values, "config.yaml")
