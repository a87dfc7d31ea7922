"""A session: one conversation of an agent, with the banks attached to it (design sections 2 and 11)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from muniment.auto_config import AutoRecallConfig, checked, read
from muniment.auto_recall import Preview, StoreRecall, Turn, TurnRecall, block, turn_of
from muniment.auto_search import Asking, Shown, search
from muniment.bank import Bank
from muniment.base.errors import (
    Ambiguous,
    Denied,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    NotFound,
    StorageError,
    UnknownBank,
)
from muniment.base.ids import BankId, cid_text, parse_cid
from muniment.base.limits import LIMITS
from muniment.project import own_keys
from muniment.query import Asker
from muniment.store.peer import BankRow
from muniment.trust import read as read_trust

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.embed.base import Vectors
    from muniment.peer import Peer

BUDGET_TOKENS = 1000
BUDGET_MS = 150
_SHUT = (Denied, NotFound, StorageError)  # why a bank is passed over: no right, not here, not to be read


class AttachedBank(NamedTuple):
    """A bank attached to a session: its id as text, and what this peer calls it."""

    id: str
    name: str


class Session:
    """One conversation. Made by `Agent.session`; that it exists is noted when the first bank is attached.

    Attributes:
        name: As given.
    """

    def __init__(
        self, peer: Peer, name: str, key: bytes, bank: Bank, timer: Callable[[], float] = time.monotonic
    ) -> None:
        if not name.strip():
            raise InvalidInput("a session needs a name", "Use the conversation's id.")
        if len(name) > LIMITS.session_chars:
            raise LimitExceeded("session characters", LIMITS.session_chars, len(name))
        self.name = name
        self._peer, self._key, self._bank, self._timer = peer, key, bank, timer

    def __repr__(self) -> str:
        return f"Session({self.name!r})"

    @property
    def agent(self) -> Agent:
        """Whose conversation it is."""
        name = self._peer.name_of(self._key)
        return self._peer.agent(name or "")

    # Attachments

    def attach(self, bank: str) -> AttachedBank:
        """Search a bank in each turn from the next on; attaching again changes nothing.

        It opens nothing: what the agent may not read stays shut, and is searched once it may.

        Args:
            bank: The id or the name of a bank of this peer.

        Raises:
            UnknownBank | Ambiguous: No bank goes by that name, or several do.
            InvalidInput: It is the agent's own, which is always searched.
        """
        row = find_bank(self._peer, bank)
        if row.bank == self._bank.id:
            raise InvalidInput("an agent's own memory can't be attached", "It is searched in each turn.")
        store = self._peer.made_store()
        store.attach(self._key, self.name, row.bank, self._peer.host.clock.now_ms())
        return _attached(row)

    def detach(self, bank: str) -> bool:
        """Search a bank no more from the next turn on; False if it was not attached.

        Raises:
            UnknownBank | Ambiguous: As for `attach`.
        """
        row = find_bank(self._peer, bank)
        return self._peer.made_store().detach(self._key, self.name, row.bank)

    def attached(self) -> list[AttachedBank]:
        """The attached banks, those first that came to this peer first."""
        return [_attached(row) for row in self._rows()]

    def _rows(self) -> list[BankRow]:
        store = self._peer.standing_store()
        return [] if store is None else store.attached(self._key, self.name)

    # Recall

    def context(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        budget_tokens: int = BUDGET_TOKENS,
        budget_ms: float = BUDGET_MS,
    ) -> str:
        """What memory knows of this turn, as a block to put after the conversation; empty if it knows nothing.

        The block is data, not an instruction, and belongs to no system prompt. Nothing is ever written by this.

        Args:
            messages: The conversation, the oldest first, each with a `role` and a `content`.
            budget_tokens: Tokens of the block at most; one is taken for each three bytes of UTF-8.
            budget_ms: Time after which no further bank is searched; half of it is the embedder's.

        Raises:
            InvalidInput: A message has no role, or a budget is negative.
        """
        return self.preview(messages, budget_tokens=budget_tokens, budget_ms=budget_ms).block

    def preview(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        budget_tokens: int = BUDGET_TOKENS,
        budget_ms: float = BUDGET_MS,
    ) -> Preview:
        """The block of `context`, and what it was made of.

        Raises:
            As `context`.
        """
        if budget_tokens < 0:
            raise InvalidInput(f"budget_tokens is {budget_tokens}", "Use 0 or more.")
        config = self.config()
        found = self._recall(turn_of(messages), config, budget_ms)
        return Preview(block(found.stores, chars=config.max_entry_chars, budget=budget_tokens), found)

    def recall_for(
        self, messages: Sequence[Mapping[str, Any]], *, budget_ms: float = BUDGET_MS
    ) -> TurnRecall:
        """What `context` would show, bank by bank, each record with the reason for it.

        Raises:
            As `context`.
        """
        return self._recall(turn_of(messages), self.config(), budget_ms)

    def config(self) -> AutoRecallConfig:
        """The agent's settings, as of now."""
        return read(self._bank, self._key)

    def _recall(self, turn: Turn, config: AutoRecallConfig, budget_ms: float) -> TurnRecall:
        if budget_ms < 0:
            raise InvalidInput(f"budget_ms is {budget_ms}", "Use 0 or more.")
        began = self._timer()
        if not config.auto_recall_enabled or not turn.readings:
            return TurnRecall(turn.query, ())
        end = began + budget_ms / 1000
        vector, degraded = self._meaning(turn, (began + end) / 2)
        stores: list[StoreRecall] = []
        own = own_keys(self._bank.authority) or frozenset({self._key})
        asked = Asking(
            turn,
            vector,
            self._key,
            self._peer.name_of,
            own,
            config.rule(meaning=vector is not None),
            config.max_entries,
            Shown(turn.said),
            read_trust(self._bank, self._key),
            Asker(self._bank.authority.agents | {self._key}, self._bank.authority.controllers),
        )
        for row in [None, *self._rows()]:
            if row is not None and not _allowed(row, config):
                continue
            if stores and self._timer() >= end:
                degraded = "the time was over before all banks were searched"
                break
            try:
                bank = self._bank if row is None else self._peer.bank(row.bank)
                hits = search(bank, asked)
            except _SHUT:
                continue
            name = None if row is None else row.name
            stores.append(StoreRecall(cid_text(bank.id), name, tuple(hits)))
        return TurnRecall(turn.query, tuple(stores), degraded)

    def _meaning(self, turn: Turn, until: float) -> tuple[Vectors | None, str | None]:
        """The turn's one embedding, if it comes in time, or why there is none."""
        meaning = self._peer.host.meaning
        if meaning is None:
            return None, None
        return meaning.query_within(turn.meant, until - self._timer())


