"""Keys that take another's place, and the keys that sign here (design sections 3, 4 and 10).

A rotation is one control entry in the agent's own bank: it grants the new key, hands it the epoch keys, cuts the
old one and says that the new one succeeds it, so that provenance `self` follows. The bank's id stays, and with it
who the agent is. It is signed by the controller where its key is here; an agent alone comes out one level weaker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.bank import Bank
from muniment.bank_views import KeyInfo, Rotated
from muniment.base.errors import InvalidInput, NotPermitted, UnknownAgent
from muniment.base.ids import EntryId, cid_text
from muniment.granting import settle_epoch, shares, tips_of
from muniment.identity.did import fingerprint, to_did
from muniment.ledger.authority import Authority
from muniment.ledger.control import Control, Grant, Revoke
from muniment.ledger.levels import ADMIN, MAX_RANK, READ, Level
from muniment.writing import Writer

if TYPE_CHECKING:
    from muniment.peer import Peer

_PENDING = "rotating"
_OWNER = "owner"
# `list` is a method of the class below.
KeyInfos = list[KeyInfo]
Ids = list[str]
PublicKeys = list[bytes]


class Keys:
    """The private keys of a peer; they stay in custody, and only their public halves are told."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def list(self) -> KeyInfos:
        """The keys that sign here, in the order in which they came."""
        store, ring = self._peer.standing_store(), self._peer.host.keyring
        owner = None if store is None else store.meta(_OWNER)
        agents = {} if store is None else {row.key: row for row in store.agents()}
        heirs = frozenset[bytes]().union(
            *(self._peer.bank(row.bank).authority.agents for row in agents.values())
        )
        found = []
        for key in ring.keys():  # noqa: SIM118 - a keyring is no dict
            role = "agent" if key in agents else "retired" if key in heirs else "spare"
            role = _OWNER if key == owner else role
            name = self._peer.name_of(key) or ring.label(key)
            found.append(KeyInfo(name, to_did(key), fingerprint(key), role))
        return found

    def rotate(self, agent: str, *, not_mine: bool = False) -> Rotated:
        """Give an agent a new key in place of its own; open the agent again afterwards.

        The old key is cut where this peer can: in the agent's own bank, and in shared banks where the old key or
        the owner is admin enough. What it signed so far stays.

        Args:
            agent: The agent's name.
            not_mine: Of what the old key signed keep only what this installation signed: it is in other hands.

        Raises:
            UnknownAgent: None goes by that name.
            InvalidInput: `not_mine`, and the journal that would tell what was signed here is gone.
            NotPermitted: Neither the agent nor a controller whose key is here may do it.
            KeyUsedElsewhere: The old key signed elsewhere, and nobody said whether that is so: see `not_mine`.
        """
        peer = self._peer
        store, row = peer.made_store(), peer.agent_row(agent)
        with peer.folder.lock("agents"):
            row, old = peer.agent_row(agent), row.key
            if row.key != old:
                raise UnknownAgent(
                    "another process gave the agent a new key just now", "Look, then do it again."
                )
            new = peer.host.keyring.create(label=row.name)
            store.set_meta(_PENDING, old + new)
            entry = _succeed(peer.bank(row.bank), self._signers(row.controller), old, new, not_mine=not_mine)
            if entry is None:
                store.set_meta(_PENDING, None)
                peer.host.keyring.remove(new)
                raise NotPermitted(
                    "neither this agent nor a controller whose key is here may rotate its key",
                    "Ask its controller.",
                )
            store.replace_key(old, new)
            store.set_name(old, row.name)
            store.set_meta(_PENDING, None)
        moved, left = self._elsewhere(row.bank, old, new, row.controller, not_mine=not_mine)
        return Rotated(row.name, to_did(old), to_did(new), moved, left, cid_text(entry))

    def _signers(self, controller: bytes) -> PublicKeys:
        """Keys here that may stand above an agent's: its controller's, and the owner's."""
        owner = self._peer.made_store().meta(_OWNER)
        keys = [controller, owner] if owner and owner != controller else [controller]
        return [key for key in keys if self._peer.host.keyring.has(key)]

    def _elsewhere(
        self, own: bytes, old: bytes, new: bytes, controller: bytes, *, not_mine: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Move the agent in the other banks of this peer: ids of those where that went, and where it did not."""
        moved: Ids = []
        left: Ids = []
        for row in self._peer.made_store().banks():
            bank = self._peer.bank(row.bank)
            if row.bank == own or not bank.authority.leases_open(old):
                continue
            signers = self._signers(controller)
            try:
                done = _succeed(bank, signers, old, new, not_mine=not_mine) is not None
            except (NotPermitted, InvalidInput):
                done = False
            (moved if done else left).append(cid_text(row.bank))
        return tuple(moved), tuple(left)


def _succeed(bank: Bank, signers: list[bytes], old: bytes, new: bytes, *, not_mine: bool) -> EntryId | None:
    """One entry that grants the new key what the old one held, and cuts that; None if nobody here may sign it."""
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        held = authority.leases_now(old, now)
        signer = _signer(authority, signers, old, now)
        if not held or signer is None:
            return None
        ours = _signed_here(bank, old) if not_mine else None
        lease, level = held[0], held[0].level
        if signer == old:
            level = Level(ADMIN, min(level.rank + 1, MAX_RANK))
        authority.check_grant(signer, new, level, now, delegable=lease.delegable, until=lease.until)
        authority.check_revoke(signer, old, now, force=True)
        agent = old in authority.agents
        acts: list[Control] = [
            Grant(new, level, lease.until, lease.delegable, agent, succeeds=old),
            *(shares(bank, signer, authority, new) if level.allows(READ) else []),
            Revoke(old, tips_of(bank, authority, old) if ours is None else ours),
        ]
        prev = ours if signer == old else None
        entry, _ = Writer(bank, signer).commit_control(authority, acts, now, prev)
        settle_epoch(bank, new if signer == old else signer, now)
        return entry.id


def _signer(authority: Authority, signers: list[bytes], old: bytes, now: int) -> bytes | None:
    """Who signs: a stronger admin whose key is here, else the old key itself if it is an admin's."""
    level = authority.level(old, now)
    if level is None:
        return None
    for key in signers:
        above = authority.level(key, now)
        if key != old and above is not None and above.code == ADMIN and level.weaker_than(above):
            return key
    return old if level.code == ADMIN else None


def _signed_here(bank: Bank, key: bytes) -> tuple[EntryId, ...]:
    """The newest entry of a key that this installation signed, by the keyring's journal.

    Raises:
        InvalidInput: The journal is gone.
    """
    slot = bank.host.journal.read(bank.id, key)
    if slot is not None:
        for name in (slot.latest, slot.previous):
            if name is not None and bank.store.seq_of(name) is not None:
                return (name,)
        return ()
    if any(row.local for row in bank.store.entries(author=key)):
        raise InvalidInput(
            "the journal that tells what this installation signed is gone",
            "Look at `muniment verify`, then have an admin revoke the key: muniment bank revoke",
        )
    return ()


def finish(peer: Peer) -> None:
    """Finish a rotation that was cut short after its entry was signed, or forget one that was cut short before."""
    store = peer.made_store()
    if store.meta(_PENDING) is None:
        return
    with peer.folder.lock("agents"):
        pending = store.meta(_PENDING)
        if pending is None:
            return
        old, new = pending[:32], pending[32:]
        row = store.agent_by_key(old)
        if row is not None and peer.bank(row.bank).authority.level(new, peer.host.clock.now_ms()) is not None:
            store.replace_key(old, new)
            store.set_name(old, row.name)
        store.set_meta(_PENDING, None)
