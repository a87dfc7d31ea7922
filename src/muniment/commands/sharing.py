"""The commands about other installations: share a bank, import one, answer who asks, sync."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from muniment.commands.banks import NAMED, OWNER
from muniment.commands.context import Context
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family


def _share(context: Context, /, *, bank: str, owner: bool, **terms: Any) -> Result:
    return context.banks(owner=owner).share(bank, **terms)


def _unshare(context: Context, /, *, bank: str, owner: bool) -> Result:
    return context.banks(owner=owner).unshare(bank)


def _import(context: Context, /, *, ticket: str, level: str, note: str, owner: bool) -> Result:
    banks = context.banks(owner=owner, for_write=True)
    with _watched(context, "Importing") as tick:
        return banks.import_ticket(ticket, level, note=note, tick=tick)


def _requests(context: Context, /, *, owner: bool) -> Result:
    return Listed("requests", context.banks(owner=owner).requests())


def _approve(context: Context, /, *, request: str, owner: bool, **terms: Any) -> Result:
    return context.banks(owner=owner).approve(request, **terms)


def _deny(context: Context, /, *, request: str, owner: bool) -> Result:
    return context.banks(owner=owner).deny(request)


def _sync(context: Context, /, *, bank: str | None, peer: tuple[str, ...]) -> Result:
    from muniment.bank_sharing import sync_now

    with _watched(context, "Syncing") as tick:
        return sync_now(context.standing_peer, bank, tuple(peer), tick=tick)


def _list(context: Context, /) -> Result:
    from muniment.bank_sharing import peers

    return Listed("peers", peers(context.peer))


def _add(context: Context, /, *, bank: str, address: str) -> Result:
    from muniment.bank_sharing import add_peer

    return add_peer(context.standing_peer, bank, address)


def _remove(context: Context, /, *, bank: str, address: str) -> Result:
    from muniment.bank_sharing import remove_peer

    return remove_peer(context.standing_peer, bank, address)


@contextmanager
def _watched(context: Context, label: str) -> Iterator[Any]:
    """A bar that counts entries; how many there will be nobody knows before."""
    with context.watch(label, "entries") as tick:
        yield None if tick is None else lambda done: tick(done, 0, done)


_REQUEST = Param("request", "text", "The request's id, or its beginning", required=True, positional=True,
                 metavar="REQUEST")  # fmt: skip
_ADDRESS = Param("address", "text", "Where: https://…, http://… or iroh:…", required=True, positional=True,
                 metavar="ADDRESS")  # fmt: skip

COMMANDS = family(
    Command(
        "bank share",
        "From now on `muniment serve` gives the bank to its members, each what its level allows. Prints a ticket that "
        "says where. A ticket alone opens nothing: whoever brings it has to be a member, or asks. With --invite there "
        "is an invite in it, and whoever brings that is let in: give it to nobody else.",
        (
            Example("muniment bank share team", "a ticket for members, and for those who ask"),
            Example("muniment bank share team --invite write", "whoever brings it may write"),
        ),
        (
            NAMED,
            Param("invite", "text", "Invite to this level: read, write or admin(n)", metavar="LEVEL"),
            Param("until", "time", "When the invite ends; a day from now if not given", metavar="TIME"),
            Param("uses", "integer", "How many the invite lets in", 1, minimum=1, maximum=65536, metavar="N"),
            Param("address", "text", "Where this installation is to be had, if not as it serves or as configured", (),
                  repeatable=True, metavar="ADDRESS"),
            OWNER,
        ),
        "admin",
        True,
        _share,
        local=True,
    ),
    Command(
        "bank unshare",
        "Members get nothing more from here, and tickets lead nowhere, until it is shared again. Who holds what stays "
        "as it is, and so do copies elsewhere.",
        (Example("muniment bank unshare team", "stop serving it"),),
        (NAMED, OWNER),
        "admin",
        True,
        _unshare,
        local=True,
    ),
    Command(
        "bank import",
        "With an invite in the ticket the bank comes at once. Without one an admin there has to approve: the request "
        "waits, and `muniment serve` or `muniment sync` completes the import once it is approved. Importing again "
        "brings a deleted bank back. `-` reads the ticket from standard input.",
        (
            Example("muniment bank import 'muniment:?bank=…'", "to write in it"),
            Example("muniment bank import 'muniment:?bank=…' read --note 'Kim, from the lab'", "to read, with a word"),
        ),
        (
            Param("ticket", "text", "The ticket", required=True, positional=True, stdin=True, metavar="TICKET"),
            Param("level", "text", "What to ask for, where the ticket has no invite", "write",
                  choices=("read", "write", "admin"), positional=True, metavar="LEVEL"),
            Param("note", "text", "A few words to who decides", "", metavar="TEXT"),
            OWNER,
        ),
        "none",
        True,
        _import,
        local=True,
    ),
    Command(
        "bank requests",
        "Who asks for banks in which you may let others in. Compare the fingerprint with the key's owner first; the "
        "words beside it are the stranger's own, and anybody may write anything there.",
        (Example("muniment bank requests", "who waits"),),
        (OWNER,),
        "admin",
        False,
        _requests,
        local=True,
    ),
    Command(
        "bank approve",
        "Grants what was asked for, or another level. The import there completes by itself. With --delegable the key "
        "may pass it on: to other agents of its installation, say.",
        (
            Example("muniment bank approve 3f9a", "let it in"),
            Example("muniment bank approve 3f9a --level read --until 2027-01-01", "to read, for some time"),
        ),
        (
            _REQUEST,
            Param("level", "text", "What to grant, if not what was asked for", metavar="LEVEL"),
            Param("until", "time", "When it ends", metavar="TIME"),
            Param("delegable", "flag", "It may be passed on, up to the same level and end", False),
            OWNER,
        ),
        "admin",
        True,
        _approve,
        local=True,
    ),
    Command(
        "bank deny",
        "The stranger is told nothing, and the same request is not shown again for a week.",
        (Example("muniment bank deny 3f9a", "no"),),
        (_REQUEST, OWNER),
        "admin",
        True,
        _deny,
        local=True,
    ),
    Command(
        "sync",
        "One round now with each installation from which the bank is to be had: both ends have the same afterwards. "
        "`muniment serve` does so by itself. Exit code 1 says that a bank was not synced to the end with anybody.",
        (
            Example("muniment sync", "all banks that are to be had elsewhere"),
            Example("muniment sync team --peer https://memory.example", "one bank, with one installation"),
        ),
        (
            Param("bank", "text", "A bank, by name or id; all if not given", positional=True, metavar="BANK"),
            Param("peer", "text", "Whom to dial, in place of those that are known", (), repeatable=True,
                  metavar="ADDRESS"),
        ),
        "none",
        True,
        _sync,
        local=True,
    ),
    Command(
        "peers list",
        "For each bank and address: when all was last the same at both ends, how much of what is here is not known to "
        "be there, what went wrong, and how old the last agreement about members is. Silence is no proof that nobody "
        "was revoked.",
        (Example("muniment peers list", "is all well?"),),
        (),
        "none",
        False,
        _list,
        local=True,
    ),
    Command(
        "peers add",
        "Tickets bring addresses, and each sync more of them; this is for those that nobody told.",
        (Example("muniment peers add team https://memory.example", "another way"),),
        (NAMED, _ADDRESS),
        "none",
        True,
        _add,
        local=True,
    ),
    Command(
        "peers remove",
        "It is dialled no more, unless somebody names it again.",
        (Example("muniment peers remove team https://old.example", "gone for good"),),
        (NAMED, _ADDRESS),
        "none",
        True,
        _remove,
        local=True,
    ),
)  # fmt: skip
