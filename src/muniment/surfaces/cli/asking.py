"""The questions that the command line asks: the passphrase, and an API key."""

from __future__ import annotations

import os
import sys

from muniment.base.errors import InvalidInput, KeyringLocked

VARIABLE = "MUNIMENT_PASSPHRASE"


def passphrase() -> str:
    """The keyring's passphrase: from the environment, or typed unseen.

    Raises:
        KeyringLocked: Nobody is there to ask.
    """
    if said := os.environ.get(VARIABLE):
        return said
    if not _somebody():
        raise KeyringLocked(
            "the private keys are sealed, and nobody is here to ask for the passphrase",
            f"Set {VARIABLE}, or run the command in a terminal.",
        )
    return _ask("Passphrase: ")


def new_passphrase() -> str:
    """A passphrase to seal with: from the environment, or typed unseen, twice.

    Raises:
        InvalidInput: The two differ, it is empty, or nobody is there to ask.
    """
    if said := os.environ.get(VARIABLE):
        return said
    if not _somebody():
        raise InvalidInput(
            "nobody is here to ask for a passphrase", f"Set {VARIABLE}, or run the command in a terminal."
        )
    first = _ask("New passphrase: ")
    if not first:
        raise InvalidInput("the passphrase is empty", "Leave --passphrase out to go without one.")
    if first != _ask("The same again: "):
        raise InvalidInput("the two passphrases differ", "Nothing was changed; try again.")
    return first


def new_secret() -> str:
    """An API key to keep, typed or pasted unseen.

    Raises:
        InvalidInput: Nobody is there to ask.
    """
    if not _somebody():
        raise InvalidInput(
            "nobody is here to ask for the API key", "Pipe it in, or run the command in a terminal."
        )
    return _ask("API key (not shown): ").strip()


def _somebody() -> bool:
    # The question goes to standard error: without a person there, it would wait for ever.
    return sys.stderr is not None and sys.stderr.isatty()


def _ask(question: str) -> str:
    from getpass import getpass

    return getpass(question, stream=sys.stderr)
