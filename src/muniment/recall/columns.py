"""What is kept per row, by row number: length, conversation, place, neighbours, state.

A row's state says what it counts for (live, past, gone) and where its postings are (nowhere, in a segment of live rows
or the tail, in a segment of past rows). Changing what it counts for changes one byte; postings follow when segments
are merged. Neighbours are the live rows before and after it in its conversation, by (place, number).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from muniment.recall.packing import Arrays
from muniment.recall.segments import Array

NONE, LIVE, PAST, GONE = 0, 1, 2, 3  # what a row counts for
NOWHERE, IN_LIVE, IN_PAST = 0, 4, 8  # where its postings are
STATUS, WHERE = 3, 12  # masks of the two

_TYPES: dict[str, Any] = {
    "length": np.int32, "session": np.int32, "place": np.int64, "before": np.int32, "after": np.int32,
    "state": np.uint8,
}  # fmt: skip


class Columns:
    """Arrays by row number (entry 0 stands for no row), and totals over live rows.

    Attributes:
        last: The greatest row number known.
        live: Number of live rows.
        words: Their summed length.
        members: How many of them belong to a conversation.
    """

    length: Array
    session: Array
    place: Array
    before: Array
    after: Array
    state: Array
    _session_words: Array | None
    _lasts: Array | None

    def __init__(self) -> None:
        self.last = 0
        self._dirty: list[Array] = []
        self._room = 0
        for name, kind in _TYPES.items():
            setattr(self, name, np.zeros(1, kind))
        self._count()

    # -- files

    @classmethod
    def load(cls, base: Arrays, deltas: list[Arrays]) -> Columns:
        """From a base file and the changed rows of later files, in order."""
        columns = cls()
        columns.last = len(base["state"]) - 1
        columns._room = columns.last
        for delta in deltas:
            if len(delta["ord"]):
                columns.last = max(columns.last, int(delta["ord"][-1]))
        room = columns.last + 1024
        for name, kind in _TYPES.items():
            array = np.zeros(room + 1, kind)
            array[: len(base[name])] = base[name]
            for delta in deltas:
                array[delta["ord"]] = delta[name]
            setattr(columns, name, array)
        columns._room = room
        columns._count()
        return columns

    def base(self) -> Arrays:
        """All rows, for a base file."""
        return {name: getattr(self, name)[: self.last + 1] for name in _TYPES}

    def dirty(self) -> Array:
        """Rows changed since `clean`, ascending."""
        return np.unique(np.concatenate(self._dirty)) if self._dirty else np.zeros(0, np.int32)

    def delta(self, rows: Array) -> Arrays:
        """These rows, for a file of changes."""
        return {"ord": rows.astype(np.int32), **{name: getattr(self, name)[rows] for name in _TYPES}}

    def clean(self) -> None:
        """Everything is on disk."""
        self._dirty = []

    def touch(self, rows: Array) -> None:
        """Marks rows as changed."""
        if len(rows):
            self._dirty.append(np.asarray(rows, np.int32))

    # -- rows

    def add(self, rows: Array, values: dict[str, Array]) -> None:
        """Puts in new rows (ascending) with their length, session, place and state, and links the live ones."""
        joins = values["session"] > 0
        if joins.any():
            self._find_lasts()
        self.reserve(int(rows[-1]))
        for name, value in values.items():
            getattr(self, name)[rows] = value
        self.touch(rows)
        if self._session_words is not None:
            short = int(values["session"].max()) + 1 - len(self._session_words)
            if short > 0:
                self._session_words = np.append(self._session_words, np.zeros(short + 256))
        live = rows[(self.state[rows] & STATUS) == LIVE]
        self._count_in(live, 1)
        live = live[self.session[live] > 0]
        if len(live):
            self._link(live)

    def set_status(self, row: int, status: int) -> None:
        """Makes a known row live, past or gone, and mends the links of its conversation."""
        was = int(self.state[row]) & STATUS
        if was == status:
            return
        one = np.array([row], np.int32)
        joins = bool(self.session[row] > 0)
        if joins:
            self._find_lasts()
        self.state[row] = (int(self.state[row]) & WHERE) | status
        self.touch(one)
        if was == LIVE:
            self._count_in(one, -1)
            if joins:
                self._unlink(row)
        if status == LIVE:
            self._count_in(one, 1)
            if joins:
                self._link(one)

    def set_length(self, row: int, length: int) -> None:
        """Corrects a row's length (one that came without words has none at first)."""
        one = np.array([row], np.int32)
        live = int(self.state[row]) & STATUS == LIVE
        if live:
            self._count_in(one, -1)
        self.length[row] = length
        if live:
            self._count_in(one, 1)
        self.touch(one)

    def set_where(self, rows: Array, where: int) -> None:
        """Says where the postings of rows are."""
        self.state[rows] = (self.state[rows] & STATUS) | where
        self.touch(rows)

    # -- totals over live rows

    def _count(self) -> None:
        """Counts from scratch."""
        rows = slice(0, self.last + 1)
        live = (self.state[rows] & STATUS) == LIVE
        self.live = int(np.count_nonzero(live))
        self.words = int(self.length[rows].sum(where=live, dtype=np.int64))
        self.members = int(np.count_nonzero(live & (self.session[rows] > 0)))
        self._session_words = None
        self._lasts = None

    def _count_in(self, rows: Array, sign: int) -> None:
        self.live += sign * len(rows)
        self.words += sign * int(self.length[rows].sum(dtype=np.int64))
        rows = rows[self.session[rows] > 0]
        if not len(rows):
            return
        self.members += sign * len(rows)
        if self._session_words is not None:
            np.add.at(self._session_words, self.session[rows], sign * self.length[rows])

    def session_words(self) -> Array:
        """Summed length of live rows by conversation (float64; entry 0 unused; may be longer than needed)."""
        if self._session_words is None:
            rows = slice(0, self.last + 1)
            weights = np.where((self.state[rows] & STATUS) == LIVE, self.length[rows], 0)
            self._session_words = np.bincount(self.session[rows], weights=weights)
            self._session_words[0] = 0
        return self._session_words

    # -- links

    def reserve(self, last: int) -> None:
        """Makes room for rows up to this one."""
        self.last = max(self.last, last)
        if last > self._room:
            room = last + last // 8 + 1024
            for name, kind in _TYPES.items():
                array = np.zeros(room + 1, kind)
                old = getattr(self, name)
                array[: len(old)] = old
                setattr(self, name, array)
            self._room = room

    def _find_lasts(self) -> Array:
        """The last live row of each conversation by its number, made if it is not there."""
        if self._lasts is None:
            rows = slice(0, self.last + 1)
            live = (self.state[rows] & STATUS) == LIVE
            ends = np.flatnonzero(live & (self.session[rows] > 0) & (self.after[rows] == 0))
            self._lasts = np.zeros(int(self.session[rows].max()) + 1, np.int32)
            self._lasts[self.session[ends]] = ends
        return self._lasts

    def _last_of(self, sessions: Array) -> Array:
        """The last live row of each conversation, 0 where there is none."""
        lasts = self._find_lasts()
        short = int(sessions.max()) + 1 - len(lasts)
        if short > 0:
            lasts = self._lasts = np.append(lasts, np.zeros(short + 256, np.int32))
        found: Array = lasts[sessions]
        return found

    def _link(self, rows: Array) -> None:
        """Links new live rows into their conversations."""
        rows = rows[np.lexsort((rows, self.place[rows], self.session[rows]))]
        sessions = self.session[rows]
        head = np.r_[True, sessions[1:] != sessions[:-1]]
        firsts = rows[head]
        known = self._last_of(self.session[firsts])
        self._link_run(rows, head)
        late = self.place[known] > self.place[firsts]
        late |= (self.place[known] == self.place[firsts]) & (known > firsts)
        late &= known > 0
        fine = (known > 0) & ~late
        self.after[known[fine]] = firsts[fine]
        self.before[firsts[fine]] = known[fine]
        self.touch(known[fine])
        if late.any():
            self._relink(self.session[firsts[late]])

    def _link_run(self, rows: Array, head: Array) -> None:
        """Links rows that stand in order, `head` marking the first of each conversation."""
        inner = np.flatnonzero(~head)
        self.before[rows[head]] = 0
        self.before[rows[inner]] = rows[inner - 1]
        self.after[rows[inner - 1]] = rows[inner]
        tails = rows[np.r_[head[1:], True]]
        self.after[tails] = 0
        if self._lasts is not None:
            self._lasts[self.session[tails]] = tails

    def _relink(self, sessions: Array) -> None:
        """Links whole conversations anew: rows came that belong before their last one."""
        span = slice(0, self.last + 1)
        member = np.zeros(int(self.session[span].max()) + 1, np.bool_)
        member[sessions] = True
        rows = np.flatnonzero(member[self.session[span]] & ((self.state[span] & STATUS) == LIVE)).astype(
            np.int32
        )
        rows = rows[np.lexsort((rows, self.place[rows], self.session[rows]))]
        numbers = self.session[rows]
        self._link_run(rows, np.r_[True, numbers[1:] != numbers[:-1]])
        self.touch(rows)

    def _unlink(self, row: int) -> None:
        before, after = int(self.before[row]), int(self.after[row])
        if before:
            self.after[before] = after
        if after:
            self.before[after] = before
        elif self._lasts is not None:
            self._lasts[self.session[row]] = before
        self.before[row] = self.after[row] = 0
        self.touch(np.array([r for r in (before, after) if r], np.int32))

    def members_of(self, sessions: Array, most: int) -> Array | None:
        """The live rows of these conversations; None if one of them has more than `most`."""
        lasts = self._last_of(sessions)
        rows = lasts[lasts > 0]
        found = [rows]
        while len(rows):
            if len(found) > most:
                return None
            rows = self.before[rows]
            rows = rows[rows > 0]
            found.append(rows)
        return np.concatenate(found)

    # -- masks

    def is_live(self, rows: Array) -> Array:
        """Which of the rows are live."""
        found: Array = (self.state[rows] & STATUS) == LIVE
        return found

    def searchable(self, past: bool) -> Array:
        """Which rows a search may return, by row number."""
        status = self.state[: self.last + 1] & STATUS
        found: Array = (status == LIVE) | (status == PAST) if past else status == LIVE
        return found

    def in_past(self, rows: Array) -> Array:
        """Which of the rows have their postings in a segment of past rows."""
        found: Array = self.state[rows] == (PAST | IN_PAST)
        return found

    def dead(self, rows: Array) -> Array:
        """Those of the rows (of a live segment or the tail) that are not live."""
        found: Array = rows[self.state[rows] != (LIVE | IN_LIVE)]
        return found