def _allowed(row: BankRow, config: AutoRecallConfig) -> bool:
    return config.auto_recall_banks is None or cid_text(row.bank) in config.auto_recall_banks


def _attached(row: BankRow) -> AttachedBank:
    return AttachedBank(cid_text(row.bank), row.name)


def find_bank(peer: Peer, ref: str) -> BankRow:
    """The bank of this peer that an id or a name means; a name counts in any case.

    Raises:
        UnknownBank: None does.
        Ambiguous: Several do.
    """
    store = peer.standing_store()
    rows = [] if store is None else store.banks()
    bank = _as_id(ref)
    found = [row for row in rows if row.bank == bank]
    found = found or [row for row in rows if row.name.casefold() == ref.strip().casefold()]
    if len(found) > 1:
        ids = [cid_text(row.bank) for row in found]
        raise Ambiguous(
            f"several banks are called {ref[:80]!r}", ids, "Name the id of the one that you mean."
        )
    if not found:
        raise UnknownBank(f"no bank {ref[:80]!r} is on this peer", "Name the id or the name of one that is.")
    return found[0]


def bank_ids(peer: Peer, refs: object) -> object:
    """Banks by id, as `auto_recall_banks` keeps them: names are this peer's alone; ids may be of banks elsewhere.

    Raises:
        UnknownBank | Ambiguous | InvalidInput | LimitExceeded: As their names say.
    """
    named = checked("auto_recall_banks", refs)
    if named is None:
        return None
    return tuple(ref if _as_id(ref) else cid_text(find_bank(peer, ref).bank) for ref in named)


def _as_id(ref: str) -> BankId | None:
    try:
        return BankId(parse_cid(ref.strip()))
    except MunimentError:
        return None
