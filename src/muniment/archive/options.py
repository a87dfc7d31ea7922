"""The `archive:` block of the settings: what goes into the archive, where it lies, how long. Imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from muniment.base.errors import InvalidInput

FOLDER = "folder"
SCHEMES = ("s3://", "gs://", "az://")
DAY_MS = 24 * 3600 * 1000
_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": DAY_MS, "w": 7 * DAY_MS, "y": 365 * DAY_MS}
_UNITS_BYTES = {"": 1, "b": 1, "kb": 1000, "kib": 1024, "mb": 1_000_000, "mib": 1 << 20}
_MOST_MS = 1000 * 365 * DAY_MS


@dataclass(frozen=True, slots=True)
class Options:
    """What the `archive:` block may say.

    Attributes:
        older_than: Archive what was said longer ago, ms; None: age does not matter.
        larger_than: Leave texts of up to so many bytes where they are: their stubs are hardly smaller.
        unused_for: Archive what was not recalled on this peer for so long, ms; None: nobody counts.
        copies: Other holders that have to be known before this peer may be without both text and blob.
        grace: How long a pack that nothing needs is kept, ms.
        store: `folder` (in the peer folder), or `s3://…`, `gs://…`, `az://…`.
        options: What the provider of an object store needs beside its credentials.
        challenge: How often each holder of packs has to prove them while `muniment serve` runs, ms; None: never.
    """

    older_than: int | None = None
    larger_than: int = 1024
    unused_for: int | None = None
    copies: int = 2
    grace: int = 7 * DAY_MS
    store: str = FOLDER
    options: Mapping[str, Any] | None = None
    challenge: int | None = 7 * DAY_MS

    @property
    def automatic(self) -> bool:
        """Whether anything is archived without being asked for."""
        return self.older_than is not None or self.unused_for is not None


def duration(value: Any, what: str) -> int:
    """A length of time in ms: `180d`, `12h`, `30m`, `90s`, `2w`, `1y`.

    Raises:
        InvalidInput: It is none, or over a thousand years.
    """
    match = re.fullmatch(r"(\d{1,9})\s*([smhdwy])", value.strip().lower()) if isinstance(value, str) else None
    found = int(match[1]) * _UNITS_MS[match[2]] if match else _MOST_MS + 1
    if found > _MOST_MS:
        raise InvalidInput(f"{what} is {str(value)[:40]!r}, not a length of time", "Write it as 180d or 12h.")
    return found


def size(value: Any, what: str) -> int:
    """A number of bytes: `4096`, `4kB`, `1MiB`.

    Raises:
        InvalidInput: It is none.
    """
    text = str(value).strip().lower() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    match = re.fullmatch(r"(\d{1,12})\s*([a-z]{0,3})", text)
    if match is None or match[2] not in _UNITS_BYTES:
        raise InvalidInput(f"{what} is {str(value)[:40]!r}, not a size", "Write it as 4096, 4kB or 1MB.")
    return int(match[1]) * _UNITS_BYTES[match[2]]


def options(block: Mapping[str, Any] | None) -> Options:
    """Read the block; what it does not name keeps its default.

    Raises:
        InvalidInput: A name is unknown, or a value has no meaning; the message names it.
    """
    if block is None:
        return Options()
    if not isinstance(block, Mapping):
        raise InvalidInput("archive is not a list of settings", "Write one `name: value` a line below it.")
    known = [field.name for field in fields(Options)]
    given: dict[str, Any] = {}
    for name, value in block.items():
        if name not in known:
            raise InvalidInput(
                f"archive has no setting {str(name)[:40]!r}", f"Settings are {', '.join(known)}."
            )
        given[str(name)] = _value(str(name), value)
    return Options(**given)


def _value(name: str, value: Any) -> Any:
    what = f"archive.{name}"
    if name in {"older_than", "unused_for", "grace"}:
        return None if value is None and name != "grace" else duration(value, what)
    if name == "challenge":
        return _challenge(value, what)
    if name == "larger_than":
        return size(value, what)
    if name == "copies":
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100:
            raise InvalidInput(f"{what} can't be {str(value)[:40]!r}", "Use a number from 1 to 100.")
        return value
    if name == "options":
        if value is not None and not isinstance(value, Mapping):
            raise InvalidInput(
                f"{what} is not a list of settings", "Write one `name: value` a line below it."
            )
        return value
    if not isinstance(value, str) or not (value == FOLDER or value.startswith(SCHEMES)):
        raise InvalidInput(
            f"{what} is no place for blobs",
            f"Use `{FOLDER}`, or a URL that starts with {', '.join(SCHEMES)}.",
        )
    return value


def _challenge(value: Any, what: str) -> int | None:
    if value is None:
        return None
    found = duration(value, what)
    if found < _UNITS_MS["h"]:
        raise InvalidInput(
            f"{what} is {str(value)[:40]!r}, and holders would do nothing else", "Write 1h or more."
        )
    return found
