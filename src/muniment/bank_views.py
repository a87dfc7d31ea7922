"""What callers get to see of banks and their members (design section 10). Plain values, no I/O."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BankInfo:
    """A bank of this peer, as one caller sees it.

    Attributes:
        id: Its id, as text.
        name: What this peer calls it.
        kind: `agent` for an agent's own memory, else `shared`.
        level: What the caller holds in it; None: nothing.
        listed: False once it was deleted here.
        state: `ok`, or what keeps it from being so: `frozen`, `control incomplete`, `read-only`,
            `waiting for a key`.
        members: How many keys hold something now.
        title: What its readers call it; `description` what it is for. None where nothing was said, or it stays shut.
        created_at_ms: When it came to this peer.
    """

    id: str
    name: str
    kind: str
    level: str | None
    listed: bool
    state: str
    members: int
    title: str | None
    description: str | None
    created_at_ms: int

    def to_json(self) -> dict[str, Any]:
        """The bank as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class MemberInfo:
    """One key of a bank.

    Attributes:
        name: What this peer calls it, if anything.
        fingerprint: By which two people compare the key.
        level: `relay`, `read`, `write` or `admin(n)`: its strongest lease.
        until_ms: When that ends; None: it does not.
        delegable: Whether it may be passed on.
        agent: Whether the key is the bank's agent.
        granted_by: DID of the key that gave it; `granted_by_name` its name here.
        state: `standing`, `expired, cut pending` or `cut`.
    """

    name: str | None
    did: str
    fingerprint: str
    level: str
    until_ms: int | None
    delegable: bool
    agent: bool
    granted_by: str
    granted_by_name: str | None
    state: str

    def to_json(self) -> dict[str, Any]:
        """The member as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class KeyName:
    """A key, by what this peer calls it and by its DID."""

    name: str | None
    did: str

    def to_json(self) -> dict[str, Any]:
        """The key as `--json` prints it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a grant, a revoke, a rekey or an adoption did.

    Attributes:
        done: `granted`, `revoked`, `rekeyed`, `shared the key` or `adopted`; `unchanged` where it stood so already.
        bank: The bank's id; `name` what it is called here.
        keys: Whom it concerns.
        level: What was given.
        entry: The control entry, or None.
        sealed: Whether a key stands that exactly the readers of now hold; else writers wait for an admin's peer.
        ref: Whether the agent's own bank says so too; None where no agent of this peer is concerned.
        let_in: Keys that those who were cut had let in, and that still hold something.
    """

    done: str
    bank: str
    name: str
    keys: tuple[KeyName, ...] = ()
    level: str | None = None
    entry: str | None = None
    sealed: bool = True
    ref: bool | None = None
    let_in: tuple[KeyName, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The decision as `--json` prints it."""
        keys = {
            "keys": [key.to_json() for key in self.keys],
            "let_in": [key.to_json() for key in self.let_in],
        }
        return {name: getattr(self, name) for name in self.__slots__} | keys


@dataclass(frozen=True, slots=True)
class InviteInfo:
    """An invite that stands.

    Attributes:
        id: `<entry id>/<act index>`.
        bank: The bank's id.
        level: What who is answered gets; `uses` how many may be, `used` how many were.
        until_ms: After when nobody is answered.
        by: DID of who made it; `by_name` its name here.
        state: `open`, `used up`, `expired` or `withdrawn`.
    """

    id: str
    bank: str
    level: str
    uses: int
    used: int
    until_ms: int
    by: str
    by_name: str | None
    state: str

    def to_json(self) -> dict[str, Any]:
        """The invite as `--json` prints it; its secret is not among it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Invited:
    """A new invite and its secret, which is shown once and kept nowhere."""

    invite: InviteInfo
    secret: str

    def __repr__(self) -> str:
        return f"Invited({self.invite.id})"

    def to_json(self) -> dict[str, Any]:
        """The invite with its secret, as `--json` prints it once."""
        return {**self.invite.to_json(), "secret": self.secret}


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A private key in custody here.

    Attributes:
        name: Its label.
        role: `owner`, `agent`, `retired` (another took its place) or `spare`.
    """

    name: str
    did: str
    fingerprint: str
    role: str

    def to_json(self) -> dict[str, Any]:
        """The key as `--json` prints it; nothing of its private half."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Rotated:
    """A key that took another's place.

    Attributes:
        agent: Whose keys they are.
        old, new: Their DIDs.
        moved: Ids of the shared banks in which the new key stands too.
        left: Ids of those where the old one still holds something: an admin there has to grant the new one.
        entry: The control entry in the agent's own bank.
    """

    agent: str
    old: str
    new: str
    moved: tuple[str, ...]
    left: tuple[str, ...]
    entry: str

    def to_json(self) -> dict[str, Any]:
        """The rotation as `--json` prints it."""
        return asdict(self) | {"moved": list(self.moved), "left": list(self.left)}
