"""Batches, waits and the circuit: pure decisions, by properties and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.base.errors import EmbedderRefused, EmbedderUnavailable
from muniment.embed.calls import Calls, Passing
from muniment.embed.policy import Breaker, Circuit, Retry, batches, retry_after_s

from .conftest import Time

RULE = Breaker(failures=3, rest_s=30.0)


@given(st.lists(st.integers(0, 500), max_size=60), st.integers(1, 10), st.integers(1, 800))
def test_batches_hold_everything_once_in_order_within_bounds(
    sizes: list[int], most: int, most_size: int
) -> None:
    """Each item is in one run, runs follow each other, and only a single large item passes the bound."""
    runs = batches(sizes, most, most_size)
    assert [at for run in runs for at in run] == list(range(len(sizes)))
    for run in runs:
        assert 0 < len(run) <= most
        assert len(run) == 1 or sum(sizes[at] for at in run) <= most_size
    for run, after in zip(runs, runs[1:], strict=False):  # none could have taken in the next item
        assert len(run) == most or sum(sizes[at] for at in run) + sizes[after.start] > most_size


@given(
    st.integers(1, 200),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 100),
    st.none() | st.floats(0, 200),
    st.integers(1, 10),
)
def test_a_wait_is_bounded_and_ends(
    failures: int, chance: float, left: float, asked: float | None, n: int
) -> None:
    """Never after the last attempt, never beyond the time, never shorter than asked, never longer than the cap."""
    retry = Retry(attempts=n)
    wait = retry.wait_s(failures, chance, left, asked)
    if failures >= n:
        assert wait is None
    if wait is not None:
        assert (asked or 0) <= wait < left
        assert wait <= max(retry.cap_s, asked or 0)
        assert wait == asked or wait <= retry.base_s * 2 ** (failures - 1)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None), ("7", 7.0), (" 1.5 ", 1.5), ("0", 0.0), ("", None), ("soon", None), ("-3", None),
        ("Sun, 09 Sep 2001 01:46:50 GMT", 10.0), ("Sun, 09 Sep 2001 01:46:30 GMT", 0.0),
        ("9" * 400, None), ("١", None), ("Sun, 99 Sep 9999999 01:46:30 GMT", None), (".", None), ("nan", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    """Both forms of RFC 9110, and nothing where it says nothing."""
    assert retry_after_s(value, 1e9) == seconds


@given(st.text(max_size=40))
def test_retry_after_never_breaks(value: str) -> None:
    """It is a stranger's text."""
    found = retry_after_s(value, 1e9)
    assert found is None or found >= 0


@given(st.lists(st.tuples(st.sampled_from(["ask", "ok", "fail"]), st.floats(0, 20)), max_size=60))
def test_the_circuit_keeps_its_promises(steps: list[tuple[str, float]]) -> None:
    """It opens after so many failures in a row, rests so long, lets one call try, and closes by a success."""
    circuit, now, row, opened = Circuit(), 0.0, 0, None
    for what, passed in steps:
        now += passed
        if what == "ask":
            admitted = circuit.admit(RULE, now)
            if opened is None:
                assert admitted is not None
            elif now - opened < RULE.rest_s or circuit.trying:
                assert admitted is None
            else:
                assert admitted is not None
                assert admitted.trying
            circuit = admitted or circuit
        elif what == "ok":
            circuit, row, opened = circuit.succeed(), 0, None
        else:
            circuit, row = circuit.fail(RULE, now), row + 1
            opened = now if row >= RULE.failures or opened is not None else None
        state = "closed" if opened is None else "open" if now - opened < RULE.rest_s else "half-open"
        assert circuit.state(RULE, now) == state
        assert circuit.rest_left_s(RULE, now) <= RULE.rest_s + 1e-9


def test_a_call_is_tried_again_with_jitter_until_it_is_answered(moment: Time) -> None:
    """Waits are halves of 0.5, 1 and 2 seconds here, and what came last is the answer."""
    answers: list[Passing | int] = [Passing("fails"), Passing("fails"), Passing("fails", 3.0), 7]
    calls = Calls("it", RULE, moment.means)
    assert calls.run(lambda _: answers.pop(0), Retry(attempts=4), 60.0) == 7
    assert moment.sleeps == [0.25, 0.5, 3.0]
    assert calls.state == "closed"


def test_the_time_for_a_call_is_for_all_attempts(moment: Time) -> None:
    """An attempt is told what is left, and no wait goes beyond it."""
    seen = []

    def attempt(left: float) -> Passing:
        seen.append(left)
        moment.now += 4.0
        return Passing("is slow", 2.0)

    with pytest.raises(EmbedderUnavailable, match=r"is slow \(2 attempts\)"):
        Calls("it", RULE, moment.means).run(attempt, Retry(attempts=9), 11.0)
    assert seen == [11.0, 5.0]


def test_a_server_that_fails_is_left_alone_and_tried_again(moment: Time) -> None:
    """Three failed calls open the circuit; after the rest one attempt decides; a success closes it."""
    calls = Calls("it", RULE, moment.means)
    tried = []

    def fail(_: float) -> Passing:
        tried.append(1)
        return Passing("fails")

    for _ in range(3):
        with pytest.raises(EmbedderUnavailable, match="it fails"):
            calls.run(fail, Retry(attempts=2), 60.0)
    with pytest.raises(EmbedderUnavailable, match="left alone after 3 failed calls") as caught:
        calls.run(fail, Retry(), 60.0)
    assert caught.value.next_step == "It is asked again in 30 s."
    assert (len(tried), calls.state) == (6, "open")
    moment.now += 31
    with pytest.raises(EmbedderUnavailable):
        calls.run(fail, Retry(), 60.0)
    assert (len(tried), calls.state) == (7, "open")
    moment.now += 31
    assert calls.state == "half-open"
    assert calls.run(lambda _: 5, Retry(), 60.0) == 5
    assert calls.state == "closed"


def test_while_one_call_tries_out_no_other_is_made(moment: Time) -> None:
    """Half-open lets one call through, not all who wait."""
    calls = Calls("it", Breaker(failures=1, rest_s=1.0), moment.means)
    with pytest.raises(EmbedderUnavailable):
        calls.run(lambda _: Passing("fails"), Retry(attempts=1), 60.0)
    moment.now += 2

    def inside(_: float) -> int:
        with pytest.raises(EmbedderUnavailable, match="left alone") as caught:
            calls.run(lambda _: 1, Retry(), 60.0)
        assert caught.value.next_step == "One call is trying it out."
        return 2

    assert calls.run(inside, Retry(), 60.0) == 2


def test_a_no_is_an_answer_and_a_bug_is_none(moment: Time) -> None:
    """What a server refuses does not open the circuit; a call that ends in any other way counts as failed."""
    calls = Calls("it", Breaker(failures=2, rest_s=1.0), moment.means)

    def refuse(_: float) -> int:
        raise EmbedderRefused("no")

    def break_off(_: float) -> int:
        raise KeyboardInterrupt

    for _ in range(5):
        with pytest.raises(EmbedderRefused):
            calls.run(refuse, Retry(), 60.0)
    assert calls.state == "closed"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            calls.run(break_off, Retry(), 60.0)
    assert calls.state == "open"
