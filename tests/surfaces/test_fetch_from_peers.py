"""An archived text comes from any peer that its bank is synced with, over both transports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import muniment
from muniment.archive.custody_messages import read, write
from muniment.bank_sharing import add_peer, sync_now
from muniment.base.errors import UnknownBlob
from muniment.base.ids import BlobName
from muniment.custody_desk import CustodyDesk, admits
from muniment.identity.did import to_did
from muniment.testing.entropy import SeededEntropy

from .test_sharing import Town, at, imported

TEXT = SeededEntropy(b"a long text").bytes(200_000).hex()  # a payload of several chunks


@pytest.fixture(params=["http", "iroh"])
def city(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Town]:
    """Ava's bank `team` has one archived text; she serves it by one transport."""
    options = {}
    if request.param == "iroh":
        pytest.importorskip("iroh", reason="needs the extra p2p")
        options = {"iroh": "127.0.0.1:0"}
    with ExitStack() as stack:
        made = Town(tmp_path, stack)
        ava = made.open("ava").agent("ava")
        ava.banks.new("team")
        ava.bank("team").remember(TEXT, key="report")
        ava.bank("team").archive("report")
        made.serve("ava", **options)
        yield made


def only(peer: muniment.Peer, kind: str) -> None:
    """Leave a peer only the routes of one transport."""
    store = peer.made_store().others
    for route in store.routes():
        if not route.address.startswith(kind):
            store.remove_route(route.bank, route.address)


def test_a_member_has_the_text_from_a_peer(city: Town, request: pytest.FixtureRequest) -> None:
    """Who joined after the text was archived reads it; once it came, it is here."""
    ben = imported(city, level="read")
    only(ben, request.node.callspec.params["city"])
    assert ben.agent("ben").bank("team").fetch("report").text == TEXT


def test_a_revoked_key_and_a_stranger_get_nothing(city: Town) -> None:
    """Neither is let in, and the text stays away."""
    ben = imported(city, level="read")
    ava = at(city, "ava")
    with muniment.open(city.home("eve")) as eve:
        eve.agent("eve", create=True)
        assert not admits(ava.peer, eve.owner())
    mine = ben.host.keyring.keys()
    for key in mine:
        if admits(ava.peer, key):
            ava.banks.revoke("team", to_did(key))
    with pytest.raises(UnknownBlob):
        ben.agent("ben").bank("team").fetch("report")


def test_a_peer_that_lies_is_named_and_passed_over(
    city: Town, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The second peer flips a byte of a chunk: the rest comes from the first."""
    serve = CustodyDesk._serve

    def lying(desk: CustodyDesk, kind: str, key: bytes, blob: BlobName, number: int | None) -> bytes:
        answer = serve(desk, kind, key, blob, number)
        if desk._peer.home == city.home("cem") and kind == "get" and number == 1:
            _, said = read(answer)
            return write("chunk", data=bytes([said["data"][0] ^ 1]) + said["data"][1:], path=said["path"])
        return answer

    monkeypatch.setattr(CustodyDesk, "_serve", lying)
    cem = imported(city, "cem", "read")
    assert cem.agent("cem").bank("team").fetch("report").text == TEXT
    cem.agent("cem").banks.share("team")
    url = city.serve("cem")
    ben = imported(city, level="read")
    sync_now(cem, "team")
    routes = ben.made_store().others.routes()
    for route in routes:
        ben.made_store().others.remove_route(route.bank, route.address)
    for address in (url, *(route.address for route in routes)):
        add_peer(ben, "team", address)
    ask_first = ben.archive.members
    monkeypatch.setattr(
        ben.archive, "members", lambda bank: sorted(ask_first(bank), key=lambda one: one.name != url)
    )
    assert ben.agent("ben").bank("team").fetch("report").text == TEXT
    assert any(url in line and "sent a chunk 1" in line for line in caplog.messages)
