"""Care of a bank: compare everything with everything, and make what is derived again (design sections 2 and 6)."""

from __future__ import annotations

from collections import Counter

from muniment.bank import Bank
from muniment.receiving import project_all
from muniment.store.base import Problem, Progress, State, Verdict


def check(bank: Bank, progress: Progress | None = None) -> list[Problem]:
    """Pages, hashes, rows, verdicts and the indexes against each other; an empty list is a clean bank."""
    total = bank.store.figures().entries
    problems = bank.store.check(_part(progress, 0, total))
    if not problems:
        problems += _verdicts(bank, _part(progress, total, total))
        problems += _index(bank)
        problems += _vectors(bank)
        problems += _blobs(bank)
        problems += _erased(bank)
    return problems


def _part(progress: Progress | None, done: int, total: int) -> Progress | None:
    """One of two passes over the entries, as a part of the whole."""
    return None if progress is None else lambda here, _: progress(done + here, 2 * total)


def _verdicts(bank: Bank, progress: Progress | None) -> list[Problem]:
    """Stored verdicts that authority, asked anew, does not give."""
    problems = []
    rulings = bank.rulings
    rulings.refresh()
    total = bank.store.figures().entries
    for number, row in enumerate(bank.store.entries(), 1):
        verdict = Verdict[rulings.rule(row).verdict.name]
        if verdict is not row.verdict:
            problems.append(
                Problem(
                    "verdicts",
                    f"entry {number} is stored as {row.verdict.name.lower()} and is {verdict.name.lower()}",
                    "Run `muniment check --rebuild`.",
                    [row.seq],
                )
            )
        if progress:
            progress(number, total)
    return problems


def _index(bank: Bank) -> list[Problem]:
    """The word index must hold exactly the live versions."""
    bank.index.refresh()
    mark, counted = bank.store.watermark(), bank.index.stats().records
    live = bank.store.counts().get(State.LIVE, 0)
    if mark == bank.store.watermark() and counted != live:
        return [
            Problem(
                "index",
                f"the word index holds {counted} records and the bank has {live}",
                "Run `muniment check --rebuild`.",
            )
        ]
    return []


def _vectors(bank: Bank) -> list[Problem]:
    """The vector index of each model must hold exactly the live versions that have a vector of it."""
    if not (models := bank.store.models()):
        return []
    from muniment.meaning import BankVectors  # brings numpy

    problems = []
    for model in models:
        mark = bank.store.watermark()
        sizes = Counter(
            len(row.vector) // 2
            for row in BankVectors(bank, model).rows(0, mark.last_ord)
            if row.live and row.vector is not None
        )
        for dimension, live in sizes.items():
            index = bank.vectors(model, dimension)
            index.refresh()
            held = index.stats().records
            if held != live and mark == bank.store.watermark():
                problems.append(
                    Problem(
                        "vectors",
                        f"the index of {model} holds {held} vectors and the bank has {live}",
                        "Run `muniment check --rebuild`.",
                    )
                )
    return problems


def _blobs(bank: Bank) -> list[Problem]:
    """The packs that hold archived texts must be there, and be what they were."""
    if not bank.store.figures().archived:
        return []
    from muniment.blob_care import problems  # only those who archive pay for it

    return list(problems(bank))


def _erased(bank: Bank) -> list[Problem]:
    """Of what was erased nothing may be left, in rows, free pages, older copies or indexes."""
    if not bank.authority.erasures and not bank.store.figures().dead_bytes:
        return []
    from muniment.erasing import overdue  # only where something was erased

    step = "Erase again, or run any command that writes: what was begun is ended."
    left = [Problem("erased", said, step) for said in bank.store.remains()]
    if count := overdue(bank):
        left.append(Problem("erased", f"{count} bodies that were erased are still here", step))
    if count := len(bank.store.traces()):
        left.append(Problem("erased", f"the log or an index may still hold words of {count} memories", step))
    if count := _indexed(bank):
        left.append(Problem("erased", f"the word index still holds {count} erased memories", step))
    return left


def _indexed(bank: Bank) -> int:
    """How many erased versions have words in the index's files, destroyed ones."""
    erasures = bank.authority.erasures
    rows = [row for one in erasures if (row := bank.store.version_at(one)) is not None]
    bodies = bank.store.bodies([(row.seq, row.act) for row in rows])
    gone = [row.ord for row, body in zip(rows, bodies, strict=True) if body is None]
    return bank.index.holding(gone)


def rebuild(bank: Bank, progress: Progress | None = None) -> None:
    """Empty the derived tables, rule on every entry again, project all of them, and make the index anew.

    One transaction: a reader sees the old tables or the new ones, and a kill leaves the old.
    """
    with bank.write():
        project_all(bank, progress)
    bank.tidy(force=True)  # the index sees another generation and starts anew
