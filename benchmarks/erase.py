"""Erasing: how long until one memory is gone from file, log and index, and the words of many.

    python -m benchmarks.erase [--quick] [--json]

Beside it, what a user would pick instead: a table of the same texts in plain SQLite with `secure_delete`, a word index
(FTS5) that is told to delete securely too, synced commits, and the log emptied after each delete. That deletes; it
signs nothing, and no other copy ever hears of it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import apsw
from benchmarks import archive, common
from benchmarks.common import Report

import muniment
from muniment.remembering import Draft

_BATCH = 2000
_TIMES = 50


class Times(NamedTuple):
    """What calls took, ms each: of the processor, and on the clock."""

    cpu: list[float]
    wall: list[float]

    def note(self) -> str:
        """The clock's side."""
        return f"{common.median(self.wall):.0f} ms on the clock, p95 {common.p95(self.wall):.0f}"


def timed(calls: Iterable[Callable[[], object]]) -> Times:
    """How long each call took."""
    out = Times([], [])
    for call in calls:
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        out.cpu.append((time.process_time() - cpu) * 1000)
        out.wall.append((time.perf_counter() - wall) * 1000)
    return out


def of_ours(folder: Path, texts: list[str]) -> tuple[Times, Times, int]:
    """Erase live memories, then archived ones; and how often a word of theirs is still in a file."""
    chosen = range(0, len(texts), max(1, len(texts) // (2 * _TIMES)))
    live, shelved = [*chosen][:_TIMES], [*chosen][_TIMES : 2 * _TIMES]
    marks = {number: f"zq{number}xk{number * 7919}" for number in (*live, *shelved)}
    with muniment.open(folder) as peer:
        agent = peer.agent("ava", create=True)
        for start in range(0, len(texts), _BATCH):
            part = enumerate(texts[start : start + _BATCH], start)
            drafts = [
                Draft(f"{text} {marks.get(n, '')}", key=f"k{n}", tags=("shelf",) if n in shelved else ())
                for n, text in part
            ]
            agent.remember_many(drafts)
        agent.recall("warm up")
        agent.archive(tags=["shelf"], larger_than=0)
        now = timed([lambda n=n: agent.erase(f"k{n}") for n in live])
        later = timed([lambda n=n: agent.erase(f"k{n}") for n in shelved])
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return now, later, sum(mark.encode() in data for mark in marks.values() for data in files)


def of_sqlite(folder: Path, texts: list[str]) -> Times:
    """Delete rows of a table and of its word index."""
    link = apsw.Connection(str(folder / "plain.db"))
    for pragma in ("journal_mode = WAL", "synchronous = 2", "secure_delete = 1"):
        link.execute("PRAGMA " + pragma)
    link.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
    link.execute("CREATE VIRTUAL TABLE words USING fts5 (text, content = notes, content_rowid = id)")
    link.execute("INSERT INTO words (words, rank) VALUES ('secure-delete', 1)")
    with link:
        link.executemany("INSERT INTO notes VALUES (?, ?)", enumerate(texts))
        link.execute("INSERT INTO words (words) VALUES ('rebuild')")

    def delete(number: int) -> None:
        with link:
            link.execute(
                "INSERT INTO words (words, rowid, text) SELECT 'delete', id, text FROM notes WHERE id = ?",
                (number,),
            )
            link.execute("DELETE FROM notes WHERE id = ?", (number,))
        link.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    times = timed([lambda n=n: delete(n) for n in range(0, len(texts), max(1, len(texts) // _TIMES))])
    link.close()
    return times


def bench(*, quick: bool = False) -> Report:
    """Both, over the same texts."""
    report = Report("erase", "python -m benchmarks.erase")
    for count in (5_000,) if quick else (10_000, 100_000):
        texts = list(archive.made_up(count, 300))
        random.Random(1).shuffle(texts)
        with common.scratch() as folder:
            live, shelved, left = of_ours(folder / "home", texts)
            plain = of_sqlite(folder, texts)
        label = f"of {count:,} of 300 bytes"
        for what, times in (
            ("memory erased", live), ("archived memory erased", shelved), ("row deleted in plain SQLite", plain),
        ):  # fmt: skip
            report.add(f"one {what}, {label}, median", common.median(times.cpu), "CPU ms", note=times.note())
        report.add(f"words of the erased left in any file, {label}", left, "", 0)
    return report


if __name__ == "__main__":
    sys.exit(common.command_line(__doc__, bench))
