"""Each trace of the protocol review that touches entries or authority, acted out; the numbers are the review's."""

from muniment.base.ids import VersionId, cid_of
from muniment.ledger.authority import Authority, Verdict
from muniment.ledger.control import EpochId, Erase, Invite, Policy
from muniment.ledger.entry import Entry
from muniment.ledger.levels import parse_level
from muniment.testing.ledger import Held, Script

COUNTS, VOID, WAITING = Verdict.COUNTS, Verdict.VOID, Verdict.WAITING


def agent_bank(boxes: bool = False) -> tuple[Script, Entry]:
    """A bank as every agent's is founded: controller admin(0), agent admin(1)."""
    script = Script()
    return script, script.found({"carol": "admin(0)", "vera": "admin(1)"}, agent="vera", boxes=boxes)


def admins() -> tuple[Script, Entry]:
    """A bank with admins of three ranks and a writer: ada(0), mo(1), bob(2), xi."""
    script = Script()
    script.found({"ada": "admin(0)"})
    script.grant("ada", "mo", "admin(1)")
    script.grant("ada", "bob", "admin(2)")
    return script, script.grant("bob", "xi", "write")


def test_trace_1_a_stolen_agent_key_is_revoked_by_its_controller() -> None:
    """The controller is stronger than its agent, so it can cut the stolen key and all that the thief let in."""
    script, _ = agent_bank()
    honest = script.data("vera")
    tips = script.tips(script.cast["vera"])
    script.grant("vera", "thief", "admin(2)")
    stolen = script.data("thief")
    assert script.rule(stolen).verdict is COUNTS
    script.revoke("carol", "vera", tips=tips)
    assert script.rule(honest).verdict is COUNTS
    assert script.rule(stolen).verdict is VOID
    assert script.level("vera") is None
    assert script.level("thief") is None


def test_trace_1_nobody_can_grant_its_own_level_or_admin_0() -> None:
    """A thief of an admin key can't make equals of its controller or of itself, which nobody could remove."""
    script, _ = agent_bank()
    for level in ("admin(0)", "admin(1)"):
        script.grant("vera", f"equal {level}", level)
        assert script.level(f"equal {level}") is None
    script.grant("carol", "second", "admin(0)")
    assert script.level("second") is None


def test_trace_1_an_agent_can_not_revoke_its_controller() -> None:
    """A revocation hits strictly weaker leases only."""
    script, _ = agent_bank()
    script.revoke("vera", "carol", tips=())
    assert script.level("carol") == "admin(0)"


def test_trace_2_a_cut_key_can_not_act_from_an_old_past() -> None:
    """A stolen key that was cut signs a revocation with old `auth`, concurrent to its own: nothing changes."""
    script, grant = admins()
    script.revoke("ada", "mo")
    before = script.now().members(script.now_ms)
    attack = script.control("mo", script.revoke_act("bob", tips=()), auth=grant.header.auth)
    assert script.rule(attack).verdict is VOID
    assert script.rule(attack).reason == "cut"
    assert script.now().members(script.now_ms) == before


def test_trace_2_a_revocation_beats_every_concurrent_grant() -> None:
    """A weaker admin's grant, concurrent to a stronger one's revocation or signed later from an old past, is hit."""
    script, grant = admins()
    revoke = script.revoke("ada", "xi")
    late = script.control("bob", script.grant_act("xi", "write"), auth=(grant.id,))
    assert revoke.id not in late.header.auth
    assert script.level("xi") is None
    entry = script.data("xi", auth=(late.id,))
    assert script.rule(entry).verdict is VOID


def test_trace_2_a_weaker_admin_does_not_win_over_a_stronger_one_in_policy() -> None:
    """Of concurrent values that of the stronger lease wins, whatever the ids; a causally later one wins over both."""
    for value in range(6):
        script, _ = admins()
        heads = script.now().heads
        script.control("ada", Policy(1, 1000 + value), auth=heads)
        script.control("bob", Policy(1, value), auth=heads)
        assert script.now().policy(1) == 1000 + value
        script.control("bob", Policy(1, 7))
        assert script.now().policy(1) == 7


