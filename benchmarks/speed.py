"""Whole `agent.recall`, ten hits, unsealed and with snippets, beside ranking alone and beside rivals.

    python -m benchmarks.speed [--million]

Queries have 3 to 6 words, one or two of them among the commonest. In each round every contender answers the same
query, in turns. SQLite FTS5 gets the OR of the words and returns ten rows with their text; bm25s ranks only.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable

import apsw
from benchmarks import banks, common
from benchmarks.common import Report

import muniment
from muniment.agent import Agent

Ask = Callable[[str], object]

ABOVE_MS = 2.0
CONTEXT = 2.0
LIMIT = 10
ROUNDS = 200
SLOW_ROUNDS = 20  # of rivals that take most of a second


def fts5(count: int) -> apsw.Connection:
    """The rival's file, kept in the cache."""
    place = common.CACHE / f"fts5-{banks.EDITION}-{banks.name(count)}.db"
    if not place.exists():
        draft = place.with_suffix(".part")
        draft.unlink(missing_ok=True)
        link = apsw.Connection(str(draft))
        link.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        link.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        with link:
            link.executemany("INSERT INTO words (text) VALUES (?)", ((text,) for text in banks.texts(count)))
        link.execute("INSERT INTO words (words) VALUES ('optimize')")
        link.close()
        draft.replace(place)
    return apsw.Connection(str(place), flags=apsw.SQLITE_OPEN_READONLY)


def by_fts5(link: apsw.Connection) -> Ask:
    """A query as the rival takes it."""
    sql = "SELECT rowid, rank, text FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    return lambda query: link.execute(sql, (" OR ".join(f'"{w}"' for w in query.split()), LIMIT)).fetchall()


def by_bm25s(count: int) -> Ask:
    """The rival that can't add a record; its index is kept in the cache."""
    import bm25s

    place = common.CACHE / f"bm25s-{banks.EDITION}-{banks.name(count)}"
    if not place.exists():
        draft = place.with_name(place.name + ".part")
        shutil.rmtree(draft, ignore_errors=True)
        tokens = bm25s.tokenize(banks.texts(count), stopwords=[], show_progress=False)
        made = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        made.index(tokens, show_progress=False)
        made.save(str(draft))
        draft.replace(place)
    index = bm25s.BM25.load(str(place))

    def ask(query: str) -> object:
        tokens = bm25s.tokenize(query, stopwords=[], return_ids=False, show_progress=False)
        return index.retrieve(tokens, k=LIMIT, show_progress=False)

    return ask


def measure(report: Report, count: int, *, sessions: bool, rivals: bool) -> None:
    """One bank."""
    label = f"{banks.name(count)}{', conversations' if sessions else ''}"
    asked = {"words": banks.queries(ROUNDS), "common": banks.queries(ROUNDS, common_words=True)}
    found: dict[str, dict[str, float]] = {}
    with muniment.open(banks.home(count, sessions=sessions)) as peer:
        calls = contenders(peer.agent(banks.AGENT), context=sessions)
        for kind, queries in asked.items():
            times = in_turns(calls, queries, ROUNDS)
            if rivals and kind == "words":
                others = {
                    "recall, among rivals": calls["recall"],
                    "FTS5 (OR, ten rows)": by_fts5(fts5(count)),
                }
                if count <= 100_000:
                    others["bm25s (ranking)"] = by_bm25s(count)
                times |= in_turns(others, queries, SLOW_ROUNDS if count > 100_000 else ROUNDS // 2)
            found[kind] = {name: common.median(taken) for name, taken in times.items()}
            report.tables[0][2].extend(
                [label, kind, name, f"{common.median(taken):.2f}", f"{common.p95(taken):.2f}"]
                for name, taken in times.items()
            )
    words, only = found["words"], found["common"]
    report.add(f"recall above ranking, {label}", words["recall"] - words["ranking"], "ms", ABOVE_MS)
    report.add(f"recall, {label}", words["recall"], "ms", note=f"ranking {words['ranking']:.2f} ms")
    if sessions:
        for what, most in (("recall", CONTEXT), ("ranking", None)):
            ratio = words[what] / words[f"{what}, no context"]
            report.add(f"{what} with context to one without, {label}", ratio, "x", most)
    for name in words:
        if name.startswith(("FTS5", "bm25s")):
            ratio = words[name] / words["recall, among rivals"]
            report.add(f"{name} to recall, {label}", ratio, "x", note="its CPU by that of our whole recall")
    note = f"ranking {only['ranking']:.2f} ms"
    report.add(f"recall of common words only, {label}", only["recall"], "ms", note=note)


def contenders(agent: Agent, *, context: bool) -> dict[str, Ask]:
    """The whole recall, and the ranking that it stands on."""
    index = agent._bank.index
    calls: dict[str, Ask] = {
        "ranking": lambda query: index.search(query, LIMIT),
        "recall": lambda query: agent.recall(query, limit=LIMIT),
    }
    if context:
        calls["ranking, no context"] = lambda query: index.search(query, LIMIT, context=False)
        calls["recall, no context"] = lambda query: agent.recall(query, limit=LIMIT, context=False)
    agent.recall("ready")
    return calls


def in_turns(calls: dict[str, Ask], queries: list[str], rounds: int) -> dict[str, list[float]]:
    """CPU of each contender, all with the same query in a round."""

    def bound(call: Ask) -> Callable[[int], object]:
        return lambda n: call(queries[n])

    return common.alternate({name: bound(call) for name, call in calls.items()}, rounds)


def bench(*, quick: bool = False, million: bool = False) -> Report:
    """All of it."""
    report = Report("recall: ten hits, opened and with snippets", "python -m benchmarks.speed")
    report.table("CPU of each call, ms:", ["records", "queries", "call", "median", "p95"], [])
    sizes = [10_000] if quick else [100_000, *([1_000_000] if million else [])]
    for count in sizes:
        measure(report, count, sessions=False, rivals=True)
        measure(report, count, sessions=True, rivals=False)
    return report


def main() -> int:
    """Command line."""
    parser = common.parser(__doc__)
    parser.add_argument(
        "--million", action="store_true", help="also 1,000,000 records (builds a bank of 1 GB once)"
    )
    args = parser.parse_args()
    return common.finish([bench(quick=args.quick, million=args.million)], as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
