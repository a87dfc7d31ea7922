"""The commands about this installation: set it up, look it over, prove it."""

from __future__ import annotations

from typing import Any

from muniment.base.errors import InvalidInput
from muniment.commands.context import Context
from muniment.commands.records import BANK
from muniment.commands.results import Checkup, Chosen, Findings
from muniment.commands.table import Command, Example, Param, Result, family
from muniment.platform.folders import home_path


def _init(context: Context, /, **chosen: Any) -> Result:
    return Chosen(context.peer.init(**chosen))


def _check(context: Context, /, *, rebuild: bool, bank: str | None) -> Result:
    agent = context.memory(bank)
    with context.watch("Checking", "steps") as tick:
        return Checkup(agent.name, agent.check(rebuild=rebuild, progress=tick), rebuilt=rebuild)


def _verify(context: Context, /, *, target: str | None, open_bodies: bool, bank: str | None) -> Result:
    if target is not None and bank is not None:
        raise InvalidInput("`verify` is told of two things to prove", "Name a bank or a file once.")
    if target is not None and context.names_file(target):
        from muniment.carried import verify_file

        keyring = context.standing_peer.host.keyring if open_bodies else None
        with context.watch("Verifying", "steps") as tick:
            return verify_file(target, keyring=keyring, progress=tick)
    agent = context.memory(bank if target is None else target)
    with context.watch("Verifying", "steps") as tick:
        return agent.verify(progress=tick)


def _reindex(context: Context, /, *, bank: str | None) -> Result:
    agent = context.memory(bank)
    with context.watch("Embedding", "memories") as tick:
        return agent.reindex(progress=tick)


def _doctor(context: Context, /, *, repair: bool, deep: bool, strict: bool) -> Result:
    try:
        peer = context.peer
    except InvalidInput:  # settings that are not understood are one of the findings
        from muniment.doctor import examine_home

        return Findings(examine_home(home_path(context.home)), [] if repair else None, strict=strict)
    findings = peer.doctor(deep=deep)
    if not repair:
        return Findings(findings, strict=strict)
    from muniment.doctor import mend

    mended = mend(peer, findings)
    return Findings(peer.doctor(deep=deep), mended, strict=strict)


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
        local=True,
    ),
    Command(
        "verify",
        "Works everything out from the entries: every signature and hash, the chain of every key, who had the right "
        "to write what, which bodies are missing and which were erased. What has no effect is listed with its author "
        "and the reason.\n\n"
        "A file that `muniment bank export` wrote is proved from its bytes alone: anybody can do it, offline, without "
        "any key. With --open the bodies are opened too, where a key of this installation can. Exit code 1 says that "
        "something is refused, unreadable, missing or rolled back.",
        (
            Example("muniment verify", "prove the agent's own bank"),
            Example("muniment verify --bank team", "a bank that is shared"),
            Example("muniment verify bank.car", "prove a file that somebody gave you"),
            Example("muniment verify bank.car --open", "and open what the keys here open"),
        ),
        (
            Param("target", "text", "A bank by id or name, or an exported file; the agent's own bank if not given",
                  positional=True, metavar="BANK|FILE", file=True),
            Param("open_bodies", "flag", "Of a file: open bodies too, with the keys of this installation", False,
                  option="open"),
            BANK,
        ),
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
        local=True,
    ),
    Command(
        "doctor",
        "Looks at settings, folders, permissions, keys, the disk, the clock, each bank and its index, other "
        "installations, the archive and the embedder, and says of each thing that is odd why it matters and what to "
        "do. Nothing is changed without --repair, which does what is safe: permissions, leftovers, indexes, logs, "
        "overdue erasures, requests whose time is over, and one sync with those who lack something. No key and no "
        "memory is touched. Exit code 1 says that something failed, after a repair that something is left.",
        (
            Example("muniment doctor", "is all well?"),
            Example("muniment doctor --repair", "mend what can be mended"),
            Example("muniment doctor --deep --strict", "for a nightly job: read everything, let warnings count"),
        ),
        (
            Param("repair", "flag", "Mend what can be mended safely, and say what was done", False),
            Param("deep", "flag", "Read each bank through, as `check` does", False),
            Param("strict", "flag", "Let warnings count for the exit code too", False),
        ),
        "none",
        False,
        _doctor,
    ),
)  # fmt: skip
