"""Files in and out of a bank: streamed, many acts an entry, the same when done twice (design section 5)."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from muniment.bank import Bank
from muniment.base.errors import ImportFailed, InvalidInput, UnknownBlob
from muniment.base.ids import VersionId, parse_record, parse_version
from muniment.identity.did import to_did
from muniment.ledger.acts import Forget
from muniment.platform import files
from muniment.portable import jsonl, page
from muniment.portable.base import BadLine, Incoming, LeftOut, Progress
from muniment.project import Projector
from muniment.query import choice
from muniment.reading import Reader
from muniment.remembering import Draft, remember
from muniment.store.base import State
from muniment.views import ImportReport, Record
from muniment.writing import Writer

ImportProgress = Callable[[int, int, int], None]
WRITTEN = (jsonl.FORMAT, page.FORMAT)
ON_ERROR = ("skip", "fail")
_CHUNK = 1024  # drafts in one transaction
_TIDY_EVERY = 32_768  # records between two looks at the index's tail
_MOST_BAD = 1000  # bad places that are listed; all are counted
_FORGET_MOST = 1024  # versions in one forget act


def import_from(
    bank: Bank, key: bytes, path: Path, kind: str, on_error: str, progress: ImportProgress | None
) -> ImportReport:
    """See `Agent.import_from`."""
    from muniment.portable import formats  # brings every importer, which only an import needs

    choice(on_error, ON_ERROR, "way to treat errors")
    taking = _Import(bank, key, fail=on_error == "fail")
    position = Progress()
    with contextlib.closing(formats.read(path, kind, position)) as items:
        for item in items:
            taking.take(item)
            if progress and taking.read % 256 == 0:
                progress(position.done, position.total, taking.read)
    taking.finish()
    if progress:
        progress(position.total, position.total, taking.read)
    return taking.report()


class _Import:
    """One import: drafts in chunks, each chunk a transaction; killed anywhere, it goes on where it was."""

    def __init__(self, bank: Bank, key: bytes, *, fail: bool) -> None:
        self._bank, self._key, self._did, self._fail = bank, key, to_did(key), fail
        self._drafts: list[Draft] = []
        self._origins: list[Incoming] = []
        self._pending: set[str] = set()  # exported versions in this chunk
        self._became: dict[str, VersionId] = {}  # exported versions that others name, and what they are here
        self._hidden: list[VersionId] = []  # versions that were not live where they came from
        self._bad: list[tuple[str, str]] = []
        self._bad_count = self._created = self._unchanged = self._merged = self._tidied = 0
        self._left: Counter[str] = Counter()
        self.read = 0

    def take(self, item: Incoming | BadLine | LeftOut) -> None:
        """Take one item in, or count it as bad.

        Raises:
            ImportFailed: It is bad and bad ones are fatal; what came before it is kept.
        """
        if isinstance(item, LeftOut):
            self.read += item.parts
            self._left[item.reason] += item.parts
            return
        self.read += item.parts if isinstance(item, Incoming) else 1
        if isinstance(item, BadLine):
            if self._fail:
                self._flush()
                raise ImportFailed(
                    f"{item.place}: {item.reason}", "Mend the file, or import with --on-error skip."
                )
            self._bad_count += 1
            if len(self._bad) < _MOST_BAD:
                self._bad.append((item.place, item.reason))
            return
        named = _texts(item, "supersedes")
        if len(self._drafts) == _CHUNK or not self._pending.isdisjoint(named):
            self._flush()
        self._drafts.append(self._draft(item, named))
        self._origins.append(item)
        if (version := _text(item, "version")) is not None:
            self._pending.add(version)

    def _draft(self, item: Incoming, supersedes: list[str]) -> Draft:
        record = _text(item, "id")
        exported = _text(item, "version") is not None
        return Draft(
            text=item.text,
            key=item.key,
            title=item.title,
            tags=tuple(item.tags),
            metadata=self._metadata(item) or None,
            type=item.type,
            session=item.session,
            created=item.created_ms,
            valid_from=item.valid_from,
            valid_until=item.valid_until,
            tool=item.tool or _text(item, "source") == "tool",
            recalled=item.recalled,
            ref=item.source_ref,
            id=None if record is None else parse_record(record),
            over=tuple(self._became[name] for name in supersedes if name in self._became)
            if exported
            else None,
        )

    def _metadata(self, item: Incoming) -> dict[str, object]:
        """The item's metadata; words that another key signed keep the name of that key."""
        metadata = dict(item.metadata)
        author = _text(item, "author")
        if author is not None and author != self._did:
            came = {
                "author": author,
                "author_name": _text(item, "author_name"),
                "source": _text(item, "source"),
            }
            metadata.setdefault(
                "imported", {name: value for name, value in came.items() if value is not None}
            )
        return metadata

    def _flush(self) -> None:
        results = remember(self._bank, self._key, self._drafts)
        for item, result in zip(self._origins, results, strict=True):
            self._created += result.created
            self._unchanged += not result.created
            self._merged += item.parts - 1
            version = _text(item, "version")
            if version is not None and _text(item, "state") not in {None, "live"}:
                self._became[version] = parse_version(result.version)
                self._hidden.append(parse_version(result.version))
        self._drafts, self._origins = [], []
        self._pending.clear()
        if self._created - self._tidied >= _TIDY_EVERY:
            self._tidied = self._created
            self._bank.tidy(force=True)

    def finish(self) -> None:
        """Write the rest, and hide what was hidden where it came from and nothing else hides here."""
        self._flush()
        hidden = [version for version in self._hidden if self._is_live(version)]
        for start in range(0, len(hidden), _FORGET_MOST):
            self._forget(tuple(hidden[start : start + _FORGET_MOST]))
        self._bank.tidy(force=True)

    def _is_live(self, version: VersionId) -> bool:
        row = self._bank.store.version_at(version)
        return row is not None and row.state is State.LIVE

    def _forget(self, versions: tuple[VersionId, ...]) -> None:
        now = self._bank.host.clock.now_ms()
        with self._bank.write() as authority:
            act = Forget(versions=versions)
            _, seq = Writer(self._bank, self._key).commit_acts(authority, [act], now)
            Projector(self._bank.store, authority).entry(self._bank.store.entry_at(seq), [act])

    def report(self) -> ImportReport:
        """What was done."""
        return ImportReport(
            self.read,
            self._created,
            self._unchanged,
            tuple(self._bad),
            self._bad_count,
            self._merged,
            dict(self._left.most_common()),
        )


