"""The commands about API keys of embedding servers."""

from __future__ import annotations

from muniment.commands.context import Context
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family

_PROVIDER = Param(
    "provider", "text", "The provider, as in the settings: `openai`, or a name of your own", required=True,
    positional=True, metavar="PROVIDER",
)  # fmt: skip


def _set(context: Context, /, *, provider: str, secret: str) -> Result:
    return context.peer.credentials.set(provider, secret)


def _list(context: Context, /) -> Result:
    return Listed("credentials", context.peer.credentials.list())


def _remove(context: Context, /, *, provider: str) -> Result:
    return context.peer.credentials.remove(provider)


COMMANDS = family(
    Command(
        "credential set",
        "The key is asked for and not shown, or read from standard input; it is never an argument, where the shell's "
        "history and other processes would see it. It is sealed to the owner of this installation and never synced, "
        "exported or printed.",
        (
            Example("muniment credential set openai", "asks for the key, shows nothing"),
            Example("muniment credential set openai < key.txt", "from a file"),
        ),
        (
            _PROVIDER,
            Param("secret", "secret", "The API key: asked for unseen, or read from standard input", required=True,
                  positional=True, stdin=True),
        ),
        "none",
        True,
        _set,
    ),
    Command(
        "credential list",
        "Shows each provider with a fingerprint of its key: 8 digits that tell it from others and hold no part of it.",
        (Example("muniment credential list", "what is kept"),),
        (),
        "none",
        False,
        _list,
    ),
    Command(
        "credential remove",
        "The sealed key is taken out of the peer's own file. Revoke it at the provider too if it got into other hands.",
        (Example("muniment credential remove openai", "forget it"),),
        (_PROVIDER,),
        "none",
        True,
        _remove,
    ),
)  # fmt: skip
