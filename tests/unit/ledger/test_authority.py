"""The rules of resolution, one by one (design section 4)."""

from dataclasses import replace

import pytest

from muniment.base import codec
from muniment.base.ids import cid_of
from muniment.identity import keys
from muniment.ledger import entry as entries
from muniment.ledger.authority import Authority, Verdict
from muniment.ledger.control import BOX_BYTES, Share, Unknown
from muniment.ledger.leases import Leases
from muniment.ledger.levels import RELAY, parse_level
from muniment.testing.ledger import Held, Script, filler

COUNTS, VOID, WAITING = Verdict.COUNTS, Verdict.VOID, Verdict.WAITING


@pytest.fixture
def bank() -> Script:
    """An agent's bank: carol admin(0), vera admin(1), adi admin(2), wim write."""
    script = Script()
    script.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera", boxes=True)
    script.grant("carol", "adi", "admin(2)")
    script.grant("adi", "wim", "write")
    return script


# -- what a data entry needs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "counts"), [("relay", False), ("read", False), ("write", True), ("admin", True)]
)
def test_a_data_entry_counts_from_write_up(bank: Script, level: str, counts: bool) -> None:
    """An entry counts if its author holds write or more in its past."""
    bank.grant("carol", "new", level)
    entry = bank.data("new")
    assert bank.rule(entry) == ((COUNTS, "") if counts else (VOID, "no strength"))


def test_auth_restricts_and_never_widens(bank: Script) -> None:
    """A lease that is not in an entry's past does not cover it, though it is in the bank."""
    heads = bank.now().heads
    grant = bank.grant("carol", "new", "write")
    assert bank.rule(bank.data("new", auth=heads)) == (VOID, "no strength")
    assert bank.rule(bank.data("new", auth=())) == (VOID, "no strength")
    assert bank.rule(bank.data("new", auth=(grant.id,))).verdict is COUNTS


def test_an_entry_whose_past_is_not_here_waits(bank: Script) -> None:
    """An id in `auth` that is not here makes the entry wait, also where the rest would do."""
    entry = bank.data("wim", auth=(*bank.now().heads, cid_of(b"elsewhere")))
    assert bank.rule(entry) == (WAITING, "control past is missing")


def test_auth_that_names_a_data_entry_is_void_and_is_not_asked_for(bank: Script) -> None:
    """`auth` holds control entries: one that names a data entry here can never become complete."""
    data = bank.data("wim")
    entry = bank.data("wim", auth=(*bank.now().heads, data.id))
    control = bank.control("adi", bank.grant_act("eve", "read"), auth=(data.id,))
    for wrong in (entry, control):
        assert bank.rule(wrong) == (VOID, "auth names an entry that is no control entry")
    assert bank.now().missing == frozenset()


def test_a_bank_without_its_founding_entry_waits(bank: Script) -> None:
    """Without the founding entry nothing stands, and it is known what is missing."""
    shown = Held(entry for entry in bank.entries.values() if entry.id != bank.bank)
    authority = shown.authority(bank.bank)
    assert authority.incomplete
    assert authority.missing == {bank.bank}
    assert authority.heads == ()
    assert authority.members(bank.now_ms) == []


def test_rule_answers_for_a_control_entry_that_is_not_held(bank: Script) -> None:
    """The door asks before it stores: the verdict is the one the entry would have."""
    good = bank.control("carol", bank.grant_act("new", "write"), keep=False)
    bad = bank.control("wim", bank.grant_act("new", "write"), keep=False)
    assert bank.rule(good).verdict is COUNTS
    assert bank.rule(bad) == (VOID, "no strength")
    assert bank.level("new") is None


# -- grants ---------------------------------------------------------------------------------------------


def test_a_granter_needs_a_standing_lease_in_the_grants_past(bank: Script) -> None:
    """A grant signed by nobody, or by a key whose own lease is void or not yet in its past, gives nothing."""
    bank.grant("eve", "one", "read")
    bank.grant("wim", "two", "admin(5)")
    bank.grant("two", "three", "read")
    bank.control("adi", bank.grant_act("four", "read"), auth=(bank.bank,))
    assert [bank.level(name) for name in ("one", "two", "three", "four")] == [None] * 4


