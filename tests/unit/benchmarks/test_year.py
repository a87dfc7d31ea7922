"""A year in minutes, as a few weeks in seconds: what must hold is asserted by the simulation itself, day by day."""

from pathlib import Path
from xml.etree import ElementTree

from benchmarks import plots, year, year_story
from benchmarks.year_life import Life, Pace
from benchmarks.year_world import holding

WEEKS = Pace(days=28, sample=14, policy=3, older_than=8, desk_crash=4, laptop_crash=11, guest=16, rekey=10,
             offline=(12, 2), care=13)  # fmt: skip


def test_a_few_weeks_hold(tmp_path: Path) -> None:
    """With kills in each kind of work nothing acknowledged is lost, replicas are equal, and what was erased is gone."""
    stories = year_story.write(year_story.material(None, conversations=4, turns=36), WEEKS.days)
    life = Life(stories, tmp_path, WEEKS)
    result = life.run()
    happened = result["happened"]
    assert {"archived", "corrected", "erased", "forgotten", "rekeys", "revoked", "kills in tell"} <= set(
        happened
    )
    assert sum(number for what, number in happened.items() if what.startswith("kills")) >= 7
    assert happened["remembered"] == year_story.counts(stories)["told"]
    assert all(held.gone for held in life.banks.values()), "nothing was erased that could have been found"
    aged, fresh = year.age(result)["recall@10"]
    assert aged >= fresh - year.WORSE
    assert "recall@10" in year.page(result | {"story": {}})
    for name, svg in year.pictures(result).items():
        assert ElementTree.fromstring(svg).tag.endswith("svg"), name


def test_a_needle_on_the_disk_is_found(tmp_path: Path) -> None:
    """The search for erased bytes finds them in any file, in any case of letters, and nothing else."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"\0\xff QuickMarker \0")
    assert len(holding([tmp_path], [b"quickmarker"])) == 1
    assert holding([tmp_path], [b"quickmarkers"]) == []


def test_a_story_is_the_same_each_time() -> None:
    """The same arguments tell the same; no question is asked before all that answers it was told."""
    told = year_story.material(None, conversations=4, turns=24)
    one, two = (year_story.write(told, 20) for _ in range(2))
    assert one == two
    for story in one.values():
        day_of = {said.slot: number for number, day in enumerate(story.days) for said in day.told}
        for since, asked in story.asked:
            assert max(day_of[slot] for slot in asked.relevant) == since


def test_what_age_costs_is_complained_of() -> None:
    """A curve that bends is named; one that is flat is not."""
    disk = {"disk": dict.fromkeys(year.KINDS, 100), "memory_mb": 50.0}
    bank = {"aged": {"ms": 1.0, "recall": 0.7}, "fresh": {"ms": 1.0, "recall": 0.7}}
    result = {"samples": [{"live": 4, "desk": disk}], "fresh": {**disk, "live": 4, "banks": {"ava": bank}}}
    assert year.bent(result) == []
    bank["aged"] = {"ms": 2.0, "recall": 0.6}
    result["samples"] = [{"live": 2, "desk": {**disk, "memory_mb": 90.0}}]
    assert len(year.bent(result)) == 4


def test_a_course_starts_at_nothing() -> None:
    """Its scales begin at 0, and each line is named with its last figure."""
    svg = plots.course(
        "t", {"a": [(10, 1.0), (365, 4.0)], "b": [(10, 0.0), (365, 0.0)], "c": []}, "day", "ms", unit=" ms"
    )
    words = [found.text for found in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"0", "365", "a, 4 ms", "b, 0 ms"} <= set(words)
