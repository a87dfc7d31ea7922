"""What one key keeps and finds in one bank: the face of records (design sections 5, 7 and 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from muniment.bank import Bank
from muniment.base.errors import InvalidInput
from muniment.base.ids import cid_text, parse_record
from muniment.care import Care
from muniment.forgetting import clear, forget, unclear
from muniment.forgetting import undo as unforget
from muniment.identity.did import to_did
from muniment.memory_archive import ArchiveFace
from muniment.playbook_face import PlaybookFace
from muniment.query import Asker, Time, Where, to_ms
from muniment.reading import Names, Reader
from muniment.recalling import Recaller
from muniment.remembering import Draft, remember
from muniment.skills import Skill, find, listed, save
from muniment.verify import stats
from muniment.views import Cleared, Hits, Record, Remembered, Stats, Why
from muniment.writing import Writer

if TYPE_CHECKING:
    from muniment.erasing import Erased
    from muniment.peer import Peer
    from muniment.trust import Weights

Records = list[Record]  # `list` is a method of the class below
Skills = list[Skill]


class Memory(Care, PlaybookFace, ArchiveFace):
    """What one agent keeps and finds in one bank, with its own key. Made by `Agent.bank`.

    Where the bank is no agent's own, `source` and `kind` of a record are relative to the agent that asks.

    Attributes:
        name: What this peer calls the agent.
    """

    def __init__(
        self,
        name: str,
        key: bytes,
        bank: Bank,
        names: Names,
        peer: Peer | None = None,
        own: Bank | None = None,
    ) -> None:
        self.name = name
        self._key, self._bank, self._peer, self._own = key, bank, peer, own or bank
        asker = None if own is None else asking(own, key)
        self._reader = Reader(bank, key, names, asker or Asker(frozenset({key}), frozenset()))
        self._recaller = Recaller(bank, self._reader)

    def __repr__(self) -> str:
        return f"Memory({self.name!r}, {self.bank_id})"

    @property
    def did(self) -> str:
        """The did:key of the agent's key."""
        return to_did(self._key)

    @property
    def bank_id(self) -> str:
        """The id of the bank, as text."""
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
        old_epoch: bool = False,
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
            valid_from: From when it is true; `valid_until`: until when.
            valid_until: See `valid_from`.
            id: A record id (UUID) to use in place of a new one.
            old_epoch: Don't wait for a key that only the readers of now hold: seal under the one before it.

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
        return self._remember(draft, old_epoch=old_epoch)

    def _remember(self, draft: Draft, *, old_epoch: bool) -> Remembered:
        self._settle()
        result = remember(self._bank, self._key, [draft], old_epoch=old_epoch)[0]
        self._bank.wrote()
        return result

    def remember_many(self, drafts: Sequence[Draft]) -> list[Remembered]:
        """Keep several memories in one durable transaction: all of them, or none.

        Raises:
            As `remember`.
        """
        self._settle()
        return remember(self._bank, self._key, drafts)

    def forget(self, ref: str, *, undo: bool = False) -> Records:
        """Hide a record (all its live versions, or the one version that is named); `undo` shows it again.

        Returns:
            The versions concerned, in their new state.

        Raises:
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
        """
        self._settle()
        act = unforget if undo else forget
        return act(self._bank, self._key, self._reader, ref)

    def erase(
        self, ref: str | None = None, *, key: str | None = None, version: bool = False, dry_run: bool = False
    ) -> Erased:
        """Destroy the bytes of a record, here and on every replica that syncs. It can't be undone.

        Args:
            ref: A record id, a key or a version: all versions of that record go, since without the newest the one
                before it would be shown again.
            key: In place of `ref`: a record key, of which late versions by the same authors go too.
            version: Only the version that `ref` names.
            dry_run: Only tell what would go.

        Raises:
            InvalidInput: Not exactly one of `ref` and `key` is given, or `ref` names no version.
            UnknownRecord | Ambiguous | NotPermitted: As their names say.
            StorageError: Nothing was erased.
        """
        from muniment.erasing import erase, erase_key

        self._settle()
        if (ref is None) is (key is None) or (key is not None and version):
            raise InvalidInput("one record has to be named", "Name a record, or its key with `key`.")
        if ref is not None:
            return erase(self._bank, self._key, self._reader, ref, only_version=version, dry_run=dry_run)
        return erase_key(self._bank, self._key, key or "", dry_run=dry_run)

    def clear(self, *, undo: bool = False, erase: bool = False) -> Cleared:
        """Forget all live records of the bank; `undo` brings back what was forgotten by this last.

        With `erase` all versions go for good that the key may erase, hidden ones too.

        Raises:
            UnknownRecord: There is nothing to undo.
            InvalidInput: Both are asked for.
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
        """
        if erase:
            from muniment.erasing import erase_all

            if undo:
                raise InvalidInput("what is erased can't be brought back", "Leave out one of them.")
            receipt = erase_all(self._bank, self._key)
            return Cleared(self.name, len(receipt.versions), erased=receipt)
        act = unclear if undo else clear
        return Cleared(self.name, act(self._bank, self._key), undone=undo)

    def claim(self) -> str:
        """Say that every entry by this agent's key is its own, after a backup was restored.

        Returns:
            The id of the entry that joins the branches.
        """
        return cid_text(Writer(self._bank, self._key).claim())

    def _weights(self) -> Weights | None:
        """What the agent's trust makes of each version."""
        from muniment.trust import read, weigh

        with self._bank.store.read():
            config = read(self._own, self._key)
            return weigh(self._bank, config, asking(self._own, self._key), unasked=False)

    def _settle(self) -> None:
        """Cut what has expired, if this is an admin's key: its next write is the time for it; and end erasures."""
        if self._bank.settled < 2:
            from muniment.erasing import settle_erasures

            settle_erasures(self._bank)
            self._bank.settled = 2
        if self._bank.authority.expired(self._bank.host.clock.now_ms()):
            from muniment.revoking import settle_expired

            settle_expired(self._bank, self._key)

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
        dates: str | None = None,
        rerank: bool | None = None,
        floor: bool = False,
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
            dates: What a time named in the query does: `boost` what was said then, `filter` out all else, or `off`;
                None for the setting, `boost` unless changed.
            rerank: Whether a reranker looks at the best records again; as the settings say if not given.
            floor: Leave out what is neither named by the query nor holds enough of what is asked: for a query that
                holds a record's title, key or alias whole, only the records that it names; an empty query has no floor.
            fetch: Bring the whole text of archived hits; those that are not in reach stay as they are.

        Raises:
            LimitExceeded | InvalidInput | RefusedKey: A limit or a filter has no meaning.
            NotPermitted: The agent may not read the bank.
        """
        where = Where(tags, metadata, kind, source, author, type, session, since, until, states, as_of)
        hits = self._recaller.recall(
            query, where, limit, mode,
            context=context, dates=dates, rerank=rerank, floor=floor, weigh=self._weights,
        )  # fmt: skip
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

    # Skills

    def save_skill(self, name: str, steps: Sequence[str], description: str = "") -> Remembered:
        """Keep a procedure step by step; the same name again makes a new version.

        Raises:
            InvalidInput | LimitExceeded: It has no name or no steps, or is too long.
            NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As for `remember`.
        """
        return save(self, name, steps, description)

    def skill(self, name: str) -> Skill:
        """The skill of that name, with its steps.

        Raises:
            UnknownRecord | InvalidInput | Ambiguous | NotPermitted: As their names say.
        """
        return find(self, name)

    def skills(self, *, limit: int = 100) -> Skills:
        """The skills of this memory, by name."""
        return listed(self, limit)


def asking(own: Bank, key: bytes) -> Asker:
    """Relative to whom an agent's questions are: all keys that are or were its own, and its controllers'."""
    authority = own.authority
    return Asker(authority.agents | {key}, authority.controllers)


def _ms(value: Time | None, what: str) -> int | None:
    return None if value is None else to_ms(value, what)
