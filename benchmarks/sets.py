"""The question sets as banks: texts, conversations, and questions with the rows that answer them.

Protocols as the data's own README gives them: recall over turns (LoCoMo, LongMemEval), messages (BEAM) and abstracts
(SciFact); questions without resolvable evidence are skipped.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from muniment.portable.times import to_ms

NAMES = ("locomo", "longmemeval", "beam", "scifact")
FILES = {
    "locomo": "locomo_dev.json.gz",
    "longmemeval": "longmemeval_oracle_dev.json.gz",
    "beam": "beam_100k_dev.jsonl.gz",
    "scifact": "scifact_corpus.jsonl.gz",
}
SCORED = {1, 2, 3, 4}  # categories of LoCoMo that have an answer


@dataclass(slots=True)
class Question:
    """A question and the rows (1, 2, 3 …) that answer it; none: nothing in the bank does."""

    text: str
    relevant: set[int]
    sessions: set[int] = field(default_factory=set)  # conversations that answer it, where the set has any
    kind: int = 0  # LoCoMo's category


@dataclass(slots=True)
class Bank:
    """One bank: row `n` is `texts[n - 1]`, in conversation `sessions[n - 1]` (0: none), said at `times[n - 1]`."""

    name: str
    texts: list[str] = field(default_factory=list)
    sessions: list[int] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)  # Unix ms, where the set tells
    questions: list[Question] = field(default_factory=list)
    unanswerable: list[Question] = field(default_factory=list)

    def add(self, text: str, session: int = 0, said: object = None) -> int:
        """Appends a row and returns its number."""
        self.texts.append(text)
        self.sessions.append(session)
        self.times.append(to_ms(said))
        return len(self.texts)


def load(folder: Path, name: str, step: int = 1) -> list[Bank]:
    """The banks of a set, with one question in `step` of each."""
    made = {"locomo": _locomo, "longmemeval": _longmemeval, "beam": _beam, "scifact": _scifact}[name](folder)
    for bank in made:
        bank.questions, bank.unanswerable = bank.questions[::step], bank.unanswerable[::step]
    return made


def _lines(path: Path) -> list[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _locomo(folder: Path) -> list[Bank]:
    with gzip.open(folder / FILES["locomo"]) as file:
        samples = json.load(file)
    banks = []
    for sample in samples:
        bank, rows = Bank(sample["sample_id"]), {}
        sessions = {k: v for k, v in sample["conversation"].items() if isinstance(v, list)}
        for number, name in enumerate(sorted(sessions, key=lambda n: int(n.split("_")[1])), 1):
            said = sample["conversation"].get(f"{name}_date_time")
            for turn in sessions[name]:
                text = f"{turn['speaker']}: {turn['text']}"
                if turn.get("blip_caption"):
                    text += f" [shares a photo: {turn['blip_caption']}]"
                rows[turn["dia_id"]] = bank.add(text, number, said)
        for asked in sample["qa"]:
            ids = [i for text in asked.get("evidence", []) for i in re.split(r"[;,\s]+", text) if i in rows]
            if asked["category"] in SCORED and ids:
                found = {rows[i] for i in ids}
                within = {bank.sessions[row - 1] for row in found}
                bank.questions.append(Question(str(asked["question"]), found, within, asked["category"]))
            elif asked["category"] not in SCORED:
                bank.unanswerable.append(Question(str(asked["question"]), set()))
        banks.append(bank)
    return banks


def _longmemeval(folder: Path) -> list[Bank]:
    with gzip.open(folder / FILES["longmemeval"]) as file:
        samples = json.load(file)
    bank, numbers = Bank("longmemeval"), {}
    answers: dict[str, set[int]] = {}
    for sample in samples:
        dated = zip(sample["haystack_session_ids"], sample["haystack_dates"], strict=True)
        for (name, said), session in zip(dated, sample["haystack_sessions"], strict=True):
            if name in numbers:
                continue
            numbers[name] = len(numbers) + 1
            answers[name] = set()
            for turn in session:
                row = bank.add(f"{turn['role']}: {turn['content']}", numbers[name], said)
                if turn.get("has_answer"):
                    answers[name].add(row)
    for sample in samples:
        found = set().union(*(answers[name] for name in sample["answer_session_ids"] if name in answers))
        if found:
            within = {numbers[name] for name in sample["answer_session_ids"] if name in numbers}
            bank.questions.append(Question(sample["question"], found, within))
        else:
            bank.unanswerable.append(Question(sample["question"], set()))
    return [bank]


def _beam(folder: Path) -> list[Bank]:
    banks = []
    for chat in _lines(folder / FILES["beam"]):
        bank, rows = Bank(f"chat-{chat['chat']}"), {}
        for message in chat["messages"]:
            said = (message.get("time_anchor") or "").replace("-", " ")
            rows[message["id"]] = bank.add(f"{message['role']}: {message['content']}", 1, said)
        for asked in chat["questions"]:
            found = {rows[i] for i in _flat(asked["source_chat_ids"]) if i in rows}
            (bank.questions if found else bank.unanswerable).append(Question(asked["question"], found))
        banks.append(bank)
    return banks


def _flat(ids: Any) -> list[Any]:
    if isinstance(ids, dict):
        ids = list(ids.values())
    return [x for i in ids for x in (_flat(i) if isinstance(i, list | dict) else [i])]


def _scifact(folder: Path) -> list[Bank]:
    bank, rows = Bank("scifact"), {}
    for document in _lines(folder / FILES["scifact"]):
        rows[document["_id"]] = bank.add(f"{document['title']} {document['text']}")
    relevant: dict[str, set[int]] = {}
    with gzip.open(folder / "scifact_qrels.tsv.gz", "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            query, document, score = line.split()
            if int(score) > 0 and document in rows:
                relevant.setdefault(query, set()).add(rows[document])
    for query in _lines(folder / "scifact_queries.jsonl.gz"):
        if query["_id"] in relevant:
            bank.questions.append(Question(query["text"], relevant[query["_id"]]))
    return [bank]
