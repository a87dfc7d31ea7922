"""An agent: a key of this peer and the bank that is its memory (design sections 2 and 11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from muniment.agent_archive import ArchiveFace
from muniment.bank import Bank
from muniment.base.errors import InvalidInput
from muniment.base.ids import cid_text, parse_record
from muniment.check import check
from muniment.check import rebuild as rebuild_all
from muniment.forgetting import forget
from muniment.forgetting import undo as unforget
from muniment.identity.did import to_did
from muniment.query import Asker, Time, Where, to_ms
from muniment.reading import Names, Reader
from muniment.recalling import Recaller
from muniment.remembering import Draft, remember
from muniment.store.base import Problem
from muniment.verify import VerifyReport, stats, verify
from muniment.views import Hits, ImportReport, Record, Remembered, Stats, Why
from muniment.writing import Writer

if TYPE_CHECKING:
    from muniment.auto_config import AutoRecallConfig
    from muniment.peer import Peer
    from muniment.reindexing import Reindexed
    from muniment.session import Session

Records = list[Record]  # `list` is a method of the class below
Problems = list[Problem]

_TIDY_EVERY = 256  # writes of one process between two looks at the index's tail


class Agent(ArchiveFace):
    """Writes to and recalls from its own memory. Made by `Peer.agent`.

    Attributes:
        name: What this peer calls it.
    """

    def __init__(self, name: str, key: bytes, bank: Bank, names: Names, peer: Peer | None = None) -> None:
        self.name = name
        self._key, self._bank, self._peer = key, bank, peer
        self._reader = Reader(bank, key, names, Asker(frozenset({key}), frozenset()))
        self._recaller = Recaller(bank, self._reader)
        self._writes = 0

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, {self.did})"

    @property
    def did(self) -> str:
        """Its key's did:key."""
        return to_did(self._key)

    @property
    def bank_id(self) -> str:
        """The id of its bank, as text."""
        return cid_text(self._bank.id)

    # Writing

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        session: str | None = None,
        created_at: Time | None = None,
        type: str = "note",  # noqa: A002 - the field's name in the design
        tool: bool = False,
        valid_from: Time | None = None,
        valid_until: Time | None = None,
        id: str | None = None,  # noqa: A002 - the field's name in the design
    ) -> Remembered:
        """Keep a memory: signed, sealed and on the disk when this returns.

        Remembering the same `key` again makes a new version that supersedes the live ones. Saying again what
        is already there changes nothing and gives the same id, with `created` False.

        Args:
            text: The words, kept as given; any text at all.
            key: An identity of your own, such as `project.deadline`.
            title: A short label.
            tags: Labels to filter by.
            metadata: A JSON object to filter by.
            session: The conversation that it belongs to.
            created_at: When it was said, Unix ms, `datetime` or ISO 8601; now, if not given.
            type: `note`, `skill`, `bullet` or `message`.
            tool: The words came from a tool, so they are trusted less.
            valid_from: From when it is true.
            valid_until: Until when.
            id: A record id (UUID) to use in place of a new one.

        Raises:
            LimitExceeded | InvalidInput: A value is over a limit or has no meaning.
            NotPermitted | WaitingForKey | KeyUsedElsewhere: The bank does not take it from this key.
            StorageError: It could not be written; nothing of it was kept.
        """
        draft = Draft(
            text=text,
            key=key,
            title=title,
            tags=tuple(tags),
            metadata=metadata,
            type=type,
            session=session,
            created=_ms(created_at, "created_at"),
            valid_from=_ms(valid_from, "valid_from"),
            valid_until=_ms(valid_until, "valid_until"),
            tool=tool,
            id=None if id is None else parse_record(id),
        )
        result = remember(self._bank, self._key, [draft])[0]
        self._writes += 1
        if self._writes % _TIDY_EVERY == 0:
            self._bank.tidy()
        return result

    def remember_many(self, drafts: Sequence[Draft]) -> list[Remembered]:
        """Keep several memories in one durable transaction: all of them, or none.

        Raises:
            As `remember`.
        """
        return remember(self._bank, self._key, drafts)

    def forget(self, ref: str, *, undo: bool = False) -> Records:
        """Hide a record (all its live versions, or the one version that is named); `undo` shows it again.

        Returns:
            The versions concerned, in their new state.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
        """
        act = unforget if undo else forget
        return act(self._bank, self._key, self._reader, ref)

    def claim(self) -> str:
        """Say that every entry by this agent's key is its own, after a backup was restored.

        Returns:
            The id of the entry that joins the branches.
        """
        return cid_text(Writer(self._bank, self._key).claim())

    # Reading

    def recall(
        self,
        query: str = "",
        *,
        limit: int = 10,
        mode: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        kind: str | None = None,
        source: str | None = None,
        author: str | None = None,
        type: str | None = None,  # noqa: A002
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        states: Sequence[str] = ("live",),
        as_of: Time | None = None,
        context: bool = True,
        fetch: bool = False,
    ) -> Hits:
        """The records that answer a query best, best first; an empty query lists the newest.

        Args:
            query: Any text; there is no query syntax.
            limit: At most so many hits, 1 to `Limits.recall_limit`.
            mode: `hybrid` (by words and by meaning, the default with an embedder), `text`, `vector` or `recent`.
            tags: Only records that carry all of these.
            metadata: Only records with these values, by dotted path.
            kind: Only `self_noted`, `granted` or `recalled` ones.
            source: Only those by `self`, `controller`, `peer` or `tool`.
            author: Only those signed by this DID.
            type: Only `note`, `skill`, `bullet` or `message`.
            session: Only those of this conversation.
            since: Only those said at or after this time; `until`: before this time.
            until: See `since`.
            states: `live`, also `superseded` or `forgotten` versions if asked for; `archived`: only such live ones.
            as_of: What was live at this past moment.
            context: Whether the conversation around a record counts.
            fetch: Bring the whole text of archived hits; those that are not in reach stay as they are.

        Raises:
            LimitExceeded | InvalidInput | RefusedKey: A limit or a filter has no meaning.
            NotPermitted: The agent may not read the bank.
        """
        where = Where(tags, metadata, kind, source, author, type, session, since, until, states, as_of)
        hits = self._recaller.recall(query, where, limit, mode, context=context)
        return self._whole(hits) if fetch else hits

    def get(self, ref: str) -> Record:
        """The record that an id, a key or a version names.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
        """
        return self._reader.get(ref)

    def list(
        self,
        *,
        limit: int = 20,
        offset: int = 0,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        kind: str | None = None,
        source: str | None = None,
        author: str | None = None,
        type: str | None = None,  # noqa: A002
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        states: Sequence[str] = ("live",),
        as_of: Time | None = None,
    ) -> Records:
        """Records, newest first; the filters are those of `recall`."""
        where = Where(tags, metadata, kind, source, author, type, session, since, until, states, as_of)
        return self._reader.page(where, limit, offset)

    def history(self, ref: str) -> Records:
        """All versions of a record, newest first.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
        """
        return self._reader.history(ref)

    def why(
        self,
        query: str,
        ref: str,
        *,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        type: str | None = None,  # noqa: A002
        session: str | None = None,
    ) -> Why:
        """Why a record is, or is not, an answer to a query.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
        """
        return self._recaller.why(query, ref, Where(tags=tags, metadata=metadata, type=type, session=session))

    def stats(self) -> Stats:
        """Counts of the bank."""
        return stats(self._bank, self._reader, self.name)

    # Conversations

    def session(self, name: str) -> Session:
        """A conversation, to which banks are attached and for which memory is recalled unasked.

        Args:
            name: The conversation's id, the same in each turn.

        Raises:
            InvalidInput | LimitExceeded: It is no name, or a long one.
        """
        from muniment.session import Session

        return Session(self._home(), name, self._key, self._bank)

    def auto_recall_config(self) -> AutoRecallConfig:
        """How this agent wants memory to be recalled unasked."""
        from muniment.auto_config import read

        return read(self._bank, self._key)

    def configure_auto_recall(self, **changes: Any) -> AutoRecallConfig:
        """Change settings of `AutoRecallConfig`, from the next turn on; None takes one back to its default.

        They stand in the agent's own bank, signed. Banks may be named by id or name.

        Raises:
            InvalidInput | LimitExceeded: There is no such setting, or it can't have this value; nothing is changed.
            UnknownBank | Ambiguous: `auto_recall_banks` names none, or several.
            NotPermitted | StorageError: As their names say.
        """
        from muniment.auto_config import write
        from muniment.session import bank_ids

        if changes.get("auto_recall_banks") is not None:
            changes["auto_recall_banks"] = bank_ids(self._home(), changes["auto_recall_banks"])
        return write(self._bank, self._key, changes)

    def reset_auto_recall(self) -> AutoRecallConfig:
        """Take all settings of auto-recall back to their defaults.

        Raises:
            NotPermitted | StorageError: As their names say.
        """
        from muniment.auto_config import reset

        return reset(self._bank, self._key)

    def _home(self) -> Peer:
        if self._peer is None:
            raise InvalidInput("this agent was not opened by a peer", "Use `Peer.agent`.")
        return self._peer

    # Files

    def import_from(
        self,
        path: str | Path,
        *,
        format: str = "auto",  # noqa: A002
        on_error: str = "skip",
        progress: Callable[[int, int, int], None] | None = None,
    ) -> ImportReport:
        """Take the memories of a file or folder in; what is there already changes nothing.

        Args:
            path: A file, or a folder of Markdown notes.
            format: `auto`, `jsonl`, `chat`, `markdown`, `locomo` or `longmemeval`.
            on_error: `skip` lines that can't be taken and report them, or `fail` at the first.
            progress: Called with bytes read, bytes in all, and records so far.

        Raises:
            ImportFailed: A line can't be taken and `on_error` is `fail`; what came before it was kept.
            InvalidInput: The format is unknown, or not to be told from the file.
        """
        from muniment.transfer import import_from  # brings every format, which only files need

        return import_from(self._bank, self._key, Path(path), format, on_error, progress)

    def export_to(
        self, target: str | Path | IO[bytes], *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Write every version, with its provenance, as JSON Lines; returns how many.

        Raises:
            NotPermitted | StorageError: As their names say.
        """
        from muniment.transfer import export_to

        return export_to(self._bank, self._reader, target, progress)

    # Care

    def check(self, *, rebuild: bool = False, progress: Callable[[int, int], None] | None = None) -> Problems:
        """Compare everything with everything; `rebuild` makes all derived tables and the index again first."""
        if rebuild:
            rebuild_all(self._bank, progress)
        return check(self._bank, progress)

    def reindex(self, *, progress: Callable[[int, int], None] | None = None) -> Reindexed:
        """Give a vector of the active model to every memory that has none; goes on where it was stopped.

        Raises:
            InvalidInput: No embedder is configured.
            NotPermitted | MissingExtra | StorageError: As their names say.
        """
        from muniment.reindexing import reindex  # brings numpy

        return reindex(self._bank, self._key, self._reader, progress)

    def verify(self, *, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
        """Check every signature again and tell what counts, what does not, and why."""
        self._reader.enter()
        return verify(self._bank, progress)


def _ms(value: Time | None, what: str) -> int | None:
    return None if value is None else to_ms(value, what)
