"""PrecisionMemBench: the right memories and nothing else, under each floor.

    python -m benchmarks.precision --data DIR [--json]

35 beliefs in one bank, 77 questions and 12 turns of two conversations. A belief is a record: its canonical name as
key, its content as text, aliases in `metadata.aliases`, scopes as tags, user and tier as metadata. One that was
superseded is an older version under the key of the one that took its place; one that was resolved is forgotten.

As in the set's own runner: pinned facts, pinned open questions and what holds everywhere (the prelude) are listed by
filter; of the rest, recall looks for what a question needs, scope by scope; a relation brings the beliefs that it
names; pinned facts use up the budget first; a case passes if *all* its lists are as expected, and what is recalled has
to be exactly what is expected. Recall always gives its best, so a floor on the evidence of each hit decides what is
shown: those of `muniment.recall.fusion`, words alone, and that of the product, `recall(floor=True)`: where the
question holds a title, key or alias whole, the records that it names, and else those that hold enough of what is
asked. No number in them was chosen by these cases.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import common

import muniment
from muniment.agent import Agent
from muniment.recall.fusion import UNASKED, Background, Evidence, Floor, stands
from muniment.views import Hit

FOLDER = "precisionmembench"
USER = "test-user"
MOST, PINNED, QUESTIONS = 20, 10, 15  # the set's own budget
EVERYWHERE = "user:universal"
PAGE = 100
NOTHING_KNOWN = Background(0.0, 0.0, 0)
Rule = Callable[[Hit, str], bool]


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    """One of the set's files."""
    with gzip.open(folder / FOLDER / f"{name}.json.gz") as file:
        return json.load(file)


def floored(floor: Floor) -> Rule:
    """A rule by words alone."""
    return lambda hit, question: stands(evidence(hit), NOTHING_KNOWN, floor)


def evidence(hit: Hit) -> Evidence:
    """What speaks for a hit, as the floor reads it."""
    mass = sum(term.idf for term in hit.terms) or 1.0
    held = [term for term in hit.terms if term.tf]
    return Evidence(sum(term.idf for term in held) / mass, min((term.df for term in held), default=None))


PRODUCT = "the product's: `floor=True`"
RULES: dict[str, Rule | None] = {
    "none": lambda hit, question: True,
    "`Floor()`": floored(Floor()),
    "`Floor(rare=0)`": floored(Floor(rare=0)),
    "`UNASKED`": floored(UNASKED),
    PRODUCT: None,
}


