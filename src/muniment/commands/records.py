"""The commands that keep, find, show and hide memories."""

from __future__ import annotations

from typing import Any

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.commands.context import Context
from muniment.commands.results import Listed
from muniment.commands.table import Command, Example, Param, Result, family

TYPES = ("note", "skill", "bullet", "message")
STATES = ("live", "archived", "superseded", "forgotten")
_TIME = "ISO 8601, UTC unless it says otherwise"

_REF = Param(
    "ref", "text", "A key, a record id or a version id", required=True, positional=True, metavar="REF"
)

BANK = Param(
    "bank",
    "text",
    "The bank to use, by name or id; without it, the agent's own memory",
    short="b",
    metavar="BANK",
)

YES = Param("yes", "flag", "Agree that what is erased can't come back", False)

WHICH = (
    Param("tags", "text", "Only memories that have this tag; several: all of them", (), repeatable=True, option="tag",
          short="t", metavar="TAG"),
    Param("metadata", "object", "Only memories with this metadata value; a dot goes deeper: place.city=Oslo",
          option="meta", short="m", metavar="NAME=VALUE"),
    Param("type", "text", "Only memories of this type", choices=TYPES, metavar="TYPE"),
    Param("session", "text", "Only memories of this conversation", metavar="NAME"),
)  # fmt: skip

FILTERS = (
    *WHICH,
    Param("kind", "text", "Only memories kept this way", choices=("granted", "recalled", "self_noted"),
          metavar="KIND"),
    Param("source", "text", "Only memories from this source", choices=("self", "controller", "peer", "tool"),
          metavar="SOURCE"),
    Param("author", "text", "Only memories signed by this key", metavar="DID"),
    Param("since", "time", f"Only memories said at or after this time: {_TIME}", metavar="TIME"),
    Param("until", "time", f"Only memories said before this time: {_TIME}", metavar="TIME"),
    Param("states", "text", "Versions in this state; several: any of them", ("live",), repeatable=True,
          choices=STATES, option="state", metavar="STATE"),
    Param("as_of", "time", f"As the memory was at this moment: {_TIME}", metavar="TIME"),
)  # fmt: skip


def _filters(given: dict[str, Any]) -> dict[str, Any]:
    # An empty filter and none at all are the same to a caller.
    return {**given, "metadata": given.get("metadata") or None}


def _remember(
    context: Context, /, *, text: str, metadata: dict[str, Any] | None, bank: str | None, **rest: Any
) -> Result:
    return context.memory(bank, for_write=True).remember(text, metadata=metadata or None, **rest)


def _recall(context: Context, /, *, query: str, bank: str | None, **rest: Any) -> Result:
    return context.memory(bank).recall(query, **_filters(rest))


def _get(context: Context, /, *, ref: str, bank: str | None) -> Result:
    return context.memory(bank).get(ref)


def _list(context: Context, /, *, bank: str | None, **rest: Any) -> Result:
    return Listed("records", context.memory(bank).list(**_filters(rest)))


def _history(context: Context, /, *, ref: str, bank: str | None) -> Result:
    return Listed("records", context.memory(bank).history(ref))


def _forget(context: Context, /, *, ref: str, undo: bool, bank: str | None) -> Result:
    # Nothing can be forgotten where nothing was ever kept, so this write may not be the first one.
    _ = context.standing_peer
    return Listed("records", context.memory(bank, for_write=True).forget(ref, undo=undo))


def agree(yes: bool) -> None:
    """Go on only where the person said so.

    Raises:
        InvalidInput: It was not said.
    """
    if not yes:
        raise InvalidInput("what is erased can't be brought back", "Say --yes to erase; `forget` only hides.")


def _clear(context: Context, /, *, undo: bool, erase: bool, yes: bool, bank: str | None) -> Result:
    _ = context.standing_peer
    if erase:
        agree(yes)
    return context.memory(bank, for_write=True).clear(undo=undo, erase=erase)


