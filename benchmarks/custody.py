"""Custody: what a challenge costs, beside fetching the whole pack and looking at it, which needs no protocol at all.

    python -m benchmarks.custody [--quick]

A pack of 16 MiB (`--quick`: 4). Receipts, proofs and checks are CPU time; what goes over a transport is wall time, with
a holder that serves in a process of its own over HTTP and over iroh, on loopback, SQLite and packs on the disk.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import common
from benchmarks.common import Report
from benchmarks.transports import served

import muniment
from muniment.archive import custody, tree
from muniment.archive.custody import SAMPLE, Challenge, Receipt
from muniment.archive.pack import pointer_of
from muniment.archive.source import Download, fetch, outline_of
from muniment.base.ids import parse_blob
from muniment.custody import Custody
from muniment.custody_links import HolderSource
from muniment.identity import keys
from muniment.identity.did import to_did
from muniment.testing.entropy import SeededEntropy

NOW = 1_800_000_000_000
OWNER, HOLDER = keys.keypair(b"o" * 32), keys.keypair(b"h" * 32)
PROOF_MB = 5.0


def _by(pair: keys.KeyPair) -> custody.Sign:
    return lambda domain, message: keys.sign(pair.secret, domain, message)


def cpu(work: Callable[[], object], turns: int) -> float:
    """Median CPU seconds of one turn."""
    taken = []
    for _ in range(turns):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return statistics.median(taken)


def pure(report: Report, size: int) -> None:
    """Signing, proving and checking, without files and wires."""
    data = SeededEntropy(b"pack").bytes(size)
    said, name = outline_of(data), pointer_of(data)
    receipt = custody.signed(
        Receipt(HOLDER.public, OWNER.public, name, said.size, said.root, NOW, NOW + 1_000_000), _by(HOLDER)
    )
    bytes_of = custody.to_bytes(receipt)
    challenge = custody.signed(
        Challenge(OWNER.public, HOLDER.public, name, b"n" * 32, SAMPLE, NOW), _by(OWNER)
    )

    def prove() -> bytes:
        return custody.to_bytes(custody.make_proof(challenge, data, HOLDER.public, NOW, _by(HOLDER)))

    proof = prove()

    def check() -> None:
        custody.check_proof(custody.read_proof(proof), challenge, receipt, NOW)

    report.add("receipts signed", 1 / cpu(lambda: custody.signed(receipt, _by(HOLDER)), 500), "/CPU s")
    report.add("receipts read and checked", 1 / cpu(lambda: custody.read_receipt(bytes_of), 500), "/CPU s")
    report.add("proofs made by a holder", 1 / cpu(prove, 10), "/CPU s")
    report.add("proofs checked by an owner", 1 / cpu(check, 20), "/CPU s")
    report.add("a whole pack looked at instead", 1 / cpu(lambda: pointer_of(data), 10), "/CPU s")
    paths = len(proof) - SAMPLE * tree.CHUNK
    report.add("a proof", len(proof) / 1e6, "MB", PROOF_MB, note=f"{paths:,} bytes beside the chunks")
    report.add("the pack itself", size / 1e6, "MB")


def wall(work: Callable[[], object], turns: int = 5) -> float:
    """Median seconds of one turn."""
    taken = []
    for _ in range(turns):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def wired(report: Report, top: Path, size: int) -> None:
    """Giving, challenging and fetching one pack, over both transports by turns."""
    with muniment.open(top / "owner") as owner, muniment.open(top / "holder") as other:
        agent = owner.agent("ava", create=True)
        for part in range(size // (1 << 20)):
            agent.remember(SeededEntropy(b"%d" % part).bytes(1 << 19).hex(), key=f"k{part}")
        agent.archive(larger_than=0, until=1 << 52)
        blobs = sorted(Custody(owner).status().blobs, key=lambda row: row.blob)
        Custody(other).accept(to_did(owner.owner()))
        with served(top / "holder") as addresses:
            for way, address in addresses.items():
                began = time.perf_counter()
                given = Custody(owner).offer(address)
                spent = time.perf_counter() - began
                total = sum(row.size for row in given)
                biggest = max(given, key=lambda row: row.size)
                if way == "http":
                    report.add(f"giving {len(blobs)} packs, {way}", total / 1e6 / spent, "MB/s")
                else:
                    report.add(f"receipts renewed, {way}", len(given) / spent, "/s")
                asking = wall(lambda blob=biggest.blob: Custody(owner).challenge(blob))  # type: ignore[misc]
                name = parse_blob(biggest.blob)
                whole = wall(lambda a=address, n=name: fetch(Download(n), [HolderSource(owner, a)]), 3)  # type: ignore[misc]
                report.add(f"one challenge, pack of {biggest.size / 1e6:.1f} MB, {way}", asking * 1000, "ms")
                report.add(f"fetching that pack instead, {way}", whole * 1000, "ms")


def bench(*, quick: bool = False) -> Report:
    """The whole report."""
    size = (4 if quick else 16) << 20
    report = Report("Custody", "python -m benchmarks.custody" + (" --quick" if quick else ""))
    pure(report, size)
    with common.scratch() as top:
        wired(report, top, size)
    return report


def main() -> int:
    """Command line."""
    args = common.parser(__doc__).parse_args()
    report = bench(quick=args.quick)
    return common.finish([report], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
