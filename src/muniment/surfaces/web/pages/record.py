"""One memory: its words, every version of it, who signed what, who may read it, and what can be done with it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from muniment.base.errors import InvalidInput, MunimentError
from muniment.commands.table import COMMANDS
from muniment.surfaces.web.pages.memory import tags_of
from muniment.surfaces.web.visit import Visit
from muniment.surfaces.web.words import editable
from muniment.views import Record

# Commands that take one memory and nothing else, where this installation has them.
MOVES = ("archive", "fetch", "restore")
PURGE = "erase"


def show(visit: Visit) -> Response:
    """The page of the version that is named, or of the newest."""
    return _show(visit, visit.query.get("ref", ""), "record.html")


def _show(visit: Visit, ref: str, template: str, **more: Any) -> Response:
    record: Record = visit.ask_here("get", ref=ref)
    history = visit.ask_here("history", ref=record.version)
    try:
        members = [m for m in visit.ask("bank members", bank=record.bank) if m.state == "standing"]
    except MunimentError:
        members = []  # the page shows what it can
    return visit.page(
        template, record=record, history=history, members=members, may_edit=_may_edit(visit, record),
        moves=[name for name in MOVES if _takes_one(name)], purge=PURGE if _takes_one(PURGE) else None, **more,
    )  # fmt: skip


def _may_edit(visit: Visit, record: Record) -> str:
    """Why it can't be edited here; empty where it can."""
    if record.state not in {"live", "superseded"}:
        return "It is not live: bring it back first."
    if record.key is None and record.author != visit.acting.did:
        return "It has no key, and somebody else signed it: only its author can make a new version."
    if not (editable(record.text) and editable(record.title or "")):
        return "It holds characters that a form would not give back as they are."
    return ""


def _takes_one(name: str) -> bool:
    """Whether there is such a command, and the memory is all that it has to be told."""
    if name not in COMMANDS:
        return False
    params = COMMANDS[name].params
    return any(param.positional for param in params) and all(p.positional for p in params if p.required)


def _one(name: str, ref: str) -> dict[str, Any]:
    """The memory as the parameter of that command."""
    param = next(param for param in COMMANDS[name].params if param.positional)
    return {param.name: [ref] if param.repeatable else ref}


def edit(visit: Visit) -> Response:
    """The form for a new version."""
    return _show(visit, visit.query.get("ref", ""), "edit.html")


def save(visit: Visit) -> Response:
    """Keep a new version, which takes the place of the one that was shown."""
    record: Record = visit.ask_here("get", ref=visit.said("ref"))
    if why := _may_edit(visit, record):
        raise InvalidInput("this memory can't be edited here", why)
    made = visit.ask_here(
        "remember", text=visit.said("text"), key=record.key, title=visit.said("title").strip() or None,
        tags=tags_of(visit.said("tags")), metadata=dict(record.metadata) or None, type=record.type,
        session=record.session, created_at=record.created_at_ms, valid_from=record.valid_from,
        valid_until=record.valid_until, **({"id": record.id} if record.key is None else {}),
    )  # fmt: skip
    return visit.go("record", ref=made.version)


def forget(visit: Visit) -> Response:
    """Hide it, or bring it back."""
    ref = visit.said("ref")
    visit.ask_here("forget", ref=ref, undo=bool(visit.said("undo")))
    return visit.go("record", ref=ref)


def move(visit: Visit) -> Response:
    """Archive, fetch or restore it."""
    name, ref = visit.said("move"), visit.said("ref")
    if name not in MOVES or not _takes_one(name):
        raise InvalidInput("there is no such thing to do", "Open the page again.")
    result = visit.ask_here(name, **_one(name, ref))
    text = getattr(result, "text", None)
    return visit.go("record", ref=ref) if text is None else _show(visit, ref, "record.html", fetched=text)


def erase(visit: Visit) -> Response:
    """Destroy it, once its word was typed."""
    ref = visit.said("ref")
    if not _takes_one(PURGE) or visit.said("word").strip() != PURGE:
        raise InvalidInput("nothing was erased", f"Type the word `{PURGE}` to agree.")
    visit.ask_here(PURGE, **_one(PURGE, ref))
    return visit.go()


def why(visit: Visit) -> Response:
    """Why it is, or is not, an answer to a question."""
    query = visit.query.get("q", "").strip()
    found = visit.ask_here("why", query=query, ref=visit.query.get("ref", "")) if query else None
    return visit.page("why.html", why=found)


SCREENS = (
    ("GET", "/a/{agent}/record", show),
    ("GET", "/a/{agent}/record/why", why),
    ("GET", "/a/{agent}/record/edit", edit),
    ("POST", "/a/{agent}/record/edit", save),
    ("POST", "/a/{agent}/record/forget", forget),
    ("POST", "/a/{agent}/record/move", move),
    ("POST", "/a/{agent}/record/erase", erase),
)
