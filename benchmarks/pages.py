"""The page of figures, and what a benchmark writes into it: between its marks, and pictures beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
IMAGES = PAGE.parent / "images"


def marks(name: str) -> tuple[str, str]:
    """Between what a benchmark's part of the page stands."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def rewrite(name: str, body: str, pictures: Mapping[str, str]) -> None:
    """Put a benchmark's part of the page anew between its marks.

    Args:
        name: Of the benchmark, as its marks have it.
        body: Markdown.
        pictures: File name -> SVG.

    Raises:
        SystemExit: The page has no such marks.
    """
    begin, end = marks(name)
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{PAGE} has no {begin} … {end}")
    PAGE.write_text(f"{before}{begin}\n\n{body}\n\n{end}{after}", "utf-8")
    draw(IMAGES, pictures)


def draw(folder: Path, pictures: Mapping[str, str]) -> list[Path]:
    """Put pictures into a folder; where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, svg in pictures.items():
        (folder / name).write_text(svg, "utf-8")
    return [folder / name for name in pictures]
