"""The banks of a peer, for one of its keys: make, list, grant, revoke (design sections 4 and 10)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.bank_views import BankInfo, Decision, Invited, InviteInfo, MemberInfo
from muniment.base.errors import (
    Ambiguous,
    InvalidInput,
    LimitExceeded,
    MunimentError,
    UnknownBank,
)
from muniment.base.ids import EntryId, cid_text, parse_cid
from muniment.base.limits import LIMITS
from muniment.describing import describe, described
from muniment.founding import found
from muniment.granting import Changed, Terms, grant, restore, standing
from muniment.identity.did import parse_did
from muniment.ledger.acts import Describe
from muniment.ledger.control import Founder
from muniment.ledger.levels import ADMIN, READ, Level, parse_level
from muniment.members import Meant, members, named, who
from muniment.names import check_name
from muniment.query import Time, to_ms
from muniment.refs import drop_ref, put_ref
from muniment.revoking import Cut, adopt, rekey, revoke, settle_expired, share_keys
from muniment.session import find_bank
from muniment.store.peer import AgentRow, BankRow

if TYPE_CHECKING:
    from muniment.peer import Peer

# `list` is a method of the class below.
BankInfos = list[BankInfo]
MemberInfos = list[MemberInfo]
InviteInfos = list[InviteInfo]
Held = dict[bytes, list[Terms]]


class Banks:
    """What one key of a peer may do with banks: `agent.banks` for an agent's, `peer.banks` for the owner's.

    Each call is asked of the bank's authority with that key. Banks are named by id, or by what this peer calls
    them; a name that fits several is refused.
    """

    def __init__(self, peer: Peer, agent: AgentRow | None) -> None:
        self._peer, self._agent = peer, agent

    def __repr__(self) -> str:
        return f"Banks({'owner' if self._agent is None else self._agent.name!r})"

    @property
    def key(self) -> bytes:
        """The public key that acts."""
        return self._peer.owner() if self._agent is None else self._agent.key

    # Making and listing

    def new(self, name: str, *, description: str = "", recovery: str | None = None) -> BankInfo:
        """Found a bank, held by the key that acts.

        Args:
            name: What to call it; no bank and no agent of this peer may be called so.
            description: What it is for, for its readers.
            recovery: DID of a key that is kept elsewhere, in the cold: it becomes admin(0), who acts admin(1).

        Raises:
            InvalidInput | LimitExceeded: The name is taken or none, or the description too long.
            RefusedKey: The DID holds no usable key.
            StorageError: It can't be made; nothing stays.
        """
        check_name(name)
        if len(description) > LIMITS.description_chars:
            raise LimitExceeded("description characters", LIMITS.description_chars, len(description))
        cold = None if recovery is None else parse_did(recovery)
        key, peer = self.key, self._peer
        if cold == key:
            raise InvalidInput(
                "the recovery key is the key that founds", "Name a key that is kept elsewhere."
            )
        with peer.folder.lock("banks"):
            self._check_free(name)
            founders = [Founder(key, Level(ADMIN, 0 if cold is None else 1))]
            founders += [] if cold is None else [Founder(cold, Level(ADMIN, 0))]
            store = found(peer.host, key, founders, peer.make_store)
            bank = store.bank
            store.close()
            peer.made_store().add_bank(bank, "shared", name, peer.host.clock.now_ms())
        describe(peer.bank(bank), key, name, description)
        return self._info(self._row(cid_text(bank)))

    def _check_free(self, name: str) -> None:
        store = self._peer.made_store()
        if any(row.name.casefold() == name.casefold() for row in store.banks(unlisted=True)):
            raise InvalidInput(f"there is a bank {name!r} already", "Choose another name, or undelete it.")

    def list(self, *, all: bool = False) -> BankInfos:  # noqa: A002 - as people type it
        """The banks of this peer, those first that came first; with `all` also those that were deleted here."""
        store = self._peer.standing_store()
        return [] if store is None else [self._info(row) for row in store.banks(unlisted=all)]

    def describe(self, bank: str, description: str | None = None, *, title: str | None = None) -> BankInfo:
        """What a bank is; with a description or a title: say so to all its readers first.

        Raises:
            UnknownBank | Ambiguous: As their names say.
            LimitExceeded | NotPermitted: It is too long, or the key may not write.
        """
        row = self._row(bank)
        if description is not None or title is not None:
            opened = self._peer.bank(row.bank)
            said = described(opened, self.key) or Describe(row.name)
            describe(
                opened,
                self.key,
                said.name if title is None else title,
                said.description if description is None else description,
            )
        return self._info(row)

    def rename(self, bank: str, name: str) -> BankInfo:
        """Call a shared bank otherwise on this peer; nobody else sees it.

        Raises:
            UnknownBank | Ambiguous | InvalidInput | LimitExceeded: As their names say.
        """
        check_name(name)
        row = self._shared(bank)
        with self._peer.folder.lock("banks"):
            self._check_free(name)
            self._peer.made_store().rename_bank(row.bank, name)
        return self._info(self._row(cid_text(row.bank)))

    def members(self, bank: str) -> MemberInfos:
        """Who holds or held what in a bank, strongest first.

        Raises:
            UnknownBank | Ambiguous | NotPermitted: As their names say.
        """
        return members(self._peer, self._peer.bank(self._row(bank).bank), self.key)

    def delete(self, bank: str) -> BankInfo:
        """Take a shared bank off this peer's list: it is kept, but nobody gets to it here until `undelete`.

        Raises:
            UnknownBank | Ambiguous: As their names say.
            InvalidInput: It is an agent's own.
        """
        row = self._shared(bank)
        self._peer.made_store().list_bank(row.bank, listed=False)
        return self._info(row._replace(listed=False))

    def undelete(self, bank: str) -> BankInfo:
        """Put a deleted bank back on the list.

        Raises:
            UnknownBank | Ambiguous: No deleted bank goes by that name, or several do.
        """
        store = self._peer.standing_store()
        gone = [] if store is None else [row for row in store.banks(unlisted=True) if not row.listed]
        name = bank.strip()
        found = [row for row in gone if name == cid_text(row.bank)]
        found = found or [row for row in gone if row.name.casefold() == name.casefold()]
        if len(found) > 1:
            ids = [cid_text(row.bank) for row in found]
            raise Ambiguous(f"several deleted banks are called {bank[:80]!r}", ids, "Name the id.")
        if not found:
            raise UnknownBank(f"no deleted bank is called {bank[:80]!r}", "See `muniment bank list --all`.")
        self._peer.made_store().list_bank(found[0].bank, listed=True)
        return self._info(found[0]._replace(listed=True))

    # Deciding

    def grant(
        self,
        bank: str,
        to: str,
        level: str,
        *,
        until: Time | None = None,
        delegable: bool = False,
        as_agent: bool = False,
        force: bool = False,
    ) -> Decision:
        """Give somebody a level in a bank; it takes the place of what they held.

        The control entry comes first, then the ref in the agent's own bank. Doing it again changes nothing, and
        writes a ref that is missing.

        Args:
            bank: Any bank of this peer, an agent's own too.
            to: An agent's name (all its keys), a name given to a key, or a DID.
            level: `relay`, `read`, `write` or `admin(n)`.
            until: When it ends.
            delegable: The holder may pass it on, up to its own level and end.
            as_agent: The key is that of the bank's agent on another installation.
            force: Decide though part of the control past is not here.

        Raises:
            UnknownBank | UnknownAgent | Ambiguous | InvalidInput: As their names say.
            NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: As for `granting.grant`.
            StorageError: The ref can't be written; what stood before stands again.
        """
        row, meant = self._row(bank), who(self._peer, to)
        opened = self._peer.bank(row.bank)
        ends = None if until is None else to_ms(until, "until")
        terms = Terms(parse_level(level), ends, delegable, as_agent)
        if meant.agent is not None and meant.agent.bank == row.bank and meant.agent.key != self.key:
            raise InvalidInput("that is its own memory", "An agent holds its own bank already.")
        settle_expired(opened, self.key)
        before = standing(opened, meant.keys)
        changed = grant(opened, self.key, meant.keys, terms, force=force)
        ref = self._refer(row, opened, meant, terms.level, changed, before)
        done = "granted" if changed.entry else "unchanged"
        return self._told(done, row, meant.keys, changed, level=str(terms.level), ref=ref)

    def _refer(
        self,
        row: BankRow,
        bank: Bank,
        meant: Meant,
        level: Level,
        changed: Changed,
        before: Held,
    ) -> bool | None:
        """Write the ref; if that fails, what stood before the grant stands again."""
        if meant.agent is None or meant.agent.bank == row.bank:
            return None
        try:
            own = self._peer.bank(meant.agent.bank)
            put_ref(own, meant.agent.key, row.bank, row.name, str(level))
        except MunimentError as error:
            if changed.entry is not None:
                restore(bank, self.key, {key: before[key] for key in changed.keys})
                error.add_note("The grant was rolled back: what stood before stands again.")
            raise
        return True

    def revoke(self, bank: str, whom: str, *, cascade: bool = False, force: bool = False) -> Decision:
        """Take from somebody all that they hold in a bank; what they wrote so far stays.

        Args:
            bank: The bank.
            whom: As for `grant`; of an agent all keys that hold something.
            cascade: Also from those whom they let in.
            force: Also from the last admin, or though part of the control past is not here.

        Raises:
            UnknownBank | UnknownAgent | Ambiguous | InvalidInput: As their names say.
            NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: As for `revoking.revoke`.
        """
        row, meant = self._row(bank), who(self._peer, whom)
        opened = self._peer.bank(row.bank)
        held = tuple(key for key in meant.keys if opened.authority.leases_open(key))
        cut: Cut = revoke(opened, self.key, held or meant.keys, cascade=cascade, force=force)
        ref: bool | None = None
        store = self._peer.made_store()
        for agent in filter(None, map(store.agent_by_key, cut.changed.keys)):
            ref = bool(ref)
            with suppress(MunimentError):  # a ref opens nothing: it may stay
                drop_ref(self._peer.bank(agent.bank), agent.key, row.bank)
                continue
            ref = True
        return self._told("revoked", row, cut.changed.keys, cut.changed, ref=ref, let_in=cut.let_in)

    def rekey(self, bank: str, *, reader: str | None = None, force: bool = False) -> Decision:
        """Start a new key that exactly the readers of now hold; with `reader`, give the standing one to a reader.

        Raises:
            UnknownBank | UnknownAgent | Ambiguous: As their names say.
            NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: As for `revoking.rekey`.
        """
        row = self._row(bank)
        opened = self._peer.bank(row.bank)
        if reader is None:
            entry = rekey(opened, self.key, force=force)
            return self._told("rekeyed", row, (), Changed(entry, (), True))
        meant = who(self._peer, reader)
        last = Changed(None, (), True)
        for key in meant.keys:
            last = share_keys(opened, self.key, key)
        return self._told("shared the key" if last.entry else "unchanged", row, meant.keys, last)

    def adopt(self, bank: str, entry: str, *, force: bool = False) -> Decision:
        """Take back an entry that a revocation left out, and what leads to it.

        Raises:
            UnknownBank | Ambiguous | UnknownRecord | InvalidInput: As their names say.
            NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: As for `revoking.adopt`.
        """
        row = self._row(bank)
        made = adopt(
            self._peer.bank(row.bank), self.key, EntryId(parse_cid(entry.partition("/")[0])), force=force
        )
        return self._told("adopted", row, (), Changed(made, (), True))

    def fork(self, bank: str, name: str) -> BankInfo:
        """Found a new bank from what counts in another, such as one without an admin.

        Raises:
            UnknownBank | Ambiguous | InvalidInput | NotPermitted: As their names say.
        """
        from muniment.forking import fork

        return fork(self, self._peer, self._peer.bank(self._row(bank).bank), name)

    # Invites

    def invite(self, bank: str, level: str = "read", *, uses: int = 1, until: Time | None = None) -> Invited:
        """Make an invite; its secret is in the answer and nowhere else.

        Raises:
            UnknownBank | Ambiguous | InvalidInput: As their names say.
            NotPermitted | ControlIncomplete | ReadOnlyBank: The key could not grant that level itself.
        """
        from muniment.invites import invited

        return invited(self._peer, self._peer.bank(self._row(bank).bank), self.key, level, uses, until)

    def invites(self, bank: str) -> InviteInfos:
        """The invites of a bank, and what became of them, the newest first.

        Raises:
            UnknownBank | Ambiguous | NotPermitted: As their names say.
        """
        from muniment.invites import listed

        return listed(self._peer, self._peer.bank(self._row(bank).bank), self.key)

    def withdraw(self, bank: str, invite: str) -> InviteInfo:
        """Answer an invite no more; who was answered stays.

        Raises:
            UnknownBank | Ambiguous | UnknownRecord | InvalidInput | NotPermitted: As their names say.
        """
        from muniment.invites import withdrawn

        return withdrawn(self._peer, self._peer.bank(self._row(bank).bank), self.key, invite)

    # Inside

    def _row(self, bank: str) -> BankRow:
        return find_bank(self._peer, bank)

    def _shared(self, bank: str) -> BankRow:
        row = self._row(bank)
        if row.kind == "agent":
            raise InvalidInput(
                f"{row.name!r} is an agent's own memory", "Only shared banks can be deleted or renamed."
            )
        return row

    def _told(
        self,
        done: str,
        row: BankRow,
        keys: tuple[bytes, ...],
        changed: Changed,
        *,
        level: str | None = None,
        ref: bool | None = None,
        let_in: tuple[bytes, ...] = (),
    ) -> Decision:
        entry = None if changed.entry is None else cid_text(changed.entry)
        whom, left = named(self._peer, keys), named(self._peer, let_in)
        return Decision(done, cid_text(row.bank), row.name, whom, level, entry, changed.sealed, ref, left)

    def _info(self, row: BankRow) -> BankInfo:
        bank, key = self._peer.bank(row.bank), self.key
        authority, now = bank.authority, bank.host.clock.now_ms()
        level = authority.level(key, now)
        reads = row.listed and level is not None and level.allows(READ)
        said = described(bank, key) if reads else None
        return BankInfo(
            id=cid_text(row.bank),
            name=row.name,
            kind=row.kind,
            level=None if level is None else str(level),
            listed=row.listed,
            state=_state(bank, now),
            members=sum(member.state == "standing" for member in authority.members(now)),
            title=None if said is None else said.name,
            description=None if said is None else said.description or None,
            created_at_ms=row.created_ms,
        )


def _state(bank: Bank, now: int) -> str:
    authority = bank.authority
    if authority.unknown_acts:
        return "read-only"
    if authority.incomplete:
        return "control incomplete"
    if authority.frozen(now):
        return "frozen"
    return "ok" if authority.current_epoch(now) is not None else "waiting for a key"
