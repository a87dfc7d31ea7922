"""Whether all is well: peers and sync, the banks, and what `doctor` finds. It asks again by itself."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from muniment.commands.table import COMMANDS
from muniment.surfaces.web.visit import Visit

PEERS, SYNC = "peers", "sync"


def show(visit: Visit) -> Response:
    """The page."""
    return visit.page("health.html", findings=visit.ask("doctor").findings, **_live(visit))


def live(visit: Visit) -> Response:
    """The part that changes."""
    return visit.page("health_part.html", **_live(visit))


def _live(visit: Visit) -> dict[str, Any]:
    return {"banks": visit.ask("bank list"), "peers": _peers(visit), "may_sync": _bare(SYNC)}


def _bare(name: str) -> bool:
    """Whether there is such a command, and nothing has to be said to it."""
    return name in COMMANDS and not any(param.required for param in COMMANDS[name].params)


def _peers(visit: Visit) -> list[dict[str, Any]] | None:
    """The peers as the command tells them; None where this installation does not sync."""
    if not _bare(PEERS):
        return None
    found = visit.ask(PEERS).to_json()
    rows = found if isinstance(found, list) else next((v for v in found.values() if isinstance(v, list)), [])
    return [dict(row) for row in rows]


def sync(visit: Visit) -> Response:
    """Sync now."""
    if _bare(SYNC):
        visit.ask(SYNC)
    return visit.go("health")


SCREENS = (
    ("GET", "/a/{agent}/health", show),
    ("GET", "/a/{agent}/health/live", live),
    ("POST", "/a/{agent}/health/sync", sync),
)
