"""Checks before writing: what authority would say of an act that a key is about to sign.

They are no part of resolution. Guards that need the present (a frozen bank, the last admin, a control
past that is not wholly here) stand here and only here. Source: design section 4; review rules 13 and 15.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from muniment.base.errors import BankFrozen, ControlIncomplete, InvalidInput, NotPermitted, ReadOnlyBank
from muniment.ledger.leases import Lease, may_grant, may_narrow
from muniment.ledger.levels import ADMIN, READ, WRITE, Level


class Permits(ABC):
    """What a key may do now; `Authority` says who holds which leases."""

    @abstractmethod
    def leases_now(self, key: bytes, now_ms: int) -> list[Lease]:
        """The leases of a key under which it can act now, strongest first."""

    @abstractmethod
    def readers(self, now_ms: int) -> frozenset[bytes]:
        """Keys that may read now."""

    @abstractmethod
    def leases_open(self, key: bytes) -> list[Lease]:
        """The leases of a key that no revocation hits, expired ones included."""

    @property
    @abstractmethod
    def incomplete(self) -> bool:
        """Whether part of the control past is not here."""

    @property
    @abstractmethod
    def unknown_acts(self) -> bool:
        """Whether a standing control act is of a newer version."""

    def level(self, key: bytes, now_ms: int) -> Level | None:
        """The strongest level that a key holds now; None if it holds none."""
        leases = self.leases_now(key, now_ms)
        return leases[0].level if leases else None

    def may_erase(self, by: bytes, author: bytes, now_ms: int) -> bool:
        """Whether a key may erase what another wrote: a key its own, an admin that of weaker keys and of strangers."""
        level = self.level(by, now_ms)
        if level is None or by == author:
            return level is not None
        held = self.leases_open(author)
        return level.code == ADMIN and (not held or held[0].level.weaker_than(level))

    def frozen(self, now_ms: int) -> bool:
        """Whether no admin is left: members go on, nothing can be granted."""
        return not self._admins(now_ms)

    def _admins(self, now_ms: int) -> set[bytes]:
        levels = ((key, self.level(key, now_ms)) for key in self.readers(now_ms))
        return {key for key, level in levels if level is not None and level.code == ADMIN}

    def _need(self, by: bytes, now_ms: int, code: int, what: str) -> None:
        level = self.level(by, now_ms)
        if level is None or not level.allows(code):
            held = f"its level is {level}" if level else "it is no member"
            least = "admin" if code == ADMIN else Level(code)
            raise NotPermitted(f"this key may not {what}: {held}", f"Ask an admin of the bank for {least}.")

    def check_read(self, by: bytes, now_ms: int) -> None:
        """Whether a key may read.

        Raises:
            NotPermitted: It holds less than read.
        """
        self._need(by, now_ms, READ, "read this bank")

    def check_write(self, by: bytes, now_ms: int) -> None:
        """Whether a key may add entries.

        Raises:
            NotPermitted: It holds less than write.
            ReadOnlyBank: The bank holds control acts of a newer version.
        """
        self._need(by, now_ms, WRITE, "write to this bank")
        self._check_known(force=False)

    def _check_known(self, force: bool) -> None:
        if self.unknown_acts and not force:
            raise ReadOnlyBank("the bank holds control acts of a newer version", "Update muniment.")

    def check_control(self, by: bytes, now_ms: int, force: bool = False, need: int = ADMIN) -> None:
        """Whether a key may sign a control act that needs the level of code `need`.

        Args:
            by: The key that will sign.
            now_ms: The time.
            force: Write although the control past is not wholly here, or holds acts of a newer version.
            need: RELAY for erasing one's own, READ for a share, ADMIN for all that decides.

        Raises:
            BankFrozen: No admin is left.
            NotPermitted: The key holds less.
            ReadOnlyBank: The bank holds control acts of a newer version.
            ControlIncomplete: Part of the control past is not here.
        """
        if need == ADMIN and self.frozen(now_ms):
            raise BankFrozen(
                "the bank has no admin left: nothing can be granted or revoked",
                "Found a new one from what counts: muniment bank fork",
            )
        self._need(by, now_ms, need, "change who holds what in this bank" if need == ADMIN else "do this")
        self._check_state(force)

    def _check_state(self, force: bool) -> None:
        self._check_known(force)
        if self.incomplete and not force:
            raise ControlIncomplete(
                "part of the control past of this bank is not here",
                "Sync with other peers first, or decide on what is here with --force.",
            )

    def check_grant(
        self,
        by: bytes,
        key: bytes,
        level: Level,
        now_ms: int,
        *,
        delegable: bool = False,
        until: int | None = None,
        force: bool = False,
    ) -> None:
        """Whether a key may grant such a lease.

        Raises:
            InvalidInput: The lease would have expired already, or is a delegable admin.
            NotPermitted, BankFrozen, ControlIncomplete, ReadOnlyBank: As `check_control`.
        """
        if until is not None and until <= now_ms:
            raise InvalidInput("the grant would expire before it begins", "Give a time to come, or none.")
        if delegable and level.code == ADMIN:
            raise InvalidInput("an admin grants by being admin", "Leave delegable out.")
        terms = (level, delegable, until)
        leases = self.leases_now(by, now_ms)
        narrows = by == key and any(may_narrow(lease, *terms) for lease in leases)
        if not narrows and not any(may_grant(lease, *terms) for lease in leases):
            if self.frozen(now_ms):
                self.check_control(by, now_ms, force)
            held = f"it holds {leases[0].level}" if leases else "it is no member"
            raise NotPermitted(
                f"this key may not grant {'delegable ' if delegable else ''}{level}: {held}",
                "An admin grants strictly weaker levels; a delegable lease gives up to its own level and expiry.",
            )
        self._check_state(force)

    def check_revoke(self, by: bytes, key: bytes, now_ms: int, force: bool = False) -> None:
        """Whether a key may take from another, or from itself, all that it holds.

        Raises:
            NotPermitted: It may not, or it would remove the last admin and `force` is not given.
            BankFrozen, ControlIncomplete, ReadOnlyBank: As `check_control`.
        """
        leases, held = self.leases_now(by, now_ms), self.leases_open(key)
        if by == key:
            if not leases:
                raise NotPermitted("this key is no member of the bank", "There is nothing to leave.")
        elif not any(lease.level.code == ADMIN for lease in leases):
            gave = any(lease.delegable for lease in leases) and any(lease.by == by for lease in held)
            if not gave:
                self.check_control(by, now_ms, force)
        for lease in held if by != key else ():
            if not any(_reaches(one, by, lease) for one in leases):
                raise NotPermitted(
                    f"this key may not revoke {lease.level}",
                    "Only a strictly stronger admin, or whoever gave it, can.",
                )
        if self._admins(now_ms) == {key} and not force:
            raise NotPermitted(
                "this would remove the last admin: nothing could be granted any more",
                "Grant admin to another key first, or say --force.",
            )
        self._check_state(force)


def _reaches(lease: Lease, by: bytes, held: Lease) -> bool:
    if lease.level.code == ADMIN:
        return held.level.weaker_than(lease.level)
    return (
        lease.delegable and held.by == by and not held.delegable and not lease.level.weaker_than(held.level)
    )
