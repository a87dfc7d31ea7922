"""The commands by which packs are given to others, kept for others, and proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.commands.context import Context
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family

if TYPE_CHECKING:
    from muniment.custody import Custody
    from muniment.peer import Peer


def _custody(peer: Peer) -> Custody:
    from muniment.custody import Custody  # brings the store, which a list of commands has no use for

    return Custody(peer)


def _offer(context: Context, /, *, to: str, blob: str | None, days: int) -> Result:
    return Listed("given", _custody(context.standing_peer).offer(to, blob, days=days))


def _accept(context: Context, /, *, did: str, space: str, days: int) -> Result:
    return _custody(context.peer).accept(did, space=space, days=days)


def _list(context: Context, /) -> Result:
    return _custody(context.standing_peer).list()


def _challenge(context: Context, /, *, blob: str | None) -> Result:
    return _custody(context.standing_peer).challenge(blob)


def _status(context: Context, /) -> Result:
    return _custody(context.standing_peer).status()


_DAYS = {"minimum": 1, "maximum": 36_500, "metavar": "N"}

COMMANDS = family(
    Command(
        "custody offer",
        "Gives packs of this installation to another one, which signs that it keeps them. Chunk by chunk, each "
        "verified; what was cut goes on where it was when you offer again. Offering again also makes the term longer.",
        (
            Example("muniment custody offer https://nas.example", "all packs, for 90 days"),
            Example("muniment custody offer /mnt/disk/muniment --days 365", "to a peer folder on another disk"),
        ),
        (
            Param("to", "text", "The address of the holder's `muniment serve`, or its peer folder", required=True,
                  positional=True, metavar="HOLDER"),
            Param("blob", "text", "Only this pack", metavar="NAME"),
            Param("days", "integer", "For how many days", 90, **_DAYS),  # type: ignore[arg-type]
        ),
        "none",
        True,
        _offer,
        local=True,
    ),
    Command(
        "custody accept",
        "Keeps packs of another installation here: those that its owner offers, up to the space that you give. "
        "`--space 0` takes no more; what was promised is kept until its date.",
        (Example("muniment custody accept did:key:z6Mk… --space 5000MB", "keep packs for a friend"),),
        (
            Param("did", "text", "DID of the other installation's owner; `muniment custody list` shows it there",
                  required=True, positional=True, metavar="DID"),
            Param("space", "text", "Bytes in all, such as 500MB", "1000MB", metavar="SIZE"),
            Param("days", "integer", "The longest term that is promised, in days", 365, **_DAYS),  # type: ignore[arg-type]
        ),
        "none",
        True,
        _accept,
        local=True,
    ),
    Command(
        "custody list",
        "Lists who keeps packs of this installation, and whose packs are kept here.",
        (Example("muniment custody list", "both sides"),),
        (),
        "none",
        False,
        _list,
        local=True,
    ),
    Command(
        "custody challenge",
        "Asks each holder for parts of the packs that nobody could foresee, and checks the answers without the packs. "
        "A holder that fails raises an alarm and counts no more; its packs go to other holders that are known.",
        (Example("muniment custody challenge", "every week, say"),),
        (Param("blob", "text", "Only about this pack", metavar="NAME"),),
        "none",
        True,
        _challenge,
        local=True,
    ),
    Command(
        "custody status",
        "Shows for each pack how many others keep it, and how many days ago that was last proven.",
        (Example("muniment custody status", "is all well?"),),
        (),
        "none",
        False,
        _status,
        local=True,
    ),
)  # fmt: skip
