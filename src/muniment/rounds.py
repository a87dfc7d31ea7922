"""One round with one address, noted: how it went, what was odd, and what an admin's peer has to do then (section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from muniment.bank import Bank
from muniment.base.errors import MunimentError, NotPermitted, StorageError, SyncRefused
from muniment.base.ids import BankId, cid_text
from muniment.granting import settle_epoch
from muniment.identity.did import to_did
from muniment.iroh_options import relays_of
from muniment.ledger.levels import ADMIN, READ
from muniment.revoking import settle_expired, share_keys
from muniment.sharing import Contacts, PeerBook, speaker, speakers
from muniment.store.routes import RouteRow
from muniment.sync.dialling import Caller, Dialled, dial
from muniment.sync.round import ClientRound
from muniment.sync_options import SyncOptions, sync_options
from muniment.syncing import SyncReport, connect, report_of

if TYPE_CHECKING:
    from muniment.peer import Peer

Tick = Callable[[int], None]
"""Told how many entries went either way so far."""


@dataclass(frozen=True, slots=True)
class Synced:
    """A round with one address.

    Attributes:
        bank: The bank's id; `name` what it is called here.
        address: Who was dialled; `peer` the DID of the key that answered, None where none did.
        done: Nothing is missing at either end.
        received, sent: Entries that were new here, and there.
        missing: Entries and bodies that are still not here, or not there, as far as is known.
        rolled_back, forked: DIDs of keys of which the other end showed less than before, or that go two ways.
        error: Why it came to nothing; None where it did not.
    """

    bank: str
    name: str
    address: str
    peer: str | None = None
    done: bool = False
    received: int = 0
    sent: int = 0
    missing: int = 0
    rolled_back: tuple[str, ...] = ()
    forked: tuple[str, ...] = ()
    error: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The round as `--json` prints it."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return found | {"rolled_back": list(self.rolled_back), "forked": list(self.forked)}


def options_of(peer: Peer) -> SyncOptions:
    """How this peer syncs."""
    return sync_options(peer.host.settings.sync)


def caller(peer: Peer, key: bytes) -> Caller:
    """Who dials, for a key of this peer."""
    chosen, host = options_of(peer), peer.host
    relays = relays_of(host.settings.serve)
    return Caller(
        key, host.keyring, host.clock, host.entropy, peer.home, chosen.plain_http, chosen.timeout, relays
    )


def talk(client: ClientRound, link: Dialled, tick: Tick | None = None) -> bytes | None:
    """Hold a round until it is over, or until the server is asked to tell what is new: then that question.

    Raises:
        MunimentError: The round is cut; what was committed stays.
    """
    asked = client.start()
    while asked and not client.following:
        answers, asked = link.exchange(asked[0]), []
        for answer in answers:
            asked = client.receive(answer)
        if tick is not None:
            tick(client.report.received + client.report.sent)
    return asked[0] if asked else None


def open_round(
    peer: Peer,
    bank: Bank,
    key: bytes,
    link: Dialled,
    address: str,
    *,
    claim: bytes = b"",
    follow: bool = False,
) -> ClientRound:
    """The client's end of a round over a link, with the books of this peer."""
    book, contacts = PeerBook(peer), Contacts(peer, address)
    return connect(bank, key, link.binding, claim=claim, follow=follow, book=book, contacts=contacts)


_T = TypeVar("_T")


def as_let_in(peer: Peer, bank: Bank, hold: Callable[[bytes], _T]) -> _T:
    """Do something at another peer with the first key of this one that it lets in.

    A peer that has not heard of a grant refuses its key, and would never hear of it by that key; the grant of
    another key may be old enough. Each key is of this peer and a member, so that trying tells only whose they are.

    Args:
        peer: This one.
        bank: The bank.
        hold: What is done, with the key to do it by; it may be called several times.

    Raises:
        NotPermitted: No key of this peer holds anything in the bank.
        SyncRefused: All keys were refused.
        MunimentError: As `hold` says.
    """
    first: SyncRefused | None = None
    for key in speakers(peer, bank):
        try:
            return hold(key)
        except SyncRefused as error:
            first = first or error
    if first is not None:
        raise first
    raise NotPermitted("no key of this peer holds anything in the bank", "Ask an admin for a grant.")


