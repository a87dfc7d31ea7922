"""Signed entries for tests: a cast of keys and a script that they act out.

```python
from muniment.testing.ledger import Script

script = Script()
script.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera")
script.grant("carol", "wim", "write")
entry = script.data("wim")
script.revoke("carol", "wim")  # the cut accepts all that wim has signed so far
assert script.rule(entry).verdict.name == "COUNTS"
```

Keys follow from names alone and nothing is random, so a script gives the same bytes each time. What is
signed need not be allowed: that is for authority to say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from nacl import bindings as sodium

from muniment.base import codec
from muniment.base.clock import at_of
from muniment.base.ids import BankId, EntryId, VersionId
from muniment.identity import keys
from muniment.identity.keys import KeyPair
from muniment.ledger.authority import Authority, Ruling
from muniment.ledger.control import (
    BOX_BYTES,
    LINK_BYTES,
    SALT_BYTES,
    Control,
    Epoch,
    EpochId,
    Erase,
    Found,
    Founder,
    Grant,
    Policy,
    Revoke,
    Share,
)
from muniment.ledger.entry import ActRef, Entry, Header, assemble, header_bytes
from muniment.ledger.levels import Level, parse_level

START_MS = 1_750_000_000_000  # June 2025: where the clock of a script begins


class Cast:
    """Keys that follow from names."""

    def __init__(self) -> None:
        self._pairs: dict[str, KeyPair] = {}
        self._names: dict[bytes, str] = {}

    def pair(self, name: str) -> KeyPair:
        """The key pair of a name."""
        if name not in self._pairs:
            pair = self._pairs[name] = keys.keypair(filler(f"seed of {name}", keys.SEED_BYTES))
            self._names[pair.public] = name
        return self._pairs[name]

    def __getitem__(self, name: str) -> bytes:
        """The public key of a name."""
        return self.pair(name).public

    def name(self, public: bytes) -> str:
        """The name of a public key that was asked for before."""
        return self._names[public]


def filler(label: str, length: int) -> bytes:
    """Bytes that stand for something random: the same for the same label."""
    return hashlib.shake_256(b"muniment/testing/" + label.encode()).digest(length)


def as_level(level: Level | str) -> Level:
    """A level, or its text form read."""
    return level if isinstance(level, Level) else parse_level(level)


class Held:
    """Entries held somewhere, as authority asks for them; `prev` and `author` make it a `Chain`."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: dict[EntryId, Entry] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Hold one more entry."""
        self.entries[entry.id] = entry

    def prev(self, entry: EntryId, /) -> tuple[EntryId, ...] | None:
        """`prev` of an entry held here."""
        held = self.entries.get(entry)
        return held.header.prev if held else None

    def author(self, entry: EntryId, /) -> bytes | None:
        """Who signed an entry held here."""
        held = self.entries.get(entry)
        return held.header.by if held else None

    @property
    def control_entries(self) -> dict[EntryId, Entry]:
        """The control entries among them."""
        return {entry.id: entry for entry in self.entries.values() if entry.is_control}

    def tips(self, key: bytes) -> tuple[EntryId, ...]:
        """The newest entries of a key: those that none of its others names in `prev`."""
        own = [entry for entry in self.entries.values() if entry.header.by == key]
        inner = {parent for entry in own for parent in entry.header.prev}
        return tuple(sorted(entry.id for entry in own if entry.id not in inner))

    def authority(self, bank: BankId) -> Authority:
        """The verdicts over what is held here."""
        return Authority.resolve(bank, self.control_entries, self)


