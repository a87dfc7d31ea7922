"""Importing a shared bank by its ticket: knock, wait to be let in, take everything (design section 8).

Nothing of a bank is made here before somebody there lets a key in. Until then the request stands in `peer.db`, and is
said again whenever this peer syncs, until it is answered or its time is over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muniment.bank import Bank
from muniment.base.errors import (
    InvalidInput,
    MunimentError,
    RefusedTicket,
    SyncRefused,
    UnknownBank,
)
from muniment.base.ids import BankId, cid_text
from muniment.base.limits import LIMITS
from muniment.describing import described
from muniment.identity.did import to_did
from muniment.invites import by_key, make_claim
from muniment.ledger.levels import ADMIN, Level, parse_level
from muniment.refs import put_ref
from muniment.rounds import Tick, caller, care, note, open_round, sync_route, talk
from muniment.store.memory import MemoryStore
from muniment.store.peer import AgentRow, BankRow
from muniment.store.routes import WantedRow
from muniment.sync.dialling import dial
from muniment.sync.ticket import Ticket, parse_ticket
from muniment.syncing import connect, report_of

if TYPE_CHECKING:
    from muniment.peer import Peer

__all__ = ["Imported", "complete", "join", "waiting"]
LEVELS = ("read", "write", "admin")
_KNOCKS = 2  # messages until the server has said whether it lets a key in


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of a ticket.

    Attributes:
        state: `here`: the bank is here, as far as it was given; `asked`: an admin there has to approve first;
            `unreachable`: nobody answered, and it is tried again.
        bank: Its id; `name` what it is called here, None while it is not here.
        level: What the key holds in it, or asked for.
        did: The key.
        entries: How many entries came.
        detail: Why it is not here yet.
    """

    state: str
    bank: str
    name: str | None
    level: str
    did: str
    entries: int = 0
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        """The import as `--json` prints it."""
        return {name: getattr(self, name) for name in self.__slots__}


def join(
    peer: Peer,
    key: bytes,
    agent: AgentRow | None,
    text: str,
    level: str = "write",
    *,
    note: str = "",
    tick: Tick | None = None,
) -> Imported:
    """Import a bank by a ticket, for one key of this peer.

    Importing again takes back a `delete` and asks again.

    Args:
        peer: This one.
        key: Who wants to be a member.
        agent: Whose key it is, if an agent's.
        text: The ticket.
        level: What is asked for where the ticket brings no invite: read, write or admin.
        note: A few words to who decides.
        tick: Told how many entries came.

    Raises:
        RefusedTicket | LimitExceeded | InvalidInput: As their names say.
        StorageError: It can't be kept here.
    """
    ticket = parse_ticket(text)
    if level not in LEVELS:
        raise InvalidInput(f"a bank is imported to read, write or admin, not {level[:40]!r}")
    store, now = peer.made_store(), peer.host.clock.now_ms()
    if ticket.until is not None and ticket.until <= now:
        raise RefusedTicket("bad time", "The invite in it has ended. Ask for a new one.")
    for address in ticket.peers:
        store.others.add_route(ticket.bank, address, "ticket", now)
    wanted = _level(level) if ticket.invite is None else (ticket.level or _level("read"))
    row = store.bank(ticket.bank)
    if row is not None and not row.listed:
        store.list_bank(ticket.bank, listed=True)
    held = None if row is None else peer.bank(ticket.bank).authority.level(key, now)
    if held is not None and not held.weaker_than(wanted):
        return _take(peer, ticket.bank, key, agent, tick)
    said = _said(peer, ticket, key, str(wanted), note)
    until = ticket.until if ticket.until is not None else now + LIMITS.request_ms
    asked = WantedRow(ticket.bank, key, str(wanted), said, now, until)
    store.others.want(asked)
    return _try(peer, asked, ticket.peers, tick)


def _level(word: str) -> Level:
    return Level(ADMIN, 1) if word == "admin" else parse_level(word)


def _said(peer: Peer, ticket: Ticket, key: bytes, level: str, note: str) -> bytes:
    """The claim of an invite, or a request; the invite's secret is used here and kept nowhere."""
    if ticket.invite is None:
        from muniment.access import request_bytes

        return request_bytes(ticket.bank, key, level, note, peer.host.keyring)
    host = peer.host
    return make_claim(ticket.bank, by_key(ticket.bank), ticket.invite, key, host.keyring, host.entropy)


def complete(peer: Peer) -> list[Imported]:
    """Try again what was asked for and did not come yet; what is over is forgotten."""
    store = peer.standing_store()
    found = []
    for asked in [] if store is None else store.others.wanted():
        if asked.until_ms <= peer.host.clock.now_ms():
            peer.made_store().others.got(asked.bank)
            continue
        routes = peer.made_store().others.routes(asked.bank)
        found.append(_try(peer, asked, tuple(route.address for route in routes)))
    return found


