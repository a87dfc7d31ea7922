"""Banks shared between installations: real servers on loopback, real folders, by the library and the command line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import muniment
from muniment.bank_sharing import SyncedAll, add_peer, peers, remove_peer, sync_now
from muniment.base.errors import InvalidInput, NotPermitted, RefusedTicket, UnknownBank, WaitingForKey
from muniment.joining import Imported, complete
from muniment.peer import Peer
from muniment.sync.ticket import parse_ticket

from .serving import served


class Town:
    """Several installations; those that serve do so until the test ends."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self.urls: dict[str, str] = {}

    def home(self, name: str) -> Path:
        """The folder of one."""
        return self._folder / name

    def open(self, name: str, config: str = "sync:\n  background: false\n") -> Peer:
        """An installation with an agent called like it. Nothing there syncs unasked, unless the config says so."""
        home = self.home(name)
        home.mkdir(mode=0o700, exist_ok=True)
        (home / "config.yaml").write_text(config, "utf-8")
        peer = self._stack.enter_context(muniment.open(home))
        peer.agent(name, create=True)
        return peer

    def serve(self, name: str, **options: Any) -> str:
        """Serve one; its address."""
        self.urls[name] = self._stack.enter_context(served(self.home(name), **options))
        return self.urls[name]


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    """Ava's bank `team` with one memory, served; ben and cem have installations of their own."""
    with ExitStack() as stack:
        made = Town(tmp_path, stack)
        ava = made.open("ava").agent("ava")
        ava.banks.new("team", description="how we work")
        ava.bank("team").remember("Deploy on Friday", key="deploy")
        made.serve("ava")
        yield made


def at(town: Town, name: str) -> Any:
    """An agent, freshly opened, so that nothing of another process's view is cached."""
    return muniment.open(town.home(name)).agent(name)


def texts(agent: Any) -> list[str]:
    """What an agent reads in the bank."""
    return sorted(record.text for record in agent.bank("team").list())


def soon(look: Callable[[], bool]) -> None:
    """Wait until something is so."""
    until = time.monotonic() + 30
    while not look():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


def imported(town: Town, name: str = "ben", level: str = "write", config: str | None = None) -> Peer:
    """An installation that has the bank by an invite."""
    ticket = at(town, "ava").banks.share("team", invite=level).ticket
    peer = town.open(name) if config is None else town.open(name, config)
    assert peer.agent(name).banks.import_ticket(ticket).state == "here"
    return peer


def test_an_invite_brings_the_bank_at_once(town: Town) -> None:
    """Share with an invite, import, read, write back: the bank has its own title there."""
    ben = imported(town).agent("ben")
    assert texts(ben) == ["Deploy on Friday"]
    assert ben.banks.describe("team").level == "write"
    ben.bank("team").remember("Never on Friday")
    assert sync_now(ben.peer, "team").ok
    assert texts(at(town, "ava")) == ["Deploy on Friday", "Never on Friday"]


def test_an_invite_is_used_once(town: Town) -> None:
    """The second who brings the same ticket is not let in, and is not told why."""
    ticket = at(town, "ava").banks.share("team", invite="read").ticket
    assert town.open("ben").agent("ben").banks.import_ticket(ticket).state == "here"
    second = town.open("cem").agent("cem").banks.import_ticket(ticket)
    assert (second.state, second.name) == ("asked", None)


def test_the_secret_of_an_invite_is_kept_nowhere(town: Town) -> None:
    """Neither who made the ticket nor who brought it has its secret on the disk, or in what is shown by accident."""
    shared = at(town, "ava").banks.share("team", invite="write")
    seed = parse_ticket(shared.ticket).invite
    assert seed is not None
    word = shared.ticket.partition("invite=")[2].partition("&")[0]
    assert word not in repr(shared)
    town.open("ben").agent("ben").banks.import_ticket(shared.ticket)
    for name in ("ava", "ben"):
        for file in town.home(name).rglob("*"):
            if file.is_file():
                data = file.read_bytes()
                assert seed not in data, file
                assert word.encode() not in data, file


def test_without_an_invite_an_admin_is_asked(town: Town) -> None:
    """The request waits with its fingerprint, and the import completes by itself once it is approved."""
    ticket = at(town, "ava").banks.share("team").ticket
    ben = town.open("ben")
    asked = ben.agent("ben").banks.import_ticket(ticket, "read", note="Ben from the lab")
    assert (asked.state, asked.level) == ("asked", "read")
    with pytest.raises(UnknownBank):
        ben.agent("ben").bank("team")
    (request,) = at(town, "ava").banks.requests()
    assert request.did == ben.agent("ben").did
    assert request.to_json()["unverified"] == {"note": "Ben from the lab"}
    assert "note" not in request.to_json()
    assert [one.state for one in complete(ben)] == ["asked"]
    assert len(at(town, "ava").banks.requests()) == 1
    at(town, "ava").banks.approve(request.id)
    assert at(town, "ava").banks.requests() == []
    assert [one.state for one in complete(ben)] == ["here"]
    assert complete(ben) == []
    assert texts(ben.agent("ben")) == ["Deploy on Friday"]
    with pytest.raises(NotPermitted):
        ben.agent("ben").bank("team").remember("no")


