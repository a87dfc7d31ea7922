"""Invites: asked for with a secret, answered with an ordinary grant by who could give it anyway (design section 4).

The secret is the seed of the invite's key. It is printed once, kept nowhere and never sent: a claim is signed
with it. Uses and expiry are limits for answering, checked by the answerer's own clock; they decide no verdict.
Withdrawing an invite is a revocation that names its key.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

from muniment.bank import Bank
from muniment.bank_views import Invited, InviteInfo
from muniment.base import codec
from muniment.base.errors import InvalidInput, LimitExceeded, NotPermitted, UnknownRecord
from muniment.base.ids import BankId, VersionId, cid_text, parse_version
from muniment.granting import Changed, Terms, decide, grant
from muniment.identity import keys
from muniment.identity.did import to_did
from muniment.keyring.custody import Keyring
from muniment.ledger import claims
from muniment.ledger.authority import Authority
from muniment.ledger.authority import InviteInfo as Standing
from muniment.ledger.claims import NONCE_BYTES, Claim, check_claim, claim_bytes, read_claim
from muniment.ledger.control import EpochId, Grant, Invite, Revoke
from muniment.ledger.levels import ADMIN, Level, parse_level
from muniment.members import check_member
from muniment.platform.entropy import Entropy
from muniment.query import Time, to_ms

if TYPE_CHECKING:
    from muniment.peer import Peer

HOURS = 24
SEED_BYTES = 32
_HOUR_MS = 3_600_000
_MOST_USES = 1 << 16


class NewInvite(NamedTuple):
    """A new invite's id, and the secret seed (32 bytes) that a ticket carries; kept nowhere."""

    id: EpochId
    seed: bytes

    def __repr__(self) -> str:
        return f"NewInvite({self.id!r})"


def make_invite(
    bank: Bank, by: bytes, level: Level, *, uses: int = 1, until: int | None = None, force: bool = False
) -> NewInvite:
    """Sign an invite to a level that `by` could grant.

    Args:
        bank: The bank.
        by: Who invites, in custody here.
        level: What who is answered gets.
        uses: How many are answered.
        until: When it ends, Unix ms; a day from now if not given.
        force: Decide on a control past that is not wholly here.

    Raises:
        InvalidInput | LimitExceeded: It would have ended already, or has too few or too many uses.
        NotPermitted | BankFrozen | ControlIncomplete | ReadOnlyBank: `by` may not, or not now.
    """
    if uses < 1:
        raise InvalidInput(f"uses is {uses}", "An invite is for one at least.")
    if uses > _MOST_USES:
        raise LimitExceeded("uses", _MOST_USES, uses)
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        ends = now + HOURS * _HOUR_MS if until is None else until
        if ends <= now:
            raise InvalidInput("the invite would end before it begins", "Give a time to come, or none.")
        leases = authority.leases_now(by, now)
        limit = None if any(one.level.code == ADMIN for one in leases) else _latest(authority, by, now)
        authority.check_grant(by, bytes(32), level, now, until=limit, force=force)
        seed = bank.host.entropy.bytes(SEED_BYTES)
        act = Invite(keys.keypair(seed).public, level, ends, uses)
        entry, _ = decide(bank, by, [act], now)
        return NewInvite(EpochId(entry.id, 0), seed)


def _latest(authority: Authority, by: bytes, now: int) -> int | None:
    """When the longest delegable lease of a key ends; None: never, or there is none."""
    ends = [lease.until for lease in authority.leases_now(by, now) if lease.delegable]
    return None if None in ends or not ends else max(end for end in ends if end is not None)


def make_claim(
    bank: BankId, invite: EpochId, seed: bytes, joiner: bytes, keyring: Keyring, entropy: Entropy
) -> bytes:
    """The request that a joiner sends: signed with the invite's secret and with its own key.

    Args:
        bank: The bank.
        invite: The invite, as a ticket names it.
        seed: The secret of the ticket.
        joiner: The key that wants to be a member, in custody of `keyring`.
        keyring: Signs for the joiner.
        entropy: Where the nonce comes from.

    Raises:
        UnknownKey | KeyringLocked: The joiner's key can't sign here.
    """
    claim = Claim(bank, invite, joiner, entropy.bytes(NONCE_BYTES))
    by_joiner = keyring.sign(joiner, codec.CLAIM, claim.signed())
    return claim_bytes(claim, claims.sign_by_invite(claim, keys.keypair(seed)), by_joiner)


