"""What memory says unasked: the block that an agent would be given with a message, and why."""

from __future__ import annotations

import json

from starlette.responses import Response

from muniment.auto_recall import Preview
from muniment.commands.attachments import SESSION
from muniment.surfaces.web.visit import Visit


def show(visit: Visit) -> Response:
    """The page, with the answer where a message is given."""
    return _answer(visit, "unasked.html")


def part(visit: Visit) -> Response:
    """The answer alone."""
    return _answer(visit, "unasked_part.html")


def _answer(visit: Visit, template: str) -> Response:
    message = visit.query.get("message", "")
    session = visit.query.get("session", "").strip() or SESSION
    found: Preview | None = None
    if message.strip():
        # As one message, whatever it looks like: words in a field are what a user says.
        turn = json.dumps([{"role": "user", "content": message}])
        found = visit.ask("context", messages=turn, session=session)
    config = visit.ask("bank config")
    return visit.page(template, message=message, session=session, found=found, config=config.values)


def attach(visit: Visit) -> Response:
    """Attach a bank to a conversation, or detach it."""
    command = "bank detach" if visit.said("undo") else "bank attach"
    session = visit.said("session").strip() or SESSION
    visit.ask(command, bank=visit.said("bank"), session=session)
    return visit.go("unasked", session=session)


SCREENS = (
    ("GET", "/a/{agent}/unasked", show),
    ("GET", "/a/{agent}/unasked/answer", part),
    ("POST", "/a/{agent}/unasked/attach", attach),
)
