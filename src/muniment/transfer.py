"""Files into a bank: streamed, many acts an entry, the same when done twice (design section 5)."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from muniment.bank import Bank
from muniment.base.errors import ImportFailed
from muniment.base.ids import VersionId, parse_record, parse_version
from muniment.identity.did import to_did
from muniment.ledger.acts import Forget
from muniment.portable.base import BadLine, Incoming, LeftOut, Progress
from muniment.project import Projector
from muniment.query import choice
from muniment.remembering import Draft, remember
from muniment.store.base import State
from muniment.views import ImportReport
from muniment.writing import Writer

ImportProgress = Callable[[int, int, int], None]
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