def test_writers_and_readers_grant_nothing(bank: Script) -> None:
    """A plain lease below admin gives no leave to grant, be it ever so little."""
    bank.grant("wim", "new", "relay")
    assert bank.level("new") is None


def test_a_delegable_lease_gives_plain_leases_up_to_its_own_level_and_expiry(bank: Script) -> None:
    """A peer that came in with delegable write lets its agents in at write or less, and not for longer."""
    until = bank.now_ms + 10_000
    bank.grant("carol", "peer", "write", delegable=True, until=until)
    cases = {
        "equal": ("write", {"until": until}, "write"),
        "less": ("read", {"until": until - 1}, "read"),
        "longer": ("read", {"until": until + 1}, None),
        "for ever": ("read", {}, None),
        "more": ("admin(9)", {"until": until}, None),
        "delegable": ("read", {"until": until, "delegable": True}, None),
    }
    for name, (level, more, expected) in cases.items():
        bank.grant("peer", name, level, **more)
        assert bank.level(name) == expected, name
    bank.grant("equal", "further", "relay", until=until)
    assert bank.level("further") is None


def test_only_admins_give_delegable_leases(bank: Script) -> None:
    """Any admin gives a delegable lease of a weaker level; a delegable admin is just an admin."""
    bank.grant("adi", "peer", "write", delegable=True)
    bank.grant("adi", "boss", "admin(3)", delegable=True)
    rows = {bank.cast.name(row.key): row for row in bank.now().members(bank.now_ms)}
    assert rows["peer"].delegable
    assert not rows["boss"].delegable
    bank.grant("boss", "equal", "admin(3)")
    assert bank.level("equal") is None


def test_a_delegable_holder_takes_back_what_it_gave_and_nothing_else(bank: Script) -> None:
    """It reaches leases that it granted, equal ones too; what others gave to the same key stays."""
    bank.grant("carol", "peer", "write", delegable=True)
    bank.grant("peer", "bot", "write")
    bank.grant("adi", "bot", "read")
    bank.revoke("peer", "bot")
    bank.revoke("peer", "wim")
    assert bank.level("bot") == "read"
    assert bank.level("wim") == "write"
    bank.grant("peer", "bot2", "write")
    entry = bank.data("bot2")
    bank.revoke("peer", "bot2", tips=())
    assert bank.rule(entry).verdict is VOID


def test_a_delegable_holder_reaches_no_more_than_it_could_give(bank: Script) -> None:
    """What it gave as an admin, before it was narrowed, is out of its reach where it could not give it now."""
    bank.grant("carol", "peer", "admin(5)")
    bank.grant("peer", "dele", "read", delegable=True)
    bank.grant("peer", "writer", "write")
    bank.grant("peer", "reader", "read")
    bank.control("carol", bank.revoke_act("peer"), bank.grant_act("peer", "read", delegable=True))
    for name, left in (("dele", "read"), ("writer", "write"), ("reader", None)):
        assert bank.rule(bank.revoke("peer", name)).verdict is COUNTS
        assert bank.level(name) == left


def test_a_plain_lease_revokes_nobody_else(bank: Script) -> None:
    """Below admin, without a delegable lease, a key takes back not even what it once gave."""
    assert bank.rule(bank.revoke("wim", "adi")) == (VOID, "no strength")
    bank.grant("adi", "rob", "read")
    bank.control("carol", bank.revoke_act("adi"), bank.grant_act("adi", "write"))
    assert bank.rule(bank.revoke("adi", "rob")).verdict is VOID
    assert bank.level("rob") == "read"


def test_the_founding_entry_may_carry_further_acts() -> None:
    """What stands beside the founding act stands on it: grants, an epoch, a policy."""
    script = Script()
    first = script.grant_act("wim", "write")
    equal = script.grant_act("eve", "admin(0)")
    founding = script.found({"cold": "admin(0)", "own": "admin(1)"}, first, equal, by="own", boxes=True)
    assert script.now().acts_standing(founding) == (True, True, True, False)
    assert script.level("wim") == "write"
    assert script.level("eve") is None
    assert len(script.now().epochs) == 1
    script.revoke("cold", "own", tips=())
    assert script.level("own") is None


# -- revocations ----------------------------------------------------------------------------------------


