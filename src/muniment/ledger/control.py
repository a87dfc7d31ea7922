"""Control acts: the statements in clear that decide who may do what (design sections 3, 4 and 9).

They hold keys, levels, ids, times and sealed boxes only, never words, since relays can read them.
Each is a canonical map in the header's `ctl` list, `k` being its code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

from muniment.base.ids import EntryId, VersionId, is_cid
from muniment.base.limits import LIMITS
from muniment.ledger.levels import ADMIN, MAX_RANK, RELAY, Level

FOUND, GRANT, REVOKE, EPOCH, SHARE, POLICY, ERASE, INVITE = range(1, 9)
SALT_BYTES = 16
BOX_BYTES = 32 + 48  # a sealed box of a 32-byte key
LINK_BYTES = 24 + 32 + 16  # a 32-byte key sealed under another


class EpochId(NamedTuple):
    """An epoch: the entry that starts it and the act's index in its `ctl`."""

    entry: EntryId
    act: int


class ShapeError(ValueError):
    """A map is not of the form that its kind prescribes; callers name it in their own error."""


@dataclass(frozen=True, slots=True)
class Founder:
    """A key named in a founding act, with its level; `agent` marks the key whose memory the bank is."""

    key: bytes
    level: Level
    agent: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """The first statement of a bank: who holds it. `salt` makes two banks of the same keys differ."""

    code: ClassVar[int] = FOUND
    founders: tuple[Founder, ...]
    salt: bytes


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease of `level` to `key`, strictly weaker than the lease that its author acts under.

    `until` is Unix milliseconds; `agent` says that the key is the bank's agent on another installation;
    `invite` names the invite act that is answered; `succeeds` the key that this one replaces.
    """

    code: ClassVar[int] = GRANT
    key: bytes
    level: Level
    until: int | None = None
    delegable: bool = False
    agent: bool = False
    invite: EpochId | None = None
    succeeds: bytes | None = None


@dataclass(frozen=True, slots=True)
class Revoke:
    """A cut: of `key` only what is reachable from `tips` through `prev` stays.

    `over` names earlier revocations of the same key that this one takes the place of: how an admin
    takes back entries that stood outside a narrower cut.
    """

    code: ClassVar[int] = REVOKE
    key: bytes
    tips: tuple[EntryId, ...] = ()
    over: tuple[EntryId, ...] = ()


@dataclass(frozen=True, slots=True)
class Epoch:
    """A new key that seals bodies: its commitment, a box a reader, and the older heads' keys under it."""

    code: ClassVar[int] = EPOCH
    commitment: bytes
    salt: bytes
    boxes: tuple[tuple[bytes, bytes], ...]
    older: tuple[tuple[EpochId, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """An epoch's key in a box for a reader who lacks it; needs no strength and changes no level."""

    code: ClassVar[int] = SHARE
    epoch: EpochId
    key: bytes
    box: bytes


@dataclass(frozen=True, slots=True)
class Policy:
    """A number that binds the bank: `name` 1 is an erase's grace in ms, 2 the copies of an archived blob."""

    code: ClassVar[int] = POLICY
    name: int
    value: int


@dataclass(frozen=True, slots=True)
class Erase:
    """Bodies to destroy, named in clear so that relays obey it too."""

    code: ClassVar[int] = ERASE
    versions: tuple[VersionId, ...]


@dataclass(frozen=True, slots=True)
class Invite:
    """A public key whose holder may ask to join at `level` until `until` (Unix ms), `uses` times."""

    code: ClassVar[int] = INVITE
    key: bytes
    level: Level
    until: int
    uses: int = 1


@dataclass(frozen=True, slots=True)
class Unknown:
    """A control act of a newer version, kept as it came: the bank becomes read-only here."""

    code: int
    raw: bytes


Control = Found | Grant | Revoke | Epoch | Share | Policy | Erase | Invite | Unknown


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise ShapeError(what)


def _bytes(value: Any, length: int, what: str) -> bytes:
    _need(isinstance(value, bytes) and len(value) == length, f"{what} is not {length} bytes")
    return bytes(value)


def _int(value: Any, low: int, high: int, what: str) -> int:
    _need(type(value) is int and low <= value <= high, f"{what} is not a number from {low} to {high}")
    return int(value)


def _cids(value: Any, most: int, what: str) -> tuple[EntryId, ...]:
    _need(
        isinstance(value, list) and len(value) <= most and all(map(is_cid, value)),
        f"{what} is not a list of ids",
    )
    _need(all(a < b for a, b in pairwise(value)), f"{what} is not sorted and unique")
    return tuple(EntryId(item) for item in value)


def _place(value: Any, what: str) -> tuple[EntryId, int]:
    _need(isinstance(value, list) and len(value) == 2 and is_cid(value[0]), f"{what} is not [id, index]")
    return EntryId(value[0]), _int(value[1], 0, 255, what)


def _fields(item: Mapping[str, Any], required: set[str], optional: set[str]) -> None:
    names = set(item) - {"k"}
    _need(required <= names <= required | optional, f"fields are {sorted(names)}")


def _level(item: Mapping[str, Any]) -> Level:
    code = _int(item["l"], RELAY, ADMIN, "level")
    _need((code == ADMIN) == ("n" in item), "a rank belongs to admin, and admin has one")
    return Level(code, _int(item.get("n", 0), 0, MAX_RANK, "rank"))


def _put_level(level: Level) -> dict[str, Any]:
    return {"l": level.code, "n": level.rank} if level.code == ADMIN else {"l": level.code}


def _flag(item: Mapping[str, Any], name: str) -> bool:
    _need(item.get(name, True) is True, f"{name} is written only when true")
    return name in item


def _optional(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _read_found(item: Mapping[str, Any]) -> Found:
    _fields(item, {"to", "salt"}, set())
    _need(isinstance(item["to"], list) and 0 < len(item["to"]) <= 16, "founders")
    founders = []
    for one in item["to"]:
        _need(isinstance(one, dict), "founder")
        _fields(one, {"key", "l"}, {"n", "agent"})
        founders.append(Founder(_bytes(one["key"], 32, "key"), _level(one), _flag(one, "agent")))
    _need(len({f.key for f in founders}) == len(founders), "a key is named twice")
    _need(any(f.level == Level(ADMIN, 0) for f in founders), "nobody is admin(0)")
    return Found(tuple(founders), _bytes(item["salt"], SALT_BYTES, "salt"))


def _write_found(act: Found) -> dict[str, Any]:
    to = [{"key": f.key, **_put_level(f.level), **_optional(agent=f.agent)} for f in act.founders]
    return {"to": to, "salt": act.salt}


def _read_grant(item: Mapping[str, Any]) -> Grant:
    _fields(item, {"key", "l"}, {"n", "until", "deleg", "agent", "inv", "succ"})
    return Grant(
        _bytes(item["key"], 32, "key"),
        _level(item),
        _int(item["until"], 0, 1 << 53, "until") if "until" in item else None,
        _flag(item, "deleg"),
        _flag(item, "agent"),
        EpochId(*_place(item["inv"], "inv")) if "inv" in item else None,
        _bytes(item["succ"], 32, "succ") if "succ" in item else None,
    )


def _write_grant(act: Grant) -> dict[str, Any]:
    invite = list(act.invite) if act.invite else None
    more = _optional(until=act.until, deleg=act.delegable, agent=act.agent, inv=invite, succ=act.succeeds)
    return {"key": act.key, **_put_level(act.level), **more}


def _read_revoke(item: Mapping[str, Any]) -> Revoke:
    _fields(item, {"key", "tips"}, {"over"})
    over = _cids(item["over"], LIMITS.tips_per_cut, "over") if "over" in item else ()
    _need("over" not in item or bool(over), "over is empty")
    return Revoke(_bytes(item["key"], 32, "key"), _cids(item["tips"], LIMITS.tips_per_cut, "tips"), over)


def _write_revoke(act: Revoke) -> dict[str, Any]:
    return {"key": act.key, "tips": list(act.tips), **_optional(over=list(act.over) or None)}


def _pairs(value: Any, most: int, what: str) -> list[list[Any]]:
    _need(isinstance(value, list) and len(value) <= most, what)
    _need(all(isinstance(pair, list) and len(pair) == 2 for pair in value), what)
    return list(value)


def _read_epoch(item: Mapping[str, Any]) -> Epoch:
    _fields(item, {"com", "salt", "to"}, {"older"})
    boxes = [
        (_bytes(key, 32, "key"), _bytes(box, BOX_BYTES, "box"))
        for key, box in _pairs(item["to"], LIMITS.readers, "boxes")
    ]
    _need(all(a[0] < b[0] for a, b in pairwise(boxes)), "boxes are not sorted and unique")
    older = [
        (EpochId(*_place(epoch, "epoch")), _bytes(link, LINK_BYTES, "link"))
        for epoch, link in _pairs(item.get("older", []), LIMITS.open_epochs, "older")
    ]
    _need("older" not in item or bool(older), "older is empty")
    return Epoch(
        _bytes(item["com"], 32, "com"), _bytes(item["salt"], SALT_BYTES, "salt"), tuple(boxes), tuple(older)
    )


def _write_epoch(act: Epoch) -> dict[str, Any]:
    older = [[list(epoch), link] for epoch, link in act.older] or None
    return {
        "com": act.commitment,
        "salt": act.salt,
        "to": [list(b) for b in act.boxes],
        **_optional(older=older),
    }


def _read_share(item: Mapping[str, Any]) -> Share:
    _fields(item, {"ep", "key", "box"}, set())
    epoch = EpochId(*_place(item["ep"], "ep"))
    return Share(epoch, _bytes(item["key"], 32, "key"), _bytes(item["box"], BOX_BYTES, "box"))


def _read_policy(item: Mapping[str, Any]) -> Policy:
    _fields(item, {"p", "v"}, set())
    return Policy(_int(item["p"], 1, 1 << 16, "p"), _int(item["v"], 0, 1 << 53, "v"))


def _read_erase(item: Mapping[str, Any]) -> Erase:
    _fields(item, {"v"}, set())
    _need(isinstance(item["v"], list) and 0 < len(item["v"]) <= 4096, "v")
    return Erase(tuple(VersionId(*_place(version, "v")) for version in item["v"]))


def _read_invite(item: Mapping[str, Any]) -> Invite:
    _fields(item, {"key", "l", "until", "uses"}, {"n"})
    until, uses = _int(item["until"], 0, 1 << 53, "until"), _int(item["uses"], 1, 1 << 16, "uses")
    return Invite(_bytes(item["key"], 32, "key"), _level(item), until, uses)


def _write_invite(act: Invite) -> dict[str, Any]:
    return {"key": act.key, **_put_level(act.level), "until": act.until, "uses": act.uses}


_READERS: dict[int, Callable[[Mapping[str, Any]], Control]] = {
    FOUND: _read_found, GRANT: _read_grant, REVOKE: _read_revoke, EPOCH: _read_epoch,
    SHARE: _read_share, POLICY: _read_policy, ERASE: _read_erase, INVITE: _read_invite,
}  # fmt: skip
_WRITERS: dict[int, Callable[[Any], dict[str, Any]]] = {
    FOUND: _write_found,
    GRANT: _write_grant,
    REVOKE: _write_revoke,
    EPOCH: _write_epoch,
    SHARE: lambda act: {"ep": list(act.epoch), "key": act.key, "box": act.box},
    POLICY: lambda act: {"p": act.name, "v": act.value},
    ERASE: lambda act: {"v": [list(version) for version in act.versions]},
    INVITE: _write_invite,
}


def to_map(act: Control) -> dict[str, Any]:
    """The canonical map of a control act.

    Raises:
        KeyError: `act` is of an unknown kind: such acts are kept as bytes, never written.
    """
    return {"k": act.code, **_WRITERS[act.code](act)}


def from_map(item: Any, raw: Callable[[Any], bytes]) -> Control:
    """Read one element of `ctl`; `raw` encodes an act of unknown kind so that it is kept.

    Raises:
        ShapeError: It is not of the form that its kind prescribes.
    """
    _need(isinstance(item, dict), "a control act is not a map")
    code = _int(item.get("k"), 1, 1 << 16, "k")
    reader = _READERS.get(code)
    return reader(item) if reader else Unknown(code, raw(item))
