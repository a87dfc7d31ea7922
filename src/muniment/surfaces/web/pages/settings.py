"""Settings: what memory says unasked, whether models may use it, how it is searched, and the end of all of it."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from muniment.base.errors import InvalidInput, MunimentError
from muniment.surfaces.serve.options import Options
from muniment.surfaces.web.logins import login_url
from muniment.surfaces.web.visit import Visit

UNASKED = ("auto_recall_enabled", "max_entries", "max_entry_chars", "floor")
PURGE, ERASE = "forget everything", "erase everything"


def show(visit: Visit) -> Response:
    """The page."""
    return _show(visit)


def _show(visit: Visit, **more: Any) -> Response:
    host = visit.house.peer.host
    values = {
        "config": visit.ask("bank config").values,
        "tools": visit.ask("agent tools").tools,
        "trust": visit.ask("agent trust show").settings,
        "info": visit.ask("agent show"),
        "stats": visit.ask_here("stats"),
        "settings": host.settings,
        "model": _model(visit),
        "purge": PURGE,
        "erase_all": ERASE,
        "erased": None,
        "link": None,
        "reindexed": None,
    }
    return visit.page("settings.html", **(values | more))


def _model(visit: Visit) -> str | None:
    """The name of the embedder; None without one."""
    meaning = visit.house.peer.host.meaning
    if meaning is None:
        return None
    try:
        return meaning.model
    except MunimentError as error:
        return f"{error.message} {error.next_step}"


def unasked(visit: Visit) -> Response:
    """Change what memory says unasked; only what differs is written."""
    now = visit.ask("bank config").values
    for name in UNASKED:
        said = visit.said(name).strip()
        if name == "auto_recall_enabled":
            said = "yes" if said else "no"
            if (said == "yes") == now[name]:
                continue
        elif said in {"", str(now[name])}:
            continue
        visit.ask("bank config", action="set", name=name, value=said)
    return visit.go("settings")


def tools(visit: Visit) -> Response:
    """Give the agent's models their memory tools, or take them."""
    on = visit.said("tools") == "on"
    visit.ask("agent tools", **({"all": True} if on else {"none": True}))
    return visit.go("settings")


def reindex(visit: Visit) -> Response:
    """Make the vectors that are missing."""
    return _show(visit, reindexed=visit.ask_here("reindex"))


def link(visit: Visit) -> Response:
    """A link for another browser."""
    options: Options = visit.house.options
    return _show(visit, link=login_url(options.url(visit.house.port), options.web_secret))


def purge(visit: Visit) -> Response:
    """Forget all that this memory holds, once the words were typed; or bring it back."""
    if visit.said("undo"):
        visit.ask_here("clear", undo=True)
        return visit.go()
    if visit.said("word").strip() != PURGE:
        raise InvalidInput("nothing was forgotten", f"Type `{PURGE}` to agree.")
    visit.ask_here("clear")
    return visit.go("settings")


def erase(visit: Visit) -> Response:
    """Destroy all that this memory holds, once the words were typed, and give the receipt."""
    if visit.said("word").strip() != ERASE:
        raise InvalidInput("nothing was erased", f"Type `{ERASE}` to agree.")
    return _show(visit, erased=visit.ask_here("clear", erase=True, yes=True).erased)


SCREENS = (
    ("GET", "/a/{agent}/settings", show),
    ("POST", "/a/{agent}/settings/unasked", unasked),
    ("POST", "/a/{agent}/settings/tools", tools),
    ("POST", "/a/{agent}/settings/reindex", reindex),
    ("POST", "/a/{agent}/settings/link", link),
    ("POST", "/a/{agent}/settings/purge", purge),
    ("POST", "/a/{agent}/settings/erase", erase),
)
