"""The `archive:` block of the settings."""

from typing import Any

import pytest

from muniment.archive.options import DAY_MS, Options, duration, options, size
from muniment.base.errors import InvalidInput


def test_without_a_block_nothing_goes_by_itself() -> None:
    """The defaults: packs in the peer folder, two copies elsewhere, a week of grace."""
    assert options(None) == Options() == options({})
    assert not Options().automatic
    assert (Options().copies, Options().grace, Options().store) == (2, 7 * DAY_MS, "folder")


def test_a_block_is_read() -> None:
    """Lengths of time, sizes, places."""
    read = options({
        "older_than": "180d", "larger_than": "4kB", "unused_for": "12h", "copies": 3, "grace": "2w",
        "store": "s3://bucket/x", "options": {"region": "eu"},
    })  # fmt: skip
    assert read == Options(180 * DAY_MS, 4000, DAY_MS // 2, 3, 14 * DAY_MS, "s3://bucket/x", {"region": "eu"})
    assert read.automatic


@pytest.mark.parametrize(
    "block",
    [
        [], "x", {"older": "1d"}, {"older_than": 5}, {"older_than": "soon"}, {"older_than": "-1d"}, {"grace": None},
        {"larger_than": "many"}, {"larger_than": True}, {"larger_than": -1}, {"copies": 0}, {"copies": True},
        {"store": "ftp://x"}, {"store": 5}, {"options": "x"}, {"older_than": "9999999y"},
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_refused(block: Any) -> None:
    """With the name of what is wrong."""
    with pytest.raises(InvalidInput, match="archive"):
        options(block)


def test_units() -> None:
    """As people write them."""
    assert [duration(text, "x") for text in ("1s", "2 m", "1H", "1w")] == [
        1000,
        120_000,
        3_600_000,
        7 * DAY_MS,
    ]
    assert [size(text, "x") for text in (0, "7", "1 KiB", "2MB", "1mib")] == [0, 7, 1024, 2_000_000, 1 << 20]