class Memory:
    """The beliefs in a bank, and the lists that a question gets out of it."""

    def __init__(self, agent: Agent, beliefs: Sequence[dict[str, Any]], rule: Rule | None) -> None:
        self._agent, self._rule = agent, rule
        self._beliefs = {one["_id"]: one for one in beliefs}
        for belief in sorted(beliefs, key=self._steps, reverse=True):
            self.add(belief)

    def add(self, belief: dict[str, Any]) -> None:
        """Keep a belief, or a new version of it."""
        self._beliefs[belief["_id"]] = belief
        kind = "question" if belief["type"] == "open_question" else "fact"
        written = self._agent.remember(
            belief["content"],
            key=f"{belief['user_id']}.{self._last(belief)['canonical_name']}",
            tags=belief["scope"],
            created_at=belief["created_at"],
            metadata={
                "id": belief["_id"], "user": belief["user_id"], "aliases": belief["aliases"],
                "tier": f"pinned {kind}" if belief["pinned"] else kind,
                "participants": belief.get("participants", []),
            },
        )  # fmt: skip
        if belief["resolved_at"]:
            self._agent.forget(written.id)

    def extend(self, name: str, aliases: Sequence[str]) -> None:
        """A belief gets more aliases."""
        belief = self._beliefs[name]
        self.add({**belief, "aliases": [*belief["aliases"], *aliases]})

    def lists(self, query: str, user: str, scopes: Sequence[str], most: int) -> dict[str, list[str]]:
        """Ids by list; of the prelude its texts."""
        pinned = self._listed(user, scopes, "pinned fact")[:PINNED]
        everywhere = [
            record.text
            for tier in ("pinned fact", "fact")
            for record in self._agent.list(
                limit=PAGE, tags=[EVERYWHERE], metadata={"user": user, "tier": tier}
            )
        ]
        relevant = self._recalled(query, user, scopes, most) if query.strip() and most else []
        return {
            "personaPrelude": everywhere,
            "pinnedFacts": pinned[:most],
            "relevantBeliefs": relevant[: max(0, most - len(pinned))],
            "openQuestions": self._listed(user, scopes, "pinned question")[:QUESTIONS],
        }

    def _listed(self, user: str, scopes: Sequence[str], tier: str) -> list[str]:
        found = [
            str(record.metadata["id"])
            for scope in scopes
            for record in self._agent.list(limit=PAGE, tags=[scope], metadata={"user": user, "tier": tier})
        ]
        return list(dict.fromkeys(found))

    def _recalled(self, query: str, user: str, scopes: Sequence[str], most: int) -> list[str]:
        hits = [
            hit
            for scope in scopes
            for hit in self._agent.recall(
                query,
                limit=most,
                tags=[scope],
                metadata={"user": user, "tier": "fact"},
                floor=self._rule is None,
            )
            if self._rule is None or self._rule(hit, query)
        ]
        hits.sort(key=lambda hit: -hit.score)
        named = [
            str(name)
            for hit in hits
            for name in hit.record.metadata.get("participants", ())
            if self._fits(str(name), user, scopes)
        ]
        return list(dict.fromkeys([*(str(hit.record.metadata["id"]) for hit in hits), *named]))

    def _fits(self, name: str, user: str, scopes: Sequence[str]) -> bool:
        belief = self._beliefs.get(name)
        return (
            belief is not None
            and belief["type"] != "open_question"
            and not belief["pinned"]
            and belief["user_id"] == user
            and not set(scopes).isdisjoint(belief["scope"])
        )

    def _last(self, belief: dict[str, Any]) -> dict[str, Any]:
        while belief["superseded_by"]:
            belief = self._beliefs[belief["superseded_by"]]
        return belief

    def _steps(self, belief: dict[str, Any]) -> int:
        """How many came after it."""
        after = belief["superseded_by"]
        return 1 + self._steps(self._beliefs[after]) if after else 0


def faults(expect: dict[str, Any], got: dict[str, list[str]]) -> dict[str, list[str]]:
    """What is wrong, by list."""
    wrong: dict[str, list[str]] = {}

    def check(where: str, fine: bool, what: str) -> None:
        if not fine:
            wrong.setdefault(where, []).append(what)

    for where in ("pinnedFacts", "openQuestions", "relevantBeliefs"):
        wanted = expect.get(where, {})
        seen = set(got[where]) | (set(got["pinnedFacts"]) if where == "relevantBeliefs" else set())
        for name in [*wanted.get("mustInclude", []), *wanted.get("shouldInclude", [])]:
            check(where, name in seen, f"missing {name}")
        for name in wanted.get("mustExclude", []):
            check(where, name not in seen, f"forbidden {name}")
        if "shouldOnlyInclude" in wanted:
            only, shown = set(wanted["shouldOnlyInclude"]), set(got[where])
            for name in sorted(only - shown):
                check(where, False, f"missing {name}")
            for name in sorted(shown - only):
                check(where, False, f"unexpected {name}")
    for name in expect.get("noiseCheck", {}).get("mustNotSurface", []):
        check("noise", name not in got["relevantBeliefs"], f"noise {name}")
    prelude, text = expect.get("personaPrelude", {}), " ".join(got["personaPrelude"])
    check("personaPrelude", bool(text) or not prelude.get("nonEmpty"), "empty")
    check("personaPrelude", not text or not prelude.get("isNull"), "not empty")
    for part in prelude.get("contains", []):
        check("personaPrelude", part in text, f"lacks {part!r}")
    for part in prelude.get("mustNotContain", []):
        check("personaPrelude", part not in text, f"holds {part!r}")
    return wrong