def test_inside_the_cut_counts_and_outside_is_void(bank: Script) -> None:
    """The tips that a revocation names and all behind them stay, everything else of the key goes."""
    first, second = bank.data("wim"), bank.data("wim")
    third = bank.data("wim")
    bank.revoke("adi", "wim", tips=(second.id,))
    assert [bank.rule(one).verdict for one in (first, second, third)] == [COUNTS, COUNTS, VOID]


def test_a_revocation_hits_every_weaker_lease_of_its_key(bank: Script) -> None:
    """Leases by several granters fall at once; a stronger one than the revoker's stays."""
    bank.grant("carol", "wim", "admin(5)")
    bank.grant("vera", "wim", "read")
    bank.revoke("adi", "wim")
    assert bank.level("wim") is None
    bank.grant("carol", "wim", "admin(1)")
    bank.grant("vera", "wim", "write")
    bank.revoke("adi", "wim")
    assert bank.level("wim") == "admin(1)"


def test_a_weaker_admin_may_grant_again_what_a_stronger_one_revoked(bank: Script) -> None:
    """A grant that knows of the revocation is a new lease."""
    entry = bank.data("wim")
    bank.revoke("carol", "wim", tips=())
    bank.grant("adi", "wim", "write")
    assert bank.level("wim") == "write"
    assert bank.rule(entry).verdict is VOID
    assert bank.rule(bank.data("wim")).verdict is COUNTS


def test_the_strongest_revocation_decides_the_cut(bank: Script) -> None:
    """Of several revocations of one lease those under the strongest lease say what stays."""
    first, second = bank.data("wim"), bank.data("wim")
    heads = bank.now().heads
    bank.control("adi", bank.revoke_act("wim", tips=()), auth=heads)
    assert bank.rule(first).verdict is VOID
    bank.control("carol", bank.revoke_act("wim", tips=(first.id,)), auth=heads)
    assert bank.rule(first).verdict is COUNTS
    assert bank.rule(second).verdict is VOID


def test_among_equals_an_entry_must_be_in_all_cuts(bank: Script) -> None:
    """Two revocations under equal leases: what only one accepts is void."""
    first, second = bank.data("wim"), bank.data("wim")
    bank.grant("carol", "ann", "admin(2)")
    bank.revoke("adi", "wim", tips=(second.id,))
    bank.revoke("ann", "wim", tips=(first.id,))
    assert bank.rule(first).verdict is COUNTS
    assert bank.rule(second).verdict is VOID


def test_over_widens_a_cut(bank: Script) -> None:
    """A revocation that takes the place of an earlier one, under a lease as strong, decides alone."""
    first, second = bank.data("wim"), bank.data("wim")
    narrow = bank.revoke("adi", "wim", tips=(first.id,))
    assert bank.rule(second).verdict is VOID
    bank.control("adi", bank.revoke_act("wim", tips=(second.id,), over=(narrow.id,)))
    assert bank.rule(second).verdict is COUNTS
    assert bank.level("wim") is None


def test_over_has_no_effect_from_a_weaker_lease_or_without_its_past(bank: Script) -> None:
    """Only a revocation that knows the other and acts under a lease at least as strong takes its place."""
    first, second = bank.data("wim"), bank.data("wim")
    heads = bank.now().heads
    narrow = bank.revoke("vera", "wim", tips=(first.id,))
    bank.control("adi", bank.revoke_act("wim", tips=(second.id,), over=(narrow.id,)))
    bank.control("vera", bank.revoke_act("wim", tips=(second.id,), over=(narrow.id,)), auth=heads)
    bank.control("wim", bank.revoke_act("wim", tips=(second.id,), over=(narrow.id,)), auth=(narrow.id,))
    assert bank.rule(second).verdict is VOID


def test_over_that_does_not_stand_changes_nothing(bank: Script) -> None:
    """A wider cut by a key that was itself cut first is void."""
    first, second = bank.data("wim"), bank.data("wim")
    narrow = bank.revoke("adi", "wim", tips=(first.id,))
    tips = bank.tips(bank.cast["adi"])
    bank.control("adi", bank.revoke_act("wim", tips=(second.id,), over=(narrow.id,)))
    assert bank.rule(second).verdict is COUNTS
    bank.revoke("carol", "adi", tips=tips)
    assert bank.rule(second).verdict is VOID


