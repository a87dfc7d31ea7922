"""What standing acts say: whose bank it is, epochs, policy, erasures, invites (design sections 4 and 9)."""

import pytest

from muniment.base.ids import VersionId, cid_of
from muniment.ledger.authority import Verdict
from muniment.ledger.control import Epoch, EpochId, Erase, Invite, Policy
from muniment.ledger.levels import parse_level
from muniment.testing.ledger import Held, Script

VOID = Verdict.VOID


@pytest.fixture
def bank() -> Script:
    """An agent's bank with an epoch: carol admin(0), vera admin(1), adi admin(2), wim write."""
    script = Script()
    script.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera", boxes=True)
    script.grant("carol", "adi", "admin(2)")
    script.grant("adi", "wim", "write")
    return script


def names(bank: Script, keys: frozenset[bytes]) -> set[str]:
    """The names of keys."""
    return {bank.cast.name(key) for key in keys}


def version(entry: object) -> VersionId:
    """The first version of an entry."""
    return VersionId(entry.id, 0)  # type: ignore[attr-defined]


# -- whose memory it is ---------------------------------------------------------------------------------


def test_agent_and_controller_are_the_founders_marks(bank: Script) -> None:
    """The agent is the founder marked so, controllers are the founders at admin(0) that are not."""
    assert names(bank, bank.now().agents) == {"vera"}
    assert names(bank, bank.now().controllers) == {"carol"}


def test_an_agents_further_keys_come_by_an_admins_grant(bank: Script) -> None:
    """`agent` in a grant counts from an admin; from the holder of a delegable lease it says nothing."""
    bank.grant("carol", "vera2", "write", agent=True)
    bank.grant("carol", "peer", "write", delegable=True)
    bank.grant("peer", "mask", "write", agent=True)
    bank.grant("wim", "void", "read", agent=True)
    assert names(bank, bank.now().agents) == {"vera", "vera2"}
    bank.revoke("carol", "vera2")
    assert names(bank, bank.now().agents) == {"vera", "vera2"}  # what it wrote was the agent's


def test_succession_follows_chains(bank: Script) -> None:
    """A rotated key stays the agent's, or the controller's, over any number of rotations."""
    for old, new in (("vera", "v2"), ("v2", "v3")):
        act = bank.grant_act(new, "admin(1)", succeeds=bank.cast[old])
        bank.control("carol", act, bank.revoke_act(old))
    bank.grant("carol", "c2", "admin(1)", succeeds=bank.cast["carol"])
    assert names(bank, bank.now().agents) == {"vera", "v2", "v3"}
    assert names(bank, bank.now().controllers) == {"carol", "c2"}


def test_nobody_names_an_heir_for_an_equal_or_stronger_key(bank: Script) -> None:
    """Succession is declared by the key itself or by a strictly stronger admin, cut or not."""
    bank.grant("vera", "false controller", "write", succeeds=bank.cast["carol"])
    bank.grant("adi", "false agent", "write", succeeds=bank.cast["vera"])
    bank.control("carol", bank.revoke_act("vera"), bank.grant_act("vera", "write"))
    bank.grant("adi", "late false agent", "write", succeeds=bank.cast["vera"])
    bank.revoke("carol", "vera")
    bank.grant("adi", "later false agent", "write", succeeds=bank.cast["vera"])
    assert names(bank, bank.now().agents) == {"vera"}
    assert names(bank, bank.now().controllers) == {"carol"}


# -- epochs ---------------------------------------------------------------------------------------------


def test_only_admins_start_epochs_and_any_reader_shares(bank: Script) -> None:
    """An epoch needs an admin, a share only the right to read."""
    bank.grant("carol", "box", "relay")
    writer = bank.epoch("wim", ("carol", "vera", "adi", "wim"))
    assert writer not in bank.now().epochs
    (head,) = bank.now().epoch_heads
    bank.share("box", head, "wim")
    assert bank.cast["wim"] not in bank.now().epochs[head].recipients
    bank.share("carol", head, "wim")
    assert bank.cast["wim"] in bank.now().epochs[head].recipients


def test_the_current_epoch_is_with_all_readers_and_nobody_else(bank: Script) -> None:
    """A new reader, a revoked one and an expired one each call for another epoch."""
    now = bank.now_ms
    assert bank.now().current_epoch(now) is None
    full = bank.epoch("carol", ("carol", "vera", "adi", "wim"))
    assert bank.now().current_epoch(now) == full
    until = bank.now_ms + 1000
    bank.grant("carol", "tmp", "read", until=until)
    assert bank.now().current_epoch(now) is None
    bank.share("wim", full, "tmp")
    assert bank.now().current_epoch(until - 1) == full
    assert bank.now().current_epoch(until) is None


