"""Following a corpus for the word index: rows become postings, and those of past rows have segments of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from muniment.recall import columns as col
from muniment.recall import files, packing
from muniment.recall.analyzer import Analyzer, Document, QueryTerm
from muniment.recall.building import Builder, postings_of
from muniment.recall.columns import Columns
from muniment.recall.corpus import Corpus, Row
from muniment.recall.follow import Follower
from muniment.recall.manifest import Manifest
from muniment.recall.matching import Place, Term, common
from muniment.recall.merge import merge_postings
from muniment.recall.segments import Array, Segment, segment_arrays
from muniment.recall.tail import Tail

TERMS_KEPT = 1024  # query terms remembered with their postings
HOLDERS_KEPT = 16  # groups of speakers remembered with their rows


class WordFollower(Follower[Row, Segment]):
    """See `Follower`.

    Attributes:
        places: All sources to search, the tail last.
    """

    WHAT = "the word index"
    SUFFIX = ".words"
    BLOCK_ROWS = 50_000
    columns: Columns
    tail: Tail

    def __init__(self, folder: Path, corpus: Corpus[Row], analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        super().__init__(folder, corpus, analyzer.fingerprint)

    def aside(self, corpus: Corpus[Row]) -> WordFollower:
        """See `Follower`."""
        return WordFollower(self.folder, corpus, self.analyzer)

    # -- state

    def _empty(self) -> None:
        self.columns, self.tail = Columns(), Tail()
        self._documents: dict[int, Document] = {}  # of rows in the tail before the files were opened again

    def _moved(self) -> None:
        super()._moved()
        sources: list[Segment | Tail] = [*self.segments, self.tail]
        self.places = [
            Place(s, self.columns.dead(s.ords) if not s.past else np.zeros(0, np.int32)) for s in sources
        ]
        self._terms: dict[tuple[QueryTerm, bool], Term] = {}
        self._holders: dict[tuple[bytes, ...], tuple[Array, int]] = {}

    def term(self, asked: QueryTerm, past: bool) -> Term:
        """A query term met with the index; common words are looked up once until something changes."""
        found = self._terms.get((asked, past))
        if found is None:
            places = self.places if past else [place for place in self.places if not place.source.past]
            found = Term(asked, places, self.columns, past)
            if len(self._terms) >= TERMS_KEPT:
                self._terms.clear()
            self._terms[asked, past] = found
        return found

    def holds(self, key: bytes) -> bool:
        """Whether any source knows a key."""
        return any(place.source.find(key) >= 0 for place in self.places)

    def holders(self, keys: tuple[bytes, ...]) -> tuple[Array, int]:
        """(which rows hold any of these keys, by row number, past ones too; how many of them are live)."""
        found = self._holders.get(keys)
        if found is None:
            mask = np.zeros(self.columns.last + 1, np.bool_)
            for place in self.places:
                for slot in (place.source.find(key) for key in keys):
                    if slot >= 0:
                        mask[place.source.postings(slot)[0]] = True
            if len(self._holders) >= HOLDERS_KEPT:
                self._holders.clear()
            found = self._holders[keys] = (mask, int(np.count_nonzero(mask & self.columns.searchable(False))))
        return found

    # -- catching up

    def _take_block(self, block: list[Row], *, many: bool) -> None:
        if many:
            self._take_many(block)
            return
        known, analyse = self._documents.get, self.analyzer.document
        documents = {
            row.ord: known(row.ord) or analyse(row.parts, row.speakers) for row in block if not row.gone
        }
        self._documents = {}
        self._add_columns(block, {number: document.length for number, document in documents.items()})
        for number, document in documents.items():
            self.tail.add(number, document)

    def _take_many(self, block: list[Row]) -> None:
        """The live rows as a segment, versions that were never live here as one of past rows."""
        builder, past = Builder(self.analyzer), Builder(self.analyzer)
        for row in block:
            if not row.gone:
                (builder if row.live else past).add(row.ord, row.parts, row.speakers)
        postings, ords, lengths = builder.finish()
        past_postings, past_ords, past_lengths = past.finish()
        known = dict(zip(ords.tolist(), lengths.tolist(), strict=True))
        known |= zip(past_ords.tolist(), past_lengths.tolist(), strict=True)
        self._add_columns(block, known)
        if len(ords):
            self._keep(segment_arrays(postings, ords, self.columns.session), past=False)
        if len(past_ords):
            self.columns.set_where(past_ords, col.IN_PAST)
            self._keep(segment_arrays(past_postings, past_ords, None), past=True)

    def _add_columns(self, rows: list[Row], lengths: dict[int, int]) -> None:
        status = [
            col.GONE if r.gone else col.LIVE | col.IN_LIVE if r.live else col.PAST | col.IN_LIVE for r in rows
        ]
        self.columns.add(
            np.array([row.ord for row in rows], np.int32),
            {
                "length": np.array([lengths.get(row.ord, 0) for row in rows], np.int32),
                "session": np.array([row.session for row in rows], np.int32),
                "place": np.array([row.place for row in rows], np.int64),
                "state": np.array(status, np.uint8),
            },
        )

    def _lacking(self, changed: Mapping[int, bool]) -> list[int]:
        """Those whose words are not where they are searched."""
        where = {number: int(self.columns.state[number]) & col.WHERE for number in changed}
        return [
            number
            for number, live in changed.items()
            if where[number] == col.NOWHERE or (live and where[number] == col.IN_PAST)
        ]

    def _take_again(self, rows: Sequence[Row]) -> None:
        for row in rows:
            document = self.analyzer.document(row.parts, row.speakers)
            self.tail.add(row.ord, document)
            self.columns.set_length(row.ord, document.length)
            self.columns.set_where(np.array([row.ord], np.int32), col.IN_LIVE)

    def _drop(self, number: int) -> None:
        self.tail.remove(number)
        self.columns.set_where(np.array([number], np.int32), col.NOWHERE)

    # -- files

    def _load(self) -> None:
        kept, seen = self.tail.documents, self.last_ord
        super()._load()
        if self.last_ord:  # what these rows say needs no second analysis
            self._documents = {n: d for n, d in kept.items() if self.last_ord < n <= seen}

    def _map(self, path: Path) -> Segment:
        return Segment.open(path)

    def _load_columns(self, parts: list[packing.Arrays]) -> Columns:
        return Columns.load(parts[0], parts[1:])

    def _write_columns(self, new: Manifest) -> None:
        files.write_columns(self.folder, self.columns, self.manifest, new, self.SUFFIX)
        self.columns.clean()

    def _keep(self, arrays: dict[str, Array], *, past: bool) -> None:
        """A new segment, in memory until maintenance writes it."""
        self.segments.append(Segment(arrays, past=past))

    def _flush_tail(self) -> None:
        """The tail's live rows into a segment, the others into one of past rows; gone ones vanish."""
        ords = self.tail.ords
        if not len(ords):
            return
        state = self.columns.state[ords] & col.STATUS
        live, past, gone = (ords[state == status] for status in (col.LIVE, col.PAST, col.GONE))
        if len(live):
            arrays = segment_arrays(postings_of(self.tail.terms_of(live)), live, self.columns.session)
            self._keep(arrays, past=False)
        if len(past):
            doubled = [s for s in self.segments if s.past and len(common(s.ords, past))]
            self._keep(segment_arrays(postings_of(self.tail.terms_of(past)), past, None), past=True)
            self.columns.set_where(past, col.IN_PAST)
            if doubled:  # they were past before, came back, and went again: the newest copy counts
                self._join_past([self.segments[-1], *doubled], [])
        self.columns.set_where(gone, col.NOWHERE)
        self.tail = Tail()

    def _misplaced(self, number: int) -> int:
        segment = self.segments[number]
        status = self.columns.state[segment.ords] & col.STATUS
        return int(np.count_nonzero(status != (col.PAST if segment.past else col.LIVE)))

    def _merge(self, group: list[Segment]) -> None:
        """Replaces segments by one with the rows that still belong; rows that died move to one of past rows."""
        state = self.columns.state
        if group[0].past:
            self._join_past(group, [])
            return
        kept, dying = [], []
        for segment in group:
            status = state[segment.ords] & col.STATUS
            kept.append((segment, segment.ords[status == col.LIVE]))
            dying.append((segment, segment.ords[status == col.PAST]))
            self.columns.set_where(segment.ords[status == col.GONE], col.NOWHERE)
        self.segments = [segment for segment in self.segments if segment not in group]
        postings, ords = merge_postings(kept, self.columns.last)
        if len(ords):
            self._keep(segment_arrays(postings, ords, self.columns.session), past=False)
        moved = np.concatenate([rows for _, rows in dying])
        if len(moved):
            older = [s for s in self.segments if s.past and len(common(s.ords, np.sort(moved)))]
            self._join_past(older, dying)
            self.columns.set_where(moved, col.IN_PAST)

    def _join_past(self, group: list[Segment], dying: list[tuple[Segment, Array]]) -> None:
        """One segment of past rows out of several and of rows that just died; earlier sources win."""
        sources: list[tuple[Segment, Array]] = []
        taken = np.zeros(self.columns.last + 1, np.bool_)
        for segment, rows in [*dying, *((s, s.ords[self.columns.in_past(s.ords)]) for s in group)]:
            fresh = rows[~taken[rows]]
            taken[fresh] = True
            sources.append((segment, fresh))
        for segment in group:
            status = self.columns.state[segment.ords]
            self.columns.set_where(segment.ords[status == (col.GONE | col.IN_PAST)], col.NOWHERE)
        self.segments = [segment for segment in self.segments if segment not in group]
        postings, ords = merge_postings(sources, self.columns.last)
        if len(ords):
            self._keep(segment_arrays(postings, ords, None), past=True)
