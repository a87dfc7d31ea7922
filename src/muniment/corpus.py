"""A bank as the word index reads it: rows in order of arrival, opened with the keys of this peer (design section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from muniment.ledger.acts import Remember
from muniment.opening import Opener
from muniment.recall.corpus import Row, Watermark
from muniment.recall.speakers import speaker_in
from muniment.shelf import Stubs, indexed
from muniment.store.base import State, VersionRow

if TYPE_CHECKING:
    from muniment.bank import Bank

_CHUNK = 512  # rows opened at a time
GONE = frozenset({State.ERASED, State.VOID})  # states whose words and vectors leave the indexes


class Followed:
    """How far a bank's tables are, and what changed in them: the same for every index that follows them."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank

    def watermark(self) -> Watermark:
        """How far the bank's tables are."""
        mark = self._bank.store.watermark()
        return Watermark(mark.last_ord, mark.last_change, mark.generation)

    def changes(self, after: int, upto: int) -> Iterator[tuple[int, int, bool, bool]]:
        """State changes, and vectors that came later, with `after < number <= upto`."""
        for change in self._bank.store.changes(after, upto):
            yield change.number, change.ord, change.state is State.LIVE, change.state in GONE


class BankCorpus(Followed):
    """The versions of a bank. They are opened by whichever keys of this peer can.

    The index is the peer's, not a caller's; what a caller can't open is left out of its hits.
    """

    def rows(self, after: int, upto: int) -> Iterator[Row]:
        """Rows with `after < ord <= upto`, in order."""
        openers = self._bank.openers()
        chunk: list[VersionRow] = []
        for row in self._bank.store.versions_after(after, upto):
            chunk.append(row)
            if len(chunk) == _CHUNK:
                yield from self._open(chunk, openers)
                chunk = []
        yield from self._open(chunk, openers)

    def pick(self, ords: Sequence[int]) -> list[Row]:
        """The rows of these numbers."""
        return self._open(self._bank.store.versions(ords), self._bank.openers())

    def _open(self, rows: Sequence[VersionRow], openers: Sequence[Opener]) -> list[Row]:
        if not rows:
            return []
        opened: list[Remember | None] = [None] * len(rows)
        for opener in openers:
            shut = [i for i, act in enumerate(opened) if act is None and rows[i].state not in GONE]
            if not shut:
                break
            for i, act in zip(shut, opener.remembered([rows[i] for i in shut]), strict=True):
                opened[i] = act
        self._from_stubs(rows, opened, openers)
        return [
            Row(
                row.ord,
                row.state is State.LIVE,
                row.state in GONE,
                row.session,
                row.created,
                () if act is None else parts_of(act),
                () if act is None else speakers_of(act),
            )
            for row, act in zip(rows, opened, strict=True)
        ]

    def _from_stubs(
        self, rows: Sequence[VersionRow], opened: list[Remember | None], openers: Sequence[Opener]
    ) -> None:
        """Put the words of stubs where the text lies in the archive."""
        shut = [i for i, act in enumerate(opened) if act is None and rows[i].state not in GONE]
        if shut:
            finder = Stubs(self._bank.store, self._bank.authority, openers)
            for i, stub in zip(shut, finder.of_rows([rows[i] for i in shut]), strict=True):
                opened[i] = None if stub is None else indexed(stub)


def parts_of(act: Remember) -> tuple[str, ...]:
    """What is ranked of a record: key, title, text, tags, and the aliases named in its metadata."""
    said = [part for part in (act.key, act.title, act.text) if part]
    return (*said, *act.tags, *aliases_of(act))


def aliases_of(act: Remember) -> tuple[str, ...]:
    """The other names of a record: texts under `aliases` in its metadata."""
    aliases: Any = (act.metadata or {}).get("aliases", ())
    names = (aliases,) if isinstance(aliases, str) else aliases if isinstance(aliases, list | tuple) else ()
    return tuple(name for name in names if isinstance(name, str))


def names_of(act: Remember) -> tuple[str, ...]:
    """By what a question may name a record: title, aliases, key, and what stands behind the key's last dot."""
    key = act.key or ""
    return tuple(name for name in (act.title, key, key.rpartition(".")[2], *aliases_of(act)) if name)


def speakers_of(act: Remember) -> tuple[str, ...]:
    """Who said a record of a conversation: as its metadata says (`speaker`, `role`), else as its text begins."""
    about = act.metadata or {}
    named = [
        name for name in (about.get("speaker"), about.get("role")) if isinstance(name, str) and name.strip()
    ]
    if not named and act.session is not None:
        named = [name for name in (speaker_in(act.text),) if name]
    return tuple(dict.fromkeys(named))
