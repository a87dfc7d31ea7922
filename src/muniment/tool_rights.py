"""Which tools an agent has: a signed value in its own bank, so it goes where the agent goes (design section 11)."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.bank import Bank
from muniment.base.errors import InvalidInput
from muniment.values import newest, put

SPACE, NAME = "tools", "allowed"
# By the names of our own profile, and by those that the other profiles give them.
KNOWN = (
    *("remember", "recall", "list_memory_banks", "save_skill", "read_skill", "forget", "history", "archive"),
    *("search_memory", "memory_grant", "memory_recall", "memory_archive"),
)


def read(bank: Bank, key: bytes) -> tuple[str, ...] | None:
    """The tools that an agent has, by name; None where nothing is said: all of them.

    Args:
        bank: The agent's own.
        key: The agent's.
    """
    with bank.store.read():
        value = newest(bank, bank.authority, key, SPACE).get(NAME)
    if not isinstance(value, list):
        return None
    return tuple(str(name) for name in value)


def write(bank: Bank, key: bytes, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Say which tools an agent has; None: all of them, an empty list: none.

    Raises:
        InvalidInput: There is no tool of that name; nothing is changed.
        NotPermitted | WaitingForKey | KeyUsedElsewhere | StorageError: As their names say.
    """
    if names is not None:
        if isinstance(names, str):
            raise InvalidInput(f"allowed tools are {names[:40]!r}", "Give a list of names.")
        for name in names:
            _check(name)
        names = tuple(dict.fromkeys(names))
    put(bank, key, SPACE, {NAME: names})
    return read(bank, key)


def _check(name: str) -> None:
    if name in KNOWN:
        return
    import difflib  # only what is wrong needs it

    near = difflib.get_close_matches(name, KNOWN, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else f"There are {', '.join(KNOWN)}."
    raise InvalidInput(f"there is no tool {name[:40]!r}", hint)
