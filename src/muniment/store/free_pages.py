"""What a SQLite file keeps beside its rows: pages that nothing uses, and older copies of the whole file.

Source: the SQLite database file format, sections 1.3 (header) and 1.5 (the freelist).
"""

from __future__ import annotations

from pathlib import Path

from muniment.base.errors import StorageError

_FIRST_TRUNK, _COUNT = 32, 36  # offsets in the header


def unclean_pages(path: Path, size: int) -> int:
    """How many leaves of the freelist hold anything but zeros. A trunk holds page numbers, and zeros behind them.

    Args:
        path: The file.
        size: Bytes of a page.

    Raises:
        StorageError: It can't be read.
    """
    found = 0
    try:
        with path.open("rb") as file:
            head = file.read(100)
            trunk, left = _number(head, _FIRST_TRUNK), _number(head, _COUNT)
            while trunk and left > 0:
                file.seek((trunk - 1) * size)
                page = file.read(size)
                leaves = min(_number(page, 4), size // 4 - 2)
                for place in range(leaves):
                    file.seek((_number(page, 8 + 4 * place) - 1) * size)
                    found += any(file.read(size))
                left -= leaves + 1
                trunk = _number(page, 0)
    except OSError as error:
        raise StorageError(
            f"{path} can't be read: {error}", "Look at the disk and the file's rights."
        ) from error
    return found


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def copies(path: Path) -> list[Path]:
    """Copies of a bank's file that were kept when its tables were brought to a newer form."""
    return sorted(path.parent.glob(f"{path.name}*.bak"))
