"""The plots of the documents: sound SVG that holds every figure, whatever the names are."""

from xml.etree import ElementTree

import pytest
from benchmarks import plots

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """All words of a picture."""
    return [found.text or "" for found in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_each_contender_has_a_dot_and_its_interval():
    """Placed by their figures, and told as numbers."""
    svg = plots.dots("about <this>", {"set": {"muniment, a": (0.5, 0.4, 0.6), "b & <c>": (0.25, 0.0, 1.0)}})
    root = ElementTree.fromstring(svg)
    dots = [float(one.attrib["cx"]) for one in root.iter(f"{SVG}circle")]
    left, span = plots.LEFT, 760 - plots.LEFT - plots.RIGHT
    assert dots == [pytest.approx(left + span / 2), pytest.approx(left + span / 4)]
    assert {"set", "muniment, a", "b & <c>", "0.500", "0.250"} <= set(texts(svg))
    kinds = [one.attrib["class"] for one in root.iter(f"{SVG}g")]
    assert kinds == ["ours", "theirs"]
    assert "prefers-color-scheme: dark" in svg


def test_lines_are_named_at_their_ends_and_keep_apart():
    """Two that end alike don't lie on each other, and a larger bank stands further right."""
    svg = plots.lines("t", {"a": [(10, 1.0), (1000, 5.0)], "b": [(10, 2.0), (1000, 5.0)]}, "x", "y")
    root = ElementTree.fromstring(svg)
    spots = [float(one.attrib["cx"]) for one in root.iter(f"{SVG}circle")]
    assert spots[0] < spots[1]
    ends = [float(one.attrib["y"]) for one in root.iter(f"{SVG}text") if (one.text or "").endswith(", 5 ms")]
    assert len(ends) == 2
    assert abs(ends[0] - ends[1]) >= 17.9


def test_a_single_size_is_a_plot_too():
    """Nothing is divided by nothing."""
    ElementTree.fromstring(plots.lines("t", {"a": [(10, 1.0)]}, "x", "y"))


@pytest.mark.parametrize("series", [{}, {"a": []}, {"a": [(0, 1.0)]}, {"a": [(1, -1.0)]}])
def test_a_logarithmic_scale_begins_above_zero(series):
    """What can't be drawn is refused."""
    with pytest.raises(ValueError, match="above 0"):
        plots.lines("t", series, "x", "y")