def test_a_denied_request_is_not_shown_again(town: Town) -> None:
    """The stranger hears nothing new, and asking again queues nothing."""
    ticket = at(town, "ava").banks.share("team").ticket
    ben = town.open("ben").agent("ben")
    first = ben.banks.import_ticket(ticket)
    (request,) = at(town, "ava").banks.requests()
    at(town, "ava").banks.deny(request.id)
    assert ben.banks.import_ticket(ticket) == first
    assert [one.state for one in at(town, "ava").banks.requests()] == ["denied"]
    with pytest.raises(InvalidInput, match="denied already"):
        at(town, "ava").banks.deny(request.id)


def test_an_import_may_be_passed_on_to_own_agents(town: Town) -> None:
    """Approved as delegable, ben lets another agent of his installation write, and ava sees who wrote."""
    ticket = at(town, "ava").banks.share("team").ticket
    peer = town.open("ben")
    ben = peer.agent("ben")
    ben.banks.import_ticket(ticket)
    at(town, "ava").banks.approve(at(town, "ava").banks.requests()[0].id, delegable=True)
    complete(peer)
    bea = peer.agent("bea", create=True)
    ben.banks.grant("team", "bea", "write")
    bea.bank("team").remember("Tea at four")
    assert sync_now(peer, "team").ok
    assert texts(at(town, "ava")) == ["Deploy on Friday", "Tea at four"]
    (found,) = [one for one in at(town, "ava").bank("team").list() if one.text == "Tea at four"]
    assert found.author == bea.did


def test_importing_again_brings_a_deleted_bank_back(town: Town) -> None:
    """A bank that was deleted here is listed again, with what came meanwhile."""
    ben = imported(town).agent("ben")
    ben.banks.delete("team")
    at(town, "ava").bank("team").remember("Tea")
    ticket = at(town, "ava").banks.share("team").ticket
    assert ben.banks.import_ticket(ticket).state == "here"
    assert texts(ben) == ["Deploy on Friday", "Tea"]


def test_a_revoked_key_gets_nothing_more(town: Town) -> None:
    """What was read stays read; the next sync is refused, and what comes later is sealed against it."""
    peer = imported(town)
    ben = peer.agent("ben")
    at(town, "ava").banks.revoke("team", ben.did)
    at(town, "ava").bank("team").remember("A secret")
    result = sync_now(peer, "team")
    assert not result.ok
    assert result.rounds[0].error is not None
    assert texts(ben) == ["Deploy on Friday"]
    ben.bank("team").remember("too late")
    assert not sync_now(peer, "team").ok
    assert texts(at(town, "ava")) == ["A secret", "Deploy on Friday"]


def test_a_grant_that_another_peer_has_not_heard_of_keeps_nobody_out(town: Town) -> None:
    """The stronger key is new and refused there, so the older one speaks, and brings the grant with it."""
    ben = imported(town)
    cem = imported(town, "cem")
    cem.agent("cem").banks.share("team")
    town.serve("cem")
    bea = ben.agent("bea", create=True)
    at(town, "ava").banks.grant("team", bea.did, "admin")
    assert sync_now(ben, "team", (town.urls["ava"],)).ok
    ben.agent("ben").bank("team").remember("from ben")
    result = sync_now(ben, "team", (town.urls["cem"],))
    assert result.ok, result
    assert "from ben" in texts(at(town, "cem"))
    assert bea.did in {row.did for row in at(town, "cem").banks.members("team")}


def test_what_is_not_shared_any_more_looks_unknown(town: Town) -> None:
    """A member, a stranger and somebody who asks for another bank are refused in the same words."""
    peer = imported(town)
    at(town, "ava").banks.unshare("team")
    unshared = sync_now(peer, "team").rounds[0].error
    at(town, "ava").banks.share("team")
    at(town, "ava").banks.revoke("team", peer.agent("ben").did)
    revoked = sync_now(peer, "team").rounds[0].error
    elsewhere = town.open("cem")
    elsewhere.agent("cem").banks.new("other")
    unknown = sync_now(elsewhere, "other", (town.urls["ava"],)).rounds[0].error
    assert unshared == revoked == unknown


def test_the_background_carries_both_ways(town: Town) -> None:
    """What either installation writes is soon at the other, though only one of them dials."""
    peer = imported(town, config="sync:\n  interval: 3600\n")
    town.serve("ben")
    peer.agent("ben").bank("team").remember("from ben")
    soon(lambda: "from ben" in texts(at(town, "ava")))
    soon(lambda: bool(peers(peer)[0].succeeded_ms))
    at(town, "ava").bank("team").remember("from ava")
    soon(lambda: "from ava" in texts(at(town, "ben")))
    soon(lambda: peers(peer)[0].state == "ok")


