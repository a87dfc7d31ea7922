"""Who is meant, and who holds what: keys by name, and the members of a bank (design section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from muniment.bank import Bank
from muniment.bank_views import KeyName, MemberInfo
from muniment.base.errors import Ambiguous, NotPermitted, UnknownAgent
from muniment.identity.did import fingerprint, parse_did, to_did
from muniment.store.peer import AgentRow

if TYPE_CHECKING:
    from muniment.peer import Peer


class Meant(NamedTuple):
    """The keys that a word means, and the agent of this peer whose keys they are, if one's."""

    keys: tuple[bytes, ...]
    agent: AgentRow | None


def who(peer: Peer, word: str) -> Meant:
    """The keys that a DID or a name means: of an agent all keys that stand in its own bank.

    Args:
        peer: Whose names count.
        word: A DID (exactly that key), the name of an agent or an agent's bank, or a name given to a key.

    Raises:
        UnknownAgent: Nobody goes by that name.
        Ambiguous: Several do.
        RefusedKey: It looks like a DID and is none.
    """
    store = peer.standing_store()
    word = word.strip()
    if word.startswith("did:"):
        key = parse_did(word)
        return Meant((key,), None if store is None else store.agent_by_key(key))
    if store is None:
        raise _nobody(word)
    row = store.agent_by_name(word)
    if row is not None:
        return Meant(_standing_keys(peer.bank(row.bank), peer) or (row.key,), row)
    banks = [b for b in store.banks() if b.kind == "agent" and b.name.casefold() == word.casefold()]
    keys = [key for bank in banks if (found := _standing_keys(peer.bank(bank.bank), peer)) for key in found]
    if len(banks) == 1 and keys:
        return Meant(tuple(keys), None)
    named = [key for key, name in store.names().items() if name.casefold() == word.casefold()]
    if len(banks) + len(named) > 1:
        dids = [to_did(key) for key in [*keys, *named]]
        raise Ambiguous(f"several keys are called {word[:80]!r}", dids, "Name the DID of the one you mean.")
    if not named:
        raise _nobody(word)
    return Meant((named[0],), None)


def _nobody(word: str) -> UnknownAgent:
    return UnknownAgent(
        f"nobody is called {word[:80]!r} here", "Name an agent of this peer, or a key by its DID."
    )


def _standing_keys(bank: Bank, peer: Peer) -> tuple[bytes, ...]:
    authority, now = bank.authority, peer.host.clock.now_ms()
    return tuple(sorted(key for key in authority.agents if authority.level(key, now) is not None))


def check_member(bank: Bank, key: bytes) -> None:
    """Refuse who holds nothing in the bank: not even who else does is told.

    Raises:
        NotPermitted: It holds nothing.
        UnknownBank: The bank was deleted here.
    """
    bank.enter()
    if bank.authority.level(key, bank.host.clock.now_ms()) is None:
        raise NotPermitted("this key is no member of the bank", "Ask an admin of the bank for a grant.")


def members(peer: Peer, bank: Bank, key: bytes) -> list[MemberInfo]:
    """All keys that hold or held something in a bank, strongest first, those that were cut last.

    Raises:
        NotPermitted: The caller's key holds nothing in it.
    """
    check_member(bank, key)
    return [
        MemberInfo(
            name=peer.name_of(row.key),
            did=to_did(row.key),
            fingerprint=fingerprint(row.key),
            level=str(row.level),
            until_ms=row.until,
            delegable=row.delegable,
            agent=row.agent,
            granted_by=to_did(row.granted_by),
            granted_by_name=peer.name_of(row.granted_by),
            state=row.state,
        )
        for row in bank.authority.members(bank.host.clock.now_ms())
    ]


def named(peer: Peer, keys: tuple[bytes, ...]) -> tuple[KeyName, ...]:
    """Keys by name and DID."""
    return tuple(KeyName(peer.name_of(key), to_did(key)) for key in keys)


def dids(peer: Peer, words: object) -> object:
    """A list of keys as DIDs, from DIDs and names; what is no list of words is given back as it is.

    Raises:
        UnknownAgent | Ambiguous | RefusedKey: As for `who`.
    """
    items = words.split(",") if isinstance(words, str) else words
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        return words
    return tuple(to_did(key) for item in items if item.strip() for key in who(peer, item).keys)
