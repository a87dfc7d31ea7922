"""The commands about this installation: set it up, look it over, prove it."""

from __future__ import annotations

from typing import Any

from muniment.commands.context import Context
from muniment.commands.records import BANK
from muniment.commands.results import Checkup, Chosen, Findings
from muniment.commands.table import Command, Example, Param, Result, family


def _init(context: Context, /, **chosen: Any) -> Result:
    return Chosen(context.peer.init(**chosen))


def _check(context: Context, /, *, rebuild: bool, bank: str | None) -> Result:
    agent = context.memory(bank)
    with context.watch("Checking", "steps") as tick:
        return Checkup(agent.name, agent.check(rebuild=rebuild, progress=tick), rebuilt=rebuild)


def _verify(context: Context, /, *, bank: str | None) -> Result:
    agent = context.memory(bank)
    with context.watch("Verifying", "entries") as tick:
        return agent.verify(progress=tick)


def _reindex(context: Context, /, *, bank: str | None) -> Result:
    agent = context.memory(bank)
    with context.watch("Embedding", "memories") as tick:
        return agent.reindex(progress=tick)


def _doctor(context: Context, /) -> Result:
    return Findings(context.peer.doctor())


COMMANDS = family(
    Command(
        "init",
        "Nobody has to call it: the first memory does the same with defaults. It seals the private keys, under a "
        "passphrase or by the system keyring, and chooses names. In a folder that is in use already, keys that are "
        "not sealed yet can still be sealed.",
        (
            Example("muniment init --passphrase", "seal the keys; asks twice, shows nothing"),
            Example("muniment init --agent ava --name laptop", "with names of your own"),
        ),
        (
            Param("passphrase", "secret", "Seal the private keys: with MUNIMENT_PASSPHRASE, or asked for"),
            Param("name", "text", "What to call this installation", metavar="NAME"),
            Param("agent", "text", "What to call the first agent, if not `default`", metavar="NAME"),
            Param("use_system_keyring", "flag", "Let the system keyring hold what seals the private keys", False,
                  option="system-keyring"),
        ),
        "none",
        True,
        _init,
    ),
    Command(
        "check",
        "Compares pages, hashes, tables and indexes with each other. What is derived can be made again from the "
        "signed entries with --rebuild. Exit code 1 says that something was found.",
        (
            Example("muniment check", "look"),
            Example("muniment check --rebuild", "make tables and indexes again"),
        ),
        (Param("rebuild", "flag", "Make all that is derived again from the signed entries", False), BANK),
        "read",
        True,
        _check,
    ),
    Command(
        "verify",
        "Checks every signature and every hash again, and works out afresh who had the right to write what. Entries "
        "without effect are listed with their authors.",
        (Example("muniment verify", "prove the bank"),),
        (BANK,),
        "read",
        False,
        _verify,
    ),
    Command(
        "reindex",
        "With an embedder in `config.yaml`, memories are found by what they mean. This makes the vectors that are "
        "missing: of memories from before, or from a time when the embedder did not answer. Stopped anywhere, it goes "
        "on where it was. Vectors of other models stay.",
        (Example("muniment reindex", "after choosing an embedder"),),
        (BANK,),
        "write",
        True,
        _reindex,
    ),
    Command(
        "doctor",
        "Looks at folders, keys, their protection, the disk and optional parts, and says what to do about each "
        "finding. Exit code 1 says that something failed.",
        (Example("muniment doctor", "is all well?"),),
        (),
        "none",
        False,
        _doctor,
    ),
)  # fmt: skip