def test_trace_3_granting_again_does_not_revive_a_thief() -> None:
    """What was signed outside a cut stays out when the key is granted again: a lease covers only what knows of it."""
    script, _ = agent_bank()
    script.grant("carol", "wim", "write")
    honest = script.data("wim")
    old = script.now().heads
    script.revoke("carol", "wim")
    stolen = [script.data("wim", auth=old) for _ in range(3)]
    again = script.grant("carol", "wim", "write")
    fresh = script.data("wim", prev=(honest.id,))
    assert [script.rule(entry).verdict for entry in stolen] == [VOID] * 3
    assert script.rule(honest).verdict is COUNTS
    assert again.id in fresh.header.auth
    assert script.rule(fresh).verdict is COUNTS


def test_trace_3_narrowing_keeps_honest_history() -> None:
    """A revocation with its cut and the smaller grant in one entry: what was written before still counts."""
    script, _ = agent_bank()
    script.grant("carol", "wim", "write")
    honest = script.data("wim")
    script.control("carol", script.revoke_act("wim"), script.grant_act("wim", "read"))
    assert script.level("wim") == "read"
    assert script.rule(honest).verdict is COUNTS
    assert script.rule(script.data("wim")).verdict is VOID


def test_trace_3_a_mole_is_listed_and_cut_with_the_cascade() -> None:
    """A grant inside its giver's cut stays; whoever cuts the giver is told whom it let in, moles of moles too."""
    script, _ = agent_bank()
    script.grant("vera", "mole", "admin(2)")
    script.grant("mole", "molly", "write")
    script.revoke("carol", "vera")
    cast = script.cast
    assert script.level("mole") == "admin(2)"
    assert script.now().granted_by(cast["vera"]) == {cast["mole"]}
    assert script.now().granted_by(cast["vera"], deep=True) == {cast["mole"], cast["molly"]}
    script.control("carol", script.revoke_act("mole"), script.revoke_act("molly"))
    assert script.now().granted_by(cast["vera"], deep=True) == frozenset()


def test_trace_5_a_writer_can_not_erase_the_records_of_others() -> None:
    """A key erases its own acts, an admin those of weaker keys; a thief of a write key erases nothing else."""
    script, _ = agent_bank()
    script.grant("carol", "wim", "write")
    record, own = script.data("vera"), script.data("wim")
    order = script.erase("wim", record, own)
    erasures = script.now().erasures
    assert VersionId(record.id, 0) not in erasures
    (erasure,) = erasures[VersionId(own.id, 0)]
    assert erasure == (order.id, script.cast["wim"], order.header.at, True)


def test_trace_5_an_erasure_turns_void_with_its_author() -> None:
    """An erasure outside its author's cut is undone by the cut; only admin(0) and the maker destroy at once."""
    script, _ = agent_bank()
    script.grant("carol", "wim", "write")
    record = script.data("wim")
    tips = script.tips(script.cast["vera"])
    script.erase("vera", record)
    (by_agent,) = script.now().erasures[VersionId(record.id, 0)]
    assert not by_agent.immediate_ok
    script.revoke("carol", "vera", tips=tips)
    assert VersionId(record.id, 0) not in script.now().erasures
    script.erase("carol", record)
    (by_controller,) = script.now().erasures[VersionId(record.id, 0)]
    assert by_controller.immediate_ok


def test_trace_5_an_admin_can_not_pick_a_past_in_which_its_victim_was_weak() -> None:
    """Pinning an `auth` from before the victim was an admin gains nothing; a later promotion undoes nothing."""
    script, _ = admins()
    record = script.data("xi")
    heads = script.now().heads
    script.grant("ada", "xi", "admin(1)")
    pinned = script.control("bob", Erase((VersionId(record.id, 0),)), auth=heads)
    assert VersionId(record.id, 0) not in script.now().erasures
    other = script.data("zed")
    fair = script.control("bob", Erase((VersionId(other.id, 0),)))
    script.grant("ada", "zed", "admin(1)")
    assert [one.entry for one in script.now().erasures[VersionId(other.id, 0)]] == [fair.id]
    assert script.rule(pinned).verdict is COUNTS  # as an act it stands: it just reaches nothing


