"""The truth about an installation: what is well, what is not, and what to do (design section 10)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from muniment.base.errors import MunimentError
from muniment.base.ids import cid_text
from muniment.identity.did import to_did

if TYPE_CHECKING:
    from muniment.peer import Peer

OK, WARN, FAIL = "ok", "warn", "fail"
_ASKED = 100  # packs that a store is asked for
_LIBRARIES = ("apsw", "pynacl", "libipld", "numpy", "orjson", "PyStemmer")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: its name, `ok`, `warn` or `fail`, what was seen, and the next step."""

    name: str
    status: str
    detail: str
    next_step: str = ""

    def to_json(self) -> dict[str, Any]:
        """The finding as `--json` prints it."""
        return {"name": self.name, "status": self.status, "detail": self.detail, "next_step": self.next_step}


def examine(peer: Peer) -> list[Finding]:
    """Look at the program, the folder, the keys, and each agent's bank; nothing is changed."""
    findings = [_program(), *_folder(peer)]
    if peer.exists:
        findings += _keys(peer)
        findings += [finding for info in _agents(peer, findings) for finding in _bank(peer, info)]
    return [*findings, *_witness(peer), *_others(peer), *_archive(peer), *_custody(peer), *_embedder(peer)]


def _archive(peer: Peer) -> Iterator[Finding]:
    """The place of the packs is asked for one thing that it has, or should have."""
    room = peer.archive
    if not room.begun and room.options.store == "folder":
        return
    try:
        index, blobs = room.packs.index, room.packs.blobs
        packs, payloads, size = index.figures()
        missing = [row for row in index.packs()[:_ASKED] if not blobs.has(row.name)]
        if not packs:
            next(iter(blobs.list()), None)  # does it answer at all?
    except MunimentError as error:
        yield Finding("archive", FAIL, error.message, error.next_step)
        return
    said = f"{payloads} texts in {packs} packs, {size / 1e6:.1f} MB, at {blobs.place}"
    if missing:
        step = "Bring the blobs back, or fetch them from peers; `muniment check` names them."
        yield Finding("archive", FAIL, f"{len(missing)} of {packs} packs are missing at {blobs.place}", step)
    else:
        yield Finding("archive", OK, said)


def _custody(peer: Peer) -> Iterator[Finding]:
    """Packs that others keep: those whose holders failed a challenge, and the others; nobody is asked."""
    store = peer.standing_store()
    if store is None or not store.custody.given():
        return
    from muniment.custody import Custody

    try:
        blobs = Custody(peer).status().blobs
    except MunimentError as error:
        yield Finding("custody", FAIL, error.message, error.next_step)
        return
    alarms = sum(len(blob.alarms) for blob in blobs)
    said = f"{sum(blob.holders > 0 for blob in blobs)} of {len(blobs)} packs are kept by others"
    if alarms:
        step = "See `muniment custody status`; challenge again, or offer the packs to somebody else."
        yield Finding("custody", WARN, f"{said}; {alarms} alarms", step)
    else:
        yield Finding("custody", OK, said)


def _program() -> Finding:
    import apsw

    parts = [f"muniment {_version('muniment')}", f"Python {sys.version.split()[0]}"]
    parts += [f"SQLite {apsw.sqlite_lib_version()}", *(f"{name} {_version(name)}" for name in _LIBRARIES)]
    return Finding("program", OK, ", ".join(parts))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed as a package"


def _folder(peer: Peer) -> Iterator[Finding]:
    if not peer.exists:
        yield Finding("folder", OK, f"{peer.home} is empty", 'Start with: muniment remember "…"')
        return
    problems = peer.folder.problems()
    if not problems:
        yield Finding("folder", OK, f"{peer.home}")
    for problem in problems:
        yield Finding("folder", WARN, problem, f"chmod 700 {peer.home}")