def test_the_newest_of_two_fitting_heads_is_current(bank: Script) -> None:
    """Causally newest; of concurrent ones that of the stronger lease, then the smaller id."""
    everybody = ("carol", "vera", "adi", "wim")
    first = bank.epoch("carol", everybody)
    second = bank.epoch("adi", everybody, older=())  # its author could not open the first
    assert first in bank.now().epoch_heads
    assert bank.now().current_epoch(bank.now_ms) == second
    heads = bank.now().heads
    weak = bank.control("adi", bank.epoch_act(everybody), auth=heads)
    bank.now_ms += 1
    strong = [bank.control("vera", bank.epoch_act(everybody), auth=heads) for _ in range(3)]
    assert bank.now().current_epoch(bank.now_ms) == EpochId(min(one.id for one in strong), 0)
    assert EpochId(weak.id, 0) in bank.now().epochs


def test_boxes_come_newest_first(bank: Script) -> None:
    """A key that has boxes of several epochs tries the newest first: it opens the others."""
    first = bank.epoch("carol", ("carol", "wim"))
    second = bank.epoch("carol", ("carol", "wim"))
    assert [epoch for epoch, _ in bank.now().boxes_for(bank.cast["wim"])] == [second, first]
    act = bank.now().epoch_act(second)
    assert isinstance(act, Epoch)
    assert [old for old, _ in act.older] == [first]
    assert bank.now().epoch_act(EpochId(second.entry, 7)) is None
    assert bank.now().epoch_act(EpochId(cid_of(b"none"), 0)) is None


# -- policy ---------------------------------------------------------------------------------------------


def test_policy_needs_an_admin_and_the_later_one_wins(bank: Script) -> None:
    """Among admins the causally later value holds, be its author weaker; in one entry the last."""
    assert bank.now().policy(1) is None
    bank.policy("carol", 1, 10)
    bank.policy("wim", 1, 11)
    assert bank.now().policy(1) == 10
    bank.policy("adi", 1, 12)
    assert bank.now().policy(1) == 12
    bank.control("adi", Policy(1, 14), Policy(1, 13), Policy(2, 5))
    assert (bank.now().policy(1), bank.now().policy(2)) == (13, 5)


def test_a_policy_of_a_cut_admin_falls_back(bank: Script) -> None:
    """When the author's cut leaves a policy out, the one before holds again."""
    bank.policy("carol", 1, 10)
    tips = bank.tips(bank.cast["adi"])
    bank.policy("adi", 1, 12)
    bank.revoke("carol", "adi", tips=tips)
    assert bank.now().policy(1) == 10


# -- erasures -------------------------------------------------------------------------------------------


def test_an_admin_erases_what_weaker_keys_made(bank: Script) -> None:
    """Weaker, cut and unknown keys' acts yes, an equal's or a stronger one's no."""
    bank.grant("carol", "ann", "admin(2)")
    entries = {name: bank.data(name) for name in ("carol", "vera", "adi", "ann", "wim", "nobody")}
    bank.erase("adi", *entries.values())
    erased = bank.now().erasures
    assert {name for name, entry in entries.items() if version(entry) in erased} == {"adi", "wim", "nobody"}
    bank.erase("carol", entries["vera"])
    assert bank.now().erasures[version(entries["vera"])][0].immediate_ok


def test_a_narrowed_key_is_as_weak_as_it_is(bank: Script) -> None:
    """Once an admin knows that a key was narrowed, it may erase that key's acts."""
    entry = bank.data("vera")
    bank.erase("adi", entry)
    assert version(entry) not in bank.now().erasures
    bank.control("carol", bank.revoke_act("vera"), bank.grant_act("vera", "write"))
    assert version(entry) not in bank.now().erasures
    bank.erase("adi", entry)
    assert version(entry) in bank.now().erasures


def test_an_erasure_waits_for_the_entry_it_names(bank: Script) -> None:
    """Whose act it is has to be known; the standing order takes hold when the entry comes."""
    entry = bank.data("wim")
    order = bank.erase("adi", entry)
    shown = Held(one for one in bank.entries.values() if one.id != entry.id)
    authority = shown.authority(bank.bank)
    assert version(entry) not in authority.erasures
    shown.add(entry)
    assert [one.entry for one in authority.erasures[version(entry)]] == [order.id]
    assert not authority.erasures[version(entry)][0].immediate_ok


def test_a_key_without_a_lease_erases_nothing(bank: Script) -> None:
    """Not even its own acts: what it made counts only as far as others let it in."""
    entry = bank.data("wim")
    bank.revoke("carol", "wim")
    order = bank.control("wim", Erase((version(entry),)))
    assert bank.rule(order).verdict is VOID
    assert version(entry) not in bank.now().erasures


# -- invites --------------------------------------------------------------------------------------------


def test_an_invite_stands_if_its_author_could_grant_that_level(bank: Script) -> None:
    """Nobody promises more than it can give."""
    bank.grant("carol", "peer", "write", delegable=True)
    key, until = bank.cast["invitee"], bank.now_ms + 1000
    cases = [("adi", "write", True), ("adi", "admin(2)", False), ("peer", "write", True), ("peer", "admin(9)", False),
             ("wim", "read", False)]  # fmt: skip
    for by, level, stands in cases:
        entry = bank.control(by, Invite(key, parse_level(level), until))
        assert (EpochId(entry.id, 0) in bank.now().invites) is stands, (by, level)