def _why(context: Context, /, *, query: str, ref: str, bank: str | None, **rest: Any) -> Result:
    return context.memory(bank).why(query, ref, **_filters(rest))


def _stats(context: Context, /, *, bank: str | None) -> Result:
    return context.memory(bank).stats()


COMMANDS = family(
    Command(
        "remember",
        "The words are kept as given, signed by the agent's key and sealed. With --key, remembering again makes a "
        "new version that takes the place of the old one; the old one stays in the history. Remembering what is "
        "already there changes nothing.\n\n"
        "The first memory on a machine makes all that is needed: a key, an agent named `default`, its bank.",
        (
            Example('muniment remember "The deploy window is Friday at ten"', "keep a sentence"),
            Example('muniment remember --bank team "We build with nix"', "in a bank that is shared"),
            Example('muniment remember --key editor --tag prefs "Ava uses Helix"', "a memory that may change"),
            Example('muniment remember --meta city=Oslo --meta year=2026 "Met Kim at the fair"', "with metadata"),
            Example("git log -1 --format=%B | muniment remember --key last-commit", "keep what is piped in"),
        ),
        (
            Param("text", "text", "The words to keep; `-`, or nothing while something is piped in: standard input",
                  required=True, positional=True, stdin=True, metavar="TEXT"),
            Param("key", "text", "A name that stays; the same key again makes a new version", short="k", metavar="KEY"),
            Param("title", "text", "A label that is shown and searched", metavar="TITLE"),
            Param("tags", "text", "A tag; may be given several times", (), repeatable=True, option="tag", short="t",
                  metavar="TAG"),
            Param("metadata", "object", "A value by name: JSON if it reads as such, else text; a dot goes deeper; may "
                  "be given several times", option="meta", short="m", metavar="NAME=VALUE", nested=True),
            Param("session", "text", "The conversation it comes from", metavar="NAME"),
            Param("type", "text", "What it is", "note", choices=TYPES, metavar="TYPE"),
            Param("created_at", "time", f"When it was said, if not now: {_TIME}", metavar="TIME"),
            Param("valid_from", "time", f"True from this time on: {_TIME}", metavar="TIME"),
            Param("valid_until", "time", f"True up to this time: {_TIME}", metavar="TIME"),
            Param("tool", "flag", "It is the output of a tool: it never hides what a person or an agent wrote", False),
            Param("id", "text", "The id of a memory of one's own, to make a new version of it though it has no key",
                  metavar="ID"),
            Param("old_epoch", "flag", "If the bank waits for a new key, seal under the old one, which those who left "
                  "hold too", False),
            BANK,
        ),
        "write",
        True,
        _remember,
    ),
    Command(
        "recall",
        "Ranks memories by their words, with an embedder also by what they mean, and says where each one comes from. "
        "Any text is a valid query: there is no query syntax. Words of the same conversation count a little too; "
        "--no-context leaves them out. Without a query, the newest memories are shown. Finding nothing is an answer, "
        "not an error.",
        (
            Example('muniment recall "when do we deploy?"', "ask"),
            Example("muniment recall --limit 3 --tag prefs editor", "three hits with a tag"),
            Example("muniment recall --bank team how do we build", "in a bank that is shared"),
            Example("muniment recall --meta city=Oslo --since 2026-01-01 fair", "by metadata and time"),
            Example("muniment recall --as-of 2026-03-01 editor", "as the memory was on that day"),
            Example("muniment recall --floor editor", "only what is sure, or nothing"),
            Example("muniment recall --dates filter what did we decide last week", "what was said at that time alone"),
            Example("muniment recall --json editor", "for a program"),
        ),
        (
            Param("query", "text", "What to look for; quotes are not needed", "", positional=True, rest=True,
                  metavar="QUERY"),
            Param("limit", "integer", "At most so many hits", 10, short="n", minimum=1, maximum=LIMITS.recall_limit,
                  metavar="N"),
            Param("mode", "text", "How to rank: by words and meaning (with an embedder), one of them, or newest first",
                  metavar="MODE", choices=("hybrid", "text", "vector", "recent")),
            *FILTERS,
            Param("context", "flag", "Leave out the words of the conversation around a memory", True),
            Param("dates", "text", "What a time named in the query does to what was said then, and to all else",
                  metavar="HOW", choices=("boost", "filter", "off")),
            Param("fetch", "flag", "Bring the whole text of archived memories that are found", False),
            Param("rerank", "flag", "Have a reranker look at the best memories again, or not; else as the settings say",
                  either=True),
            Param("floor", "flag", "Leave out memories that the query neither names nor finds enough of its words in",
                  False),
            BANK,
        ),
        "read",
        False,
        _recall,
    ),
    Command(
        "get",
        "Shows the newest live version of a memory, or exactly the version that was named, with all its metadata and "
        "provenance.",
        (
            Example("muniment get editor", "by key"),
            Example("muniment get --json editor", "with every field"),
        ),
        (_REF, BANK),
        "read",
        False,
        _get,
    ),
    Command(
        "list",
        "Lists memories by the time they were said. It takes the same filters as recall.",
        (
            Example("muniment list", "the newest twenty"),
            Example("muniment list --limit 50 --offset 50 --tag prefs", "the second fifty with a tag"),
            Example("muniment list --state forgotten", "what was forgotten"),
        ),
        (
            Param("limit", "integer", "At most so many memories", 20, short="n", minimum=1,
                  maximum=LIMITS.recall_limit, metavar="N"),
            Param("offset", "integer", "Leave out so many of the newest", 0, minimum=0, metavar="N"),
            *FILTERS,
            BANK,
        ),
        "read",
        False,
        _list,
    ),
    Command(
        "history",
        "Every version stays in the bank: who wrote it, when, what took its place and what was forgotten.",
        (Example("muniment history editor", "how a memory changed"),),
        (_REF, BANK),
        "read",
        False,
        _history,
    ),
    Command(
        "forget",
        "Forgetting hides: recall and list leave the memory out, history still has it, and --undo brings it back. "
        "A key or a record id stands for all its live versions, a version id for just that one.",
        (
            Example("muniment forget editor", "hide it"),
            Example("muniment forget --undo editor", "bring it back"),
        ),
        (_REF, Param("undo", "flag", "Bring back what was forgotten", False), BANK),
        "write",
        True,
        _forget,
    ),
    Command(
        "clear",
        "Forgets all live memories of a bank at once, the agent's own unless another is named. They are hidden, not "
        "destroyed: the history still has them, and --undo brings back what the last clear hid. With --erase all "
        "versions are destroyed, hidden ones too, here and on every peer that syncs.",
        (
            Example("muniment clear", "start afresh"),
            Example("muniment clear --undo", "bring everything back"),
            Example("muniment clear --erase --yes", "destroy everything, for good"),
        ),
        (
            Param("undo", "flag", "Bring back what was cleared last", False),
            Param("erase", "flag", "Destroy the bytes of everything, for good", False),
            YES,
            BANK,
        ),
        "write",
        True,
        _clear,
    ),
    Command(
        "why",
        "Shows each word of the query, how rare it is, how often the memory holds it and what it adds to the score; "
        "or says which filter or which missing words keep the memory out.",
        (Example('muniment why "which editor" editor', "explain a hit, or a miss"),),
        (
            Param("query", "text", "The question, as given to recall", required=True, positional=True,
                  metavar="QUERY"),
            _REF,
            *WHICH,
            BANK,
        ),
        "read",
        False,
        _why,
    ),
    Command(
        "stats",
        "Counts of memories, versions, signed entries, conversations and authors, and how much room they take.",
        (Example("muniment stats", "the counts"),),
        (BANK,),
        "read",
        False,
        _stats,
    ),
)  # fmt: skip
