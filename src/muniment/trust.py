"""Whom an agent trusts: what may be recalled unasked, and how much others' words weigh (design sections 3, 5, 11).

Settings are `set` acts in the agent's own bank, signed by it or its controller. Provenance is derived from
signatures, so nobody can claim to be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from muniment.bank import Bank
from muniment.base.errors import InvalidInput, LimitExceeded, MunimentError
from muniment.identity.did import parse_did
from muniment.query import SOURCES, Asker
from muniment.store.base import Filter, State
from muniment.values import put
from muniment.values import read as read_values

if TYPE_CHECKING:
    import numpy as np

    Weights = np.ndarray[tuple[int], np.dtype[np.float64]]

SPACE = "trust"
MAX_KEYS = 1024
LEAST = 0.05


@dataclass(frozen=True, slots=True)
class TrustConfig:
    """The trust of one agent.

    Attributes:
        sources: Whose words may be recalled unasked: any of `self`, `controller`, `peer`, `tool`.
        authors: DIDs of the others whose words may be; None: anybody's, empty: nobody's.
        blocked: DIDs whose words never are.
        peer_weight: What the score of another's words is multiplied by, 0.05 to 1, asked and unasked.
        tool_weight: The same for what came from a tool.
    """

    sources: tuple[str, ...] = SOURCES
    authors: tuple[str, ...] | None = None
    blocked: tuple[str, ...] = ()
    peer_weight: float = 1.0
    tool_weight: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """The settings by name; `authors` is null where anybody's words may be recalled."""
        return {
            "sources": list(self.sources),
            "authors": None if self.authors is None else list(self.authors),
            "blocked": list(self.blocked),
            "peer_weight": self.peer_weight,
            "tool_weight": self.tool_weight,
        }


DEFAULTS = TrustConfig()
NAMES = tuple(field.name for field in fields(TrustConfig))


def checked(name: str, value: Any) -> Any:
    """The value of a setting, from Python or from what a person types: words separated by commas, or a number.

    Raises:
        InvalidInput | LimitExceeded | RefusedKey: There is no such setting, or it can't have this value.
    """
    if name not in NAMES:
        raise InvalidInput(f"trust has no setting {name[:40]!r}", f"There are {', '.join(NAMES)}.")
    if name.endswith("_weight"):
        return _weight(name, value)
    if name == "authors" and value is None:
        return None
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise InvalidInput(f"{name} is {repr(value)[:60]}", "Use a list; an empty one means none.")
    words = tuple(dict.fromkeys(item.strip() for item in items if item.strip()))
    if name == "sources":
        if unknown := [word for word in words if word not in SOURCES]:
            raise InvalidInput(f"unknown source: {unknown[0][:40]!r}", f"Any of {', '.join(SOURCES)}.")
        return tuple(source for source in SOURCES if source in words)
    if len(words) > MAX_KEYS:
        raise LimitExceeded(name, MAX_KEYS, len(words))
    for word in words:
        parse_did(word)
    return words


def _weight(name: str, value: Any) -> float:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except ValueError:
        number = 0.0
    if not LEAST <= number <= 1:
        raise InvalidInput(f"{name} is {repr(value)[:60]}", f"Use a number from {LEAST} to 1.")
    return number


def read(bank: Bank, key: bytes) -> TrustConfig:
    """The settings of an agent as they stand; what is unset, or has no meaning here, is the default.

    Args:
        bank: The agent's own.
        key: The caller's.
    """
    found = {}
    for name, value in read_values(bank, key, SPACE).items():
        try:
            found[name] = checked(name, value)
        except MunimentError:
            continue
    return TrustConfig(**found)


def write(bank: Bank, key: bytes, changes: Mapping[str, Any]) -> TrustConfig:
    """Set what changes, in one entry; None takes a setting back to its default.

    Raises:
        InvalidInput | LimitExceeded | RefusedKey: As for `checked`; nothing is written.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    wanted = {name: None if value is None else checked(name, value) for name, value in changes.items()}
    for name in wanted:
        checked(name, getattr(DEFAULTS, name, None))
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in wanted.items()}
    put(bank, key, SPACE, plain)
    return read(bank, key)


def reset(bank: Bank, key: bytes) -> TrustConfig:
    """Take all settings back to their defaults.

    Raises:
        As `write`.
    """
    return write(bank, key, dict.fromkeys(NAMES))


# In a bank


def weigh(bank: Bank, config: TrustConfig, asker: Asker, *, unasked: bool) -> Weights | None:
    """What each version of a bank weighs, by ord; None where all weigh 1.

    Args:
        bank: The bank that is asked; in an open `store.read()`.
        config: The asking agent's.
        asker: Relative to whom sources are.
        unasked: Whether what may not be recalled unasked weighs nothing.
    """
    plain = TrustConfig(peer_weight=config.peer_weight, tool_weight=config.tool_weight)
    if (config if unasked else plain) == DEFAULTS:
        return None
    import numpy as np

    found = np.zeros(bank.store.watermark().last_ord + 1, np.float64)
    for source, rule in _rules(config if unasked else plain, asker).items():
        weight = {"peer": config.peer_weight, "tool": config.tool_weight}.get(source, 1.0)
        found[np.asarray(bank.store.select(rule), np.int64)] = weight
    return found


def _rules(config: TrustConfig, asker: Asker) -> dict[str, Filter]:
    """For each source that may be recalled, which versions are of it."""
    blocked = frozenset(map(parse_did, config.blocked))
    own = asker.agents | asker.controllers
    named = None if config.authors is None else frozenset(map(parse_did, config.authors)) - blocked
    states = frozenset(State)
    rules = {
        "self": Filter(authors=asker.agents - blocked, tool=False, states=states),
        "controller": Filter(authors=asker.controllers - asker.agents - blocked, tool=False, states=states),
        "peer": Filter(
            authors=None if named is None else named - own,
            not_authors=own | blocked,
            tool=False,
            states=states,
        ),
        "tool": Filter(
            authors=None if named is None else named | own, not_authors=blocked, tool=True, states=states
        ),
    }
    return {source: rule for source, rule in rules.items() if source in config.sources}