def test_trace_6_two_epochs_at_once_are_two_epochs() -> None:
    """Two revocations with an epoch each give two names, neither leaves out both; a third epoch is called for."""
    script, _ = agent_bank(boxes=True)
    for name in ("xi", "yo"):
        script.grant("carol", name, "read")
    script.epoch("carol", ("carol", "vera", "xi", "yo"))
    assert script.now().current_epoch(script.now_ms) is not None
    heads, older = script.now().heads, script.now().epoch_heads
    first = script.control(
        "carol", script.revoke_act("xi"), script.epoch_act(("carol", "vera", "yo"), older), auth=heads
    )
    second = script.control(
        "vera", script.revoke_act("yo"), script.epoch_act(("carol", "vera", "xi"), older), auth=heads
    )
    assert script.now().current_epoch(script.now_ms) is None
    assert set(script.now().epoch_heads) == {EpochId(first.id, 1), EpochId(second.id, 1)}
    third = script.epoch("vera", ("carol", "vera"))
    assert script.now().current_epoch(script.now_ms) == third
    assert script.now().epoch_heads == (third,)


def test_trace_6_a_reader_left_out_gets_the_key_by_a_share() -> None:
    """A grant concurrent to a new epoch leaves the new reader without its key; anybody who holds it may share it."""
    script, _ = agent_bank(boxes=True)
    heads = script.now().heads
    script.control("carol", script.grant_act("nina", "read"), auth=heads)
    script.control("vera", script.epoch_act(("carol", "vera"), script.now().epoch_heads), auth=heads)
    assert script.now().current_epoch(script.now_ms) is None
    (epoch,) = script.now().epoch_heads
    script.share("vera", epoch, "nina")
    assert script.now().current_epoch(script.now_ms) == epoch
    assert [place for place, _ in script.now().boxes_for(script.cast["nina"])] == [epoch]


def test_trace_6_an_older_epoch_is_never_current_again() -> None:
    """Whoever got a newer key opens the older ones: an older epoch is out, though it names the right readers."""
    script, founding = agent_bank(boxes=True)
    first = EpochId(founding.id, 1)
    assert script.now().current_epoch(script.now_ms) == first
    script.grant("carol", "sam", "read")
    script.epoch("carol", ("carol", "vera", "sam"))
    script.revoke("carol", "sam")
    assert script.now().epochs[first].recipients == script.now().readers(script.now_ms)
    assert script.now().current_epoch(script.now_ms) is None


def test_trace_6_an_epoch_known_to_an_outsider_is_not_sealed_under() -> None:
    """A key that was shared with somebody who may not read, or made by somebody who no longer may, is known outside."""
    script, _ = agent_bank(boxes=True)
    (epoch,) = script.now().epoch_heads
    script.share("vera", epoch, "stranger")
    assert script.now().current_epoch(script.now_ms) is None
    script.epoch("vera", ("carol", "vera"))
    assert script.now().current_epoch(script.now_ms) is not None
    script.grant("carol", "sly", "admin(1)")
    sly = script.epoch("sly", ("carol", "vera"))
    script.revoke("carol", "sly")
    assert sly in script.now().epochs
    assert script.now().current_epoch(script.now_ms) is None


def test_trace_6_bodies_stay_readable_though_their_epoch_turned_void() -> None:
    """What an honest writer sealed under an epoch whose author was cut afterwards can still be opened."""
    script, _ = agent_bank(boxes=True)
    tips = script.tips(script.cast["vera"])
    epoch = script.epoch("vera", ("carol", "vera"))
    entry = script.data("carol", epoch=epoch)
    script.revoke("carol", "vera", tips=tips)
    carol = script.cast["carol"]
    assert script.rule(entry).verdict is COUNTS
    assert epoch not in script.now().epochs
    assert epoch not in [place for place, _ in script.now().boxes_for(carol)]
    assert epoch in [place for place, _ in script.now().boxes_for(carol, epoch)]
    assert script.now().epoch_act(epoch) is not None


def test_trace_7_lack_of_strength_is_a_verdict_and_not_a_refusal() -> None:
    """An entry that comes before the grant to its author waits, and counts as soon as the grant is here."""
    script, founding = agent_bank()
    grant = script.grant("carol", "wim", "write")
    entry = script.data("wim")
    early = Authority.resolve(script.bank, {founding.id: founding}, Held([founding, entry]))
    assert early.rule(entry) == (WAITING, "control past is missing")
    assert early.extend(grant).rule(entry).verdict is COUNTS


def test_trace_7_a_void_control_entry_still_completes_the_past_of_others() -> None:
    """A void entry named in `auth` by honest writers stays what it is, and does not void them."""
    script, _ = admins()
    tips = script.tips(script.cast["mo"])
    grant = script.grant("mo", "zoe", "write")
    entry = script.data("bob")
    assert grant.id in entry.header.auth
    script.revoke("ada", "mo", tips=tips)
    assert script.rule(grant).verdict is VOID
    assert script.rule(entry).verdict is COUNTS


