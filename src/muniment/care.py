"""Files in and out of a memory, and its upkeep: the part of `Memory` that people use now and then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from muniment.bank import Bank
from muniment.base.errors import StoreCorrupt
from muniment.check import check
from muniment.check import rebuild as rebuild_all
from muniment.reading import Reader
from muniment.store.base import Problem
from muniment.verify import VerifyReport, verify
from muniment.views import ImportReport

if TYPE_CHECKING:
    from muniment.carrying import CarriedOut
    from muniment.proving import Finding
    from muniment.reindexing import Reindexed

Problems = list[Problem]


class Care:
    """Imports, exports, checks and proofs of one bank, by one key."""

    name: str
    _key: bytes
    _bank: Bank
    _own: Bank
    _reader: Reader

    # Files

    def import_from(
        self,
        path: str | Path,
        *,
        format: str = "auto",  # noqa: A002
        on_error: str = "skip",
        progress: Callable[[int, int, int], None] | None = None,
    ) -> ImportReport:
        """Take the memories of a file or folder in; what is there already changes nothing.

        Args:
            path: A file, or a folder of Markdown notes.
            format: `auto`, `jsonl`, `chat`, `markdown`, `locomo` or `longmemeval`.
            on_error: `skip` lines that can't be taken and report them, or `fail` at the first.
            progress: Called with bytes read, bytes in all, and records so far.

        Raises:
            ImportFailed: A line can't be taken and `on_error` is `fail`; what came before it was kept.
            InvalidInput: The format is unknown, or not to be told from the file.
        """
        from muniment.transfer import import_from  # brings every format, which only files need

        return import_from(self._bank, self._key, Path(path), format, on_error, progress)

    def export_to(
        self,
        target: str | Path | IO[bytes],
        *,
        format: str = "jsonl",  # noqa: A002
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Write the memories to a file or a binary stream; returns how many.

        Args:
            target: A path, or a stream of bytes.
            format: `jsonl`: every version with its provenance, which `import_from` reads; or `markdown`: a page of what
                is live, for people.
            progress: Called with versions looked at and in all.

        Raises:
            InvalidInput: There is no such format.
            NotPermitted | StorageError: As their names say.
        """
        from muniment.transfer import export_to

        return export_to(self._bank, self._reader, target, progress, format)

    # Care

    def check(self, *, rebuild: bool = False, progress: Callable[[int, int], None] | None = None) -> Problems:
        """Compare everything with everything; `rebuild` makes all derived tables and the index again first."""
        if rebuild:
            rebuild_all(self._bank, progress)
        return check(self._bank, progress)

    def reindex(self, *, progress: Callable[[int, int], None] | None = None) -> Reindexed:
        """Give a vector of the active model to every memory that has none; goes on where it was stopped.

        Raises:
            InvalidInput: No embedder is configured.
            NotPermitted | MissingExtra | StorageError: As their names say.
        """
        from muniment.reindexing import reindex  # brings numpy

        return reindex(self._bank, self._key, self._reader, progress)

    def verify(
        self,
        *,
        progress: Callable[[int, int], None] | None = None,
        told: Callable[[Finding], None] | None = None,
    ) -> VerifyReport:
        """Check every entry again as a stranger's, and tell what counts, what does not, and why.

        Args:
            progress: Called with steps done and in all.
            told: Called with each finding; the report lists the first of each kind.

        Raises:
            UnknownBank | NotPermitted: As their names say.
        """
        self._bank.enter()
        try:
            self._bank.authority.check_read(self._key, self._bank.host.clock.now_ms())
        except StoreCorrupt:
            if self._bank is not self._own:
                raise
            # Its own bank, with a control entry that was edited: telling which one is what it is asked for.
        return verify(self._bank, progress, told)

    def export_bank(
        self,
        path: str | Path,
        *,
        blobs: Mapping[bytes, bytes] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> CarriedOut:
        """Write the whole bank as one file that anybody can prove and only its readers can read.

        Args:
            path: The file to write (`.car`).
            blobs: Blobs to put in too, by their BLAKE3.
            progress: Called with entries written and in all.

        Raises:
            UnknownBank | NotPermitted | StorageError: As their names say.
        """
        from muniment.carrying import carry_out

        self._reader.enter()
        return carry_out(self._bank, self._key, Path(path), blobs, progress)
