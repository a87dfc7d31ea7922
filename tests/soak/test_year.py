"""The whole year of three agents on two machines, and that none of its curves bends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from benchmarks import common, year
from benchmarks.year_life import Pace

DATA = os.environ.get("YEAR_DATA")  # a folder with the question sets; drawn conversations, if it names none


@pytest.mark.soak
def test_a_year_holds_and_stays_flat(tmp_path: Path) -> None:
    """Nothing acknowledged is lost, replicas are equal, revoked keys stay out, and age costs next to nothing."""
    result = year.measure(None if DATA is None else Path(DATA), Pace(), tmp_path)
    made = year.write(result, common.CACHE / "year")
    sys.stdout.write(f"\n{year.page(result)}\n\nPlots: {', '.join(map(str, made))}\n")
    assert year.bent(result) == []
