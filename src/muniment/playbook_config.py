"""How a playbook is kept: settings that stand signed in its bank (design section 3, `set`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from muniment.bank import Bank
from muniment.base.errors import InvalidInput, MunimentError
from muniment.base.limits import LIMITS
from muniment.ledger.authority import Authority
from muniment.query import choice
from muniment.values import newest, put

SPACE = "playbook"
POLICIES = ("auto", "review")


@dataclass(frozen=True, slots=True)
class PlaybookConfig:
    """How one bank's playbook is kept.

    Attributes:
        policy: `auto`: a batch is applied at once; `review`: it waits until somebody accepts it.
        max_bullets: Bullets that are shown; what is beyond goes with the next eviction.
        similarity: From which share of words and pairs of words in common two bullets are one; 1: only equal words.
        stale_days: After so many days untouched a bullet that never helped goes with the next eviction.
    """

    policy: Literal["auto", "review"] = "auto"
    max_bullets: int = 200
    similarity: float = 0.8
    stale_days: int = 90

    def to_json(self) -> dict[str, Any]:
        """The settings as `--json` prints them."""
        return {name: getattr(self, name) for name in NAMES}


NAMES = tuple(field.name for field in fields(PlaybookConfig))


def _whole(most: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        text = str(value).strip()
        if isinstance(value, bool | float) or not (text.isascii() and text.isdigit() and len(text) < 10):
            raise InvalidInput(f"{name} is {value!r:.60}", f"Use a whole number from 1 to {most}.")
        if not 1 <= int(text) <= most:
            raise InvalidInput(f"{name} is {text}", f"Use a whole number from 1 to {most}.")
        return int(text)

    return check


def _share(name: str, value: Any) -> float:
    try:
        number = -1.0 if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0.5 <= number <= 1:
        raise InvalidInput(f"{name} is {value!r:.60}", "Use a share from 0.5 to 1.")
    return number


def _policy(name: str, value: Any) -> str:
    return choice(value if isinstance(value, str) else "", POLICIES, name)


_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "policy": _policy,
    "max_bullets": _whole(LIMITS.bullets),
    "similarity": _share,
    "stale_days": _whole(36_500),
}


def checked(name: str, value: Any) -> Any:
    """The value of a setting, from Python or from what a person types.

    Raises:
        InvalidInput: There is no such setting, or it can't have this value.
    """
    if name not in _CHECKS:
        raise InvalidInput(f"a playbook has no setting {name[:40]!r}", f"There are {', '.join(NAMES)}.")
    return _CHECKS[name](name, value)


def read(bank: Bank, authority: Authority, key: bytes) -> PlaybookConfig:
    """The settings as they stand; what is unset, or not understood here, is the default. In an open `read`."""
    values: dict[str, Any] = {}
    for name, value in newest(bank, authority, key, SPACE).items():
        try:
            values[name] = checked(name, value)
        except MunimentError:
            continue
    return PlaybookConfig(**values)


def write(bank: Bank, key: bytes, changes: Mapping[str, Any]) -> None:
    """Set what changes, in one entry; None takes a setting back to its default.

    Raises:
        InvalidInput: As for `checked`; nothing is written.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    defaults = PlaybookConfig()
    wanted = {
        name: None if value is None and name in NAMES else checked(name, value)
        for name, value in changes.items()
    }
    put(bank, key, SPACE, {n: None if v == getattr(defaults, n) else v for n, v in wanted.items()})
