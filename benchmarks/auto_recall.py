"""What is shown unasked, and what is not: auto-recall on the LoCoMo development half, one bank a conversation.

    python -m benchmarks.auto_recall --data DIR [--cache DIR --model minilm] [--floors 0.36 0.4 …] [--speed] [--json]

Each question is a turn of its own, asked by the agent whose memory the conversation is (categories 1 to 4), and by the
agent of another conversation: whatever that one is shown is a false injection. Nonsense questions are made of words
that no bank holds, in the frame of real ones. Questions of category 5 ask for what was never said in words that were:
they are reported without a bar. The embedder's vectors come from the cache that `benchmarks/carriers.py` fills; what
is not in it (nonsense, category 5) is asked by words. `--speed` measures a turn over an agent's own memory and five
shared banks of 20,000.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import carriers, common, sets
from benchmarks.synthetic import Synthetic

import muniment
from muniment.auto_recall import TurnRecall
from muniment.embed.base import Embedder
from muniment.embed.callable import CallableEmbedder
from muniment.remembering import Draft
from muniment.session import Session
from muniment.testing.shared import SharedBank

FLOORS = (0.4,)
UNHURRIED_MS = 60_000
BANKS, RECORDS, TURNS = 5, 20_000, 200
_CONTENT = re.compile(r"[A-Za-z]{5,}")


def embedder(cache: Path, model: str, tokens: int) -> Embedder:
    """An embedder that looks texts up; one that is not in the cache is an error, and answered by words."""
    table = carriers.Cache(cache, model, tokens)

    def look(texts: list[str]) -> Any:
        rows = table.get(texts)
        if rows is None:
            raise KeyError("a text is not in the cache")
        return rows.astype(np.float32)

    return CallableEmbedder(
        f"cache/{model}", look, query=lambda texts: look([carriers.asked(model, t) for t in texts])
    )


def filled(peer: muniment.Peer, bank: sets.Bank) -> muniment.Agent:
    """An agent that remembers a conversation."""
    agent = peer.agent(bank.name, create=True)
    rows = zip(bank.texts, bank.sessions, bank.times, strict=True)
    agent.remember_many(
        [
            Draft(text, session=f"talk {session}", type="message", metadata={"row": n}, created=said)
            for n, (text, session, said) in enumerate(rows, 1)
        ]
    )
    return agent


def asked(session: Session, text: str) -> TurnRecall:
    """One question as a turn."""
    return session.recall_for([{"role": "user", "content": text}], budget_ms=UNHURRIED_MS)


def shown(found: TurnRecall) -> set[int]:
    """The rows that were shown."""
    return {hit.hit.record.metadata["row"] for store in found.stores for hit in store.hits}


def nonsense(text: str, rng: random.Random) -> str:
    """The question with each word of five letters or more in its place replaced by one that means nothing."""
    return _CONTENT.sub(lambda _: "".join(rng.choices("bcdfghjklmnpqrstvwxz", k=9)), text)


def measure(peer: muniment.Peer, banks: list[sets.Bank], floor: float) -> dict[str, float]:
    """Shares of questions, over all conversations together."""
    sessions = []
    for bank in banks:
        agent = peer.agent(bank.name)
        agent.configure_auto_recall(floor=floor)
        sessions.append(agent.session("benchmark"))
    rng = random.Random(11)
    some: list[bool] = []
    evident: list[bool] = []
    foreign: list[bool] = []
    empty: list[bool] = []
    never: list[bool] = []
    for number, (bank, session) in enumerate(zip(banks, sessions, strict=True)):
        for question in bank.questions:
            rows = shown(asked(session, question.text))
            some.append(bool(rows))
            evident.append(bool(rows & question.relevant))
            empty.append(bool(shown(asked(session, nonsense(question.text, rng)))))
        foreign += [bool(shown(asked(session, q.text))) for q in banks[number - 1].questions]
        never += [bool(shown(asked(session, q.text))) for q in bank.unanswerable]
    shares = {
        "answered": some,
        "evidence": evident,
        "foreign": foreign,
        "nonsense": empty,
        "category 5": never,
    }
    return {name: statistics.fmean(values) for name, values in shares.items()}


def quality(data: Path, made: Embedder | None, label: str, floors: list[float]) -> common.Report:
    """The table of one embedder, a column of measures for each floor."""
    report = common.Report(f"auto-recall, {label}", f"python -m benchmarks.auto_recall --data {data.name}")
    banks = sets.load(data, "locomo")
    with tempfile.TemporaryDirectory() as folder, muniment.open(folder, embedder=made) as peer:
        for bank in banks:
            filled(peer, bank)
        for floor in floors:
            found = measure(peer, banks, floor)
            at = f"floor {floor:g}: "
            report.add(at + "shown something for another conversation's question", found["foreign"], "", 0.10)
            report.add(at + "shown something for nonsense", found["nonsense"], "", 0.10)
            report.add(at + "answerable and not silenced", found["answered"], "", least=0.85)
            report.add(at + "evidence among the three shown", found["evidence"], "", least=0.60)
            report.add(at + "shown something for category 5", found["category 5"], "")
    return report


def speed() -> common.Report:
    """CPU time of a turn over six stores."""
    report = common.Report("auto-recall, time", "python -m benchmarks.auto_recall --speed")
    with tempfile.TemporaryDirectory() as folder, muniment.open(folder) as peer:
        ava, founder = peer.agent("ava", create=True), peer.agent("founder", create=True)
        session, texts = ava.session("benchmark"), list(Synthetic().texts((BANKS + 1) * RECORDS))
        for number in range(BANKS + 1):
            drafts = [Draft(text) for text in texts[number * RECORDS : (number + 1) * RECORDS]]
            if number == BANKS:
                ava.remember_many(drafts)
                continue
            bank = SharedBank(peer, founder, f"bank {number}")
            bank.remember_many(drafts)
            bank.grant(ava)
            bank.bank.tidy(force=True)
            session.attach(bank.id)
        ava._bank.tidy(force=True)
        rng, took, hits = random.Random(11), [], []
        for _ in range(TURNS + 5):
            text = " ".join(rng.sample(rng.choice(texts).split(), 8))
            before = time.process_time()
            found = session.recall_for([{"role": "user", "content": text}], budget_ms=UNHURRIED_MS)
            took.append(1000 * (time.process_time() - before))
            hits.append(sum(len(store.hits) for store in found.stores))
    took = took[5:]
    note = f"{statistics.fmean(hits):.1f} records a turn"
    report.add("a turn over 6 x 20,000 records, median", statistics.median(took), "ms", 40, note=note)
    report.add("the same, 95 % of turns", float(np.percentile(took, 95)), "ms")
    return report


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--cache", type=Path, help="folder with cached vectors")
    parser.add_argument("--model", choices=carriers.MODELS)
    parser.add_argument("--tokens", type=int, default=128, help="as the cache was filled")
    parser.add_argument("--floors", type=float, nargs="+", default=list(FLOORS))
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.getLogger("muniment").setLevel(logging.ERROR)  # nonsense has no vectors in the cache
    reports = []
    if options.data is not None:
        reports.append(quality(options.data, None, "words only", options.floors))
        if options.cache is not None and options.model is not None:
            made = embedder(options.cache, options.model, options.tokens)
            reports.append(quality(options.data, made, options.model, options.floors))
    if options.speed:
        reports.append(speed())
    if options.json:
        print(json.dumps([[vars(line) for line in report.lines] for report in reports], indent=1))
        return 0
    return common.finish(reports, as_json=False)


if __name__ == "__main__":
    raise SystemExit(main())
