"""All memories of a bank as a file: JSON Lines with every version, or a Markdown page for people. Streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from muniment.bank import Bank
from muniment.base.errors import UnknownBlob
from muniment.platform import files
from muniment.portable import jsonl, page
from muniment.query import choice
from muniment.reading import Reader
from muniment.store.base import State, VersionRow
from muniment.views import Record

AUTO = "auto"
FORMATS = (AUTO, jsonl.FORMAT, page.FORMAT)
_SUFFIXES = (".md", ".markdown")  # of a page
_CHUNK = 256

Tick = Callable[[int, int], None]


def export_to(
    bank: Bank, reader: Reader, name: str, target: str | Path | IO[bytes], form: str, progress: Tick | None
) -> int:
    """See `Memory.export_to`.

    Args:
        bank: Whose memories.
        reader: Opens them for the caller.
        name: What the bank is called, for people.
        target: A path or a binary stream.
        form: One of `FORMATS`.
        progress: Told the versions written, and all.
    """
    paged = is_page(target, form)
    if not isinstance(target, str | Path):
        return _write(bank, reader, name, target, paged=paged, progress=progress)
    path = Path(target)
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as stream:
            count = _write(bank, reader, name, stream, paged=paged, progress=progress)
        draft.replace(path)  # a file of that name is there whole, or as it was
    except OSError as error:
        raise files.explain(error, path) from error
    finally:
        draft.unlink(missing_ok=True)
    return count


def is_page(target: str | Path | IO[bytes], form: str) -> bool:
    """Whether an export becomes a page for people.

    Raises:
        InvalidInput: The format is unknown.
    """
    choice(form, FORMATS, "format")
    named = isinstance(target, str | Path) and Path(target).suffix.lower() in _SUFFIXES
    return form == page.FORMAT or (form == AUTO and named)


def _write(
    bank: Bank, reader: Reader, name: str, stream: IO[bytes], *, paged: bool, progress: Tick | None
) -> int:
    reader.enter()
    with bank.store.read():
        return (
            _page(bank, reader, name, stream, progress) if paged else _lines(bank, reader, stream, progress)
        )


def _lines(bank: Bank, reader: Reader, stream: IO[bytes], progress: Tick | None) -> int:
    """Every version whose words can be read, with its clock, in the order of the clock."""
    total = bank.store.watermark().last_ord
    order = sorted((row.at, row.act, row.ord) for row in bank.store.versions_after(0, total))
    stream.write(jsonl.header(reader.bank_text, bank.host.clock.now_ms()))
    count = 0
    for row, record in _records(bank, reader, [number for *_, number in order], total, progress):
        stream.write(jsonl.write_line(_line(record, row.at)))
        count += 1
    return count


def _records(
    bank: Bank, reader: Reader, order: Sequence[int], total: int, progress: Tick | None
) -> Iterator[tuple[VersionRow, Record]]:
    """These versions as far as their words can be read, whole, in this order; what was taken is told of.

    Raises:
        UnknownBlob: A text is in the archive and not in reach.
    """
    count = 0
    for start in range(0, len(order), _CHUNK):
        rows = bank.store.versions(order[start : start + _CHUNK])
        kept = [row for row in rows if row.state not in {State.ERASED, State.VOID}]
        opened = reader.open(kept, whole=True)
        for (row, _), record in zip(opened, reader.seen(opened, bank.rulings.authority), strict=True):
            if not record.whole:
                raise UnknownBlob(
                    f"the text of record {record.id} is in the archive and not in reach",
                    "Bring the blob store back, or fetch it (`muniment fetch`), then export again.",
                )
            yield row, record
            count += 1
            if progress and count % _CHUNK == 0:
                progress(count, total)
    if progress:
        progress(total, total)


def _line(record: Record, at: int) -> jsonl.Line:
    return jsonl.Line(
        id=record.id,
        version=record.version,
        text=record.text,
        key=record.key,
        title=record.title,
        tags=record.tags,
        metadata=record.metadata,
        type=record.type,
        session=record.session,
        created_at_ms=record.created_at_ms,
        at=at,
        author=record.author,
        author_name=record.author_name,
        source=record.source,
        kind=record.kind,
        state="live" if record.state == "archived" else record.state,
        supersedes=record.supersedes,
        conflict=record.conflict,
        tool=record.tool,
        recalled=record.recalled,
        source_ref=record.source_ref,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
    )


# The page


class _Place(NamedTuple):
    """Where a memory stands on the page; they sort as they are read."""

    section: int
    began: int
    session: int
    created: int
    at: int
    act: int
    ord: int


def _page(bank: Bank, reader: Reader, name: str, stream: IO[bytes], progress: Tick | None) -> int:
    """Every live memory whose words can be read."""
    places = _places(bank)
    stream.write(page.opening(f"Memory of {name}", _about(bank, reader, places)))
    by_ord = {place.ord: place for place in places}
    count, before = 0, (-1, -1)
    for row, record in _records(bank, reader, list(by_ord), len(places), progress):
        here = by_ord[row.ord].section, row.session
        if here[0] != before[0]:
            stream.write(page.heading(page.SECTIONS[here[0]]))
        if here[0] == page.TALK and here != before:
            stream.write(page.heading(record.session or "", 3))
        before = here
        stream.write((page.turn if here[0] == page.TALK else page.memory)(_line(record, row.at)))
        count += 1
    return count


def _places(bank: Bank) -> list[_Place]:
    rows = [
        (row.type, row.session, row.created, row.at, row.act, row.ord)
        for row in bank.store.versions_after(0, bank.store.watermark().last_ord)
        if row.state is State.LIVE
    ]
    began: dict[int, int] = {}
    for _, session, created, *_ in rows:
        began[session] = min(created, began.get(session, created))
    return sorted(
        _Place(
            page.section_of(kind, spoken=bool(session)),
            began[session] if session else 0,
            session,
            created,
            at,
            act,
            number,
        )
        for kind, session, created, at, act, number in rows
    )


def _about(bank: Bank, reader: Reader, places: list[_Place]) -> list[str]:
    now = page.moment(bank.host.clock.now_ms())
    times = [place.created for place in places]
    span = f", {page.moment(min(times))} to {page.moment(max(times))}" if times else ""
    return [
        f"{len(places):,} {'memory' if len(places) == 1 else 'memories'}{span}",
        f"bank {reader.bank_text}, written {now}",
        "For reading. What it stands on, old versions too, is in the JSON Lines that muniment writes and reads.",
    ]
