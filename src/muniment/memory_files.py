"""Files in and out of a bank, as one key uses it; `Memory` takes it in (design sections 5 and 10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from muniment.views import ImportReport

if TYPE_CHECKING:
    from muniment.bank import Bank
    from muniment.carrying import CarriedOut
    from muniment.reading import Reader


class FilesFace:
    """Importing and exporting, as methods of a memory."""

    _bank: Bank
    _key: bytes
    _reader: Reader

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
        self, target: str | Path | IO[bytes], *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Write every version, with its provenance, as JSON Lines; returns how many.

        Raises:
            NotPermitted | StorageError: As their names say.
        """
        from muniment.transfer import export_to

        return export_to(self._bank, self._reader, target, progress)

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
