"""What a door is, and which there are: each mounts itself at a path of its own (design section 11)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from muniment.surfaces.serve.house import House


class Door(Protocol):
    """One way in, over HTTP.

    Attributes:
        name: In metrics and in the log.
        path: All its routes begin with it: `/rpc`, `/mcp`, `/sync/1`, or `/` for what no other door takes.
        body_limit: Bytes of a request's body; more is refused before anything of it is read.
    """

    name: str
    path: str
    body_limit: int

    def routes(self) -> Sequence[BaseRoute]:
        """Its routes, with whole paths."""
        ...

    async def start(self) -> None:
        """Called before the first request; an error keeps the server from starting."""
        ...

    async def stop(self) -> None:
        """Called when no new request comes any more; running ones go on until the time to finish is over."""
        ...


# What opens each door: a function of a module that takes the house and gives a door, or None where this
# installation has no such door (an extra that is missing, a setting). The order is that of matching.
DOORS: tuple[str, ...] = (
    "muniment.surfaces.serve.health:open_health",
    "muniment.surfaces.serve.health:open_metrics",
    "muniment.surfaces.rpc.door:open_door",
    "muniment.surfaces.serve.iroh_door:open_iroh",
    "muniment.surfaces.serve.sync_door:open_door",
    "muniment.surfaces.serve.custody_door:open_door",
    "muniment.surfaces.mcp.door:open_door",
    "muniment.surfaces.web.door:open_door",
)
# Paths of doors that an installation may lack, and the extra that brings each.
EXTRAS: Mapping[str, str] = {"/mcp": "mcp"}


def open_doors(house: House, names: Sequence[str] = DOORS) -> list[Door]:
    """All doors of this installation; those at longer paths first, so that `/` takes only what is left."""
    found: list[Door] = []
    for name in names:
        module, _, function = name.partition(":")
        opener: Callable[[House], Door | None] = getattr(importlib.import_module(module), function)
        if (door := opener(house)) is not None:
            found.append(door)
    return sorted(found, key=lambda door: -len(door.path))


def absent(paths: Sequence[str]) -> tuple[str, ...]:
    """What is not served for want of an extra, in words, one for each door."""
    return tuple(
        f"{path} needs the extra `{extra}`: pip install 'muniment[{extra}]'"
        for path, extra in EXTRAS.items()
        if path not in paths
    )
