"""What `doctor` says of other installations, the archive and its copies; nobody is asked (design sections 8, 9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muniment.archive.options import DAY_MS, FOLDER
from muniment.archive_room import BLOBS, INDEX, ArchiveRoom
from muniment.base.errors import MunimentError
from muniment.base.ids import BankId, BlobName, cid_text
from muniment.custody_views import status_of
from muniment.diagnosis import FAIL, OK, WARN, Finding
from muniment.doctor_banks import Ward, span
from muniment.doctor_home import REPAIR
from muniment.identity.did import to_did
from muniment.ledger.levels import READ
from muniment.store.custody import Given
from muniment.store.looking import look_at_packs
from muniment.store.packs import PackIndex
from muniment.store.peer import AgentRow, PeerStore
from muniment.store.routes import RouteRow
from muniment.witness import Witness

_ASKED = 100  # packs that a store is asked for
_PROVEN_DAYS = 30  # a proof that is older says little


def others(store: PeerStore, wards: Sequence[Ward], now: int) -> Iterator[Finding]:
    """Addresses that don't answer, what is not there yet, and keys of which one showed less than before."""
    known = {ward.row.bank: ward for ward in wards}
    routes = [route for route in store.others.routes() if route.bank in known]
    failing = [route for route in routes if route.failures]
    for route in failing:
        last = "never" if route.succeeded is None else f"{span(max(0, now - route.succeeded))} ago"
        name = known[route.bank].row.name
        said = f"{name} at {route.address}: {route.failures} attempts came to nothing, the last success was {last}"
        said = f"{said}: {route.error}" if route.error else said
        yield Finding("peer", WARN, said, f"muniment sync {name}", route.address, True)
    if routes and not failing:
        yield Finding("peer", OK, f"{len(routes)} addresses of other installations")
    yield from _outbox(routes, known, now)
    for odd in store.others.odd():
        if odd.bank in known:
            name = known[odd.bank].row.name
            said = f"{name}: a peer showed less of {to_did(odd.author)} than before"
            whose = known[odd.bank].as_agent(READ, now)
            step = f"Ask its owner whether a backup was put back there: muniment bank members {name}{whose}"
            yield Finding(odd.kind, WARN, said, step, name)


def _outbox(routes: Sequence[RouteRow], known: Mapping[BankId, Ward], now: int) -> Iterator[Finding]:
    """What is not known to be at the other end, by address."""
    for route in routes:
        ward = known[route.bank]
        behind = ward.store.figures().entries - route.mark
        if behind > 0:
            since = route.created_ms if route.succeeded is None else route.succeeded
            said = f"{behind} entries of {ward.row.name} are not known to be at {route.address}"
            said = (
                f"{said}, which had all {span(max(0, now - since))} ago" if route.succeeded else f"{said} yet"
            )
            yield Finding("outbox", WARN, said, f"muniment sync {ward.row.name}", route.address, True)


def requests(store: PeerStore, agents: Sequence[AgentRow], now: int) -> Iterator[Finding]:
    """Strangers who wait for an answer, and requests whose time is over."""
    waiting = [row for row in store.others.requests(now) if row.state == "waiting"]
    if waiting:
        whose = f" --agent {agents[0].name}" if len(agents) > 1 else ""
        said = f"{len(waiting)} ask for a bank that is shared here"
        yield Finding("request", WARN, said, f"muniment bank requests{whose}")
    if stale := store.others.stale(now):
        yield Finding(
            "request", WARN, f"{stale} requests for banks were not answered in time", REPAIR, mends=True
        )


def seen(witness: Witness | None, store: PeerStore | None, wards: Sequence[Ward]) -> Iterator[Finding]:
    """Banks of which the witness has seen more than is here."""
    if witness is None:
        return
    try:
        names = witness.banks()
        here = {cid_text(row.bank) for row in store.banks(unlisted=True)} if store is not None else set()
        older = [
            (ward, there.entries)
            for ward in wards
            if (there := witness.seen(ward.row.bank)) and there.entries > ward.store.figures().entries
        ]
    except MunimentError as error:
        yield Finding("witness", FAIL, error.message, error.next_step)
        return
    missing = [name for name in names if name not in here]
    step = "Restore the peer folder from its newest copy, or fetch them from another peer: muniment sync"
    if missing:
        yield Finding("witness", FAIL, f"banks that it has seen are missing: {', '.join(missing)}", step)
    for ward, entries in older:
        said = (
            f"{ward.name} has {ward.store.figures().entries} entries here and the witness has seen {entries}"
        )
        yield Finding("witness", FAIL, f"rolled back: {said}", step, ward.name)
    if not missing and not older:
        yield Finding("witness", OK, f"{witness.path}, {len(names)} banks seen")


