"""How an agent wants auto-recall: `set` acts in its own bank, newest wins (design sections 3 and 11).

Only what the agent or its controller signed counts: a guest who may write in the bank does not choose what the agent
is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from muniment.bank import Bank
from muniment.base.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.recall.fusion import Floor
from muniment.values import newest, put

SPACE = "auto_recall"
MAX_ENTRIES = 20
MAX_ENTRY_CHARS = 2000
MAX_BANKS = 256
LEAST_FLOOR = 0.05
# Chosen in `benchmarks/auto_recall.py`. Meaning supports words and hardly ever suffices: something is always near.
BY_WORDS = Floor(mass=0.40, sigmas=14.0, rare=0)
WITH_MEANING = Floor(mass=0.46, sigmas=14.0, rare=0)
_YES, _NO = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True)
class AutoRecallConfig:
    """The auto-recall of one agent.

    Attributes:
        auto_recall_enabled: Whether anything is recalled unasked.
        max_entries: Records at most from each bank and from the agent's own memory, 1 to 20.
        auto_recall_banks: Ids of the attached banks that are searched; None: all of them, empty: none.
        max_entry_chars: Characters of a record at most, 1 to 2,000.
        floor: The share of the question's idf mass that the own words of a bank's best record must hold, 0.05 to 1.
            A seventh more where there are vectors, which then count too. A quarter more counts what was said by a
            speaker, or at a time, that the question names.
    """

    auto_recall_enabled: bool = True
    max_entries: int = 3
    auto_recall_banks: tuple[str, ...] | None = None
    max_entry_chars: int = 200
    floor: float = BY_WORDS.mass

    def rule(self, *, meaning: bool) -> Floor:
        """The floor as recall knows it, for questions with a vector or without; its parts keep their ratio."""
        usual = WITH_MEANING if meaning else BY_WORDS
        times = self.floor / BY_WORDS.mass
        return Floor(usual.mass * times, usual.sigmas * times, usual.rare)

    def to_json(self) -> dict[str, Any]:
        """The settings by name; `auto_recall_banks` is null where all banks take part."""
        banks = None if self.auto_recall_banks is None else list(self.auto_recall_banks)
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "auto_recall_banks": banks
        }


DEFAULTS = AutoRecallConfig()
NAMES = tuple(field.name for field in fields(AutoRecallConfig))


def checked(name: str, value: Any) -> Any:
    """The value of a setting, from Python or from what a person types.

    Args:
        name: The setting.
        value: As the setting has it, or as text: `yes`, `5`, or bank ids separated by commas.

    Raises:
        InvalidInput | LimitExceeded: There is no such setting, or it can't have this value.
    """
    if name not in NAMES:
        raise InvalidInput(f"auto-recall has no setting {name[:40]!r}", f"There are {', '.join(NAMES)}.")
    return _CHECKS[name](name, value)


def _flag(name: str, value: Any) -> bool:
    word = value.strip().lower() if isinstance(value, str) else None
    if isinstance(value, bool) or word in _YES | _NO:
        return value if isinstance(value, bool) else word in _YES
    raise InvalidInput(f"{name} is {_shown(value)}", "Use true or false.")


def _count(most: int) -> Callable[[str, Any], int]:
    def check(name: str, value: Any) -> int:
        if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
            value = int(value.strip()[:9])
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput(f"{name} is {_shown(value)}", f"Use a whole number from 1 to {most}.")
        if value > most:
            raise LimitExceeded(name, most, value)
        return value

    return check


def _banks(name: str, value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise InvalidInput(f"{name} is {_shown(value)}", "Use a list of banks; an empty one means none.")
    if len(items) > MAX_BANKS:
        raise LimitExceeded(name, MAX_BANKS, len(items))
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def _share(name: str, value: Any) -> float:
    try:
        number = (
            float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else -1.0
        )
    except ValueError:
        number = -1.0
    if not LEAST_FLOOR <= number <= 1:
        raise InvalidInput(f"{name} is {_shown(value)}", f"Use a share from {LEAST_FLOOR} to 1.")
    return number


def _shown(value: Any) -> str:
    return repr(value)[:60]


_CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "auto_recall_enabled": _flag,
    "max_entries": _count(MAX_ENTRIES),
    "auto_recall_banks": _banks,
    "max_entry_chars": _count(MAX_ENTRY_CHARS),
    "floor": _share,
}


def read(bank: Bank, key: bytes) -> AutoRecallConfig:
    """The settings as they stand; what is unset, or written by a version that knows more, is the default.

    Args:
        bank: The agent's own.
        key: The caller's: what it can't open is passed over.
    """
    values: dict[str, Any] = {}
    with bank.store.read():
        for name, value in newest(bank, bank.authority, key, SPACE).items():
            try:
                values[name] = checked(name, value)
            except MunimentError:
                continue
    return AutoRecallConfig(**values)


def write(bank: Bank, key: bytes, changes: Mapping[str, Any]) -> AutoRecallConfig:
    """Set what changes, in one entry; None takes a setting back to its default.

    Raises:
        InvalidInput | LimitExceeded: As for `checked`; nothing is written.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    wanted = {name: None if value is None else checked(name, value) for name, value in changes.items()}
    for name in wanted:
        checked(name, getattr(DEFAULTS, name, None))
    put(bank, key, SPACE, wanted)
    return read(bank, key)


def reset(bank: Bank, key: bytes) -> AutoRecallConfig:
    """Take all settings back to their defaults.

    Raises:
        As `write`.
    """
    return write(bank, key, dict.fromkeys(NAMES))
