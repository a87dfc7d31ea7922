"""Times as people and programs write them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.portable.times import clock_of, to_ms


def ms(*parts: int) -> int:
    """Unix ms of a UTC date and time."""
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("1:56 pm on 8 May, 2023", ms(2023, 5, 8, 13, 56)),
        ("12:09 am on 13 September, 2023", ms(2023, 9, 13, 0, 9)),
        ("2023/04/11 (Tue) 07:47", ms(2023, 4, 11, 7, 47)),
        ("2026-03-04", ms(2026, 3, 4)),
        ("2026-03-04T10:15:30Z", ms(2026, 3, 4, 10, 15, 30)),
        ("2026-03-04T10:15:30.250+02:00", ms(2026, 3, 4, 8, 15, 30) + 250),
        ("2026-03-04 10:15", ms(2026, 3, 4, 10, 15)),
        ("4 March 2026", ms(2026, 3, 4)),
        ("March 4th, 2026 at 9:05 PM", ms(2026, 3, 4, 21, 5)),
        ("Wednesday, 4 Mar 2026, 9:05", ms(2026, 3, 4, 9, 5)),
        ("04/03/2026, 10:15:22", ms(2026, 3, 4, 10, 15, 22)),
        ("12/31/23, 9:05 PM", ms(2023, 12, 31, 21, 5)),
        ("31.12.2023", ms(2023, 12, 31)),
        (1_767_225_600, ms(2026, 1, 1)),
        (1_767_225_600.5, ms(2026, 1, 1) + 500),
        (1_767_225_600_000, ms(2026, 1, 1)),
        ("1767225600", ms(2026, 1, 1)),
        (date(2026, 1, 1), ms(2026, 1, 1)),
        (datetime(2026, 1, 1), ms(2026, 1, 1)),
    ],
)
def test_known_ways_of_writing_a_time(written: object, wanted: int) -> None:
    """Each way that the formats use gives its moment; without a zone it is UTC."""
    assert to_ms(written) == wanted


@pytest.mark.parametrize(
    "written",
    ["", "soon", "2026-13-01", "32/01/2026", "30 February 2026", "8 Maybe 2023", True, None, [], {}, -1, 1e300,
     float("nan"), float("inf"), 2**70, "1960-01-01", "25:61 pm on 8 May, 2023", "9" * 60, "0001-01-01T00:00:00+14:00"],
)  # fmt: skip
def test_what_is_no_time_is_none(written: object) -> None:
    """Words, impossible days, times before 1970 and endless numbers are no time and raise nothing."""
    assert to_ms(written) is None


@given(st.text(max_size=70) | st.integers() | st.floats() | st.datetimes() | st.dates())
def test_any_value_is_a_time_or_none(value: object) -> None:
    """A time is a whole number of milliseconds in the range that records take."""
    found = to_ms(value)
    assert found is None or (isinstance(found, int) and 0 <= found < 1 << 53)


@given(st.datetimes(datetime(1970, 1, 2), datetime(9999, 1, 1)))
def test_iso_times_come_back(moment: datetime) -> None:
    """What Python writes is read back to the millisecond."""
    wanted = moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
    found = to_ms(moment.isoformat())
    assert found is not None
    assert datetime.fromtimestamp(found // 1000, UTC) == wanted.replace(microsecond=0)


def test_times_of_day() -> None:
    """A time of day is milliseconds since midnight, and an impossible one is none."""
    assert clock_of("9:05") == (9 * 60 + 5) * 60_000
    assert clock_of("12:30 AM") == 30 * 60_000
    assert clock_of("09:05:07 pm") == ((21 * 60 + 5) * 60 + 7) * 1000
    for wrong in ("25:00", "9:61", "9", "noon", ""):
        assert clock_of(wrong) is None
