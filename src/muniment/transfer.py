"""Files in and out of a bank: streamed, in entries of many acts, the same when done twice (design section 5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from muniment.bank import Bank
from muniment.reading import Reader
from muniment.views import ImportReport

ImportProgress = Callable[[int, int, int], None]


def import_from(
    bank: Bank, key: bytes, path: Path, kind: str, on_error: str, progress: ImportProgress | None
) -> ImportReport:
    """See `Agent.import_from`."""
    raise NotImplementedError


def export_to(
    bank: Bank, reader: Reader, target: str | Path | IO[bytes], progress: Callable[[int, int], None] | None
) -> int:
    """See `Agent.export_to`."""
    raise NotImplementedError
