"""One memory: its words, every version of it, who signed what, who may read it, and what can be done with it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from muniment.base.errors import InvalidInput, MunimentError
from muniment.surfaces.web.pages.memory import tags_of
from muniment.surfaces.web.visit import Visit
from muniment.surfaces.web.words import editable
from muniment.views import Record

MOVES = ("archive", "fetch", "restore")
JUDGE = "web"  # what a judgement by hand is named by: another one takes its place
WORD = "erase"


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
        **({"fetched": None} | more),
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
    if name not in MOVES:
        raise InvalidInput("there is no such thing to do", "Open the page again.")
    result = visit.ask_here(name, ref=ref)
    if name == "fetch":
        return _show(visit, ref, "record.html", fetched=result.text)
    if name == "archive" and not result.records:
        raise InvalidInput("it was not archived", f"{'; '.join(result.skipped) or 'Nothing was meant'}.")
    return visit.go("record", ref=ref)


def feedback(visit: Visit) -> Response:
    """Say that it helped, or did harm; or take back what was said here."""
    ref = visit.said("ref")
    visit.ask_here("feedback", ref=ref, judgement=visit.said("judgement"), id=JUDGE)
    return visit.go("record", ref=ref)


def ask_erase(visit: Visit) -> Response:
    """What erasing would destroy, named one by one, and the form that does it."""
    ref = visit.query.get("ref", "")
    return visit.page(
        "erase.html", record=visit.ask_here("get", ref=ref), history=visit.ask_here("history", ref=ref),
        going=visit.ask_here("erase", ref=ref, dry_run=True), word=WORD, receipt=None,
    )  # fmt: skip


def erase(visit: Visit) -> Response:
    """Destroy it, once its word was typed, and give the receipt."""
    ref, what = visit.said("ref"), visit.said("what")
    if visit.said("word").strip() != WORD:
        raise InvalidInput("nothing was erased", f"Type the word `{WORD}` to agree.")
    if what == "late":
        meant = {"key": visit.ask_here("get", ref=ref).key}
    else:
        meant = {"ref": ref, "version": what == "version"}
    return visit.page("erase.html", receipt=visit.ask_here("erase", yes=True, **meant))


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
    ("POST", "/a/{agent}/record/feedback", feedback),
    ("GET", "/a/{agent}/record/erase", ask_erase),
    ("POST", "/a/{agent}/record/erase", erase),
)
