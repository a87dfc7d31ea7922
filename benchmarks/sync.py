"""Sync in memory: cold catch-up with every signature checked, two large replicas that differ a little, flat costs.

    python -m benchmarks.sync [--quick] [--million]

Both ends live in one process and talk through the in-memory link; "receiving" is the CPU time of the client's end,
"serving" that of the server's. SQLite on the disk at both ends.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import common
from benchmarks.common import Report

from muniment import syncing
from muniment.base.ids import BankId
from muniment.remembering import Draft, remember
from muniment.store.sqlite import SqliteStore
from muniment.sync import reconcile
from muniment.sync.reconcile import Difference, Index
from muniment.testing.replicas import Replica, Replicas

PER_SECOND, RECORDS_PER_SECOND, CPU_US = 5000, 10_000, 70.0
WORDS = [
    "deploy",
    "with",
    "nix",
    "copy",
    "to",
    "prod",
    "review",
    "the",
    "queue",
    "rotate",
    "keys",
    "restart",
    "worker",
    "invoice",
    "alpha",
    "budget",
    "customer",
    "north",
    "release",
    "notes",
    "ticket",
    "number",
    "meeting",
    "friday",
    "coffee",
    "tea",
]


@contextmanager
def replicas(folder: Path) -> Iterator[Replicas]:
    """Carol founds, vera reads and writes; their stores are made by `empty`."""
    with Replicas(folder, ["carol", "vera"]) as made:
        carol = made.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera")
        carol.rekey()
        yield made


def empty(made: Replicas, folder: Path, name: str, label: str) -> Replica:
    """A replica in a file of its own, with the control entries."""
    control = [parcel for parcel in made.at("carol").parcels() if not parcel[1]]
    here = made.fresh(name, SqliteStore.create(folder / f"{label}.db", made.bank))
    here.take(control)
    return here


def write(here: Replica, entries: int, acts: int, chance: random.Random) -> None:
    """Memories in single entries of so many acts each, 500 entries a transaction."""
    left = entries
    while left:
        with here.bank.write():
            for _ in range(min(left, 500)):
                left -= 1
                texts = [" ".join(chance.choices(WORDS, k=12)) + f" {left} {act}" for act in range(acts)]
                remember(here.bank, here.key, [Draft(text) for text in texts])


class Ends:
    """A round between two replicas, with the CPU time of each end."""

    def __init__(self, client: Replica, server: Replica) -> None:
        def find(bank: BankId, by: bytes, claim: bytes) -> tuple[object, bytes]:
            del bank, by, claim
            return server.bank, server.key

        entropy = server.bank.host.entropy
        self._client = syncing.connect(client.bank, client.key, b"bench")
        self._server = syncing.serve(find, b"bench", entropy)  # type: ignore[arg-type]
        self.serving = self.receiving = self.wall = 0.0
        self.carried = self.questions = 0

    def run(self) -> syncing.SyncReport:
        """The whole round."""
        begun, cpu = time.perf_counter(), time.process_time()
        report = syncing.run(self._client, self._exchange)
        self.wall = time.perf_counter() - begun
        self.receiving = time.process_time() - cpu - self.serving
        return report

    def _exchange(self, question: bytes) -> list[bytes]:
        cpu = time.process_time()
        answers = self._server.receive(question)
        self.serving += time.process_time() - cpu
        self.questions += 1
        self.carried += len(question) + sum(map(len, answers))
        return answers


def peak_mb() -> float:
    """The most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def catch_up(report: Report, folder: Path, entries: int, acts: int) -> None:
    """A new replica gets everything."""
    with replicas(folder) as made:
        client = empty(made, folder, "vera", "client")
        server = empty(made, folder, "carol", "server")
        write(server, entries, acts, random.Random(1))
        ends = Ends(client, server)
        done = ends.run()
        assert done.done, done
        assert done.round.received == entries, done
        records, title = entries * acts, f"{entries:,} x {acts}"
        if acts == 1:
            report.add(f"entries a second, cold catch-up of {title}", entries / ends.wall, "/s wall",
                       least=PER_SECOND)  # fmt: skip
        else:
            report.add(f"records a second, cold catch-up of {title}", records / ends.wall, "/s wall",
                       least=RECORDS_PER_SECOND)  # fmt: skip
        most = CPU_US if acts > 1 else None
        report.add(f"CPU a record, receiving, {title}", ends.receiving / records * 1e6, "us", most)
        report.add(f"CPU a record, serving, {title}", ends.serving / records * 1e6, "us")
        report.add(f"bytes a record, {title}", ends.carried / records, "bytes")
        report.add(f"memory of both ends, {title}", peak_mb(), "MB", 300)
        if acts == 1:
            differ(report, made, client, server, entries)