def test_an_approved_import_completes_in_the_background(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever serves need not ask again."""
    from muniment import syncer

    monkeypatch.setattr(syncer, "WANTED_S", 0.1)
    ticket = at(town, "ava").banks.share("team").ticket
    ben = town.open("ben", "sync:\n  interval: 3600\n").agent("ben")
    assert ben.banks.import_ticket(ticket).state == "asked"
    town.serve("ben")
    at(town, "ava").banks.approve(at(town, "ava").banks.requests()[0].id)
    soon(lambda: any(row.name == "team" for row in at(town, "ben").banks.list()))
    soon(lambda: texts(at(town, "ben")) == ["Deploy on Friday"])


def test_what_was_written_while_the_other_was_away_is_pushed_when_it_is_back(town: Town) -> None:
    """The outbox is the bank itself: a peer that was down gets everything at its first answer."""
    peer = imported(town)
    ben = peer.agent("ben")
    remove_peer(peer, "team", town.urls["ava"])
    add_peer(peer, "team", "http://127.0.0.1:9")
    ben.bank("team").remember("while away")
    assert not sync_now(peer, "team").ok
    assert peers(peer)[0].state == "failing"
    assert any(finding.name == "peer" and finding.status == "warn" for finding in peer.doctor())
    add_peer(peer, "team", town.urls["ava"])
    assert sync_now(peer, "team").ok
    assert "while away" in texts(at(town, "ava"))
    assert [one.state for one in peers(peer)] == ["ok", "failing"]


def test_addresses_are_learnt_from_who_is_synced_with(town: Town) -> None:
    """After a round a peer knows the public address of the other too, and dials it when the first one is gone."""
    url = town.serve("ava", public_urls=("http://localhost:1",))
    ticket = at(town, "ava").banks.share("team", invite="read", address=[url]).ticket
    peer = town.open("ben")
    peer.agent("ben").banks.import_ticket(ticket)
    found = {one.address: one.source for one in peers(peer)}
    assert found == {url: "ticket", "http://localhost:1": "learnt"}


def test_an_older_copy_at_the_other_end_is_told_to_admins(town: Town) -> None:
    """A peer that was put back to a backup is filled up, and `members` and `doctor` say so to an admin."""
    ava = muniment.open(town.home("ava"))
    peer = imported(town)
    ben = peer.agent("ben")
    name = f"{ben.banks.describe('team').id}.db"
    ben.bank("team").remember("one")
    assert sync_now(peer, "team").ok
    peer.close()
    kept = {file: file.read_bytes() for file in (town.home("ben") / "banks").glob(f"{name}*")}
    again = at(town, "ben")
    again.bank("team").remember("two")
    assert sync_now(again.peer, "team").ok
    again.peer.close()
    for file in (town.home("ben") / "banks").glob(f"{name}*"):
        file.unlink()
    for file, data in kept.items():
        file.write_bytes(data)
    restored = at(town, "ben")
    report = sync_now(restored.peer, "team")
    assert report.ok, report
    assert texts(restored) == ["Deploy on Friday", "one", "two"]
    (member,) = [one for one in ava.agent("ava").banks.members("team") if one.did == restored.did]
    assert member.notices == ("rolled back",)
    assert any(finding.name == "rolled back" for finding in ava.doctor())
    assert [one.notices for one in restored.banks.members("team")] == [(), ()]


def test_a_reader_who_lacks_the_key_is_given_it_by_any_reader(town: Town) -> None:
    """Rolled into each sync: whoever holds the key shares it, whoever may start an epoch does."""
    peer = imported(town, level="read")
    assert isinstance(sync_now(peer, "team"), SyncedAll)
    assert texts(peer.agent("ben")) == ["Deploy on Friday"]
    with pytest.raises((NotPermitted, WaitingForKey)):
        peer.agent("ben").bank("team").remember("no")


@pytest.mark.parametrize(
    ("ticket", "level"),
    [("muniment:?bank=x&peer=http://a", "write"), ("nothing", "read")],
)
def test_what_is_no_ticket_is_refused(town: Town, ticket: str, level: str) -> None:
    """Nothing is dialled or kept."""
    ben = town.open("ben")
    with pytest.raises(RefusedTicket):
        ben.agent("ben").banks.import_ticket(ticket, level)
    assert peers(ben) == []


def test_nobody_reached_is_said_and_tried_again(town: Town) -> None:
    """A ticket whose peer is down is kept, and completes when it is up."""
    ticket = at(town, "ava").banks.share("team", invite="read", address=["http://127.0.0.1:9"]).ticket
    ben = town.open("ben")
    found: Imported = ben.agent("ben").banks.import_ticket(ticket)
    assert found.state == "unreachable"
    bank = parse_ticket(ticket).bank
    ben.made_store().others.add_route(bank, town.urls["ava"], "added", 1)
    assert [one.state for one in complete(ben)] == ["here"]