def test_adoption_takes_entries_back_and_keeps_what_the_key_holds_now(bank: Script) -> None:
    """The acts of `adoption` widen the cut and grant the key's open leases again."""
    first, second = bank.data("wim"), bank.data("wim")
    bank.revoke("adi", "wim", tips=(first.id,))
    bank.grant("adi", "wim", "read")
    wim = bank.cast["wim"]
    acts = bank.now().adoption(wim, bank.tips(wim), bank.now_ms)
    bank.control("adi", *acts)
    assert bank.rule(second).verdict is COUNTS
    assert bank.level("wim") == "read"


def test_anybody_may_leave(bank: Script) -> None:
    """A key of any level revokes itself; what it had written stays as far as it says."""
    bank.grant("carol", "rob", "relay")
    bank.revoke("rob", "rob")
    entry = bank.data("wim")
    revoke = bank.revoke("wim", "wim")
    assert bank.level("rob") is bank.level("wim") is None
    assert bank.rule(entry).verdict is COUNTS
    assert bank.rule(revoke).verdict is COUNTS
    assert bank.rule(bank.data("wim")).verdict is VOID


def test_anybody_may_narrow_itself(bank: Script) -> None:
    """A self-revocation with a smaller grant behind it in one entry narrows; a grant alone, or to more, does not."""
    bank.control("wim", bank.revoke_act("wim"), bank.grant_act("wim", "read"))
    assert bank.level("wim") == "read"
    bank.control("vera", bank.revoke_act("vera"), bank.grant_act("vera", "admin(7)"))
    assert bank.level("vera") == "admin(7)"
    entry = bank.control("wim", bank.grant_act("wim", "relay"), bank.revoke_act("wim"))
    assert bank.now().acts_standing(entry) == (False, True)
    assert bank.level("wim") is None
    bank.grant("carol", "wim", "write", until=bank.now_ms + 1000)
    bank.control("wim", bank.revoke_act("wim"), bank.grant_act("wim", "read"))  # for longer than it had
    assert bank.level("wim") is None


def test_a_self_revocation_stands_without_regard_to_ones_own_others(bank: Script) -> None:
    """Two self-revocations that each lie outside the other's cut both stand: a key can't save itself by a decoy."""
    first, second = bank.data("wim"), bank.data("wim")
    heads = bank.now().heads
    one = bank.control("wim", bank.revoke_act("wim", tips=(second.id,)), auth=heads)
    two = bank.control("wim", bank.revoke_act("wim", tips=(first.id,)), auth=heads, prev=(first.id,))
    assert bank.now().acts_standing(one) == bank.now().acts_standing(two) == (True,)
    assert bank.rule(first).verdict is COUNTS
    assert bank.rule(second).verdict is VOID


def test_that_holds_for_ones_stronger_revocations_too(bank: Script) -> None:
    """A self-revocation under a weak lease stands beside one under a strong lease that does not accept it."""
    weak = bank.now().heads
    bank.grant("carol", "wim", "admin(5)")
    strong = bank.revoke("wim", "wim")
    decoy = bank.control("wim", bank.revoke_act("wim", tips=()), auth=weak, prev=())
    assert bank.rule(strong).verdict is bank.rule(decoy).verdict is COUNTS
    assert bank.rule(bank.data("wim", auth=weak)) == (VOID, "cut")


def test_a_self_revocation_cuts_what_its_author_decided_of_others(bank: Script) -> None:
    """After an admin left, its grants inside its cut stay and those outside are void."""
    inside = bank.grant("adi", "ina", "read")
    heads = bank.now().heads
    bank.revoke("adi", "adi")
    bank.control("adi", bank.grant_act("out", "read"), auth=heads, prev=(inside.id,))
    assert bank.level("ina") == "read"
    assert bank.level("out") is None


def test_the_path_to_a_tip_that_is_not_here_makes_wait(bank: Script) -> None:
    """Outside what is known of a cut, with a gap before its tips: waiting, until the gap is filled."""
    first, second, third = (bank.data("wim") for _ in range(3))
    fork = bank.data("wim", prev=(first.id,))
    bank.revoke("adi", "wim", tips=(third.id,))
    shown = Held(entry for entry in bank.entries.values() if entry.id != second.id)
    authority = shown.authority(bank.bank)
    assert authority.rule(third).verdict is COUNTS
    assert authority.rule(first) == authority.rule(fork) == (WAITING, "path to a cut's tip is missing")
    shown.add(second)
    assert authority.rule(first).verdict is COUNTS
    assert authority.rule(fork) == (VOID, "cut")


