"""The commands about playbooks: what was learned, bullet by bullet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muniment.base.errors import InvalidInput
from muniment.commands.context import Context
from muniment.commands.records import BANK
from muniment.commands.results import Configured, Listed
from muniment.commands.table import Command, Example, Param, Result, family

if TYPE_CHECKING:
    from muniment.playbook import Playbook

ACTIONS = ("show", "set", "reset")
_BULLET = Param("bullet", "text", "The bullet's id, as `playbook show` has it", required=True, positional=True,
                metavar="ID")  # fmt: skip
_BATCH = Param("batch", "text", "The batch's id, or how it begins", required=True, positional=True,
               metavar="BATCH")  # fmt: skip
_SECTION = "The section, in a word or two"


def _book(context: Context, bank: str | None, *, new: bool = False) -> Playbook:
    if not new:
        _ = context.standing_peer
    return context.memory(bank, for_write=new).playbook


def _show(context: Context, /, *, section: str | None, max_tokens: int | None, bank: str | None) -> Result:
    return _book(context, bank).show(section=section, max_tokens=max_tokens)


def _add(context: Context, /, *, text: str, section: str, bank: str | None) -> Result:
    return _book(context, bank, new=True).add(text, section)


def _edit(context: Context, /, *, bullet: str, text: str, bank: str | None) -> Result:
    return _book(context, bank).edit(bullet, text)


def _merge(context: Context, /, *, bullets: tuple[str, ...], text: str | None, bank: str | None) -> Result:
    return _book(context, bank).merge(bullets, text)


def _delete(context: Context, /, *, bullet: str, undo: bool, bank: str | None) -> Result:
    return _book(context, bank).delete(bullet, undo=undo)


def _apply(
    context: Context,
    /,
    *,
    operations: str,
    id: str | None,  # noqa: A002
    bank: str | None,
) -> Result:
    from muniment.playbook_ops import read_batch

    return _book(context, bank, new=True).apply(read_batch(operations, id))


def _evict(context: Context, /, *, dry_run: bool, undo: bool, bank: str | None) -> Result:
    return _book(context, bank).evict(dry_run=dry_run, undo=undo)


def _list(context: Context, /, *, bank: str | None) -> Result:
    return Listed("proposals", _book(context, bank).proposals())


def _accept(context: Context, /, *, batch: str, bank: str | None) -> Result:
    return _book(context, bank).accept(batch)


def _reject(context: Context, /, *, batch: str, bank: str | None) -> Result:
    return _book(context, bank).reject(batch)


def _config(
    context: Context, /, *, action: str, name: str | None, value: str | None, bank: str | None
) -> Result:
    memory = context.memory(bank)
    book = memory.playbook
    if (
        (action == "set") != (value is not None)
        or (action == "set" and name is None)
        or (action == "show" and name is not None)
    ):
        raise InvalidInput(
            "`playbook config` takes: show, or set NAME VALUE, or reset, perhaps with a NAME",
            "As in: muniment playbook config set policy review",
        )
    if action == "show":
        return Configured(memory.name, book.config().to_json())
    from muniment.playbook_config import NAMES

    changes = {name: value} if name is not None else dict.fromkeys(NAMES)
    return Configured(memory.name, book.configure(**changes).to_json())


COMMANDS = family(
    Command(
        "playbook show",
        "Bullets by section, the most valuable first, each with its id and how often it helped and harmed: the same "
        "bytes on every replica. Near-duplicates stand behind one of them, and what is beyond `max_bullets` is left "
        "out.",
        (
            Example("muniment playbook show", "all of it"),
            Example("muniment playbook show --section testing --max-tokens 500", "the best of one section"),
        ),
        (
            Param("section", "text", "Only this section", metavar="NAME"),
            Param("max_tokens", "integer", "Tokens of the text at most, by three bytes each", minimum=0,
                  maximum=10_000_000, metavar="N"),
            BANK,
        ),
        "read",
        False,
        _show,
    ),
    Command(
        "playbook add",
        "Its id comes from section and words, so the same bullet added twice, or in two places, is one.",
        (Example('muniment playbook add "Run the tests before you push" --section testing', "what was learned"),),
        (
            Param("text", "text", "The words; `-`, or nothing while something is piped in: standard input",
                  required=True, positional=True, stdin=True, metavar="TEXT"),
            Param("section", "text", _SECTION, "general", metavar="NAME"),
            BANK,
        ),
        "write",
        True,
        _add,
    ),
    Command(
        "playbook edit",
        "The id and the counts stay; the old words are in `muniment history bullet:ID`.",
        (Example('muniment playbook edit testing-1f0e2d3c4b5a "Run make check before you push"', "say it better"),),
        (
            _BULLET,
            Param("text", "text", "The new words; `-`, or nothing while something is piped in: standard input",
                  required=True, positional=True, stdin=True, metavar="TEXT"),
            BANK,
        ),
        "write",
        True,
        _edit,
    ),
    Command(
        "playbook merge",
        "The first bullet stays, with the counts of all; the others are forgotten. Judgements of them that come later "
        "count for it too.",
        (Example("muniment playbook merge --bullet testing-1f0e2d3c4b5a --bullet testing-5a4b3c2d1e0f",
                 "two that say the same"),),
        (
            Param("bullets", "text", "A bullet's id; given twice or more, the one that stays first", (),
                  repeatable=True, option="bullet", metavar="ID"),
            Param("text", "text", "New words for the one that stays", metavar="TEXT"),
            BANK,
        ),
        "write",
        True,
        _merge,
    ),
    Command(
        "playbook delete",
        "It is hidden, as by `muniment forget`, and --undo brings it back.",
        (
            Example("muniment playbook delete testing-1f0e2d3c4b5a", "forget it"),
            Example("muniment playbook delete --undo testing-1f0e2d3c4b5a", "bring it back"),
        ),
        (_BULLET, Param("undo", "flag", "Bring it back", False), BANK),
        "write",
        True,
        _delete,
    ),
    Command(
        "playbook apply",
        "Takes JSON: a list of operations ADD, UPDATE, EDIT, MERGE and DELETE, or an object with `operations` and an "
        "`id`. All are done, or none; an id that is not there is passed over, and the same batch again changes "
        "nothing. Where the policy is `review`, the batch waits instead.",
        (
            Example("muniment playbook apply --id run-17 -", "from standard input, once for that run"),
            Example("""muniment playbook apply '[{"op": "ADD", "text": "Ask before you delete"}]'""", "typed"),
        ),
        (
            Param("operations", "text", "JSON; `-`, or nothing while something is piped in: standard input",
                  required=True, positional=True, stdin=True, metavar="JSON"),
            Param("id", "text", "What the batch is named by, such as the run that it comes from; else its content "
                  "names it", metavar="ID"),
            BANK,
        ),
        "write",
        True,
        _apply,
    ),
    Command(
        "playbook evict",
        "Forgets bullets that were judged harmful twice or more and more often than helpful, that never helped and "
        "were not touched for `stale_days`, and the least valuable beyond `max_bullets`.",
        (
            Example("muniment playbook evict --dry-run", "what would go, and why"),
            Example("muniment playbook evict", "make room"),
            Example("muniment playbook evict --undo", "bring back what the last one took"),
        ),
        (
            Param("dry_run", "flag", "Only say which", False),
            Param("undo", "flag", "Bring back what the last eviction took", False),
            BANK,
        ),
        "write",
        True,
        _evict,
    ),
    Command(
        "playbook config",
        "The settings are policy (auto, or review: batches wait for somebody), max_bullets (200), similarity (0.8) and "
        "stale_days (90). They stand signed in the bank.",
        (
            Example("muniment playbook config", "show them"),
            Example("muniment playbook config set policy review", "look at changes first"),
            Example("muniment playbook config reset policy", "one back to its default; without a name: all"),
        ),
        (
            Param("action", "text", "What to do", "show", choices=ACTIONS, positional=True, metavar="show|set|reset"),
            Param("name", "text", "The setting", positional=True, metavar="NAME"),
            Param("value", "text", "Its value", positional=True, metavar="VALUE"),
            BANK,
        ),
        "write",
        True,
        _config,
    ),
    Command(
        "playbook review list",
        "Each with its operations, who proposed it and when. Their words are a proposal and nothing more yet.",
        (Example("muniment playbook review list", "what waits"),),
        (BANK,),
        "read",
        False,
        _list,
    ),
    Command(
        "playbook review accept",
        "Does the operations; what names no bullet by now is passed over.",
        (Example("muniment playbook review accept 95ee60e5", "do it"),),
        (_BATCH, BANK),
        "write",
        True,
        _accept,
    ),
    Command(
        "playbook review reject",
        "Nothing of it is done.",
        (Example("muniment playbook review reject 95ee60e5", "leave it"),),
        (_BATCH, BANK),
        "write",
        True,
        _reject,
    ),
)  # fmt: skip
