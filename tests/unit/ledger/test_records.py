"""Versions of a record: one rule, whatever order they arrived in (design section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from muniment.base.ids import EntryId, VersionId, cid_of
from muniment.ledger.records import (
    Outcome,
    Trust,
    Version,
    group_of_key,
    newest,
    resolve,
    trust_of,
)

LIVE, SUPERSEDED, FORGOTTEN, ERASED, VOID = Outcome


def name(number: int) -> VersionId:
    """A version's id."""
    return VersionId(EntryId(cid_of(str(number).encode())), 0)


def version(number: int, *over: int, at: int | None = None, trust: Trust = Trust.OWN, counts: bool = True,
            content: bytes | None = None) -> Version:  # fmt: skip
    """A version that says of others that it supersedes them; its clock is its number, unless told."""
    said = str(number).encode() if content is None else content
    when = number if at is None else at
    return Version(name(number), when, trust, said, counts, frozenset(map(name, over)))


def outcomes(
    *group: Version, forgets: Mapping[int, Sequence[int]] | None = None, erased: Sequence[int] = ()
) -> list[Outcome]:
    """What becomes of each, in order."""
    named = {name(number): clocks for number, clocks in (forgets or {}).items()}
    result = resolve(group, named, map(name, erased))
    return [result[one.id][0] for one in group]


def test_a_version_hides_what_it_names() -> None:
    """Naming is what supersedes; a later clock alone does not."""
    assert outcomes(version(1), version(2, 1)) == [SUPERSEDED, LIVE]
    assert outcomes(version(1), version(2)) == [LIVE, LIVE]
    assert outcomes(version(9), version(2, 9)) == [SUPERSEDED, LIVE]


def test_trace_12_1_naming_a_version_that_is_not_of_the_group_has_no_effect() -> None:
    """Another record's version is no member, so naming it hides nothing, and nothing is reached through it."""
    assert outcomes(version(1), version(3, 2)) == [LIVE, LIVE]


def test_trace_12_2_who_names_everything_hides_its_own_group_alone() -> None:
    """One version that names every version of the bank ends only those of its own record."""
    everything = version(9, *range(9))
    assert outcomes(version(1), everything) == [SUPERSEDED, LIVE]
    assert outcomes(version(2), version(3)) == [LIVE, LIVE]


def test_trace_12_3_two_who_say_the_same_both_stay() -> None:
    """Equal words under one key, written at the same time, are one record with two authors."""
    same = [version(1, content=b"x"), version(2, content=b"x")]
    assert outcomes(*same) == [LIVE, LIVE]


def test_trace_12_4_superseding_goes_through_void_versions() -> None:
    """Who was cut in the middle leaves the chain whole: v3 named v2, which named v1."""
    chain = version(1), version(2, 1, counts=False), version(3, 2)
    assert outcomes(*chain) == [SUPERSEDED, VOID, LIVE]
    longer = version(1), version(2, 1, counts=False), version(3, 2, counts=False), version(4, 3)
    assert outcomes(*longer) == [SUPERSEDED, VOID, VOID, LIVE]


def test_a_void_version_supersedes_nothing_by_itself() -> None:
    """What a cut key wrote over stays."""
    assert outcomes(version(1), version(2, 1, counts=False)) == [LIVE, VOID]


def test_an_erased_version_supersedes_nothing() -> None:
    """What it named is gone with its words, so no replica may depend on having read it."""
    assert outcomes(version(1), version(2, 1), erased=[2]) == [LIVE, ERASED]
    assert outcomes(version(1), version(2, 1), version(3, 2), erased=[2]) == [LIVE, ERASED, LIVE]
    assert outcomes(version(1), version(2, 1), erased=[1, 2]) == [ERASED, ERASED]


def test_lower_trust_never_hides_higher() -> None:
    """A tool's words and a peer's stand beside the agent's own; the other way they are hidden."""
    for low, high in ((Trust.TOOL, Trust.PEER), (Trust.PEER, Trust.OWN), (Trust.TOOL, Trust.OWN)):
        assert outcomes(version(1, trust=high), version(2, 1, trust=low)) == [LIVE, LIVE]
        assert outcomes(version(1, trust=low), version(2, 1, trust=high)) == [SUPERSEDED, LIVE]
        assert outcomes(version(1, trust=low), version(2, 1, trust=low)) == [SUPERSEDED, LIVE]


def test_trust_is_judged_by_who_reaches_and_not_by_who_stands_between() -> None:
    """An own version reaches through a tool's version what that could not hide."""
    group = version(1), version(2, 1, trust=Trust.TOOL), version(3, 2)
    assert outcomes(*group) == [SUPERSEDED, SUPERSEDED, LIVE]
    group = version(1), version(2, 1), version(3, 2, trust=Trust.PEER)
    assert outcomes(*group) == [SUPERSEDED, LIVE, LIVE]


def test_trust_follows_from_keys() -> None:
    """The agent's and controller's keys weigh most, `tool` least, and in a shared bank all keys weigh alike."""
    own = frozenset({b"a"})
    assert trust_of(b"a", tool=False, own=own) == Trust.OWN
    assert trust_of(b"p", tool=False, own=own) == Trust.PEER
    assert trust_of(b"a", tool=True, own=own) == Trust.TOOL
    assert trust_of(b"p", tool=False, own=None) == Trust.OWN
    assert trust_of(b"p", tool=True, own=None) == Trust.TOOL