def test_a_gap_before_a_tip_makes_control_acts_wait_too(bank: Script) -> None:
    """A grant by a cut key waits for a data entry on the path, and gives its lease once that is here."""
    bank.grant("adi", "ina", "write")
    gap = bank.data("adi")
    tip = bank.data("adi")
    entry = bank.data("ina")
    bank.revoke("carol", "adi", tips=(tip.id,))
    shown = Held(one for one in bank.entries.values() if one.id != gap.id)
    authority = shown.authority(bank.bank)
    assert authority.rule(entry) == (WAITING, "path to a cut's tip is missing")
    assert authority.gaps == {gap.id}
    assert authority.extend() is authority
    assert authority.extend(entry) is authority
    assert authority.extend(gap).rule(entry).verdict is COUNTS
    shown.add(gap)
    assert authority.extend().rule(entry).verdict is COUNTS


def test_an_expired_admin_decides_nothing_more(bank: Script) -> None:
    """Expiry is judged for control entries by their own time as well."""
    until = bank.now_ms + 100
    bank.grant("carol", "tmp", "admin(4)", until=until)
    bank.grant("tmp", "early", "read")
    last = bank.control("tmp", bank.grant_act("last", "read"), at_ms=until)
    late = bank.control("tmp", bank.grant_act("late", "read"), at_ms=until + 1)
    assert bank.level("early") == "read"
    assert bank.rule(last).verdict is COUNTS
    assert bank.rule(late) == (VOID, "expired")
    bank.grant("carol", "tmp", "admin(5)")
    bank.control("tmp", bank.grant_act("later", "read"), at_ms=until + 2)
    assert bank.level("later") == "read"  # under the other lease


# -- the set as a whole ---------------------------------------------------------------------------------


def test_heads_are_what_stands_and_nothing_stands_after(bank: Script) -> None:
    """Void and waiting entries are no heads; what they name still is, unless something that stands came after."""
    before = bank.now().heads
    bank.grant("eve", "eve", "write")
    assert bank.now().heads == before
    side = bank.control("carol", bank.grant_act("a", "read"), auth=(bank.bank,))
    assert bank.now().heads == tuple(sorted((*before, side.id)))
    void = bank.grant("eve", "b", "read")
    top = bank.control("carol", bank.grant_act("b", "read"), auth=(void.id,))
    assert bank.now().heads == (top.id,)


def test_heads_are_capped_in_favour_of_the_strong(bank: Script) -> None:
    """Nobody can crowd out an admin's decision by entries side by side: `auth` holds at most 64 ids."""
    heads, (epoch,) = bank.now().heads, bank.now().epoch_heads
    for number in range(70):
        bank.control("wim", Share(epoch, bank.cast["x"], filler(f"box {number}", BOX_BYTES)), auth=heads)
    admin = {bank.control("adi", bank.grant_act(f"z{n}", "read"), auth=heads).id for n in range(9)}
    assert len(bank.now().heads) == 64
    assert admin <= set(bank.now().heads)


def test_an_unknown_control_act_of_a_member_is_told(bank: Script) -> None:
    """A control act of a newer version makes the bank read-only here, unless it comes from a cut key or a stranger."""

    def newer(by: str) -> None:
        header = bank.header(by)
        fields = codec.decode(
            entries.header_bytes(replace(header, ctl=(bank.grant_act("x", "read"),))), 1 << 20
        )
        fields["ctl"] = [{"k": 99, "what": 1}]
        signed = codec.encode(fields)
        signature = keys.sign(bank.cast.pair(by).secret, codec.ENTRY, signed)
        entry = entries.verify(codec.encode([signed, signature]), bank.bank)
        assert isinstance(entry.header.ctl[0], Unknown)
        bank.add(entry)

    bank.revoke("adi", "wim")
    newer("wim")
    newer("stranger")
    assert not bank.now().unknown_acts
    newer("vera")
    assert bank.now().unknown_acts


