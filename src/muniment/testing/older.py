"""Bank files as older releases wrote them."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import apsw

from muniment.store.migrate import BANK, Kind
from muniment.store.sqlite import SqliteStore

# How format 2 named versions: by whole ids.
_NAMINGS = """
    INSERT INTO namings SELECT place >> 8, place & 255, kind, coalesce(
        (SELECT id FROM new.entries WHERE seq = target >> 8),
        (SELECT digest FROM new.strangers WHERE id = target >> 8)
    ), target & 255 FROM new.namings
"""


def as_format_2(path: Path) -> None:
    """Put in place of a bank file, which nobody has open, what format 2 would hold."""
    store = SqliteStore.open(path)
    bank = store.bank
    store.close()
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        for number in (1, 2):
            shutil.copy(BANK.schema / f"{number:03}.sql", folder)
        old = Path(folder, "old.db")
        SqliteStore.create(old, bank, kind=Kind("bank", BANK.application_id, Path(folder))).close()
        link = apsw.Connection(str(old))
        link.execute("ATTACH ? AS new", (str(path),))
        with link:
            tables = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            for (table,) in link.execute(tables).fetchall():
                link.execute(f"DELETE FROM main.{table}")  # noqa: S608 - names of our own schema
                fill = _NAMINGS if table == "namings" else f"INSERT INTO {table} SELECT * FROM new.{table}"  # noqa: S608 - as above
                link.execute(fill)
        link.close()
        old.replace(path)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
