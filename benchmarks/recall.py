"""How well memory is found again, beside what one would use instead: tables, intervals, plots, in one command.

    python -m benchmarks.recall --data DIR [--cache DIR] [--rival-python PATH] [--quick] [--json FILE] [--write-docs]

`--data` holds the question sets, `--cache` vectors that `benchmarks.carriers` made (without it, words alone are
measured), `--rival-python` an interpreter that has mem0ai or inspeximus. Who is absent is named. How each thing is
measured is told in `benchmarks/quality.py`; seeds are fixed. `--quick` takes one question in five. `--json` keeps the
figures, `--from` tells them again, `--write-docs` puts tables and plots into `docs/benchmarks.md` and `docs/images/`.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import carriers, common, contenders, metrics, pages, plots, precision, quality, rivals, sets

STEP = 5  # of a quick run
RIVALS = {"mem0ai": "mem0", "inspeximus": "inspeximus"}  # distribution -> module
VERSIONS = ("bm25s", "langgraph", "langgraph-checkpoint", "onnxruntime", "tokenizers")
DATA = {
    "locomo": "LoCoMo development half, one bank a conversation, one record a turn, categories 1 to 4",
    "beam": "BEAM 100K development half, one bank a chat, every message",
    "longmemeval": "LongMemEval development half, all turns of all sessions in one bank",
    "scifact": "SciFact, title and abstract",
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All figures, as `--json` keeps them."""
    step = STEP if options.quick else 1
    who = [n for n in contenders.names(options.cache, options.tokens) if _chosen(n, options.only)]
    lacking = contenders.absent(options.cache, options.tokens)
    apart = []
    for name, module in RIVALS.items():
        if options.rival_python is None or options.cache is None:
            lacking.append(f"{name}: no --rival-python, or no --cache")
        elif not rivals.has(options.rival_python, module):
            lacking.append(f"{name}: not installed there")
        elif _chosen(name, options.only):
            apart.append(name)
    result: dict[str, Any] = {"machine": common.machine(), "versions": _versions(), "absent": lacking,
                              "sets": {}}  # fmt: skip
    for name in options.sets:
        if name == "precision":
            result["precision"] = {rule: _short(one) for rule, one in precision.measure(options.data).items()}
            continue
        print(f"{name} …", file=sys.stderr, flush=True)
        banks = sets.load(options.data, name, step)
        found = quality.measure(options.data, name, who, options.cache, options.tokens, step)
        for rival in apart:
            try:
                run = quality.rival(
                    options.data, name, rival, options.rival_python, options.cache, options.tokens, step=step
                )
            except RuntimeError as error:
                print(f"skipped: {error}", file=sys.stderr, flush=True)
                continue
            result["versions"][rival] = run.version
            found[f"{rival}, {carriers.MODELS[0]}"] = quality.scores(name, banks, run)
        result["sets"][name] = {
            "step": step,
            "questions": sum(len(bank.questions) for bank in banks),
            "unanswerable": sum(len(bank.unanswerable) for bank in banks),
            "records": sum(len(bank.texts) for bank in banks),
            "contenders": quality.plain(found),
            "paired": paired(found),
        }
        _keep(result, options.json)  # a run that is broken off has told what it had
    return result


def _keep(result: dict[str, Any], place: Path | None) -> None:
    if place is not None:
        place.write_text(json.dumps(result, indent=1), "utf-8")


def paired(found: dict[str, Any]) -> dict[str, Any]:
    """Differences of each contender to plain BM25 and to our words, question by question, with their intervals."""
    out: dict[str, Any] = {}
    for who, one in found.items():
        for key, base in (("recall@10", contenders.BASE), ("NDCG@10", contenders.WORDS)):
            if who != base and base in found:
                difference = one["each"][key] - found[base]["each"][key]
                out.setdefault(who, {})[f"{key} above {base}"] = [
                    round(value, 4) for value in metrics.interval(difference)
                ]
    return out


