"""The commands about what memory says unasked: banks attached to a conversation, settings, and a preview."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from muniment.base.errors import InvalidInput
from muniment.commands.context import Context
from muniment.commands.results import Attachment, RecallConfigured
from muniment.commands.table import Command, Example, Param, Result, family

if TYPE_CHECKING:
    from muniment.session import Session

ACTIONS = ("show", "set", "reset")
SESSION = "default"

_BANK = Param("bank", "text", "The bank's name or id", required=True, positional=True, metavar="BANK")
_SESSION = Param("session", "text", "The conversation", SESSION, metavar="NAME")


def _session(context: Context, name: str) -> Session:
    # An attachment may not be the first thing that is ever written: it needs an agent and a bank.
    _ = context.standing_peer
    return context.agent().session(name)


def _attach(context: Context, /, *, bank: str, session: str) -> Result:
    found = _session(context, session)
    return Attachment(session, found.attach(bank), found.attached(), changed=True)


def _detach(context: Context, /, *, bank: str, session: str) -> Result:
    found = _session(context, session)
    before = found.attached()
    changed = found.detach(bank)
    after = found.attached()
    gone = next((one for one in before if one not in after), None)
    return Attachment(session, gone, after, changed=changed)


def _config(context: Context, /, *, action: str, name: str | None, value: str | None) -> Result:
    agent = context.agent()
    if action == "show":
        if name is not None:
            raise InvalidInput("`bank config show` takes no name", "Leave it out: all settings are shown.")
        return RecallConfigured(agent.name, agent.auto_recall_config())
    if action == "reset":
        if value is not None:
            raise InvalidInput("`bank config reset` takes no value", "Name the setting alone.")
        changed = agent.reset_auto_recall() if name is None else agent.configure_auto_recall(**{name: None})
        return RecallConfigured(agent.name, changed)
    if name is None or value is None:
        raise InvalidInput(
            "`bank config set` needs a setting and its value", "As in: muniment bank config set max_entries 5"
        )
    return RecallConfigured(agent.name, agent.configure_auto_recall(**{name: value}))


def _context(
    context: Context, /, *, messages: str, session: str, budget_tokens: int, budget_ms: int
) -> Result:
    found = context.agent().session(session)
    return found.preview(read_messages(messages), budget_tokens=budget_tokens, budget_ms=budget_ms)


def read_messages(text: str) -> list[Mapping[str, Any]]:
    """A conversation from text: a JSON list of messages, or one line of JSON each, or the words of a user.

    Raises:
        InvalidInput: It begins as JSON messages do, and is none.
    """
    start = text.lstrip()[:2]
    if not (start[:1] == "[" or start[:1] == "{"):
        return [{"role": "user", "content": text}]
    try:
        found = (
            json.loads(text)
            if start[0] == "["
            else [json.loads(line) for line in text.splitlines() if line.strip()]
        )
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise InvalidInput(
            "the messages are no JSON list of objects",
            'Give [{"role": "user", "content": "…"}], or plain words.',
        )
    return found


COMMANDS = family(
    Command(
        "bank attach",
        "Its memories are then looked through in each turn of the conversation, beside the agent's own. It opens "
        "nothing: what the agent may not read stays shut, and is searched once it may. Attachments stay on this "
        "installation.",
        (Example("muniment bank attach wiki --session support", "search it in that conversation"),),
        (_BANK, _SESSION),
        "none",
        True,
        _attach,
    ),
    Command(
        "bank detach",
        "Ends what `bank attach` began, from the next turn on. The bank itself stays as it is.",
        (Example("muniment bank detach wiki --session support", "search it no more"),),
        (_BANK, _SESSION),
        "none",
        True,
        _detach,
    ),
    Command(
        "bank config",
        "Shows, sets or resets how the agent wants memory to be recalled unasked. The settings are "
        "auto_recall_enabled, max_entries (1 to 20), auto_recall_banks (ids or names parted by commas; an empty text "
        "means none), max_entry_chars and floor. They stand signed in the agent's own bank and hold from the next "
        "turn on.",
        (
            Example("muniment bank config", "show them"),
            Example("muniment bank config set max_entries 5", "five records of each bank at most"),
            Example("muniment bank config set auto_recall_banks wiki,ops", "only these of the attached ones"),
            Example("muniment bank config reset floor", "one back to its default; without a name: all"),
        ),
        (
            Param("action", "text", "What to do", "show", choices=ACTIONS, positional=True, metavar="show|set|reset"),
            Param("name", "text", "The setting", positional=True, metavar="NAME"),
            Param("value", "text", "Its value", positional=True, metavar="VALUE"),
        ),
        "write",
        True,
        _config,
    ),
    Command(
        "context",
        "Prints the block that an agent would be given with this turn of a conversation, or nothing, where nothing is "
        "known well enough. MESSAGES is what a user says, or a conversation as chat APIs take it: a JSON list of "
        "objects with role and content, or one such object a line. With --json also the records, and the reason for "
        "each. Nothing is written.",
        (
            Example('muniment context "When do we deploy?"', "what would an agent see?"),
            Example("cat messages.json | muniment context --session support", "with a conversation's banks"),
        ),
        (
            Param("messages", "text", "The turn; `-`, or nothing while something is piped in: standard input",
                  required=True, positional=True, stdin=True, metavar="MESSAGES"),
            _SESSION,
            Param("budget_tokens", "integer", "Tokens of the block at most", 1000, minimum=0, maximum=1_000_000,
                  metavar="N"),
            Param("budget_ms", "integer", "Milliseconds after which no further bank is searched", 150, minimum=0,
                  maximum=3_600_000, metavar="N"),
        ),
        "read",
        False,
        _context,
    ),
)  # fmt: skip