def _keys(peer: Peer) -> Iterator[Finding]:
    keyring = peer.host.keyring
    try:
        count, problems = len(keyring.keys()), keyring.problems()
    except MunimentError as error:
        yield Finding("keys", FAIL, error.message, error.next_step)
        return
    if not problems:
        yield Finding("keys", OK, f"{count} private keys, sealed by {keyring.protection}")
    for problem in problems:
        yield Finding("keys", WARN, problem, "Seal them with: muniment init --passphrase")


def _agents(peer: Peer, findings: list[Finding]) -> list[str]:
    try:
        names = [info.name for info in peer.agents()]
    except MunimentError as error:
        findings.append(Finding("agents", FAIL, error.message, error.next_step))
        return []
    findings.append(Finding("agents", OK, ", ".join(names) or "none yet"))
    return names


def _bank(peer: Peer, name: str) -> Iterator[Finding]:
    label = f"bank of {name}"
    try:
        stats = peer.agent(name).stats()
    except MunimentError as error:
        yield Finding(label, FAIL, error.message, error.next_step)
        return
    megabytes = stats.file_bytes / 1e6
    yield Finding(label, OK, f"{stats.records} records, {stats.entries} entries, {megabytes:.1f} MB")


def _witness(peer: Peer) -> Iterator[Finding]:
    """Banks that the witness has seen and that are not here; which are older than it says, reading them tells."""
    witness = peer.host.witness
    if witness is None:
        return
    try:
        seen = witness.banks()
        store = peer.standing_store()
        here = {cid_text(row.bank) for row in store.banks(unlisted=True)} if store is not None else set()
    except MunimentError as error:
        yield Finding("witness", FAIL, error.message, error.next_step)
        return
    missing = [name for name in seen if name not in here]
    if missing:
        step = "Restore the peer folder from its newest copy, or fetch them from another peer."
        yield Finding("witness", FAIL, f"banks that it has seen are missing: {', '.join(missing)}", step)
    else:
        yield Finding("witness", OK, f"{witness.path}, {len(seen)} banks seen")


def _others(peer: Peer) -> Iterator[Finding]:
    """Installations that can't be reached, and keys of which one showed less than before."""
    store = peer.standing_store()
    if store is None:
        return
    names = {row.bank: row.name for row in store.banks()}
    routes = [route for route in store.others.routes() if route.bank in names]
    failing = [route for route in routes if route.failures]
    for route in failing:
        detail = f"{names[route.bank]} at {route.address}: {route.failures} attempts came to nothing"
        yield Finding("peer", WARN, detail, route.error or "")
    if routes and not failing:
        yield Finding("peers", OK, f"{len(routes)} addresses of other installations")
    for odd in store.others.odd():
        if odd.bank in names:
            detail = f"{names[odd.bank]}: a peer showed less of {to_did(odd.author)} than before"
            step = "Ask its owner whether a backup was put back there; nothing is lost here."
            yield Finding(odd.kind, WARN, detail, step)


def _embedder(peer: Peer) -> Iterator[Finding]:
    """A model on this machine is tried out; a server is not asked, only whether there is a key for it."""
    block = peer.host.settings.embedding
    if block is None:
        return
    from muniment.embed.factory import open_embedder
    from muniment.embed.options import REMOTE, options

    chosen = options(block)
    try:
        embedder = open_embedder(block, peer.credentials.get)
        if chosen.backend in REMOTE:
            kept = "an API key is kept" if peer.credentials.get(chosen.provider) else "no API key is kept"
            said = f"{embedder.name} at {chosen.api_base} (not asked); {kept}"
        elif chosen.backend == "local":
            said = f"{embedder.name}, {len(embedder.query('a question'))} numbers a vector"
        else:
            said = f"{embedder.name} (not loaded: it may have to be downloaded)"
        embedder.close()
    except MunimentError as error:
        yield Finding("embedder", FAIL, error.message, error.next_step)
    else:
        yield Finding("embedder", OK, said)
