"""The checks before writing: what is refused to a caller, and what it is told (design section 4)."""

from dataclasses import replace

import pytest

from muniment.base.errors import (
    BankFrozen,
    ControlIncomplete,
    InvalidInput,
    MunimentError,
    NotPermitted,
    ReadOnlyBank,
)
from muniment.base.ids import cid_of
from muniment.ledger.authority import Authority
from muniment.ledger.control import Unknown
from muniment.ledger.entry import Entry
from muniment.ledger.levels import READ, Level, parse_level
from muniment.testing.ledger import Script


@pytest.fixture
def bank() -> Script:
    """An agent's bank: carol admin(0), vera admin(1), adi admin(2), wim write, peer delegable write, rob read."""
    script = Script()
    script.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera")
    script.grant("carol", "adi", "admin(2)")
    script.grant("adi", "wim", "write")
    script.grant("adi", "peer", "write", delegable=True, until=script.now_ms + 10_000)
    script.grant("adi", "rob", "read")
    return script


def outcome(authority: Authority, check: str, *args: object, **more: object) -> str:
    """The class name of the error that a check raises, or `fine`."""
    try:
        getattr(authority, check)(*args, **more)
    except MunimentError as error:
        return (
            error.name if error.message and error.next_step else "an error that does not say what to do next"
        )
    return "fine"


@pytest.mark.parametrize(
    ("key", "read", "write", "control"),
    [
        ("carol", "fine", "fine", "fine"),
        ("adi", "fine", "fine", "fine"),
        ("wim", "fine", "fine", "NotPermitted"),
        ("rob", "fine", "NotPermitted", "NotPermitted"),
        ("eve", "NotPermitted", "NotPermitted", "NotPermitted"),
    ],
)
def test_each_right_needs_its_level(bank: Script, key: str, read: str, write: str, control: str) -> None:
    """Reading, writing and deciding need read, write and admin."""
    authority, public, now = bank.now(), bank.cast[key], bank.now_ms
    assert outcome(authority, "check_read", public, now) == read
    assert outcome(authority, "check_write", public, now) == write
    assert outcome(authority, "check_control", public, now) == control
    assert outcome(authority, "check_control", public, now, need=READ) == read


@pytest.mark.parametrize(
    ("by", "key", "level", "fields", "expected"),
    [
        ("carol", "new", "admin(1)", {}, "fine"),
        ("carol", "new", "admin(0)", {}, "NotPermitted"),
        ("adi", "new", "admin(2)", {}, "NotPermitted"),
        ("adi", "new", "write", {"delegable": True}, "fine"),
        ("adi", "new", "admin(3)", {"delegable": True}, "InvalidInput"),
        ("adi", "new", "write", {"until": 1}, "InvalidInput"),
        ("peer", "new", "write", {"until": 5_000}, "fine"),
        ("peer", "new", "write", {}, "NotPermitted"),
        ("peer", "new", "read", {"until": 5_000, "delegable": True}, "NotPermitted"),
        ("wim", "new", "relay", {}, "NotPermitted"),
        ("wim", "wim", "read", {}, "fine"),
        ("wim", "wim", "write", {}, "NotPermitted"),
        ("eve", "new", "relay", {}, "NotPermitted"),
    ],
)
def test_a_check_of_a_grant_says_what_resolution_would(
    *, bank: Script, by: str, key: str, level: str, fields: dict[str, int], expected: str
) -> None:
    """What the check lets pass stands once signed, and what it refuses as not permitted would be void."""
    fields = dict(fields)
    if fields.get("until", 0) > 1:
        fields["until"] += bank.now_ms
    args = (bank.cast[by], bank.cast[key], parse_level(level), bank.now_ms)
    assert outcome(bank.now(), "check_grant", *args, **fields) == expected
    acts = [bank.revoke_act(key)] if by == key else []
    entry = bank.control(by, *acts, bank.grant_act(key, level, **fields))
    if expected != "InvalidInput":
        assert bank.now().acts_standing(entry)[-1] is (expected == "fine")


