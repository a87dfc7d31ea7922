"""Vectors in SQLite: which act carries one, for which model, and of which version it is by the naming beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from muniment.store.base import VectorPlace
from muniment.store.connection import Connections
from muniment.store.link import Link
from muniment.store.versions import to_bytes, to_words

_CHUNK = 1024
# Every vector of one model with its version, of entries that count and can be read.
_JOIN = (
    "FROM versions r"
    " JOIN namings n ON n.target = r.place AND n.kind = 4"
    " JOIN vectors v ON v.seq = n.place >> 8 AND v.act = n.place & 255 AND v.model = ?"
    " JOIN entries e ON e.seq = v.seq AND e.verdict = 0 AND e.readable = 1"
)
_PLACES = f"SELECT r.ord, r.author, v.seq, v.act, e.author, e.at {_JOIN} WHERE "
_LACKING = (
    "SELECT o.ord FROM versions o WHERE o.state = 0 AND o.ord > ?"
    " AND NOT EXISTS (SELECT 1 FROM namings n JOIN vectors v ON v.seq = n.place >> 8 AND v.act = n.place & 255"
    " AND v.model = ? JOIN entries e ON e.seq = v.seq AND e.verdict = 0 AND e.readable = 1"
    " WHERE n.target = o.place AND n.kind = 4) ORDER BY o.ord LIMIT ?"
)
_ORDER = " ORDER BY r.ord, e.at, v.seq, v.act"


class VectorTables:
    """The part of the SQLite store that knows which acts are vectors."""

    _connections: Connections

    def add_vectors(self, rows: Sequence[tuple[int, int, str]]) -> None:
        link = self._connections.writer()
        link.run_many(
            "INSERT OR IGNORE INTO vectors (seq, act, model) VALUES (?, ?, ?)",
            [(seq, act, self._model(link, model, create=True)) for seq, act, model in rows],
        )

    def touch(self, ords: Sequence[int]) -> None:
        link = self._connections.writer()
        first = "(SELECT value FROM meta WHERE name = 'first_change')"
        last = int(link.run(f"SELECT coalesce((SELECT max(number) FROM changes), {first})")[0][0])
        link.run_many(
            "INSERT INTO changes (number, ord, state) SELECT ?, ord, state FROM versions WHERE ord = ?",
            [(last + n, ord) for n, ord in enumerate(ords, 1)],
        )

    def vectors(self, model: str, after: int, upto: int) -> Iterator[VectorPlace]:
        link = self._connections.link()
        number = self._model(link, model)
        while after < upto and number:
            end = min(after + _CHUNK, upto)
            yield from self._places(link, "r.ord > ? AND r.ord <= ?", (number, after, end))
            after = end

    def vectors_of(self, model: str, ords: Sequence[int]) -> list[VectorPlace]:
        link = self._connections.link()
        number = self._model(link, model)
        if not number:
            return []
        return [place for ord in ords for place in self._places(link, "r.ord = ?", (number, ord))]

    def _places(self, link: Link, where: str, values: Sequence[object]) -> list[VectorPlace]:
        rows = link.run(_PLACES + where + _ORDER, values)
        return [
            VectorPlace(ord, link.key("authors", owner), seq, act, link.key("authors", by), at)
            for ord, owner, seq, act, by, at in rows
        ]

    def lacking(self, model: str, after: int, limit: int) -> list[int]:
        link = self._connections.link()
        return link.column(_LACKING, (after, self._model(link, model), limit))

    def models(self) -> Mapping[str, int]:
        sql = "SELECT m.name, count(*) FROM vectors v JOIN models m ON m.id = v.model GROUP BY m.name"
        return {to_words(name): count for name, count in self._connections.link().run(sql)}

    @staticmethod
    def _model(link: Link, name: str, *, create: bool = False) -> int:
        rows = link.run("SELECT id FROM models WHERE name = ?", (to_bytes(name),))
        if not rows and create:
            rows = link.run("INSERT INTO models (name) VALUES (?) RETURNING id", (to_bytes(name),))
        return int(rows[0][0]) if rows else 0
