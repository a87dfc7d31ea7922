"""Keeping the index in step with the corpus: catching up, writing segments, merging, starting over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from muniment.base.errors import StorageError
from muniment.recall import columns as col
from muniment.recall import files, manifest
from muniment.recall.analyzer import Analyzer, Document, QueryTerm
from muniment.recall.building import Builder, postings_of
from muniment.recall.columns import Columns
from muniment.recall.corpus import Corpus, Row, Watermark
from muniment.recall.manifest import Manifest
from muniment.recall.matching import Place, Term, common
from muniment.recall.merge import merge_postings
from muniment.recall.segments import Array, Segment, segment_arrays
from muniment.recall.tail import Tail

TAIL_ROWS = 512  # from here on maintenance turns the tail into a segment
BACKLOG = 4096  # more rows than this to catch up with go straight into segments
BLOCK_ROWS = 50_000  # rows of one such segment
FAN_OUT = 4  # segments of a size that are merged into one of the next
DEAD_SHARE = 4  # a segment with one row in so many dead is rewritten
BROKEN_OFF = (-1, -1, -1)  # no manifest looks like this
TERMS_KEPT = 1024  # query terms remembered with their postings
HOLDERS_KEPT = 16  # groups of speakers remembered with their rows


class Follower:
    """The state of an index as one process sees it.

    Attributes:
        manifest: The files that it has mapped.
        segments: Those on disk, and in memory (nameless) where they could not be written yet.
        places: All sources to search, the tail last.
    """

    def __init__(self, folder: Path, corpus: Corpus, analyzer: Analyzer) -> None:
        self.folder, self.corpus, self.analyzer = folder, corpus, analyzer
        self._forgotten: set[int] = set()
        self._reset(0)

    # -- state

    def _reset(self, generation: int) -> None:
        self.manifest = Manifest(self.analyzer.fingerprint, generation)
        self.columns = Columns()
        self.segments: list[Segment] = []
        self.tail = Tail()
        self.last_ord = self.last_change = 0
        self._documents: dict[int, Document] = {}  # of rows in the tail before the files were opened again
        self._signature: manifest.Signature | None = None
        self._seen: Watermark | None = None
        self._renew()

    def _renew(self) -> None:
        """Makes the places anew after rows or segments changed."""
        sources: list[Segment | Tail] = [*self.segments, self.tail]
        self.places = [
            Place(s, self.columns.dead(s.ords) if not s.past else np.zeros(0, np.int32)) for s in sources
        ]
        self._masks: dict[bool, Array] = {}
        self._terms: dict[tuple[QueryTerm, bool], Term] = {}
        self._holders: dict[tuple[bytes, ...], tuple[Array, int]] = {}

    def searchable(self, past: bool) -> Array:
        """Which rows a search may return, by row number."""
        found = self._masks.get(past)
        if found is None:
            found = self._masks[past] = self.columns.searchable(past)
            if self._seen is not None and self._seen.last_ord < self.columns.last:
                found[self._seen.last_ord + 1 :] = (
                    False  # the caller's view of the corpus is older than the index
                )
        return found

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

    def close(self) -> None:
        """Forgets everything; mapped files go with the last reference."""
        self._reset(0)

    # -- catching up

    def refresh(self) -> None:
        """Sees what other processes wrote, then what the corpus has more than that."""
        mark = self.corpus.watermark()
        if manifest.signature(self.folder) != self._signature:
            self._load()
        elif mark == self._seen:
            return
        if mark.generation != self.manifest.generation:
            self._reset(mark.generation)
            self._signature = manifest.signature(self.folder)
        if mark.last_ord - self.last_ord > BACKLOG:
            self._seen = mark
            try:
                if self.maintain(None):
                    return
            except StorageError:
                self._load()  # what can't be written is kept in memory
        self._catch_up(mark)

    def _catch_up(self, mark: Watermark) -> None:
        before = (self.last_ord, self.last_change)
        if mark.last_ord > self.last_ord:
            rows = self.corpus.rows(self.last_ord, mark.last_ord)
            self._take(rows, many=mark.last_ord - self.last_ord > BACKLOG)
            self.last_ord = mark.last_ord
        if mark.last_change > self.last_change:
            self._change(self.corpus.changes(self.last_change, mark.last_change))
            self.last_change = mark.last_change
        moved = self._seen is None or before != (self.last_ord, self.last_change) or self._seen != mark
        self._seen = mark
        if moved:
            self._forget()
            self._renew()

    def _take(self, rows: Iterable[Row], *, many: bool) -> None:
        """New rows: one by one into the tail, or many into segments."""
        block: list[Row] = []
        builder = Builder(self.analyzer)
        for row in rows:
            block.append(row)
            if many:
                if not row.gone and row.live:
                    builder.add(row.ord, row.parts, row.speakers)
                if len(block) >= BLOCK_ROWS:
                    self._take_block(block, builder)
                    block, builder = [], Builder(self.analyzer)
        if many and block:
            self._take_block(block, builder)
        elif block:
            known, analyse = self._documents.get, self.analyzer.document
            documents = {
                row.ord: known(row.ord) or analyse(row.parts, row.speakers) for row in block if not row.gone
            }
            self._documents = {}
            lengths = {number: document.length for number, document in documents.items()}
            self._add_columns(block, lengths)
            for number, document in documents.items():
                self.tail.add(number, document)

    def _take_block(self, block: list[Row], builder: Builder) -> None:
        """A block of rows: the live ones as a segment, versions that were never live here in the tail's way."""
        postings, ords, lengths = builder.finish()
        known = dict(zip(ords.tolist(), lengths.tolist(), strict=True))
        old = [row for row in block if not row.live and not row.gone]
        past = Builder(self.analyzer)
        for row in old:
            past.add(row.ord, row.parts, row.speakers)
        past_postings, past_ords, past_lengths = past.finish()
        known.update(zip(past_ords.tolist(), past_lengths.tolist(), strict=True))
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

    def _change(self, changes: Iterable[tuple[int, int, bool, bool]]) -> None:
        """Rows that became live, past or gone; those whose words are not where they are searched are indexed again."""
        latest = {number: (live, gone) for _, number, live, gone in changes if 0 < number <= self.last_ord}
        again = []
        for number, (live, gone) in latest.items():
            if gone:
                self._set_gone(number)
                continue
            self.columns.set_status(number, col.LIVE if live else col.PAST)
            where = int(self.columns.state[number]) & col.WHERE
            if where == col.NOWHERE or (live and where == col.IN_PAST):
                again.append(number)
        for row in self.corpus.pick(again) if again else ():
            document = self.analyzer.document(row.parts, row.speakers)
            self.tail.add(row.ord, document)
            self.columns.set_length(row.ord, document.length)
            self.columns.set_where(np.array([row.ord], np.int32), col.IN_LIVE)

    def forget(self, ords: Sequence[int]) -> None:
        """Makes rows unsearchable at once, whatever the corpus says of them."""
        self._forgotten.update(number for number in ords if number > 0)
        self._forget()
        self._renew()

    def _forget(self) -> None:
        for number in self._forgotten:
            if number <= self.columns.last:
                self._set_gone(number)

    def _set_gone(self, number: int) -> None:
        self.columns.set_status(number, col.GONE)
        if number in self.tail.documents:
            self.tail.remove(number)
            self.columns.set_where(np.array([number], np.int32), col.NOWHERE)

    # -- files

    def _load(self) -> None:
        """Opens what the manifest names; starts over if that is not an index of this corpus and these settings."""
        kept, seen = self.tail, self.last_ord
        for _ in range(100):
            signature = manifest.signature(self.folder)
            self._reset(self.manifest.generation)
            self._signature = signature
            if signature is None:
                return
            opened = files.open_index(self.folder, self.analyzer.fingerprint)
            if opened is None:
                if manifest.signature(self.folder) != signature:
                    continue  # replaced while it was opened: the files named before may be gone
                return
            self.manifest, self.segments, self.columns = opened
            self.last_ord, self.last_change = self.manifest.last_ord, self.manifest.last_change
            self._documents = {n: d for n, d in kept.documents.items() if self.last_ord < n <= seen}
            self._renew()
            return

    def _keep(self, arrays: dict[str, Array], *, past: bool) -> None:
        """A new segment, in memory until maintenance writes it."""
        self.segments.append(Segment(arrays, past=past))

    def maintain(self, budget: int | None) -> bool:
        """See `WordIndex.maintain`."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with manifest.lock(self.folder) as mine:
                if not mine:
                    return False
                self._maintain(budget)
                return True
        except BaseException as error:
            self._signature = (
                BROKEN_OFF  # what was written counts for nothing: open what is there the next time
            )
            if isinstance(error, OSError):
                raise files.wrapped(error, "the word index") from error
            raise

    def _maintain(self, budget: int | None) -> None:
        mark = self.corpus.watermark()
        if manifest.signature(self.folder) != self._signature:
            self._load()
        stale = mark.last_ord < self.manifest.last_ord or mark.last_change < self.manifest.last_change
        if mark.generation != self.manifest.generation or stale:
            serial = self.manifest.serial
            self._reset(mark.generation)
            self.manifest.serial = serial
        if mark.last_ord - self.last_ord > BACKLOG:
            self._bulk(mark)
        self._catch_up(mark)
        self._forget()
        self._forgotten.clear()
        due = self.due(budget)
        if due or len(self.tail) >= TAIL_ROWS or any(not s.name for s in self.segments):
            self._flush_tail()
            for group in due:
                self._merge(group)
            self._commit()
        self._renew()

    def _bulk(self, mark: Watermark) -> None:
        """Many rows: segment after segment to disk, each committed, so that a break loses little."""
        while mark.last_ord - self.last_ord > BACKLOG:
            upto = min(mark.last_ord, self.last_ord + BLOCK_ROWS)
            self._take(self.corpus.rows(self.last_ord, upto), many=True)
            self.last_ord = upto
            for group in self.due(None):
                self._merge(group)
            self._commit()

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

    def due(self, budget: int | None) -> list[list[Segment]]:
        """Groups of segments to merge now, the smallest first."""
        groups: list[list[Segment]] = []
        levels: dict[tuple[bool, int], list[Segment]] = {}
        for segment in self.segments:
            status = self.columns.state[segment.ords] & col.STATUS
            wrong = int(np.count_nonzero(status != (col.PAST if segment.past else col.LIVE)))
            if (status == col.GONE).any() or wrong * DEAD_SHARE > len(segment.ords):
                if budget is None or len(segment.ords) <= budget:
                    groups.append([segment])
                continue
            level = max(0, (len(segment.ords) // TAIL_ROWS).bit_length() - 1) // 2
            levels.setdefault((segment.past, level), []).append(segment)
        for key in sorted(levels):
            if len(levels[key]) >= FAN_OUT:
                rows = sum(len(segment.ords) for segment in levels[key])
                if budget is None or rows <= budget:
                    groups.append(levels[key])
        return groups

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

    def _commit(self) -> None:
        """Writes what is new and replaces the manifest."""
        new = Manifest(
            self.manifest.analyzer,
            self.manifest.generation,
            self.last_ord,
            self.last_change,
            self.manifest.serial + 1,
        )
        self.segments = files.write_segments(self.folder, self.segments, new)
        files.write_columns(self.folder, self.columns, self.manifest, new)
        new.save(self.folder)
        files.sweep(self.folder, new)
        self.manifest = new
        self._signature = manifest.signature(self.folder)
        self.columns.clean()
