"""What `doctor --repair` does: only what is safe, each thing whole or not at all, and no key or entry is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from muniment.base.errors import MunimentError
from muniment.diagnosis import Finding, Mended
from muniment.doctor_home import formats, leftovers, long_logs, loose
from muniment.platform.files import explain
from muniment.store.looking import shorten_log

if TYPE_CHECKING:
    from muniment.bank import Bank
    from muniment.peer import Peer


def repair(peer: Peer, findings: Iterable[Finding]) -> list[Mended]:
    """Mend what is among `findings` and can be mended; killed anywhere, the next run goes on.

    Safe to repeat. What could not be done is in the list, with the reason.
    """
    wanted = {"outbox" if finding.name == "peer" else finding.name for finding in findings if finding.mends}
    done: list[Mended] = []
    for name, mend in _MENDS.items():
        if name in wanted:
            try:
                done += mend(peer)
            except (MunimentError, OSError) as error:
                fault = error if isinstance(error, MunimentError) else explain(error, peer.home)
                done.append(Mended(name, "", f"{fault.message} {fault.next_step}".strip(), done=False))
    return done


def _permissions(peer: Peer) -> Iterator[Mended]:
    for place, mode in loose(peer.home):
        place.chmod(mode)
        yield Mended("permissions", place.name, f"{place} has mode {mode:04o} now")


def _leftovers(peer: Peer) -> Iterator[Mended]:
    gone = leftovers(peer.home)
    for place in gone:
        place.unlink(missing_ok=True)
    yield Mended("leftover", "", f"took {len(gone)} drafts away")


def _formats(peer: Peer) -> Iterator[Mended]:
    """Opening a file brings it up to date, with a copy of the older one beside it."""
    old = [finding.about for finding in formats(peer.home) if finding.mends]
    peer.standing_store()
    for bank, _ in _named(peer):
        bank.store.figures()
    for name in old:
        yield Mended("format", name, f"{name} is up to date; the copy beside it is the one from before")


def _logs(peer: Peer) -> Iterator[Mended]:
    for place, kind in long_logs(peer.home):
        done = shorten_log(place, kind, peer.host.settings.busy_ms)
        said = "is empty now" if done else "is in use: stop other programs that use this folder, then repeat"
        yield Mended("log", place.name, f"the log of {place} {said}", done=done)


def _indexes(peer: Peer) -> Iterator[Mended]:
    for bank, name in _named(peer):
        bank.tidy(force=True)
        for model, dimension in _models(bank):
            bank.vectors(model, dimension)
        bank.tidy(force=True)
        yield Mended("index", name, f"the index holds {bank.index.stats().records} memories")


def _models(bank: Bank) -> Iterator[tuple[str, int]]:
    """The models of which the bank holds vectors, with their dimension."""
    from muniment.meaning import BankVectors  # brings numpy

    mark = bank.store.watermark()
    for model in bank.store.models():
        rows = BankVectors(bank, model).rows(0, mark.last_ord)
        first = next((row.vector for row in rows if row.live and row.vector is not None), None)
        if first is not None:
            yield model, len(first) // 2


def _erasures(peer: Peer) -> Iterator[Mended]:
    from muniment.erasing import settle_erasures

    for bank, name in _named(peer):
        settled = settle_erasures(bank, sign=False)
        if settled.swept:
            yield Mended(
                "erasure", name, f"{settled.destroyed} bodies were destroyed; log and index are clean"
            )
        else:
            said = "somebody still reads the past: stop other programs that use this folder, then repeat"
            yield Mended("erasure", name, said, done=False)


def _requests(peer: Peer) -> Iterator[Mended]:
    store = peer.standing_store()
    if store is not None:
        gone = store.others.forget_stale(peer.host.clock.now_ms())
        yield Mended("request", "", f"{gone} requests whose time was over are forgotten")


def _packs(peer: Peer) -> Iterator[Mended]:
    packs, payloads, _ = peer.archive.packs.index.figures()
    yield Mended("archive", "", f"the index of the packs is made anew: {payloads} texts in {packs} packs")


def _sync(peer: Peer) -> Iterator[Mended]:
    """One round with each address; nothing is signed for it."""
    from muniment.rounds import sync_route

    store = peer.standing_store()
    for row in [] if store is None else store.banks():
        for route in [] if store is None else store.others.routes(row.bank):
            try:
                done, said = sync_route(peer, row.bank, route.address).done, "some of it is still missing"
            except MunimentError as error:
                done, said = False, error.message
            said = "is the same at both ends now" if done else f"was not synced: {said}"
            yield Mended("outbox", route.address, f"{row.name} {said}", done=done)


def _named(peer: Peer) -> Iterator[tuple[Bank, str]]:
    """The banks that can be opened, with what they are called here."""
    store = peer.standing_store()
    for row in [] if store is None else store.banks():
        try:
            yield peer.bank(row.bank), row.name
        except MunimentError:
            continue  # its finding says what is wrong, and no repair here is for it


# In this order: what is opened later must be readable, of this format, and clean.
_MENDS: dict[str, Callable[[Peer], Iterator[Mended]]] = {
    "permissions": _permissions,
    "leftover": _leftovers,
    "format": _formats,
    "archive": _packs,
    "index": _indexes,
    "erasure": _erasures,
    "log": _logs,
    "request": _requests,
    "outbox": _sync,
}