def test_trace_7_foreign_names_in_prev_change_no_verdict() -> None:
    """Naming another author's entry in `prev` is neither a reason to refuse nor a way into a cut."""
    script, _ = admins()
    other = script.data("bob")
    own = script.data("xi", prev=(other.id,))
    assert script.rule(own).verdict is COUNTS
    script.revoke("ada", "xi", tips=(other.id,))
    assert script.rule(own).verdict is VOID


def test_trace_8_two_who_use_one_invite_are_both_in_and_a_late_one_throws_out_nobody() -> None:
    """A claim grants nothing: members come in by grants, which stand by the granter's strength alone."""
    script, _ = agent_bank()
    invite = script.control("carol", Invite(script.cast["key"], parse_level("write"), script.now_ms + 1000))
    place = EpochId(invite.id, 0)
    assert set(script.now().invites) == {place}
    heads = script.now().heads
    script.grant("carol", "alice", "write", invite=place)
    entry = script.data("alice")
    script.control("vera", script.grant_act("mallory", "write", invite=place), auth=heads)
    script.control("key", script.grant_act("eve", "write", invite=place))
    assert script.rule(entry).verdict is COUNTS
    assert script.level("alice") == script.level("mallory") == "write"
    assert script.level("eve") is None
    assert script.now().boxes_for(script.cast["key"]) == []


