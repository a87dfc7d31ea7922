"""The commands about members: who may do what in a bank."""

from __future__ import annotations

from typing import Any

from muniment.commands.banks import NAMED, OWNER
from muniment.commands.context import Context
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family

_WHO = Param(
    "who",
    "text",
    "An agent's name, a name given to a key, or a DID",
    required=True,
    positional=True,
    metavar="WHO",
)
_FORCE = Param("force", "flag", "Decide though part of the bank's control past is not here", False)


def _members(context: Context, /, *, bank: str, owner: bool) -> Result:
    return Listed("members", context.banks(owner=owner).members(bank))


def _grant(context: Context, /, *, bank: str, who: str, level: str, owner: bool, **terms: Any) -> Result:
    return context.banks(owner=owner).grant(bank, who, level, **terms)


def _revoke(context: Context, /, *, bank: str, who: str, cascade: bool, force: bool, owner: bool) -> Result:
    return context.banks(owner=owner).revoke(bank, who, cascade=cascade, force=force)


def _rekey(context: Context, /, *, bank: str, reader: str | None, force: bool, owner: bool) -> Result:
    return context.banks(owner=owner).rekey(bank, reader=reader, force=force)


def _adopt(context: Context, /, *, bank: str, entry: str, force: bool, owner: bool) -> Result:
    return context.banks(owner=owner).adopt(bank, entry, force=force)


def _invite(context: Context, /, *, bank: str, level: str, uses: int, until: Any, owner: bool) -> Result:
    return context.banks(owner=owner).invite(bank, level, uses=uses, until=until)


def _invites(context: Context, /, *, bank: str, owner: bool) -> Result:
    return Listed("invites", context.banks(owner=owner).invites(bank))


def _withdraw(context: Context, /, *, bank: str, invite: str, owner: bool) -> Result:
    return context.banks(owner=owner).withdraw(bank, invite)


COMMANDS = family(
    Command(
        "bank members",
        "Lists each key with its level, how long it holds, whether it may pass it on, and a fingerprint to compare "
        "with its owner. `expired, cut pending` means that its time is over and no admin's peer has cut it yet.",
        (Example("muniment bank members team", "who is in"),),
        (NAMED, OWNER),
        "read",
        False,
        _members,
    ),
    Command(
        "bank grant",
        "Levels are relay (pass on what it can't read), read, write, and admin(n), a lower n being stronger. A key "
        "grants strictly weaker levels than its own. The grant takes the place of what WHO held: a smaller one "
        "narrows. An agent's own memory can be granted like any bank.",
        (
            Example("muniment bank grant team ben write", "let an agent write"),
            Example("muniment bank grant team ben read --until 2027-01-01", "for some time"),
            Example("muniment bank grant ava ben read", "ava's own memory"),
        ),
        (
            NAMED,
            _WHO,
            Param("level", "text", "`relay`, `read`, `write`, `admin` or `admin(n)`", required=True, positional=True,
                  metavar="LEVEL"),
            Param("until", "time", "When it ends", metavar="TIME"),
            Param("delegable", "flag", "It may be passed on, up to the same level and end", False),
            Param("as_agent", "flag", "The key is that of the bank's agent on another installation", False),
            _FORCE,
            OWNER,
        ),
        "admin",
        True,
        _grant,
    ),
    Command(
        "bank revoke",
        "What the key wrote so far stays; all that it signs from now on is void everywhere, whatever its date. A new "
        "key seals what comes after. Keys that it had let in stay, and are listed; --cascade cuts them too. What was "
        "read stays read. Anybody may leave by revoking itself.",
        (
            Example("muniment bank revoke team ben", "take it back"),
            Example("muniment bank revoke team ben --cascade", "and from those whom ben let in"),
        ),
        (
            NAMED,
            _WHO,
            Param("cascade", "flag", "Also cut those whom these keys let in", False),
            Param("force", "flag", "Also the last admin, or though part of the control past is not here", False),
            OWNER,
        ),
        "admin",
        True,
        _revoke,
    ),
    Command(
        "bank rekey",
        "Starts a new key that exactly the readers of now hold; it opens all that came before. With --reader it gives "
        "the standing key to a reader who lacks it, which any reader may do.",
        (
            Example("muniment bank rekey team", "seal under a new key"),
            Example("muniment bank rekey team --reader ben", "hand the standing key to a reader"),
        ),
        (NAMED, Param("reader", "text", "The reader who lacks the key", metavar="WHO"), _FORCE, OWNER),
        "admin",
        True,
        _rekey,
    ),
    Command(
        "bank adopt",
        "An entry that a revocation left out has no effect, and `muniment verify` lists it. This takes it back, with "
        "what leads to it, by a wider cut.",
        (Example("muniment bank adopt team bafyrei…", "take an entry back"),),
        (
            NAMED,
            Param("entry", "text", "The entry's id", required=True, positional=True, metavar="ENTRY"),
            _FORCE,
            OWNER,
        ),
        "admin",
        True,
        _adopt,
    ),
    Command(
        "bank invite new",
        "Prints a secret once. Whoever holds it may ask to be let in; an admin's installation answers with a grant, "
        "checking by its own clock. The secret alone opens nothing, and is never sent.",
        (
            Example("muniment bank invite new team", "one reader, for a day"),
            Example("muniment bank invite new team write --uses 3", "three writers"),
        ),
        (
            NAMED,
            Param("level", "text", "What they get", "read", positional=True, metavar="LEVEL"),
            Param("uses", "integer", "How many are answered", 1, minimum=1, maximum=65536, metavar="N"),
            Param("until", "time", "When it ends; a day from now if not given", metavar="TIME"),
            OWNER,
        ),
        "admin",
        True,
        _invite,
    ),
    Command(
        "bank invite list",
        "Lists invites with what they give, how many were answered, and whether they still hold.",
        (Example("muniment bank invite list team", "which are open"),),
        (NAMED, OWNER),
        "read",
        False,
        _invites,
    ),
    Command(
        "bank invite revoke",
        "Nobody is answered by it any more. Who was let in stays: revoke those with `bank revoke`.",
        (Example("muniment bank invite revoke team bafyrei…/0", "withdraw it"),),
        (
            NAMED,
            Param("invite", "text", "The invite's id", required=True, positional=True, metavar="INVITE"),
            OWNER,
        ),
        "admin",
        True,
        _withdraw,
    ),
)  # fmt: skip