def test_forget_hides_what_it_names_and_nothing_concurrent() -> None:
    """The version that was not named stays and is shown; without the forget all is as before."""
    group = version(1), version(2)
    assert outcomes(*group, forgets={1: [5]}) == [FORGOTTEN, LIVE]
    assert outcomes(*group, forgets={1: []}) == [LIVE, LIVE]


def test_states_have_an_order() -> None:
    """The last that applies is told: superseded, forgotten, erased, void."""
    chain = version(1), version(2, 1)
    assert outcomes(*chain, forgets={1: [7]})[0] == FORGOTTEN
    assert outcomes(*chain, forgets={1: [7]}, erased=[1])[0] == ERASED
    gone = version(1, counts=False)
    assert outcomes(gone, version(2, 1), forgets={1: [7]}, erased=[1])[0] == VOID


def test_the_end_of_a_version_is_the_first_that_ended_it() -> None:
    """`as_of` asks when a version stopped being live: at the earliest superseding or forgetting."""
    group = [version(1), version(5, 1), version(8, 1)]
    assert resolve(group, {})[name(1)] == (SUPERSEDED, 5)
    assert resolve(group, {name(1): [3, 9]})[name(1)] == (FORGOTTEN, 3)
    assert resolve(group, {name(1): [7]})[name(1)] == (FORGOTTEN, 5)
    assert resolve(group, {})[name(8)] == (LIVE, None)


def test_circles_and_self_naming_are_harmless() -> None:
    """Versions can't name each other's ids in a circle; if bytes ever claim it, deciding still ends."""
    assert outcomes(version(1, 1)) == [LIVE]
    assert outcomes(version(1, 2), version(2, 1)) == [SUPERSEDED, SUPERSEDED]


def test_a_chain_of_five_thousand_is_no_problem() -> None:
    """Deciding doesn't recurse."""
    group = [version(0), *(version(number, number - 1) for number in range(1, 5000))]
    result = resolve(group[-300:], {})
    assert sum(outcome is LIVE for outcome, _ in result.values()) == 1
    long = [version(0), *(version(n, n - 1, counts=False) for n in range(1, 4999)), version(4999, 4998)]
    assert resolve(long, {})[name(0)][0] is SUPERSEDED


def test_the_version_shown_is_of_the_highest_trust_then_newest() -> None:
    """Trust first, then the clock, then the id."""
    tool, old, new = version(9, trust=Trust.TOOL), version(1), version(2)
    assert newest([tool, old, new]) is new
    tie = [version(1, at=7), version(2, at=7)]
    assert newest(tie) is max(tie, key=lambda v: v.id)


def test_a_key_has_one_group() -> None:
    """Any text names a group of 16 bytes; another text another one; surrogates too."""
    keys = ["", "a", "A", "a ", "\ud800", "\udfff", "\0", "記"]
    assert len({group_of_key(key) for key in keys}) == len(keys)
    assert {len(group_of_key(key)) for key in keys} == {16}


groups = st.lists(
    st.tuples(
        st.lists(st.integers(0, 7), max_size=3), st.integers(0, 9), st.sampled_from(Trust), st.booleans()
    ),
    min_size=1,
    max_size=8,
).map(
    lambda rows: [
        # An act names what was there when it was signed, so no version names a later one.
        version(i, *(o for o in over if o < i), at=at, trust=t, counts=c)
        for i, (over, at, t, c) in enumerate(rows)
    ]
)


@given(
    groups,
    st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 20), max_size=2)),
    st.sets(st.integers(0, 8)),
    st.randoms(),
)
def test_order_does_not_matter(
    group: list[Version],
    forgets: dict[int, list[int]],
    erased: set[int],
    random: st.random_module,  # type: ignore[valid-type]
) -> None:
    """Any order of versions, forgets and erasures gives the same outcome."""
    named = {name(number): clocks for number, clocks in forgets.items()}
    first = resolve(group, named, map(name, sorted(erased)))
    shuffled = list(group)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    backwards = {number: clocks[::-1] for number, clocks in reversed(named.items())}
    assert resolve(shuffled, backwards, map(name, sorted(erased, reverse=True))) == first


@given(groups)
def test_no_outcome_depends_on_versions_of_lower_trust(group: list[Version]) -> None:
    """Taking away all versions of the lowest trust revives nothing above and hides nothing, void chains aside."""
    low = [v for v in group if v.trust is Trust.TOOL]
    if any(v.over for v in low):
        return  # these may stand between two others
    before, after = resolve(group, {}), resolve([v for v in group if v not in low], {})
    assert all(before[one] == outcome for one, outcome in after.items())


@given(groups)
def test_what_does_not_count_ends_nothing_alone(group: list[Version]) -> None:
    """With nothing that counts, nothing is superseded."""
    result = resolve([Version(v.id, v.at, v.trust, v.content, False, v.over) for v in group], {})
    assert set(result.values()) <= {(VOID, None)}


def test_all_orders_of_one_history() -> None:
    """A conflict, its end by a version that names both, and a void late-comer: 120 orders, one outcome."""
    group = [version(1), version(2, 1), version(3, 1), version(4, 2, 3), version(5, 4, counts=False)]
    seen = {tuple(sorted(resolve(order, {}).items())) for order in permutations(group)}
    assert len(seen) == 1
