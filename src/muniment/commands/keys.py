"""The commands about keys: which sign here, and one in another's place."""

from __future__ import annotations

from muniment.commands.context import Context
from muniment.commands.results import Claimed, Listed
from muniment.commands.table import Command, Example, Result, family


def _list(context: Context, /) -> Result:
    return Listed("keys", context.standing_peer.keys.list())


def _rotate(context: Context, /) -> Result:
    return context.peer.keys.rotate(context.agent().name)


def _mine(context: Context, /) -> Result:
    agent = context.agent()
    return Claimed(agent.name, agent.claim())


def _not_mine(context: Context, /) -> Result:
    return context.peer.keys.rotate(context.agent().name, not_mine=True)


COMMANDS = family(
    Command(
        "key list",
        "Lists the private keys in custody here by their public halves: the owner's, each agent's, and those that "
        "another one took the place of, which still open what was sealed for them.",
        (Example("muniment key list", "which keys sign here"),),
        (),
        "none",
        False,
        _list,
    ),
    Command(
        "key rotate",
        "The agent gets a new key, and the old one is cut: in its own memory, and in shared banks where this "
        "installation may. The memory, its id and what the agent wrote stay its own. Banks in which only an admin can "
        "grant the new key are listed.",
        (Example("muniment key rotate --agent ava", "a new key for ava"),),
        (),
        "write",
        True,
        _rotate,
        local=True,
    ),
    Command(
        "key mine",
        "After a backup was restored or a folder was copied, writing stops: the key has signed entries that this "
        "installation does not know of. This says that they are yours and joins them. If they are not, the key is "
        "in other hands: use `muniment key not-mine`.",
        (Example("muniment key mine --agent ava", "after putting a backup back"),),
        (),
        "write",
        True,
        _mine,
        local=True,
    ),
    Command(
        "key not-mine",
        "Somebody else signs with the agent's key. It gets a new one, and of what the old one signed only that stays "
        "which this installation signed: its own journal tells which that is.",
        (Example("muniment key not-mine --agent ava", "after a theft"),),
        (),
        "write",
        True,
        _not_mine,
        local=True,
    ),
)
