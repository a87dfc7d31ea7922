"""Reading a table of somebody else's SQLite file: nothing in it is run, and nothing of it is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from muniment.base.errors import ForeignFile, InvalidInput, StorageError, StoreCorrupt
from muniment.base.limits import LIMITS

MAGIC = b"SQLite format 3\0"
_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def table_rows(
    path: Path, table: str, columns: Sequence[str], order: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    """The rows of a table; a column that the table does not have is None.

    Args:
        path: The file; it is opened as if nobody else could write to it.
        table: The table's name; a view of that name does not count.
        columns: What to read, in this order.
        order: Columns to sort by, then by age.

    Raises:
        InvalidInput: There is no such file or table.
        ForeignFile | StoreCorrupt | StorageError: It is no SQLite file, or a damaged one.
    """
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}", "Check the path.")
    connection: apsw.Connection | None = None
    try:
        connection = apsw.Connection(f"{path.resolve().as_uri()}?immutable=1", flags=_READ_ONLY)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, LIMITS.import_line_bytes)
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?"
        if not list(connection.execute(sql, (table,))):
            raise InvalidInput(f"{path.name} has no table {table!r}", "Check the path.")
        there = {str(row[1]) for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")}
        wanted = ", ".join(_quoted(name) if name in there else "NULL" for name in columns)
        by = ", ".join([*(_quoted(name) for name in order if name in there), "rowid"])
        yield from connection.execute(f"SELECT {wanted} FROM {_quoted(table)} ORDER BY {by}")
    except apsw.NotADBError as error:
        raise ForeignFile(f"{path} is no SQLite file: {error}", "Check the path.") from error
    except apsw.CorruptError as error:
        raise StoreCorrupt(f"{path} is damaged: {error}", "Get the file again.") from error
    except apsw.Error as error:
        raise StorageError(f"{path} can't be read: {error}", "Check the file.") from error
    finally:
        if connection is not None:
            connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