def test_a_chain_of_five_thousand_is_no_problem(bank: Script) -> None:
    """A control past thousands of entries long, and as many admin ranks as there are, need no recursion."""
    heads = bank.now().heads
    for rank in range(3, 1000):
        by = f"r{rank - 1}" if rank > 3 else "adi"
        heads = (bank.control(by, bank.grant_act(f"r{rank}", f"admin({rank})"), auth=heads).id,)
    for number in range(5000):
        heads = (bank.control("carol", bank.grant_act("x", "read", until=number), auth=heads, prev=heads).id,)
    bank.revoke("carol", "wim", tips=heads)
    authority = bank.authority(bank.bank)
    assert bank.cast["r999"] in authority.keys
    assert authority.level(bank.cast["r999"], 0) == parse_level("admin(999)")
    assert len(authority.heads) == 1


def test_why_explains_each_lease(bank: Script) -> None:
    """Every grant to a key is listed with its worth and with the revocations that decide what it covers."""
    revoke = bank.revoke("carol", "wim")
    bank.grant("wim", "wim", "admin(9)")
    bank.grant("adi", "wim", "read")
    rows = bank.now().why(bank.cast["wim"])
    told = [(str(row.level), row.ruling.verdict, row.cut_by) for row in rows]
    assert ("write", COUNTS, ((revoke.id, bank.cast["carol"]),)) in told
    assert ("admin(9)", VOID, ()) in told
    assert ("read", COUNTS, ()) in told


def test_members_are_listed_strongest_first_and_cut_ones_last(bank: Script) -> None:
    """Every key that held something has one row, with its strongest lease and its state."""
    bank.revoke("carol", "adi")
    rows = [(bank.cast.name(row.key), str(row.level), row.state) for row in bank.now().members(bank.now_ms)]
    assert rows == [
        ("carol", "admin(0)", "standing"),
        ("vera", "admin(1)", "standing"),
        ("wim", "write", "standing"),
        ("adi", "admin(2)", "cut"),
    ]


def test_cut_tips_leave_out_what_is_void_and_what_hides_a_gap(bank: Script) -> None:
    """The tips of a cut are the newest counting entries with a whole chain: a planted gap makes nobody wait."""
    first = bank.data("wim")
    second = bank.data("wim")
    gapped = bank.data("wim", prev=(cid_of(b"hidden"),))
    void = bank.data("wim", auth=(), prev=(second.id,))
    assert bank.now().cut_tips([first, second, gapped, void]) == (second.id,)


def test_an_authority_never_changes(bank: Script) -> None:
    """`extend` gives another one; the first answers as before, also for what it learns from the caller's mapping."""
    control = bank.control_entries
    authority = Authority.resolve(bank.bank, control, bank)
    before = authority.members(0), authority.heads
    more = bank.grant("carol", "new", "write")
    control[more.id] = more
    assert (authority.members(0), authority.heads) == before
    assert authority.extend(more).heads == (more.id,)
    assert authority.extend(*control.values()).heads == (more.id,)
    assert authority.level(bank.cast["new"], 0) is None


def test_relay_is_a_level_and_no_reader(bank: Script) -> None:
    """A relay is a member that gets no keys."""
    bank.grant("carol", "box", "relay")
    level = bank.now().level(bank.cast["box"], bank.now_ms)
    assert level is not None
    assert level.code == RELAY
    assert bank.cast["box"] not in bank.now().readers(bank.now_ms)


def test_a_further_entry_is_judged_without_the_others(bank: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grants, policies and revocations of keys that decided nothing take over all that was judged before."""
    bank.grant("carol", "wim", "write")
    authority = bank.authority(bank.bank)
    _ = authority.gaps
    more = [
        bank.grant("carol", "eve", "read"),
        bank.policy("carol", 1, 5),
        bank.revoke("carol", "wim"),
        bank.grant("carol", "wim", "read"),
    ]
    expected = bank.authority(bank.bank).members(bank.now_ms)
    monkeypatch.setattr(Leases, "_judge", lambda _: pytest.fail("all were judged again"))
    for entry in more:
        authority = authority.extend(entry)
        assert authority.rule(entry).verdict is Verdict.COUNTS
    assert authority.members(bank.now_ms) == expected
