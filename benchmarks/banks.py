"""Banks to measure on, made once and kept in `.bench/`: synthetic records, alone or in conversations of about 20.

A bank comes from a real import of a JSON Lines file, so the same files serve to measure the import.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import orjson
from benchmarks import common
from benchmarks.synthetic import Synthetic

import muniment

EDITION = 1  # raise it when what is built here changes
AGENT = "bench"
SESSION = 20
SHORT = 20  # words of a short record, at most twice that
START = 1_750_000_000_000


def lines(count: int, *, sessions: bool = False, short: bool = False) -> Iterator[bytes]:
    """Records as JSON Lines: 30 to 120 words each, or `short` ones of 20 to 40."""
    for n, text in enumerate(Synthetic().texts(count)):
        said = " ".join(text.split(" ")[: SHORT + n % (SHORT + 1)]) if short else text
        fields: dict[str, object] = {"text": said, "created_at_ms": START + 60_000 * n}
        if sessions:
            fields |= {"session": f"talk-{n // SESSION}", "type": "message"}
        yield orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def write_lines(path: Path, count: int, *, sessions: bool = False, short: bool = False) -> Path:
    """The same in a file; one that is there is kept."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part")
        with draft.open("wb") as file:
            file.writelines(lines(count, sessions=sessions, short=short))
        draft.replace(path)
    return path


def name(count: int) -> str:
    """10k, 100k, 1M."""
    return f"{count // 1_000_000}M" if count % 1_000_000 == 0 else f"{count // 1000}k"


def home(count: int, *, sessions: bool = False) -> Path:
    """The peer folder of such a bank, with its word index on the disk."""
    label = f"{EDITION}-{name(count)}{'-talks' if sessions else ''}"
    place = common.CACHE / f"home-{label}"
    if not (place / "built").exists():
        shutil.rmtree(place, ignore_errors=True)
        file = write_lines(common.CACHE / f"lines-{label}.jsonl", count, sessions=sessions)
        with muniment.open(place) as peer:
            peer.agent(AGENT, create=True).import_from(file, format="jsonl", on_error="fail")
        file.unlink()
        (place / "built").touch()
    return place


def texts(count: int) -> list[str]:
    """The same texts for a rival."""
    return list(Synthetic().texts(count))


def queries(count: int, *, common_words: bool = False) -> list[str]:
    """Queries of 3 to 6 words with common ones among them, or of common words only."""
    made = Synthetic()
    for _ in made.texts(10_000):
        pass
    return [
        " ".join(words) for words in (made.common_queries(count) if common_words else made.queries(count))
    ]