# The archive


def archive(room: ArchiveRoom, store: PeerStore | None, wards: Sequence[Ward], now: int) -> Iterator[Finding]:
    """Whether archived texts are where they should be, and who else keeps them."""
    home = room.folder.path
    released = sum(ward.store.figures().released for ward in wards)
    place = home / INDEX
    if not place.exists():
        if (home / BLOBS).exists() or released or room.options.store != FOLDER:
            yield from _unlisted(room, released)
        return
    try:
        index = look_at_packs(place, 1000)
        try:
            yield from _packs(room, index)
            here = [row.name for row in index.packs()]
            yield from _custody(store, here, room.options.copies, now)
        finally:
            index.close()
    except MunimentError as error:
        yield Finding("archive", FAIL, error.message, error.next_step)


def _unlisted(room: ArchiveRoom, released: int) -> Iterator[Finding]:
    if released:
        said = f"{released} texts are in the archive, and the index of its packs is not here"
        yield Finding("archive", FAIL, said, REPAIR, mends=True)
        return
    try:
        blobs = room.open_blobs()
        next(iter(blobs.list()), None)  # does it answer at all?
    except MunimentError as error:
        yield Finding("archive", FAIL, error.message, error.next_step)
    else:
        yield Finding("archive", OK, f"nothing is archived yet; packs will lie at {blobs.place}")


def _packs(room: ArchiveRoom, index: PackIndex) -> Iterator[Finding]:
    blobs = room.open_blobs()
    packs, payloads, size = index.figures()
    missing = [row for row in index.packs()[:_ASKED] if not blobs.has(row.name)]
    if not packs:
        next(iter(blobs.list()), None)
    if not missing:
        said = f"{payloads} texts in {packs} packs, {size / 1e6:.1f} MB, at {blobs.place}"
        yield Finding("archive", OK, said)
        return
    copied = sum(any(room.receipts(pointer) for pointer in index.pointers(row.name)) for row in missing)
    said = f"{len(missing)} of {packs} packs are missing at {blobs.place}; others keep copies of {copied}"
    step = (
        "Bring the blobs back; what others keep comes when it is fetched. To see what is hurt: muniment check"
    )
    yield Finding("archive", FAIL, said, step)


def _custody(store: PeerStore | None, here: Sequence[BlobName], copies: int, now: int) -> Iterator[Finding]:
    """Packs that others keep: those whose holders failed, those not proven for long, those with too few holders."""
    given: list[Given] = [] if store is None else store.custody.given()
    if store is None or not given:
        return
    blobs = status_of(here, given, [], copies, now).blobs
    alarms = sum(len(blob.alarms) for blob in blobs)
    kept = sum(blob.holders > 0 for blob in blobs)
    old = sum(1 for blob in blobs if blob.holders and (blob.days is None or blob.days > _PROVEN_DAYS))
    alone = sum(1 for blob in blobs if blob.here and not blob.holders)
    said = f"{kept} of {len(blobs)} packs are kept by others"
    fresh = min((row.since for row in given), default=now) > now - _PROVEN_DAYS * DAY_MS
    if alarms:
        yield Finding("custody", WARN, f"{said}; {alarms} alarms", "See why: muniment custody status")
    elif old and not fresh:
        step = "muniment custody challenge"
        yield Finding("custody", WARN, f"{said}; {old} were not proven for {_PROVEN_DAYS} days", step)
    elif alone:
        yield Finding("custody", WARN, f"{said}; {alone} are kept by nobody else", "muniment custody status")
    else:
        yield Finding("custody", OK, said)