def differ(report: Report, made: Replicas, client: Replica, server: Replica, size: int) -> None:
    """Two replicas of the same size that have 100 entries each that the other lacks."""
    write(server, 100, 1, random.Random(2))
    write(client, 100, 1, random.Random(3))
    warm = Ends(client, server)
    done = warm.run()
    assert done.done, done
    assert (done.round.received, done.round.sent) == (100, 100), done
    report.add(f"{size:,} each, 100 apart both ways", warm.wall, "s wall", 1.0)
    report.add("its bytes, entries included", warm.carried / 1e6, "MB", 1.0)
    report.add("its questions", warm.questions, "")
    same = Ends(client, server)
    assert same.run().done
    report.add(
        "questions after hello where nothing differs, the last word included", same.questions - 2, "", 2
    )
    report.add("that round", same.wall * 1e3, "ms wall")
    report.add("its bytes", same.carried, "bytes")


def flat(report: Report, sizes: list[int]) -> None:
    """What an entry costs the index that reconciles, at several sizes."""
    rows, each = [], []
    for size in sizes:
        keys = [((1 << 50) + (at << 16)).to_bytes(8) + os.urandom(32) for at in range(size)]
        cpu = time.process_time()
        mine = Index(keys)
        mine.fingerprint(reconcile.START, reconcile.END)
        built = (time.process_time() - cpu) / size * 1e6
        more = [((1 << 51) + (at << 16)).to_bytes(8) + os.urandom(32) for at in range(2000)]
        theirs = Index([*keys, *random.Random(4).sample(more, 100)])
        cpu = time.process_time()
        mine.add(more)
        mine.fingerprint(reconcile.START, reconcile.END)
        added = (time.process_time() - cpu) / len(more) * 1e6
        found, left, asked = Difference(), [(reconcile.START, mine.range(reconcile.START, reconcile.END))], 0
        theirs.fingerprint(reconcile.START, reconcile.END)
        cpu = time.process_time()
        while left:
            ranges, left = reconcile.question(left, 256 * 1024)
            left = reconcile.compare(mine, reconcile.answer(theirs, ranges, 256 * 1024), found) + left
            asked += 1
        compared = (time.process_time() - cpu) * 1e3
        each.append(built)
        rows.append([f"{size:,}", f"{built:.2f}", f"{added:.2f}", f"{compared:.0f}", asked])
    heads = ["entries", "build, us each", "add, us each", "find 1,900 differences, ms both ends", "questions"]
    report.table("The index that finds differences", heads, rows)
    report.add("build an entry: largest size over smallest", each[-1] / each[0], "x", 2.0)


def bench(*, quick: bool = False, million: bool = False) -> Report:
    """All of it."""
    report = Report("sync: catch-up and small differences", "python -m benchmarks.sync")
    with common.scratch() as folder:
        (folder / "many").mkdir()
        catch_up(report, folder / "many", 200 if quick else 1000, 100)
    with common.scratch() as folder:
        (folder / "single").mkdir()
        catch_up(report, folder / "single", 10_000 if quick else 100_000, 1)
    flat(report, [10_000, 100_000, *([] if quick and not million else [1_000_000])])
    return report


def main() -> int:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument(
        "--million", action="store_true", help="also an index of 1,000,000 entries when quick"
    )
    args = parser.parse_args()
    return common.finish([bench(quick=args.quick, million=args.million)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
