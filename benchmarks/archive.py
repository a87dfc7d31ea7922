"""The archive: what a bank's file loses by it, how fast texts go in, how soon one comes back, and what recall keeps.

    python -m benchmarks.archive [--quick] [--data DIR] [--json]

110,000 records of 600 bytes, and 11,000 of 6,000 bytes, of which ten in eleven go into the archive; with `--data` also
what people and assistants said (turns of BEAM, LongMemEval and LoCoMo, joined or cut to such sizes), and every turn
of the LoCoMo development half, asked before and after. Beside it, what a user would pick instead: the same texts as one
zstd file.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import zstandard
from benchmarks import common, sets
from benchmarks.common import Report

import muniment
from muniment.remembering import Draft

SHRINK = 0.45
MB_PER_SECOND = 20.0
FETCH_MS = 10.0
SAME_RECALL = 0.01
_BATCH = 2000


def words(chance: random.Random, vocabulary: list[str], size: int) -> str:
    """A text of about so many bytes, its words as uneven as those of a language."""
    said: list[str] = []
    length = 0
    while length < size:
        word = vocabulary[min(int(chance.paretovariate(0.9)) - 1, len(vocabulary) - 1)]
        said.append(word)
        length += len(word) + 1
    return " ".join(said)[:size]


def made_up(count: int, size: int) -> Iterator[str]:
    """Texts of random letters, each about so long."""
    chance = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgk"
    vocabulary = ["".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(30_000)]
    for _ in range(count):
        yield words(chance, vocabulary, size)


def natural(data: Path, count: int, size: int) -> Iterator[str]:
    """At most so many texts of what was really said, each about so long."""
    pieces = (
        text
        for name in ("beam", "longmemeval", "locomo")
        for bank in sets.load(data, name)
        for text in bank.texts
    )
    text = ""
    for word in (word for piece in pieces for word in piece.split()):
        if text and len(text) + 1 + len(word) > size:
            yield text
            text, count = "", count - 1
            if not count:
                return
        text = f"{text} {word}" if text else word


def fill(agent: muniment.Agent, texts: Iterable[str]) -> tuple[int, int]:
    """Remember texts; how many, and their bytes."""
    count = total = 0
    rest = iter(texts)
    while part := list(islice(rest, _BATCH)):
        total += sum(len(text.encode()) for text in part)
        agent.remember_many(
            [Draft(text, created=1_600_000_000_000 + count + n) for n, text in enumerate(part)]
        )
        count += len(part)
    return count, total


def shrink(report: Report, texts: Iterable[str], kind: str, size: int) -> None:
    """Archive ten in eleven of some texts of `size` bytes."""
    with common.scratch() as folder, muniment.open(folder / "home") as peer:
        agent = peer.agent("ava", create=True)
        count, total = fill(agent, texts)
        label = f"{count:,} {kind} records of {size:,} bytes"
        agent._bank.tidy(force=True)
        agent._bank.store.scrub()
        before = common.disk_mb(folder / "home" / "banks")
        until = 1_600_000_000_000 + count * 10 // 11
        cpu, wall = time.process_time(), time.perf_counter()
        done = agent.archive(larger_than=0, until=until)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        after = common.disk_mb(folder / "home" / "banks")
        packed = common.disk_mb(folder / "home" / "blobs")
        moved = done.text_bytes / 1e6
        # Of short texts the hashes, rows and stubs are most of the bank: told, and no bar.
        report.add(
            f"bank file after by before, {label}", after / before, "", SHRINK if size >= 2000 else None
        )
        report.add(f"text archived, {label}", moved / cpu, "MB/CPU s", note=f"{moved / wall:.1f} MB/s wall")
        records = agent.list(states=["archived"], limit=200)
        times = [_fetched(agent, record.id) for record in records]
        report.add(f"one text back, {label}, median", statistics.median(times), "ms", FETCH_MS)
        whole = zstandard.ZstdCompressor(level=6)
        rival = len(whole.compress("\n".join(agent.get(r.id).text for r in records).encode())) / len(records)
        report.table(
            label,
            ["", "MB"],
            [
                ["texts", f"{total / 1e6:.1f}"],
                ["bank before", f"{before:.1f}"],
                ["bank after", f"{after:.1f}"],
                ["packs", f"{packed:.1f}"],
                [
                    "the archived texts as one zstd file (no keys, no search)",
                    f"{rival * done.records / 1e6:.1f}",
                ],
            ],
        )


def _fetched(agent: muniment.Agent, record: str) -> float:
    start = time.perf_counter()
    assert agent.fetch(record).whole
    return (time.perf_counter() - start) * 1000


def packing(report: Report, megabytes: int) -> None:
    """Payloads of 6 kB through sealing, packing, the disk, and reading back."""
    from muniment.archive.pack import Payload, pointer_of, seal_payload
    from muniment.archive.room import PackRoom
    from muniment.base.ids import VersionId, cid_of
    from muniment.blobs.folder import FolderBlobs
    from muniment.store.packs import PackIndex

    chance = random.Random(3)
    vocabulary = ["".join(chance.choices("etaoinshr", k=chance.randint(2, 9))) for _ in range(30_000)]
    texts = [words(chance, vocabulary, 6000).encode() for _ in range(megabytes * 1_000_000 // 6000)]
    with common.scratch() as folder:
        room = PackRoom(FolderBlobs(folder / "blobs"), PackIndex.open(folder / "packs.db"), lambda: 0)
        start, wall = time.process_time(), time.perf_counter()
        for at in range(0, len(texts), 1400):
            sealed = [
                seal_payload(Payload(VersionId(cid_of(b"x"), 0), bytes(24), text), bytes(32), bytes(24))
                for text in texts[at : at + 1400]
            ]
            pointers = [pointer_of(one) for one in sealed]
            room.store(list(dict(zip(pointers, sealed, strict=True)).items()))
            for pointer in pointers:
                room.payload(pointer)
        cpu, wall = time.process_time() - start, time.perf_counter() - wall
        room.close()
    moved = sum(map(len, texts)) / 1e6
    report.add("packing, sealed, on the disk and read back", moved / cpu, "MB/CPU s", least=MB_PER_SECOND,
               note=f"{moved / wall:.1f} MB/s wall")  # fmt: skip


def recall(report: Report, data: Path) -> None:
    """recall@10 on LoCoMo, before and after everything is archived, and after the index was made from stubs alone."""
    scores: dict[str, list[float]] = {"before": [], "archived": [], "from stubs": []}
    for bank in sets.load(data, "locomo"):
        with common.scratch() as folder, muniment.open(folder / "home") as peer:
            agent = peer.agent("ava", create=True)
            drafts = [
                Draft(text, session=str(session), created=1_600_000_000_000 + place)
                for place, (text, session) in enumerate(zip(bank.texts, bank.sessions, strict=True))
            ]
            made = agent.remember_many(drafts)
            scores["before"] += asked(agent, bank, [one.version for one in made])
            agent.archive(larger_than=0, until=2_000_000_000_000)
            scores["archived"] += asked(agent, bank, [one.version for one in made])
            (folder / "home" / "blobs").rename(folder / "away")
            agent.check(rebuild=True)
            scores["from stubs"] += asked(agent, bank, [one.version for one in made])
    found = {name: statistics.fmean(values) for name, values in scores.items()}
    report.add("recall@10, LoCoMo, all archived, by before", found["before"] - found["archived"], "", SAME_RECALL,
               note=f"{found['before']:.4f} before, {found['archived']:.4f} after")  # fmt: skip
    report.add("recall@10, LoCoMo, index made from stubs alone, by before", found["before"] - found["from stubs"], "",
               SAME_RECALL, note=f"{found['from stubs']:.4f}")  # fmt: skip


def asked(agent: muniment.Agent, bank: sets.Bank, versions: list[str]) -> list[float]:
    """recall@10 of each question."""
    places = {version: place for place, version in enumerate(versions, 1)}
    out = []
    for question in bank.questions:
        hits = {places[hit.record.version] for hit in agent.recall(question.text, limit=10)}
        out.append(len(hits & set(question.relevant)) / len(question.relevant))
    return out


def bench(*, quick: bool = False, data: str | None = None) -> Report:
    """All of it."""
    report = Report("archive", "python -m benchmarks.archive" + (" --data DIR" if data else ""))
    packing(report, 8 if quick else 40)
    for size, count in ((600, 5_500 if quick else 110_000), (6000, 1_100 if quick else 11_000)):
        shrink(report, made_up(count, size), "made-up", size)
        if data is not None:
            shrink(report, natural(Path(data), count, size), "natural", size)
    if data is not None:
        for size in () if quick else (1200, 2000, 3000):
            shrink(report, natural(Path(data), 11_000, size), "natural", size)
        recall(report, Path(data))
    return report


def main() -> int:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--data", help="folder with data sets of others")
    args = parser.parse_args()
    return common.finish([bench(quick=args.quick, data=args.data)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