class Script(Held):
    """A bank acted out entry by entry, each a millisecond after the last.

    Unless told otherwise an entry names the author's newest entries in `prev` and the standing heads in
    `auth`, as an honest peer that holds everything would.
    """

    def __init__(self, cast: Cast | None = None, start_ms: int = START_MS) -> None:
        super().__init__()
        self.cast = cast or Cast()
        self.now_ms = start_ms
        self._bank: BankId | None = None
        self._known: Authority | None = None

    @property
    def bank(self) -> BankId:
        """The bank's id; `found` has to come first."""
        if self._bank is None:
            raise LookupError("the script has no founding entry yet")
        return self._bank

    # -- signing --------------------------------------------------------------------------------------

    def sign(self, by: str, header: Header, keep: bool = True) -> Entry:
        """Sign a header as it is, with the key of `by`, whatever key the header names."""
        signed = header_bytes(header)
        entry = assemble(signed, keys.sign(self.cast.pair(by).secret, codec.ENTRY, signed), header)
        if keep:
            self.add(entry)
        return entry

    def header(
        self,
        by: str,
        *,
        prev: tuple[EntryId, ...] | None = None,
        auth: tuple[EntryId, ...] | None = None,
        at_ms: int | None = None,
    ) -> Header:
        """The fields that every entry has, with their honest defaults."""
        self.now_ms += 1
        return Header(
            self.bank,
            self.cast[by],
            self.tips(self.cast[by]) if prev is None else tuple(sorted(prev)),
            self.now().heads if auth is None else tuple(sorted(auth)),
            at_of(self.now_ms if at_ms is None else at_ms),
        )

    def found(
        self,
        founders: Mapping[str, Level | str],
        *more: Control,
        by: str | None = None,
        agent: str | None = None,
        boxes: bool = False,
    ) -> Entry:
        """The founding entry: keys and levels by name, signed by the first unless `by` names another.

        `boxes` starts an epoch in it, sealed to all founders; `more` are further acts.
        """
        self.now_ms += 1
        act = Found(
            tuple(
                Founder(self.cast[name], as_level(level), name == agent) for name, level in founders.items()
            ),
            filler(f"salt {self.now_ms}", SALT_BYTES),
        )
        epochs = (self.epoch_act(founders),) if boxes else ()
        author = by or next(iter(founders))
        header = Header(None, self.cast[author], (), (), at_of(self.now_ms), ctl=(act, *epochs, *more))
        entry = self.sign(author, header)
        self._bank = entry.bank
        return entry

    def control(
        self,
        by: str,
        *acts: Control,
        prev: tuple[EntryId, ...] | None = None,
        auth: tuple[EntryId, ...] | None = None,
        at_ms: int | None = None,
        keep: bool = True,
    ) -> Entry:
        """A control entry with these acts."""
        header = self.header(by, prev=prev, auth=auth, at_ms=at_ms)
        return self.sign(by, replace(header, ctl=acts), keep)

    def data(
        self,
        by: str,
        *,
        kinds: tuple[int, ...] = (1,),
        epoch: EpochId | None = None,
        prev: tuple[EntryId, ...] | None = None,
        auth: tuple[EntryId, ...] | None = None,
        at_ms: int | None = None,
        keep: bool = True,
    ) -> Entry:
        """An entry with bodies of these kinds; the bodies themselves are only hashes of filler."""
        header = self.header(by, prev=prev, auth=auth, at_ms=at_ms)
        label = f"body of {by} at {self.now_ms}"
        refs = tuple(ActRef(kind, filler(f"{label}/{n}", 32), 512) for n, kind in enumerate(kinds))
        epoch = epoch or EpochId(EntryId(self.bank), 1)
        return self.sign(by, replace(header, epoch=epoch, acts=refs), keep)

    def twin(self, entry: Entry, smaller: bool, keep: bool = True) -> Entry:
        """The same header signed again by its author so that the id is smaller or larger.

        Ed25519 lets a signer choose its nonce, so one header can have any number of valid signatures.
        """
        pair = self.cast.pair(self.cast.name(entry.header.by))
        for attempt in range(100_000):
            signature = sign_with_nonce(
                pair, codec.ENTRY + entry.header_bytes, filler(f"nonce {attempt}", 64)
            )
            other = assemble(entry.header_bytes, signature, entry.header)
            if other.id != entry.id and (other.id < entry.id) == smaller:
                if keep:
                    self.add(other)
                return other
        raise LookupError("no such twin found")

    # -- acts -----------------------------------------------------------------------------------------

    def grant_act(self, key: str, level: Level | str, **more: Any) -> Grant:
        """A grant by name; `more` are the further fields of `Grant`."""
        return Grant(self.cast[key], as_level(level), **more)

    def revoke_act(
        self, key: str, tips: tuple[EntryId, ...] | None = None, over: tuple[EntryId, ...] = ()
    ) -> Revoke:
        """A revocation that accepts what the key has signed so far, or what `tips` reach."""
        public = self.cast[key]
        return Revoke(public, self.tips(public) if tips is None else tuple(sorted(tips)), tuple(sorted(over)))

    def epoch_act(self, readers: Iterable[str], older: Iterable[EpochId] = ()) -> Epoch:
        """A start of an epoch for these readers that opens `older`; boxes and links are filler."""
        label = f"epoch {self.now_ms}"
        boxes = sorted((self.cast[name], filler(f"{label} {name}", BOX_BYTES)) for name in readers)
        links = tuple((epoch, filler(f"{label} {epoch}", LINK_BYTES)) for epoch in older)
        return Epoch(filler(label, 32), filler(f"{label} salt", SALT_BYTES), tuple(boxes), links)

    def grant(self, by: str, key: str, level: Level | str, **more: Any) -> Entry:
        """An entry that grants."""
        return self.control(by, self.grant_act(key, level, **more))

    def revoke(self, by: str, key: str, tips: tuple[EntryId, ...] | None = None) -> Entry:
        """An entry that revokes."""
        return self.control(by, self.revoke_act(key, tips))

    def epoch(self, by: str, readers: Iterable[str], older: Iterable[EpochId] | None = None) -> EpochId:
        """An entry that starts an epoch; opens all heads unless told otherwise."""
        heads = self.now().epoch_heads if older is None else older
        return EpochId(self.control(by, self.epoch_act(readers, heads)).id, 0)

    def share(self, by: str, epoch: EpochId, key: str) -> Entry:
        """An entry that gives an epoch's key to one more reader."""
        return self.control(by, Share(epoch, self.cast[key], filler(f"share {key} {epoch}", BOX_BYTES)))

    def policy(self, by: str, name: int, value: int) -> Entry:
        """An entry that sets a policy."""
        return self.control(by, Policy(name, value))

    def erase(self, by: str, *entries: Entry) -> Entry:
        """An entry that erases the first act of each of these."""
        return self.control(by, Erase(tuple(VersionId(entry.id, 0) for entry in entries)))

    # -- asking ---------------------------------------------------------------------------------------

    def add(self, entry: Entry) -> None:
        """Hold one more entry."""
        super().add(entry)
        if self._known is not None:
            self._known = self._known.extend(entry)

    def now(self) -> Authority:
        """The verdicts over all that is held so far."""
        if self._known is None:
            self._known = self.authority(self.bank)
        return self._known

    def rule(self, entry: Entry) -> Ruling:
        """The verdict on an entry as things stand."""
        return self.now().rule(entry)

    def level(self, key: str) -> str | None:
        """The text form of the level that a name holds now."""
        level = self.now().level(self.cast[key], self.now_ms)
        return str(level) if level else None


def sign_with_nonce(pair: KeyPair, message: bytes, nonce: bytes) -> bytes:
    """A valid Ed25519 signature from a nonce (64 bytes) that the signer chose (RFC 8032, 5.1.6, steps 2 to 6)."""
    r = sodium.crypto_core_ed25519_scalar_reduce(nonce)
    point = sodium.crypto_scalarmult_ed25519_base_noclamp(r)
    digest = hashlib.sha512(point + pair.public + message).digest()
    k = sodium.crypto_core_ed25519_scalar_reduce(digest)
    secret = bytearray(hashlib.sha512(pair.secret[:32]).digest()[:32])
    secret[0] &= 248
    secret[31] = secret[31] & 127 | 64
    a = sodium.crypto_core_ed25519_scalar_reduce(bytes(secret) + bytes(32))
    s = sodium.crypto_core_ed25519_scalar_add(r, sodium.crypto_core_ed25519_scalar_mul(k, a))
    return bytes(point) + bytes(s)
