"""Authority is a function of the set: random banks, random orders, a literal reading of the rules beside it."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muniment.base.errors import RefusedEntry
from muniment.base.ids import VersionId
from muniment.identity import keys
from muniment.ledger.authority import Authority, Verdict
from muniment.ledger.control import Control, Erase, Policy
from muniment.ledger.entry import Entry, verify
from muniment.testing.ledger import START_MS, Held, Script

_spec = importlib.util.spec_from_file_location("ledger_oracle", Path(__file__).with_name("ledger_oracle.py"))
assert _spec is not None
assert _spec.loader is not None
ledger_oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(ledger_oracle)

NAMES = ("ada", "bob", "mo", "xi", "yo", "zu")
LEVELS = ("admin(1)", "admin(2)", "admin(3)", "write", "read", "relay", "write", "admin(2)")
KINDS = ("grant", "grant", "delegable", "until", "revoke", "revoke", "narrow", "over", "data", "data", "epoch",
         "policy", "erase", "succeed")  # fmt: skip
TIMES = (0, START_MS, START_MS + 8, START_MS + 10_000)

# A step: who, what, to whom, at which level, and three numbers that pick `auth`, `prev` and tips.
small = st.integers(0, 7)
steps = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from(KINDS), st.integers(0, 5), small, small, small, small),
    max_size=14,
)


def founded() -> Script:
    """Two admin(0), an admin(1) that is the agent, and nobody else."""
    script = Script()
    script.found({"ada": "admin(0)", "bob": "admin(0)", "mo": "admin(1)"}, agent="mo", boxes=True)
    return script


def auth_of(script: Script, pick: int) -> tuple[Any, ...]:
    """All control heads for most picks; else one or two earlier control entries, as a hostile signer chooses."""
    control = list(script.control_entries.values())
    if pick < 5:
        inner = {parent for entry in control for parent in entry.header.auth}
        return tuple(entry.id for entry in control if entry.id not in inner)[:64]
    return tuple({control[pick * 7 % len(control)].id, control[-pick % len(control)].id})


def own(script: Script, name: str, pick: int) -> tuple[Any, ...]:
    """The newest entries of a key, or for some picks an older one, or none."""
    entries = [entry.id for entry in script.entries.values() if entry.header.by == script.cast[name]]
    if pick < 5 or not entries:
        return script.tips(script.cast[name])
    return (entries[pick * 5 % len(entries)],) if pick < 7 else ()


def acts_of(script: Script, step: tuple[Any, ...]) -> tuple[Control, ...]:
    """The control acts of a step; none for a data entry."""
    _, kind, whom, rank, _, _, pick = step
    key, level, tips = NAMES[whom], LEVELS[rank], own(script, NAMES[whom], pick)
    entries = list(script.entries.values())
    over = tuple(one.id for one in entries if any(type(act).__name__ == "Revoke" for act in one.header.ctl))
    made: dict[str, tuple[Control, ...]] = {
        "grant": (script.grant_act(key, level),),
        "delegable": (script.grant_act(key, level, delegable=True),),
        "until": (script.grant_act(key, level, until=START_MS + 4 * pick),),
        "succeed": (script.grant_act(key, level, succeeds=script.cast[NAMES[pick % 6]], agent=pick == 7),),
        "revoke": (script.revoke_act(key, tips),),
        "narrow": (script.revoke_act(key, tips), script.grant_act(key, level)),
        "over": (script.revoke_act(key, tips, over[-2:]),),
        "epoch": (script.epoch_act(NAMES[: whom + 1]),),
        "policy": (Policy(1, pick),),
        "erase": (Erase((VersionId(entries[pick * 3 % len(entries)].id, 0),)),),
        "data": (),
    }
    return made[kind]


def act_out(script: Script, plan: list[tuple[Any, ...]], only: str | None = None) -> list[Entry]:
    """Sign what a plan says; `only` signs all of it with one key."""
    made = []
    for step in plan:
        by, acts = only or NAMES[step[0]], acts_of(script, step)
        header = script.header(by, auth=auth_of(script, step[4]), prev=own(script, by, step[5]))
        if acts:
            made.append(script.sign(by, replace(header, ctl=acts)))
        else:
            made.append(script.data(by, auth=header.auth, prev=header.prev))
    return made


def state(authority: Authority, script: Script, entries: list[Entry]) -> dict[str, Any]:
    """All that authority says, in a form to compare."""
    keys_ = [script.cast[name] for name in NAMES]
    return {
        "rulings": {entry.id: authority.rule(entry) for entry in entries},
        "acts": {entry.id: authority.acts_standing(entry) for entry in entries},
        "levels": [[authority.level(key, now) for key in keys_] for now in TIMES],
        "members": [authority.members(now) for now in TIMES],
        "epochs": list(authority.epochs.items()),
        "current": [authority.current_epoch(now) for now in TIMES],
        "boxes": [authority.boxes_for(key) for key in keys_],
        "erasures": {version: list(orders) for version, orders in authority.erasures.items()},
        "rest": (authority.heads, authority.policy(1), authority.agents, authority.controllers,
                 authority.incomplete, authority.unknown_acts),
    }  # fmt: skip


@settings(max_examples=100)
@given(plan=steps, order=st.randoms(use_true_random=False), twice=st.booleans())
def test_any_order_duplication_and_split_gives_the_same_state(plan: Any, order: Any, twice: bool) -> None:
    """`extend` in any order, with repetitions and questions in between, equals `resolve` of the whole set."""
    script = founded()
    act_out(script, plan)
    entries = list(script.entries.values())
    expected = state(script.authority(script.bank), script, entries)
    stream = entries * 2 if twice else list(entries)
    order.shuffle(stream)
    held = Held()
    authority = held.authority(script.bank)
    while stream:
        size = order.randint(1, 4)
        part, stream = stream[:size], stream[size:]
        for entry in part:
            held.add(entry)
        authority = authority.extend(*part)
        if order.random() < 0.5:
            partial = state(authority, script, part)
            assert partial == state(held.authority(script.bank), script, part)
    assert state(authority, script, entries) == expected


@settings(max_examples=100)
@given(plan=steps)
def test_growing_entry_by_entry_equals_judging_anew(plan: Any) -> None:
    """In the order in which they were made most entries are judged without the others: the outcome is the same."""
    script = founded()
    act_out(script, plan)
    entries = list(script.entries.values())
    keys_ = [script.cast[name] for name in NAMES]
    held = Held()
    authority = held.authority(script.bank)
    for entry in entries:
        held.add(entry)
        _ = authority.gaps  # judges what is there: only then is there something to take over
        authority = authority.extend(entry)
        anew = held.authority(script.bank)
        assert state(authority, script, entries) == state(anew, script, entries)
        for now in TIMES:
            assert authority.expired(now) == anew.expired(now)
            assert authority.readers(now) == anew.readers(now)
        for key in keys_:
            assert authority.why(key) == anew.why(key)
            assert authority.granted_by(key, deep=True) == anew.granted_by(key, deep=True)
            assert authority.revoked(key) == anew.revoked(key)
            assert authority.cut_tips(entries) == anew.cut_tips(entries)
        assert authority.invites == anew.invites
        assert authority.missing == anew.missing
        assert authority.gaps >= anew.gaps


@settings(max_examples=150)
@given(plan=steps)
def test_it_equals_a_literal_reading_of_the_rules(plan: Any) -> None:
    """Verdicts on data and levels are those of the recursive rules in the design."""
    script = founded()
    act_out(script, plan)
    authority = script.authority(script.bank)
    oracle = ledger_oracle.Oracle(script, script.bank)
    for entry in script.entries.values():
        if not entry.is_control:
            assert (authority.rule(entry).verdict is Verdict.COUNTS) == oracle.counts(entry)
    for name in NAMES:
        for now in TIMES:
            assert authority.level(script.cast[name], now) == oracle.level(script.cast[name], now)


@settings(max_examples=120)
@given(plan=steps, target=st.integers(2, 5), attack=steps, twin=st.integers(0, 20))
def test_a_key_cut_by_an_admin_0_adds_nothing(plan: Any, target: int, attack: Any, twin: int) -> None:
    """Whatever a cut key signs afterwards, with any past, twins of its old entries too: no verdict changes."""
    script = founded()
    act_out(script, [step for step in plan if step[0] != 0])  # the cutter keeps its own admin(0) lease
    name = NAMES[target]
    script.revoke("ada", name)
    entries = list(script.entries.values())
    before = state(script.authority(script.bank), script, entries)
    later = act_out(script, attack, only=name)
    old = [entry for entry in entries if entry.header.by == script.cast[name]]
    if old:
        later.append(script.twin(old[twin % len(old)], smaller=bool(twin % 2)))
    authority = script.authority(script.bank)
    assert state(authority, script, entries) == before
    assert {authority.rule(entry).verdict for entry in later} <= {Verdict.VOID}


@settings(max_examples=60)
@given(plan=steps, attack=steps)
def test_keys_that_nobody_let_in_never_count(plan: Any, attack: Any) -> None:
    """Strangers that grant each other, and themselves, whatever they like get nothing."""
    script = founded()
    act_out(script, plan)
    entries = list(script.entries.values())
    before = state(script.authority(script.bank), script, entries)
    later = []
    for number, name in enumerate(("eve", "mal")):
        script.control(
            name, *[script.grant_act(one, "write") for one in ("eve", "mal")], auth=auth_of(script, number)
        )
        later += act_out(script, attack, only=name)
    authority = script.authority(script.bank)
    assert state(authority, script, entries) == before
    assert {authority.rule(entry).verdict for entry in later} <= {Verdict.VOID}
    assert authority.level(script.cast["eve"], 0) is authority.level(script.cast["mal"], 0) is None


@settings(max_examples=60)
@given(plan=steps, hidden=st.sets(st.integers(0, 20), min_size=1, max_size=5))
def test_fewer_entries_only_make_wait_never_count_what_strangers_say(plan: Any, hidden: set[int]) -> None:
    """With entries withheld all that remains is judged without error, and comes out as if they had come late."""
    script = founded()
    act_out(script, plan)
    entries = list(script.entries.values())
    shown = Held(entry for place, entry in enumerate(entries) if place not in hidden)
    partial = shown.authority(script.bank)
    state(partial, script, list(shown.entries.values()))
    late = [entry for place, entry in enumerate(entries) if place in hidden]
    for entry in late:
        shown.add(entry)
        partial = partial.extend(entry)
    assert state(partial, script, entries) == state(script.authority(script.bank), script, entries)


@settings(max_examples=60)
@given(plan=steps, forger=st.integers(0, 5))
def test_forged_entries_are_refused(plan: Any, forger: int) -> None:
    """An entry that another key signed than it names is refused, whatever it says; the genuine one is not."""
    script = founded()
    act_out(script, plan)
    for entry in script.entries.values():
        assert verify(entry.envelope, script.bank).header == entry.header
        if entry.header.by == script.cast[NAMES[forger]] or entry.id == script.bank:
            continue
        forged = script.sign(NAMES[forger], entry.header, keep=False)
        with pytest.raises(RefusedEntry, match="bad signature"):
            verify(forged.envelope, script.bank)


@given(seed=st.binary(min_size=32, max_size=32), nonce=st.integers(0, 1000))
@settings(max_examples=30)
def test_a_signer_can_make_many_signatures_and_each_verifies(seed: bytes, nonce: int) -> None:
    """The premise of the rule on equal headers: signatures by a chosen nonce are valid ones."""
    script = founded()
    entry = script.grant("ada", seed.hex(), "write")
    twin = script.twin(entry, smaller=bool(nonce % 2))
    assert twin.header_bytes == entry.header_bytes
    assert verify(twin.envelope, script.bank).id == twin.id != entry.id
    assert len(seed) == keys.PUBLIC_BYTES