@pytest.mark.parametrize(
    ("by", "key", "expected"),
    [
        ("carol", "vera", "fine"),
        ("vera", "carol", "NotPermitted"),
        ("adi", "adi", "fine"),
        ("wim", "wim", "fine"),
        ("wim", "rob", "NotPermitted"),
        ("peer", "bot", "fine"),
        ("peer", "wim", "NotPermitted"),
        ("adi", "unknown", "fine"),
        ("eve", "eve", "NotPermitted"),
        ("eve", "wim", "NotPermitted"),
    ],
)
def test_a_check_of_a_revocation(bank: Script, by: str, key: str, expected: str) -> None:
    """A strictly stronger admin, whoever gave the lease, and the key itself may revoke."""
    bank.grant("peer", "bot", "read", until=bank.now_ms + 5_000)
    assert outcome(bank.now(), "check_revoke", bank.cast[by], bank.cast[key], bank.now_ms) == expected


def test_the_last_admin_is_kept_unless_forced() -> None:
    """Removing the last admin is refused before writing; forced, it leaves a frozen bank."""
    script = Script()
    script.found({"ada": "admin(0)"})
    script.grant("ada", "wim", "write")
    ada = script.cast["ada"]
    with pytest.raises(NotPermitted, match="last admin"):
        script.now().check_revoke(ada, ada, script.now_ms)
    script.now().check_revoke(ada, ada, script.now_ms, force=True)
    script.revoke("ada", "ada")
    wim, now = script.cast["wim"], script.now_ms
    with pytest.raises(BankFrozen):
        script.now().check_control(wim, now)
    with pytest.raises(BankFrozen):
        script.now().check_grant(wim, script.cast["x"], parse_level("read"), now)
    with pytest.raises(BankFrozen):
        script.now().check_revoke(wim, script.cast["x"], now)
    script.now().check_write(wim, now)


def test_nothing_is_decided_on_an_incomplete_past_unless_forced(bank: Script) -> None:
    """While a member's control entry waits for its past, control acts need force; writing goes on."""
    bank.control("adi", bank.grant_act("x", "read"), auth=(cid_of(b"withheld"),))
    authority, now = bank.now(), bank.now_ms
    carol, wim = bank.cast["carol"], bank.cast["wim"]
    with pytest.raises(ControlIncomplete):
        authority.check_control(carol, now)
    with pytest.raises(ControlIncomplete):
        authority.check_grant(carol, wim, parse_level("read"), now)
    with pytest.raises(ControlIncomplete):
        authority.check_revoke(carol, wim, now)
    authority.check_control(carol, now, force=True)
    authority.check_grant(carol, wim, parse_level("read"), now, force=True)
    authority.check_revoke(carol, wim, now, force=True)
    authority.check_write(wim, now)


def test_a_bank_of_a_newer_version_is_read_only() -> None:
    """With an unknown control act that stands, reading goes on and writing does not; an admin may force its way."""
    script = Script()
    script.found({"ada": "admin(0)"})
    header = replace(script.header("ada"), ctl=(Unknown(99, b"?"),))
    script.add(Entry(cid_of(b"from a newer version"), b"", b"newer", header))
    ada, now = script.cast["ada"], script.now_ms
    script.now().check_read(ada, now)
    with pytest.raises(ReadOnlyBank):
        script.now().check_write(ada, now)
    with pytest.raises(ReadOnlyBank):
        script.now().check_grant(ada, script.cast["x"], Level(2), now)
    script.now().check_control(ada, now, force=True)


def test_a_grant_in_the_past_is_told_as_such(bank: Script) -> None:
    """An expiry that is over is the caller's slip, not a lack of strength."""
    with pytest.raises(InvalidInput, match="expire before"):
        bank.now().check_grant(bank.cast["eve"], bank.cast["x"], Level(2), bank.now_ms, until=bank.now_ms)
