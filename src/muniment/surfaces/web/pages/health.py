"""Whether all is well: peers and sync, the banks, and what `doctor` finds. It asks again by itself."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from muniment.surfaces.web.visit import Visit


def show(visit: Visit) -> Response:
    """The page."""
    return _show(visit)


def _show(visit: Visit, **more: Any) -> Response:
    return visit.page(
        "health.html", findings=visit.ask("doctor").findings, **_live(visit), **({"rounds": None} | more)
    )


def live(visit: Visit) -> Response:
    """The part that changes."""
    return visit.page("health_part.html", **_live(visit))


def _live(visit: Visit) -> dict[str, Any]:
    return {"banks": visit.ask("bank list"), "peers": visit.ask("peers list")}


def sync(visit: Visit) -> Response:
    """One round with each peer now, and how each went."""
    return _show(visit, rounds=visit.ask("sync").rounds)


def add(visit: Visit) -> Response:
    """Name an address where a bank is to be had."""
    visit.ask("peers add", bank=visit.said("bank"), address=visit.said("address").strip())
    return visit.go("health")


def remove(visit: Visit) -> Response:
    """Forget an address."""
    visit.ask("peers remove", bank=visit.said("bank"), address=visit.said("address"))
    return visit.go("health")


SCREENS = (
    ("GET", "/a/{agent}/health", show),
    ("GET", "/a/{agent}/health/live", live),
    ("POST", "/a/{agent}/health/sync", sync),
    ("POST", "/a/{agent}/health/add", add),
    ("POST", "/a/{agent}/health/remove", remove),
)
