"""The commands about banks: make them, list them, put them away."""

from __future__ import annotations

from muniment.commands.context import Context
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family

NAMED = Param(
    "bank",
    "text",
    "A bank of this installation, by name or id",
    required=True,
    positional=True,
    metavar="BANK",
)
OWNER = Param("owner", "flag", "Act with the owner's key, and not with an agent's", False)
_NAME = Param("name", "text", "What to call it here", required=True, positional=True, metavar="NAME")


def _new(context: Context, /, *, name: str, description: str, recovery: str | None, owner: bool) -> Result:
    return context.banks(owner=owner, for_write=True).new(name, description=description, recovery=recovery)


def _list(context: Context, /, *, all: bool, owner: bool) -> Result:  # noqa: A002 - as people type it
    return Listed("banks", context.banks(owner=owner).list(all=all))


def _describe(
    context: Context, /, *, bank: str, description: str | None, title: str | None, owner: bool
) -> Result:
    return context.banks(owner=owner).describe(bank, description, title=title)


def _rename(context: Context, /, *, bank: str, name: str, owner: bool) -> Result:
    return context.banks(owner=owner).rename(bank, name)


def _delete(context: Context, /, *, bank: str, owner: bool) -> Result:
    return context.banks(owner=owner).delete(bank)


def _undelete(context: Context, /, *, bank: str, owner: bool) -> Result:
    return context.banks(owner=owner).undelete(bank)


def _fork(context: Context, /, *, bank: str, name: str, owner: bool) -> Result:
    return context.banks(owner=owner).fork(bank, name)


COMMANDS = family(
    Command(
        "bank new",
        "A bank is a memory that several keys may share. Who makes it is its admin(0), whom nobody can cut: with "
        "--recovery that is a key you keep elsewhere, and you are admin(1).",
        (
            Example('muniment bank new team --description "How we work"', "make one"),
            Example("muniment bank new team --recovery did:key:z6Mk…", "with a cold key above you"),
        ),
        (
            _NAME,
            Param("description", "text", "What it is for; its readers see it", "", metavar="TEXT"),
            Param("recovery", "text", "A key kept elsewhere that stands above all others", metavar="DID"),
            OWNER,
        ),
        "none",
        True,
        _new,
    ),
    Command(
        "bank list",
        "Lists the banks of this installation, the agents' own memories among them, with what the acting key holds in "
        "each.",
        (
            Example("muniment bank list", "what is here"),
            Example("muniment bank list --all", "also what was deleted here"),
        ),
        (Param("all", "flag", "Also those that were deleted here", False), OWNER),
        "none",
        False,
        _list,
    ),
    Command(
        "bank describe",
        "Shows a bank. With --description or --title it says so to all its readers first, signed and sealed.",
        (
            Example("muniment bank describe team", "look"),
            Example('muniment bank describe team --description "How we work"', "say what it is for"),
        ),
        (
            NAMED,
            Param("description", "text", "What it is for", metavar="TEXT"),
            Param("title", "text", "What its readers call it; names here stay as they are", metavar="TEXT"),
            OWNER,
        ),
        "none",
        True,
        _describe,
    ),
    Command(
        "bank rename",
        "The name is this installation's alone. A bank from elsewhere never takes the name of one that is here: where "
        "two are called alike, name the id, or rename one.",
        (Example("muniment bank rename team crew", "call it otherwise here"),),
        (NAMED, _NAME, OWNER),
        "none",
        True,
        _rename,
    ),
    Command(
        "bank delete",
        "Takes a shared bank off the list: nobody gets to it here any more, also after a restart. Its file stays as an "
        "archive, and `bank undelete` brings it back. Other installations keep theirs.",
        (Example("muniment bank delete team", "put it away"),),
        (NAMED, OWNER),
        "none",
        True,
        _delete,
    ),
    Command(
        "bank undelete",
        "Puts a deleted bank back on the list, with all that it held.",
        (Example("muniment bank undelete team", "bring it back"),),
        (
            Param("bank", "text", "A bank that was deleted here, by name or id", required=True, positional=True,
                  metavar="BANK"),
            OWNER,
        ),
        "none",
        True,
        _undelete,
    ),
    Command(
        "bank fork",
        "Founds a new bank from what is live in another, for its members as they stand. It is the way out for a bank "
        "that lost its last admin. The memories are signed anew by who forks; who had signed them stands in their "
        "metadata.",
        (Example("muniment bank fork team team-2", "go on in a new one"),),
        (NAMED, _NAME, OWNER),
        "read",
        True,
        _fork,
    ),
)  # fmt: skip
