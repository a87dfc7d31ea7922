"""What must hold of fusion whatever is fused."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from muniment.recall.fusion import Background, Evidence, Floor, Gate, convex, fuse, rrf, stands

ROWS = st.integers(1, 30)
SCORES = st.integers(0, 40).map(lambda n: n / 8)
COSINES = st.dictionaries(ROWS, st.integers(-16, 16).map(lambda n: n / 16), max_size=20)
WORDS = st.dictionaries(ROWS, SCORES, max_size=20).map(
    lambda found: sorted(found.items(), key=lambda pair: (-pair[1], -pair[0]))
)
WEIGHT = st.integers(0, 16).map(lambda n: n / 32)
LISTS = st.lists(st.lists(ROWS, unique=True, max_size=15), max_size=4)
BACKGROUND = st.builds(Background, st.just(0.125), st.sampled_from([0.0, 0.0625, 0.25]), st.just(100))


@given(LISTS, st.integers(0, 100))
def test_rank_sums_are_exact(lists: list[list[int]], k: int) -> None:
    """Each score is the sum of its reciprocals, the order is that of the sums, and no record is lost."""
    found = rrf(lists, k)
    assert {number for number, _ in found} == {number for one in lists for number in one}
    for number, score in found:
        exact = sum(Fraction(1, k + one.index(number) + 1) for one in lists if number in one)
        assert abs(score - float(exact)) < 1e-12
    assert found == sorted(found, key=lambda pair: (-pair[1], -pair[0]))


@given(WORDS, COSINES, WEIGHT, st.sampled_from([0.0, 0.5, 1.0]))
def test_scores_are_shares_and_the_order_is_theirs(
    words: list[tuple[int, float]], cosines: dict[int, float], weight: float, deference: float
) -> None:
    """All in 0..1 and in order, every record of the words is there, none twice, no cosine of 0 or less came in."""
    found = convex(words, cosines, weight, 0.125, deference=deference)
    rows = [one.ord for one in found]
    assert len(set(rows)) == len(rows)
    assert (
        {number for number, _ in words}
        <= set(rows)
        <= {n for n, _ in words} | {n for n, c in cosines.items() if c > 0.125}
    )
    assert all(0 <= part <= 1 for one in found for part in (one.score, one.words, one.meaning))
    assert all(a.score >= b.score for a, b in zip(found, found[1:], strict=False))


@given(WORDS, COSINES, WEIGHT, st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 99), st.integers(1, 16))
def test_more_evidence_never_costs_a_place(
    words: list[tuple[int, float]],
    cosines: dict[int, float],
    weight: float,
    deference: float,
    chosen: int,
    more: int,
) -> None:
    """A record whose cosine or word score rises, all else equal, is overtaken by none that it was ahead of."""
    before = convex(words, cosines, weight, deference=deference)
    if not before:
        return
    place = chosen % len(before)
    number = before[place].ord
    behind = {one.ord for one in before[place + 1 :]}
    raised = {**cosines, number: cosines.get(number, 0.0) + more / 16}
    scores = dict(words)
    scores[number] = scores.get(number, 0.0) + more / 8
    said = sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))
    for after in (
        convex(words, raised, weight, deference=deference),
        convex(said, cosines, weight, deference=deference),
    ):
        rows = [one.ord for one in after]
        ahead = set(rows[: rows.index(number)])
        score = after[rows.index(number)].score
        assert not {n for n in ahead & behind if after[rows.index(n)].score > score + 1e-12}


@given(WORDS, COSINES, BACKGROUND)
def test_a_strong_lead_survives_any_cosines(
    words: list[tuple[int, float]], cosines: dict[int, float], background: Background
) -> None:
    """Whatever vectors say, random ones too, the first by words stays first if it leads by more than `Gate.lead`."""
    gate = Gate()
    second = words[0][1] if words else 0.5
    words = [(31, second / (1 - gate.lead) + 1e-6), *words]
    assert fuse(words, cosines, background, gate)[0].ord == 31


@given(WORDS, COSINES)
def test_a_shut_gate_changes_no_order(words: list[tuple[int, float]], cosines: dict[int, float]) -> None:
    """Where nothing is known of the background, the words' ranking is the beginning of the result, exactly."""
    if not words:
        return
    found = fuse(words, cosines, Background(0.125, 0.0, 0))
    assert [one.ord for one in found[: len(words)]] == [number for number, _ in words]
    assert all(a.score >= b.score for a, b in zip(found, found[1:], strict=False))


@given(WORDS, COSINES, BACKGROUND, st.randoms(use_true_random=False))
def test_the_order_in_which_cosines_come_says_nothing(
    words: list[tuple[int, float]], cosines: dict[int, float], background: Background, random: object
) -> None:
    """The same evidence gives the same ranking, whatever order it is listed in."""
    pairs = list(cosines.items())
    random.shuffle(pairs)  # type: ignore[attr-defined]
    assert fuse(words, dict(pairs), background) == fuse(words, cosines, background)


@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(-1, 1),
    st.floats(0, 1),
    st.integers(1, 99) | st.none(),
    BACKGROUND,
)
def test_more_evidence_never_falls_below_the_floor(
    mass: float, more: float, cosine: float, nearer: float, df: int | None, background: Background
) -> None:
    """What stands still stands with more of either, and a rare word always stands."""
    floor = Floor()
    if stands(Evidence(mass, df, cosine), background, floor):
        assert stands(Evidence(mass + more, df, cosine + nearer), background, floor)
    if df is not None and df <= 10:
        assert stands(Evidence(mass, df, cosine), background, floor)
