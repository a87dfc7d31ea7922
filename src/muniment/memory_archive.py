"""The archive of a bank, as one key uses it; `Memory` takes it in (design section 9)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput, NotFound, StorageError
from muniment.query import Time, Where, to_ms

if TYPE_CHECKING:
    from muniment.archive.options import Options
    from muniment.archive_policy import PolicyReport
    from muniment.archiving import Archived
    from muniment.bank import Bank
    from muniment.reading import Reader
    from muniment.recalling import Recaller
    from muniment.views import Hits, Record

Progress = Callable[[int, int], None]


class ArchiveFace:
    """Archiving, fetching and restoring, as methods of a memory."""

    _bank: Bank
    _key: bytes
    _reader: Reader
    _recaller: Recaller

    def archive(
        self,
        ref: str | None = None,
        *,
        older_than: str | None = None,
        larger_than: str | int | None = None,
        unused_for: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        type: str | None = None,  # noqa: A002
        session: str | None = None,
        until: Time | None = None,
        query: str | None = None,
        limit: int = 100,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> Archived:
        """Move texts to the archive: one record's, or those of all live records that pass.

        They stay found by words and by meaning. Without `ref`, something has to say which are meant, here or in the
        `archive:` block of the settings.

        Args:
            ref: A record id, a key or a version; however short its text is.
            older_than: Only what was said longer ago, such as `180d`.
            larger_than: Only texts of more bytes, such as `4kB`; 1024, if neither this nor the settings say.
            unused_for: Only what was not recalled here for so long.
            tags: Only records with all of these tags.
            metadata: Only records with these values, by dotted path.
            type: Only `note`, `skill`, `bullet` or `message`.
            session: Only those of this conversation.
            until: Only those said before this time.
            query: Only those that a recall finds for this text, and that hold enough of what it asks.
            limit: With `query`, at most so many, the best first; 1 to `Limits.recall_limit`.
            dry_run: Only tell what would be done.
            progress: Called with records looked at, and how many there are.

        Raises:
            InvalidInput: Nothing says which records are meant, or a value has no meaning.
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
            StorageError | MissingExtra: The archive can't be written; every text stays where it was.
        """
        from muniment.archive_policy import archive_due
        from muniment.archiving import archive

        given = (older_than, larger_than, unused_for, tags, metadata, type, session, until, query)
        named = any(value not in (None, ()) for value in given)
        if ref is not None and not named:
            return archive(self._bank, self._key, self._reader, ref, dry_run=dry_run)
        if ref is not None:
            raise InvalidInput("a record and a rule are both named", "Name one of them.")
        options = self._rule(older_than, larger_than, unused_for, named=named)
        authority = self._reader.enter()
        where = Where(tags=tags, metadata=metadata, type=type, session=session, until=until)
        wanted = self._reader.filter(where, authority)
        among = None if query is None else self._answers(query, limit, where, options)
        return archive_due(
            self._bank, self._key, options, wanted, among=among, dry_run=dry_run, progress=progress
        )

    def _answers(self, query: str, limit: int, where: Where, options: Options) -> Hits:
        """What a recall finds, of those that a rule can be about."""
        if not query.strip():
            raise InvalidInput("the query is empty", "Say some words of what is meant.")
        until = where.until
        if options.older_than is not None:
            oldest = self._bank.host.clock.now_ms() - options.older_than
            until = oldest if until is None else min(oldest, to_ms(until, "until"))
        return self._recaller.recall(
            query, replace(where, until=until), limit, None, context=True, floor=True
        )

    def _rule(
        self, older_than: str | None, larger_than: str | int | None, unused_for: str | None, *, named: bool
    ) -> Options:
        """The rule that was given, or the one of the settings."""
        from muniment.archive.options import duration, size
        from muniment.archiving import room_of

        options = room_of(self._bank).options
        if not named:
            if options.automatic:
                return options
            raise InvalidInput(
                "nothing says what to archive",
                "Name a record, or a rule: muniment archive --older-than 180d. See `archive:` in config.yaml.",
            )
        return replace(
            options,
            older_than=None if older_than is None else duration(older_than, "older_than"),
            unused_for=None if unused_for is None else duration(unused_for, "unused_for"),
            larger_than=options.larger_than if larger_than is None else size(larger_than, "larger_than"),
        )

    def fetch(self, ref: str, *, progress: Progress | None = None) -> Record:
        """A record with its whole text, from a pack here or from a peer that has it; every step is verified.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As for `get`.
            UnknownBlob | BlobDamaged | StorageError: The text is not in reach.
        """
        from muniment.archiving import fetch

        return fetch(self._bank, self._key, self._reader, ref, progress)

    def _whole(self, hits: Hits) -> Hits:
        """An answer whose archived hits have their text, where it is in reach."""
        for place, hit in enumerate(hits):
            if not hit.record.whole:
                with contextlib.suppress(NotFound, StorageError):
                    hits[place] = replace(hit, record=self.fetch(hit.record.version))
        return hits

    def restore(self, ref: str, *, progress: Progress | None = None) -> list[Record]:
        """Bring the text of an archived record back into the bank, here and on every peer.

        Returns:
            The versions concerned; none where nothing of the record was in the archive.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
            UnknownBlob | BlobDamaged | StorageError: The text is not in reach; nothing is changed.
        """
        from muniment.archiving import restore

        return restore(self._bank, self._key, self._reader, ref, progress)

    def run_archive_policy(self, *, progress: Progress | None = None) -> PolicyReport:
        """Archive what the settings ask for, and let texts go or come back as archive acts of others say.

        Meant to be called now and then by whatever runs all day.

        Raises:
            NotPermitted | StorageError | MissingExtra: As their names say; what was done is whole.
        """
        from muniment.archive_policy import run_policy

        return run_policy(self._bank, self._key, self._reader, progress)