def waiting(peer: Peer) -> list[WantedRow]:
    """What was asked for and is not here yet."""
    store = peer.standing_store()
    return [] if store is None else store.others.wanted()


def _try(peer: Peer, asked: WantedRow, addresses: tuple[str, ...], tick: Tick | None = None) -> Imported:
    others = peer.made_store().others
    detail = refused = ""
    for address in addresses:
        try:
            _knock(peer, asked, address)
        except SyncRefused as error:
            refused = error.message
            continue
        except MunimentError as error:
            detail = error.message
            others.went_wrong(asked.bank, address, f"{error.name}: {error.message}", peer.host.clock.now_ms())
            continue
        _make(peer, asked.bank)
        agent = peer.made_store().agent_by_key(asked.key)
        return _take(peer, asked.bank, asked.key, agent, tick, address)
    state = "asked" if refused else "unreachable"
    why = "nobody there has let this key in yet" if refused else detail or "no address is known"
    return Imported(state, cid_text(asked.bank), None, asked.level, to_did(asked.key), detail=why)


def _knock(peer: Peer, asked: WantedRow, address: str) -> None:
    """Say hello, and leave again.

    Raises:
        SyncRefused: The key is not let in, or the bank is not there: nobody says which.
        MunimentError: Nobody answers.
    """
    empty = Bank(MemoryStore(asked.bank), peer.host, None)
    with dial(address, caller(peer, asked.key)) as link:
        client = connect(empty, asked.key, link.binding, claim=asked.said, push=False)
        question = client.start()
        for _ in range(_KNOCKS):
            (answer,) = link.exchange(question[0])
            question = client.receive(answer)


def _make(peer: Peer, bank: BankId) -> None:
    with peer.folder.lock("banks"):
        if peer.made_store().bank(bank) is None:
            peer.make_store(bank).close()
            peer.made_store().add_bank(bank, "shared", cid_text(bank)[-12:], peer.host.clock.now_ms())


def _take(
    peer: Peer,
    bank: BankId,
    key: bytes,
    agent: AgentRow | None,
    tick: Tick | None,
    first: str | None = None,
) -> Imported:
    """Take everything, from the address that let the key in first."""
    known = [route.address for route in peer.made_store().others.routes(bank)]
    order = dict.fromkeys([*([first] if first else []), *known])
    error: MunimentError | None = None
    came = 0
    for address in order:
        try:
            report = _first_round(peer, bank, key, address, tick)
        except MunimentError as caught:
            error = caught
            continue
        came, error = report, None
        break
    row = _named(peer, bank, key)
    level = peer.bank(bank).authority.level(key, peer.host.clock.now_ms())
    if level is not None:
        peer.made_store().others.got(bank)
        if agent is not None and agent.bank != bank:
            with suppress(MunimentError):  # a ref opens nothing: it may be missing
                put_ref(peer.bank(agent.bank), agent.key, bank, row.name, str(level))
        with suppress(MunimentError):
            care(peer, bank)
    state = "unreachable" if error is not None and level is None else "here"
    said = "" if error is None else error.message
    return Imported(state, cid_text(bank), row.name, str(level or "none"), to_did(key), came, said)


def _first_round(peer: Peer, bank: BankId, key: bytes, address: str, tick: Tick | None) -> int:
    """A round by a key of which nothing is known here yet."""
    opened = peer.bank(bank)
    if opened.authority.level(key, peer.host.clock.now_ms()) is not None:
        return sync_route(peer, bank, address, tick=tick).round.received

    mark = opened.store.figures().entries
    with dial(address, caller(peer, key)) as link:
        client = open_round(peer, opened, key, link, address)
        talk(client, link, tick)
    report = report_of(client)
    note(peer, opened, address, report, mark)
    return report.round.received


def _named(peer: Peer, bank: BankId, key: bytes) -> BankRow:
    """Call a bank that came without a name by its title, where that is free here."""
    store = peer.made_store()
    row = store.bank(bank)
    if row is None:
        raise UnknownBank("the bank is gone from this peer's list", "Import it again.")
    with suppress(MunimentError):
        said = described(peer.bank(bank), key)
        taken = {one.name.casefold() for one in store.banks(unlisted=True) if one.bank != bank}
        taken |= {one.name.casefold() for one in store.agents()}
        if row.name == cid_text(bank)[-12:] and said is not None and said.name.casefold() not in taken:
            from muniment.names import check_name

            check_name(said.name)
            store.rename_bank(bank, said.name)
            return row._replace(name=said.name)
    return row