def verdict(case: dict[str, Any], got: dict[str, list[str]]) -> dict[str, Any]:
    """One case."""
    wrong = faults(case["expect"], got)
    only = case["expect"].get("relevantBeliefs", {}).get("shouldOnlyInclude")
    shown = got["relevantBeliefs"]
    both = len(set(shown) & set(only or ()))
    return {
        "case": case["caseId"], "category": case.get("category", "conversation"), "faults": wrong,
        "lists": [name for name in ("personaPrelude", "pinnedFacts", "relevantBeliefs", "openQuestions", "noise")
                  if name in case["expect"] or (name == "noise" and "noiseCheck" in case["expect"])],
        "expects": None if only is None else bool(only),
        "precision": None if only is None or not (only or shown) else both / len(shown) if shown else 0.0,
        "recall": both / len(only) if only else None,
    }  # fmt: skip


def judge(data: Path, rule: Rule | None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(verdicts on cases, on turns of conversations) under one floor."""
    beliefs = load(data, "beliefs.seed")
    with tempfile.TemporaryDirectory() as folder, muniment.open(folder) as peer:
        memory = Memory(peer.agent("bench", create=True), beliefs, rule)
        cases = [
            verdict(case, memory.lists(
                case["query"], case.get("userId", USER), case["scope"], case.get("budget", {}).get("maxBeliefs", MOST)
            ))
            for case in load(data, "retrieval.cases")
        ]  # fmt: skip
        turns = []
        for conversation in load(data, "session-retrieval.cases"):
            for turn in conversation["turns"]:
                got = memory.lists(turn["userMessage"], USER, turn["scope"], MOST)
                name = f"{conversation['caseId']} {turn['turnIndex']}"
                turns.append(verdict({"caseId": name, "expect": turn["expect"]}, got))
                if made := turn.get("createBeliefAtTurn"):
                    memory.add(made)
                if change := turn.get("updateBeliefAtTurn"):
                    memory.extend(change["beliefId"], change["addAliases"])
    return cases, turns


def counted(verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Passed and asked: all, by what is expected, by list, by category."""
    tally: dict[str, Counter[str]] = {"passed": Counter(), "asked": Counter()}
    for one in verdicts:
        groups = {"all": not one["faults"], f"category: {one['category']}": not one["faults"]}
        groups |= {f"list: {name}": name not in one["faults"] for name in one["lists"]}
        if one["expects"] is not None:
            clean = "relevantBeliefs" not in one["faults"]
            groups["some memory expected" if one["expects"] else "none expected"] = clean
        for group, fine in groups.items():
            tally["asked"][group] += 1
            tally["passed"][group] += fine
    return {group: [tally["passed"][group], asked] for group, asked in tally["asked"].items()}


def measure(data: Path) -> dict[str, Any]:
    """Counts under each floor."""
    found: dict[str, Any] = {}
    for name, rule in RULES.items():
        cases, turns = judge(data, rule)
        found[name] = {
            "cases": counted(cases), "turns": counted(turns),
            "precision": round(statistics.fmean(v for c in cases if (v := c["precision"]) is not None), 3),
            "recall": round(statistics.fmean(v for c in cases if (v := c["recall"]) is not None), 3),
            "failed": {c["case"]: c["faults"] for c in [*cases, *turns] if c["faults"]},
        }  # fmt: skip
    return found


def show(found: dict[str, Any]) -> None:
    """The tables."""
    print("\n## PrecisionMemBench, words alone\n")
    heads = ["floor", "cases", "some memory expected", "none expected", "precision", "recall", "turns"]
    rows = [
        [name, *(told(one["cases"][group]) for group in ("all", *heads[2:4])),
         f"{one['precision']:.2f}", f"{one['recall']:.2f}", told(one["turns"]["all"])]
        for name, one in found.items()
    ]  # fmt: skip
    print(common.markdown(heads, rows))
    groups = [g for g in next(iter(found.values()))["cases"] if ": " in g]
    print("\n" + common.markdown(
        ["cases passed", *found],
        [[group, *(told(one["cases"][group]) for one in found.values())] for group in sorted(groups)],
    ))  # fmt: skip
    sys.stdout.flush()


def told(pair: list[int]) -> str:
    """12 of 77."""
    return f"{pair[0]} of {pair[1]}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder that holds precisionmembench/")
    parser.add_argument("--json", action="store_true", help="with the faults of each case")
    options = parser.parse_args()
    found = measure(options.data)
    if options.json:
        print(json.dumps({"machine": common.machine(), "floors": found}, indent=1))
    else:
        print(common.machine_line())
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
