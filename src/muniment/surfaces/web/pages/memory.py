"""The memory itself: search as one types, filters, the newest where nothing is asked, and a new memory."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from muniment.surfaces.web import asked
from muniment.surfaces.web.visit import Visit


def start(visit: Visit) -> Response:
    """Lead to the agent that is meant, or welcome who has none yet."""
    if not visit.agents:
        return visit.page("welcome.html")
    name = visit.house.peer.host.settings.agent
    chosen = name if name in visit.agents else visit.agents[0]
    return RedirectResponse(f"/a/{quote(chosen, safe='')}/", 303)


def first(visit: Visit) -> Response:
    """Keep the first memory, which makes the first agent."""
    visit.ask("remember", text=visit.said("text"))
    return RedirectResponse("/", 303)


def show(visit: Visit) -> Response:
    """The page, with what is asked."""
    return _found(visit, "memory.html")


def results(visit: Visit) -> Response:
    """What is asked alone, while one types."""
    answer = _found(visit, "results.html")
    answer.headers["hx-replace-url"] = visit.url(**asked.read(visit.query.multi_items()).query)
    return answer


def _found(visit: Visit, template: str) -> Response:
    question = asked.read(visit.query.multi_items())
    hits = visit.ask_here("recall", **question.params)
    stats = visit.ask_here("stats") if template == "memory.html" else None
    return visit.page(
        template, asked=question, hits=hits, facets=asked.facets(hits, question), parts=asked.parts,
        choices=asked.choices(), stats=stats,
    )  # fmt: skip


def write(visit: Visit) -> Response:
    """The form for a new memory."""
    return visit.page("write.html", types=asked.choices()["type"])


def keep(visit: Visit) -> Response:
    """Keep a new memory, and show it."""
    made = visit.ask_here(
        "remember", text=visit.said("text"), key=visit.said("key").strip() or None,
        title=visit.said("title").strip() or None, tags=tags_of(visit.said("tags")), type=visit.said("type") or "note",
    )  # fmt: skip
    return visit.go("record", ref=made.version)


def tags_of(text: str) -> list[str]:
    """Tags from a field, parted by commas."""
    return [tag.strip() for tag in text.split(",") if tag.strip()]


SCREENS = (
    ("GET", "/", start),
    ("POST", "/first", first),
    ("GET", "/a/{agent}/", show),
    ("GET", "/a/{agent}/results", results),
    ("GET", "/a/{agent}/write", write),
    ("POST", "/a/{agent}/write", keep),
)