def answer_claim(bank: Bank, by: bytes, data: bytes, *, force: bool = False) -> Changed:
    """Answer a claim with a grant to the joiner, and the epoch keys sealed to it.

    The same claim again, or another by the same key, changes nothing while the joiner is a member, and lets nobody
    in again who was revoked.

    Args:
        bank: The bank.
        by: Who answers, in custody here: an admin, or the holder of a delegable lease.
        data: The claim as it came.
        force: Decide on a control past that is not wholly here.

    Raises:
        Malformed | LimitExceeded | RefusedKey: It is no claim of this bank, or a signature does not hold.
        NotPermitted: The invite is not there, ended, withdrawn or used up, or `by` may not grant its level.
        ControlIncomplete | BankFrozen | ReadOnlyBank: Not now.
    """
    asked, _, _ = read_claim(data)
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        invite = authority.invites.get(asked.invite)
        if invite is None or asked.bank != bank.id:
            raise NotPermitted("there is no such invite", "Ask for a new one.")
        claim = check_claim(data, bank.id, invite.act.key)
        answered = _answered(bank, asked.invite)
        if claim.joiner in answered:
            if authority.level(claim.joiner, now) is None:
                raise NotPermitted("this key was let in by this invite before, and revoked", "Ask an admin.")
            return Changed(None, (), authority.current_epoch(now) is not None)
        state = _state(authority, invite, len(answered), now)
        if state != "open":
            raise NotPermitted(f"the invite is {state}", "Ask for a new one.")
        held = authority.leases_now(claim.joiner, now)
        if any(not one.level.weaker_than(invite.act.level) for one in held):
            return Changed(None, (), authority.current_epoch(now) is not None)
        admin = any(one.level.code == ADMIN for one in authority.leases_now(by, now))
        until = None if admin else _latest(authority, by, now)
        terms = Terms(invite.act.level, until, invite=asked.invite)
        return grant(bank, by, [claim.joiner], terms, force=force)


def withdraw(bank: Bank, by: bytes, invite: EpochId, *, force: bool = False) -> Changed:
    """Answer an invite no more.

    Raises:
        UnknownRecord: There is no such invite.
        InvalidInput: It was withdrawn already.
        NotPermitted | ControlIncomplete | ReadOnlyBank: `by` is no admin and did not make it, or not now.
    """
    with bank.write() as authority:
        now = bank.host.clock.now_ms()
        standing = authority.invites.get(invite)
        if standing is None:
            raise UnknownRecord("there is no such invite in this bank", "See `muniment bank invite list`.")
        if authority.revoked(standing.act.key):
            raise InvalidInput("that invite was withdrawn already")
        made_it = standing.by == by and any(lease.delegable for lease in authority.leases_now(by, now))
        if not made_it:
            authority.check_control(by, now, force)
        entry, sealed = decide(bank, by, [Revoke(standing.act.key)], now)
        return Changed(entry.id, (), sealed)


def _answered(bank: Bank, invite: EpochId) -> frozenset[bytes]:
    """The keys that were let in by an invite, also those that are out again."""
    return frozenset(
        act.key
        for entry in bank.rulings.control()
        for act, stands in zip(entry.header.ctl, bank.rulings.authority.acts_standing(entry), strict=True)
        if isinstance(act, Grant) and act.invite == invite and stands
    )


def _state(authority: Authority, invite: Standing, used: int, now: int) -> str:
    if authority.revoked(invite.act.key):
        return "withdrawn"
    if now >= invite.act.until:
        return "expired"
    return "used up" if used >= invite.act.uses else "open"


# As callers see them


def invite_text(invite: EpochId) -> str:
    """An invite's id as text: `<entry id>/<act index>`."""
    return str(VersionId(invite.entry, invite.act))


def parse_invite(text: str) -> EpochId:
    """The invite that a text names.

    Raises:
        InvalidInput: It is no such id.
    """
    return EpochId(*parse_version(text))


def _info(peer: Peer, bank: Bank, invite: Standing) -> InviteInfo:
    used = len(_answered(bank, invite.id))
    return InviteInfo(
        id=invite_text(invite.id),
        bank=cid_text(bank.id),
        level=str(invite.act.level),
        uses=invite.act.uses,
        used=used,
        until_ms=invite.act.until,
        by=to_did(invite.by),
        by_name=peer.name_of(invite.by),
        state=_state(bank.authority, invite, used, bank.host.clock.now_ms()),
    )


def invited(peer: Peer, bank: Bank, by: bytes, level: str, uses: int, until: Time | None) -> Invited:
    """See `Banks.invite`."""
    ends = None if until is None else to_ms(until, "until")
    made = make_invite(bank, by, parse_level(level), uses=uses, until=ends)
    secret = base64.urlsafe_b64encode(made.seed).decode().rstrip("=")
    return Invited(_info(peer, bank, bank.authority.invites[made.id]), secret)


def listed(peer: Peer, bank: Bank, key: bytes) -> list[InviteInfo]:
    """See `Banks.invites`."""
    check_member(bank, key)
    invites = sorted(bank.authority.invites.values(), key=lambda one: (one.at, one.id), reverse=True)
    return [_info(peer, bank, one) for one in invites]


def withdrawn(peer: Peer, bank: Bank, key: bytes, ref: str) -> InviteInfo:
    """See `Banks.withdraw`."""
    invite = parse_invite(ref)
    withdraw(bank, key, invite)
    return _info(peer, bank, bank.authority.invites[invite])