def sync_route(peer: Peer, bank: BankId, address: str, *, tick: Tick | None = None) -> SyncReport:
    """Hold a round about a bank with an address, and note how it went.

    Raises:
        NotPermitted: No key of this peer holds anything in the bank.
        MunimentError: As `dial`, `ClientRound.receive` and a link's `exchange` say; it is noted too.
    """
    opened, others = peer.bank(bank), peer.made_store().others
    mark = opened.store.figures().entries

    def hold(key: bytes) -> ClientRound:
        with dial(address, caller(peer, key)) as link:
            client = open_round(peer, opened, key, link, address)
            talk(client, link, tick)
            return client

    try:
        report = report_of(as_let_in(peer, opened, hold))
    except MunimentError as error:
        others.went_wrong(bank, address, f"{error.name}: {error.message}", peer.host.clock.now_ms())
        raise
    note(peer, opened, address, report, mark)
    return report


def note(peer: Peer, bank: Bank, address: str, report: SyncReport, mark: int) -> None:
    """Note a round that came to its end.

    Args:
        peer: This one.
        bank: The bank.
        address: Who was dialled.
        report: What it did.
        mark: How many entries were here when it began: those, and those that came, are there by now, if it is done.
    """
    peer.made_store().others.went_well(
        bank.id,
        address,
        report.round.other,
        peer.host.clock.now_ms(),
        done=report.done,
        agreed=report.round.control_agreed,
        mark=mark + report.round.received if report.done else 0,
    )


def sync(
    peer: Peer, banks: list[BankId], addresses: tuple[str, ...] = (), *, tick: Tick | None = None
) -> list[Synced]:
    """One round now about each bank, with each peer that it is known to be had from.

    Args:
        peer: This one.
        banks: Banks that are here.
        addresses: In place of those that are known.
        tick: Told how far it is, bank after bank.

    Returns:
        How each round went; where several addresses lead to one peer, only the first that answers is asked.
    """
    found = []
    store = peer.standing_store()
    for bank in banks:
        row = None if store is None else store.bank(bank)
        name = "" if row is None else row.name
        found += list(_rounds(peer, bank, name, addresses, tick))
        with suppress(MunimentError):
            if care(peer, bank):  # it wrote something: the others should have it
                for _ in _rounds(peer, bank, name, addresses, tick):
                    pass
    return found


def _rounds(
    peer: Peer, bank: BankId, name: str, addresses: tuple[str, ...], tick: Tick | None
) -> Iterator[Synced]:
    store = peer.standing_store()
    routes = [] if store is None else store.others.routes(bank)
    known = {route.address: route for route in routes}
    met: set[bytes] = set()
    for address in addresses or tuple(known):
        before = known.get(address)
        if before is not None and before.peer in met and not addresses:
            continue
        try:
            report = sync_route(peer, bank, address, tick=tick)
        except StorageError:
            raise
        except MunimentError as error:
            yield Synced(cid_text(bank), name, address, error=error.message)
            continue
        met.add(report.round.other)
        yield synced(bank, name, address, report)


def synced(bank: BankId, name: str, address: str, report: SyncReport) -> Synced:
    """A report as callers see it."""
    figures = report.round
    return Synced(
        bank=cid_text(bank),
        name=name,
        address=address,
        peer=to_did(figures.other) if figures.other else None,
        done=report.done,
        received=figures.received + figures.bodies_received,
        sent=figures.sent + figures.bodies_sent,
        missing=figures.missing + figures.absent + figures.lacking,
        rolled_back=tuple(map(to_did, report.rolled_back)),
        forked=tuple(map(to_did, report.forked)),
    )


def care(peer: Peer, bank: BankId) -> bool:
    """Do what falls to a peer of an admin, or of a reader: cut what expired, hand out keys, start an epoch.

    Returns:
        Whether anything was written.

    Raises:
        MunimentError: It can't be done now.
    """
    opened = peer.bank(bank)
    key = speaker(peer, opened)
    if key is None:
        return False
    before = opened.store.figures().entries
    now = peer.host.clock.now_ms()
    settle_expired(opened, key)
    authority = opened.authority
    level = authority.level(key, now)
    if level is None or authority.incomplete or authority.unknown_acts:
        return opened.store.figures().entries > before
    if level.code >= ADMIN and authority.current_epoch(now) is None:
        with opened.write():
            settle_epoch(opened, key, now)
    elif level.allows(READ):
        for reader in sorted(authority.readers(now)):
            if any(reader not in authority.epochs[one].recipients for one in authority.epoch_heads):
                share_keys(opened, key, reader)
    return opened.store.figures().entries > before


def lag(peer: Peer, route: RouteRow) -> int:
    """How many entries of a bank here are not known to be at the other end of a route."""
    return max(0, peer.bank(route.bank).store.figures().entries - route.mark)