def _text(item: Incoming, name: str) -> str | None:
    value = (item.origin or {}).get(name)
    return value if isinstance(value, str) else None


def _texts(item: Incoming, name: str) -> list[str]:
    value = (item.origin or {}).get(name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def export_to(
    bank: Bank,
    reader: Reader,
    target: str | Path | IO[bytes],
    progress: Callable[[int, int], None] | None,
    format: str = jsonl.FORMAT,  # noqa: A002
) -> int:
    """See `Agent.export_to`."""
    if format not in WRITTEN:
        raise InvalidInput(f"there is no format {format[:40]!r} to write", f"Use {' or '.join(WRITTEN)}.")
    if not isinstance(target, str | Path):
        return _write(bank, reader, target, progress, format)
    path = Path(target)
    draft = path.with_name(f".{path.name}.part")
    try:
        with draft.open("wb") as stream:
            count = _write(bank, reader, stream, progress, format)
        draft.replace(path)  # a file of that name is there whole, or as it was
    except OSError as error:
        raise files.explain(error, path) from error
    finally:
        draft.unlink(missing_ok=True)
    return count


def _write(
    bank: Bank,
    reader: Reader,
    stream: IO[bytes],
    progress: Callable[[int, int], None] | None,
    format: str,  # noqa: A002
) -> int:
    reader.enter()
    count = seen = 0
    with bank.store.read():
        total = bank.store.watermark().last_ord

        def lines() -> Iterator[jsonl.Line]:
            nonlocal count, seen
            for record, at in _versions(bank, reader, total):
                seen += 1
                count += format == jsonl.FORMAT or record.state in page.SHOWN
                if progress and seen % 256 == 0:
                    progress(seen, total)
                yield _line(record, at)

        now = bank.host.clock.now_ms()
        if format == jsonl.FORMAT:
            stream.write(jsonl.header(reader.bank_text, now))
            stream.writelines(map(jsonl.write_line, lines()))
        else:
            pieces = page.page(reader.bank_text, now, lines())
            stream.writelines(piece.encode("utf-8", "replace") for piece in pieces)
    if progress:
        progress(total, total)
    return count


def _versions(bank: Bank, reader: Reader, total: int) -> Iterator[tuple[Record, int]]:
    """Every version whose words can be read, with its clock, in the order of the clock."""
    order = sorted((row.at, row.act, row.ord) for row in bank.store.versions_after(0, total))
    for start in range(0, len(order), 256):
        rows = bank.store.versions([number for _, _, number in order[start : start + 256]])
        kept = [row for row in rows if row.state not in {State.ERASED, State.VOID}]
        clocks = {str(bank.store.version_id(row)): row.at for row in kept}
        for record in reader.views(kept, bank.rulings.authority, whole=True):
            if not record.whole:
                raise UnknownBlob(
                    f"the text of record {record.id} is in the archive and not in reach",
                    "Bring the blob store back, or fetch it (`muniment fetch`), then export again.",
                )
            yield record, clocks[record.version]


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
