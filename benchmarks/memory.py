"""Memory of a process that asks a bank with vectors by words and by meaning; and a turn of auto-recall over six.

    python -m benchmarks.memory [--quick] [--json]

The bank has 100,000 records of 30 to 120 words with 384 numbers each (clustered, as embeddings are), written by
`remember_many` and kept in `.bench/` for the next run. A new process opens it, asks 300 hybrid questions for ten hits,
and reads its own `RssAnon`. The embedder is a function that draws vectors out of a hash: its time and memory are
(nearly) none. Auto-recall is asked over an agent's own memory and five shared banks of 20,000 such records each.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import statistics
import sys
import time
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
from benchmarks import banks, common  # noqa: E402
from benchmarks.common import Report  # noqa: E402
from benchmarks.synthetic import Synthetic  # noqa: E402

import muniment  # noqa: E402
from muniment.embed.callable import CallableEmbedder  # noqa: E402
from muniment.remembering import Draft  # noqa: E402
from muniment.testing.shared import SharedBank  # noqa: E402

DIMENSION, CLUSTERS, RANK = 384, 500, 48
QUESTIONS, TURNS = 300, 200
SHARED = 5
BATCH = 1000
MOST_MB, MOST_MS = 250.0, 40.0
UNHURRIED_MS = 60_000


class Drawn:
    """Vectors out of a hash of the text: near one of some centres, the same each time."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self._centres = rng.standard_normal((CLUSTERS, RANK), np.float32) * np.float32(1.2)
        self._plane = rng.standard_normal((RANK, DIMENSION), np.float32) / np.float32(np.sqrt(RANK))

    def __call__(self, texts: list[str]) -> np.ndarray:
        """(texts, 384) float32."""
        rows = np.empty((len(texts), RANK), np.float32)
        for at, text in enumerate(texts):
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
            rng = np.random.default_rng(seed)
            rows[at] = self._centres[seed % CLUSTERS] + rng.standard_normal(RANK, np.float32)
        return rows @ self._plane


def embedder() -> CallableEmbedder:
    """The embedder of both banks."""
    return CallableEmbedder("drawn/clusters", Drawn(), dimension=DIMENSION)


def home(count: int) -> Path:
    """The peer folder of a bank with vectors, made once."""
    place = common.CACHE / f"home-{banks.EDITION}-{banks.name(count)}-vectors"
    if not (place / "built").exists():
        shutil.rmtree(place, ignore_errors=True)
        with muniment.open(place, embedder=embedder()) as peer:
            agent = peer.agent(banks.AGENT, create=True)
            _fill(agent.remember_many, list(Synthetic().texts(count)))
            agent.recall("ready")
            agent._bank.tidy(force=True)
        (place / "built").touch()
    return place


def six(count: int) -> Path:
    """The peer folder of an agent with a memory of its own and five shared banks, all attached, made once."""
    place = common.CACHE / f"home-{banks.EDITION}-six-{banks.name(count)}-vectors"
    if not (place / "built").exists():
        shutil.rmtree(place, ignore_errors=True)
        with muniment.open(place, embedder=embedder()) as peer:
            ava, founder = peer.agent("ava", create=True), peer.agent("founder", create=True)
            texts = list(Synthetic().texts((SHARED + 1) * count))
            for number in range(SHARED):
                bank = SharedBank(peer, founder, f"bank {number}")
                _fill(bank.remember_many, texts[number * count : (number + 1) * count])
                bank.grant(ava)
                ava.session("benchmark").attach(bank.id)
            _fill(ava.remember_many, texts[SHARED * count :])
            ava.session("benchmark").recall_for(
                [{"role": "user", "content": "ready"}], budget_ms=UNHURRIED_MS
            )
            for bank in peer._banks.values():
                bank.tidy(force=True)
        (place / "built").touch()
    return place


def _fill(remember_many: object, texts: list[str]) -> None:
    for at in range(0, len(texts), BATCH):
        remember_many([Draft(text) for text in texts[at : at + BATCH]])  # type: ignore[operator]


def ask(place: str) -> None:
    """In a process of its own: ask, and print the memory before and after, and the time of a question."""
    asked = banks.queries(QUESTIONS)
    bare = common.rss_anon_mb()
    with muniment.open(place, embedder=embedder()) as peer:
        agent = peer.agent(banks.AGENT)
        took = []
        for query in asked:
            began = time.process_time()
            hits = agent.recall(query, limit=10)
            took.append(1000 * (time.process_time() - began))
            if hits.mode != "hybrid" or hits.degraded:
                raise RuntimeError(f"answered by {hits.mode}: {hits.degraded}")
        print(common.rss_anon_mb(), bare, statistics.median(took[3:]), common.p95(took[3:]))


def turns(place: str) -> None:
    """In a process of its own: turns of auto-recall, and print their median and 95th percentile in ms."""
    rng = random.Random(11)
    texts = list(Synthetic().texts(2000))
    took, hits = [], []
    drawn = Drawn()
    cost = []
    with muniment.open(place, embedder=embedder()) as peer:
        session = peer.agent("ava").session("benchmark")
        for _ in range(TURNS + 5):
            text = " ".join(rng.sample(rng.choice(texts).split(), 8))
            began = time.process_time()
            drawn([text])
            cost.append(1000 * (time.process_time() - began))
            began = time.process_time()
            found = session.recall_for([{"role": "user", "content": text}], budget_ms=UNHURRIED_MS)
            took.append(1000 * (time.process_time() - began))
            hits.append(sum(len(store.hits) for store in found.stores))
            if len(found.stores) != SHARED + 1 or found.degraded:
                raise RuntimeError(f"{len(found.stores)} banks were searched: {found.degraded}")
    less = statistics.median(cost)
    print(statistics.median(took[5:]) - less, common.p95(took[5:]) - less, statistics.fmean(hits),
          common.rss_anon_mb())  # fmt: skip


def _apart(what: str, place: Path) -> list[float]:
    command = [sys.executable, "-m", "benchmarks.memory", f"--{what}", str(place)]
    return [float(word) for word in common.run(command, env=dict(os.environ)).out.split()]


def bench(*, quick: bool = False, million: bool = False) -> Report:
    """Both bars; `quick` takes a tenth of the records."""
    report = Report("memory, and auto-recall with vectors", "python -m benchmarks.memory")
    count, each = (10_000, 2_000) if quick else (100_000, 20_000)
    held, bare, median, p95 = _apart("ask", home(count))
    note = f"{bare:.0f} MB before the bank is opened"
    report.add(
        f"anonymous memory, {count:,} records, {QUESTIONS} hybrid questions", held, "MB", MOST_MB, note=note
    )
    report.add("a hybrid question, median", median, "ms", note=f"95 % under {p95:.1f} ms")
    median, p95, hits, held = _apart("turns", six(each))
    note = f"{hits:.1f} records a turn; {held:.0f} MB anonymous"
    report.add(f"a turn over 6 x {each:,} records, median", median, "ms", MOST_MS, note=note)
    report.add("the same, 95 % of turns", p95, "ms")
    return report


def main() -> int:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument("--ask", metavar="HOME", help="only: ask that bank, in this process")
    parser.add_argument("--turns", metavar="HOME", help="only: turns over that peer, in this process")
    args = parser.parse_args()
    if args.ask:
        ask(args.ask)
        return 0
    if args.turns:
        turns(args.turns)
        return 0
    return common.finish([bench(quick=args.quick)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