def _short(one: dict[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in ("cases", "turns", "precision", "recall")}


def _chosen(name: str, parts: list[str]) -> bool:
    return any(part in name for part in parts)


def _versions() -> dict[str, str]:
    found = {}
    for package in VERSIONS:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


# Telling


def page(result: dict[str, Any]) -> str:
    """All tables, as Markdown."""
    parts = [_about(result)]
    for name, one in result["sets"].items():
        some = f" (one in {one['step']})" if one["step"] > 1 else ""
        parts += [
            f"{DATA[name]}: {one['records']:,} records, {one['questions']} questions{some}.",
            _main_table(one),
        ]
        if sessions := _session_table(one):
            parts += ["By session, whose rank is that of its best turn in an answer of 300:", sessions]
    if result["sets"]:
        parts += ["Differences in the same run, question by question:", _paired_table(result)]
        if any(one["unanswerable"] for one in result["sets"].values()):
            parts += [_SILENCE, _silence_table(result)]
    if "precision" in result:
        parts += [_PRECISION, _precision_table(result["precision"])]
    return "\n\n".join(parts)


_SILENCE = (
    "Silence: the share of questions for which nothing came, of those that the bank can't answer (LoCoMo's category "
    "5, BEAM's abstention; more is better) and of those that it can (less is better). No bar is set. `floor=True` is "
    "what a caller asks for who wants only what is sure; `unasked` is auto-recall."
)
_PRECISION = (
    "PrecisionMemBench, 77 cases and 12 turns over 35 beliefs, words alone: a case passes if all its lists are exactly "
    "as expected."
)


def _about(result: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    m = result["machine"]
    lacking = f" Absent: {'; '.join(result['absent'])}." if result["absent"] else ""
    return (
        f"{m['cores']} cores, {m['memory_gib']} GiB, Python {m['python']}, SQLite {m['sqlite']}, numpy {m['numpy']}, "
        f"{versions}.{lacking}"
    )


def _spread(values: list[float]) -> str:
    mean, low, high = values
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def _main_table(one: dict[str, Any]) -> str:
    heads = ["contender", "recall@1", "@5", "@10", "NDCG@10", "any@10", "tokens", "p50 and p95, ms", "memory"]
    rows = [
        [who, f"{c['recall@1'][0]:.3f}", f"{c['recall@5'][0]:.3f}", _spread(c["recall@10"]), _spread(c["NDCG@10"]),
         f"{c['any@10'][0]:.3f}", f"{c['tokens']:,.0f}", f"{c['p50_ms']:.2f} and {c['p95_ms']:.2f}",
         f"{c['anonymous_mb']:.0f} MB"]
        for who, c in one["contenders"].items()
    ]  # fmt: skip
    return common.markdown(heads, rows)


def _session_table(one: dict[str, Any]) -> str | None:
    keys = [key for key in next(iter(one["contenders"].values()), {}) if key.startswith("session ")]
    if not keys:
        return None
    rows = [[who, *(f"{c[key][0]:.3f}" for key in keys)] for who, c in one["contenders"].items()]
    return common.markdown(["contender", *(key.removeprefix("session ") for key in keys)], rows)


def _paired_table(result: dict[str, Any]) -> str:
    names = list(result["sets"])
    lines: dict[tuple[str, str], list[str]] = {}
    for place, one in enumerate(result["sets"].values()):
        for who, found in one["paired"].items():
            for what, (mean, low, high) in found.items():
                row = lines.setdefault((what, who), [""] * len(names))
                row[place] = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
    rows = [[what.replace(f" above {contenders.BASE}", " above plain"), who, *row]
            for (what, who), row in sorted(lines.items(), key=lambda line: -ord(line[0][0][0]))]  # fmt: skip
    return common.markdown(["difference", "contender", *names], rows)


def _silence_table(result: dict[str, Any]) -> str:
    asked = {name: one for name, one in result["sets"].items() if one["unanswerable"]}
    lines: dict[str, list[str]] = {}
    for place, one in enumerate(asked.values()):
        for who, c in one["contenders"].items():
            for way, (answerable, never) in c["silent"].items():
                named = {"ask": who, "sure": f"{who}, `floor=True`", "unasked": f"{who}, unasked"}[way]
                row = lines.setdefault(named, [""] * (2 * len(asked)))
                row[2 * place], row[2 * place + 1] = (_share(never), _share(answerable))
    heads = ["contender", *(f"{name}: {kind}" for name in asked for kind in ("unanswerable", "answerable"))]
    never = [who for who, row in lines.items() if set(row) <= {"", "0.000"}]
    rows = [[who, *row] for who, row in lines.items() if who not in never]
    always = f"Always answered, whatever was asked: {'; '.join(never)}." if never else ""
    return "\n\n".join(part for part in (common.markdown(heads, rows) if rows else "", always) if part)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _precision_table(found: dict[str, Any]) -> str:
    heads = ["floor", "cases", "some memory expected", "none expected", "precision", "recall", "turns"]
    rows = [
        [rule, *(precision.told(one["cases"][group]) for group in ("all", *heads[2:4])), f"{one['precision']:.2f}",
         f"{one['recall']:.2f}", precision.told(one["turns"]["all"])]
        for rule, one in found.items()
    ]  # fmt: skip
    return common.markdown(heads, rows)


def picture(result: dict[str, Any]) -> str:
    """recall@10 of each contender on each set."""
    panels = {
        DATA[name].split(",")[0]: {
            who.replace("`", ""): tuple(c["recall@10"]) for who, c in one["contenders"].items()
        }
        for name, one in result["sets"].items()
    }
    return plots.dots("recall@10 by data set and contender, with 95 % intervals", panels)  # type: ignore[arg-type]


def write_docs(result: dict[str, Any]) -> None:
    """Put the tables between their marks in the page, and the plot beside it."""
    image = "![recall@10 by data set and contender, with 95 % intervals](images/recall.svg)"
    pages.rewrite("recall", f"{image}\n\n{page(result)}", {"recall.svg": picture(result)})


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the question sets")
    parser.add_argument("--cache", type=Path, help="folder with vectors, filled by benchmarks.carriers")
    parser.add_argument("--tokens", type=int, default=128, help="as the cache was filled")
    parser.add_argument("--rival-python", type=Path, help="an interpreter that has mem0ai or inspeximus")
    parser.add_argument("--sets", nargs="+", choices=quality.SETS, default=list(quality.SETS))
    parser.add_argument(
        "--only", nargs="+", default=[""], metavar="TEXT", help="contenders with TEXT in the name"
    )
    parser.add_argument("--quick", action="store_true", help=f"one question in {STEP}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures there")
    parser.add_argument("--from", type=Path, dest="kept", metavar="FILE", help="tell figures that were kept")
    parser.add_argument(
        "--write-docs", action="store_true", help="rewrite tables and plot of docs/benchmarks.md"
    )
    options = parser.parse_args()
    if options.kept is not None:
        result: dict[str, Any] = json.loads(options.kept.read_text("utf-8"))
    elif options.data is None:
        parser.error("name the folder of the question sets with --data, or kept figures with --from")
    else:
        result = measure(options)
    _keep(result, options.json)
    if options.write_docs:
        write_docs(result)
    print(page(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