def test_trace_9_at_never_decides() -> None:
    """A revocation from a clock that is a day, or years, ahead or behind takes effect at once and all the same."""
    for days in (-1500, -1, 1, 1500):
        shift = days * 86_400_000
        script, _ = agent_bank()
        script.grant("carol", "wim", "write")
        kept = script.data("wim", at_ms=script.now_ms - shift)
        script.control("carol", script.revoke_act("wim"), at_ms=script.now_ms + shift)
        stolen = script.data("wim", at_ms=script.now_ms + shift // 2)
        assert script.rule(kept).verdict is COUNTS
        assert script.rule(stolen).verdict is VOID
        assert script.level("wim") is None


def test_trace_10_expiry_closes_doors_and_cuts_nothing() -> None:
    """After the expiry the gate is shut and later entries are void; history stays, and `members` asks for the cut."""
    script, _ = agent_bank()
    until = script.now_ms + 1000
    script.grant("carol", "wim", "write", until=until)
    honest = script.data("wim")
    late = script.data("wim", at_ms=until + 1)
    now = script.now()
    wim = script.cast["wim"]
    assert now.level(wim, until - 1) is not None
    assert now.level(wim, until) is None
    assert wim not in now.readers(until)
    assert script.rule(honest).verdict is COUNTS
    assert script.rule(late) == (VOID, "expired")
    assert {row.key: row.state for row in now.members(until)}[wim] == "expired, cut pending"
    assert now.expired(until) == {wim}
    assert now.expired(until - 1) == frozenset()


def test_trace_10_what_is_backdated_counts_until_the_cut_and_not_after() -> None:
    """An expired key that backdates is stopped by the revocation that an admin's peer writes."""
    script, _ = agent_bank()
    until = script.now_ms + 1000
    script.grant("carol", "wim", "write", until=until)
    honest, heads = script.data("wim"), script.now().heads
    script.revoke("carol", "wim")
    script.now_ms = until + 10_000
    backdated = script.data("wim", at_ms=until - 500, auth=heads)
    assert script.rule(honest).verdict is COUNTS
    assert script.rule(backdated) == (VOID, "cut")
    assert script.now().expired(script.now_ms) == frozenset()


def test_trace_13_two_admins_who_leave_at_once_are_both_gone() -> None:
    """The last admin's leaving is never void: a bank without admin is frozen, and its members go on."""
    script = Script()
    script.found({"ada": "admin(0)", "bob": "admin(0)"})
    script.grant("ada", "wim", "write")
    heads = script.now().heads
    script.control("ada", script.revoke_act("ada"), auth=heads)
    script.control("bob", script.revoke_act("bob"), auth=heads)
    assert script.level("ada") is script.level("bob") is None
    assert script.now().frozen(script.now_ms)
    assert script.rule(script.data("wim")).verdict is COUNTS
    script.grant("bob", "eve", "write")
    assert script.level("eve") is None


def test_trace_13_a_thief_can_not_undo_the_revocation_of_its_stolen_key() -> None:
    """A second self-revocation with wider tips, even in place of the first, does not bring a revoked key back."""
    script = Script()
    script.found({"ada": "admin(0)", "bob": "admin(0)"})
    heads = script.now().heads
    revoke = script.control("bob", script.revoke_act("bob"))
    stolen = script.data("bob", auth=heads)
    for over in ((), (revoke.id,)):
        for auth in (heads, (revoke.id,)):
            script.control("bob", script.revoke_act("bob", tips=(stolen.id,), over=over), auth=auth)
            assert script.rule(stolen).verdict is VOID
            assert script.level("bob") is None


def test_trace_15_a_withheld_revocation_shows_as_an_incomplete_past() -> None:
    """When a member's entry names a control entry that a relay withholds, it waits and the missing id is known."""
    script, _ = agent_bank()
    script.grant("carol", "mo", "write")
    revoke = script.revoke("carol", "mo")
    entry, later = script.data("carol"), script.policy("carol", 1, 5)
    shown = Held(one for one in script.entries.values() if one.id != revoke.id)
    partial = shown.authority(script.bank)
    assert partial.rule(entry) == partial.rule(later) == (WAITING, "control past is missing")
    assert partial.missing == {revoke.id}
    assert partial.incomplete
    assert later.id not in partial.heads
    whole = partial.extend(revoke)
    assert not whole.incomplete
    assert whole.heads == script.now().heads


def test_trace_15_an_unknown_id_in_auth_infects_nobody() -> None:
    """An entry that names an id nobody has waits alone: it is no head, and a cut key raises no alarm."""
    script, _ = admins()
    junk = cid_of(b"nobody has this")
    poison = script.control("mo", script.grant_act("eve", "read"), auth=(*script.now().heads, junk))
    assert script.rule(poison).verdict is WAITING
    assert poison.id not in script.now().heads
    assert script.now().incomplete
    assert script.rule(script.data("bob")).verdict is COUNTS
    script.revoke("ada", "mo")
    assert not script.now().incomplete
    assert script.now().missing == {junk}
    script.control("stranger", script.grant_act("eve", "read"), auth=(cid_of(b"more junk"),))
    assert not script.now().incomplete


def test_trace_16_4_of_equal_headers_only_the_smallest_id_counts() -> None:
    """A signer can sign one header twice; the second entry says nothing more."""
    script, _ = agent_bank()
    grant = script.grant("carol", "wim", "write")
    entry = script.data("wim")
    twin = script.twin(grant, smaller=True)
    assert script.rule(twin).verdict is COUNTS
    assert script.rule(grant) == (VOID, "duplicate header")
    assert script.rule(entry).verdict is COUNTS  # it names the larger one, which says the same
    assert script.now().heads == (twin.id,)


def test_trace_16_4_a_cut_key_can_not_void_its_accepted_past_by_signing_it_again() -> None:
    """The smallest id *that counts*: a twin made after the cut lies outside it, whatever its id."""
    script, _ = admins()
    grant = script.grant("mo", "zoe", "write")
    entry = script.data("zoe")
    script.revoke("ada", "mo")
    twin = script.twin(grant, smaller=True)
    assert script.rule(twin) == (VOID, "cut")
    assert script.rule(grant).verdict is COUNTS
    assert script.rule(entry).verdict is COUNTS


def test_trace_16_4_a_twin_of_a_narrowing_does_not_revoke_what_it_grants() -> None:
    """Of two signatures over one narrowing neither revocation hits the other's smaller grant."""
    script, _ = agent_bank()
    script.grant("carol", "wim", "write")
    narrowing = script.control("carol", script.revoke_act("wim"), script.grant_act("wim", "read"))
    for smaller in (True, False):
        script.twin(narrowing, smaller)
        assert script.level("wim") == "read"


def test_the_founder_who_left_cuts_more_weakly() -> None:
    """The case behind the review's precondition: who has left its own admin(0) lease can't cut any more."""
    script, _ = admins()
    script.control("ada", script.revoke_act("ada"), script.grant_act("ada", "admin(1)"))
    assert script.level("ada") == "admin(1)"
    cut = script.revoke("ada", "mo", tips=())
    assert script.now().acts_standing(cut) == (True,)
    assert script.level("mo") == "admin(1)"  # an equal by now
