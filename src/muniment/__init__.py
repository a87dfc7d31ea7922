"""Persistent memory for AI agents that its owners can prove.

```python
import muniment

with muniment.open() as peer:
    ava = peer.agent("ava", create=True)
    ava.remember("The deadline is 1 June.", key="project.deadline")
    for hit in ava.recall("when is the deadline?"):
        print(hit.score, hit.record.text)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from muniment.agent import Agent
    from muniment.base.errors import MunimentError
    from muniment.memory import Memory
    from muniment.peer import Peer
    from muniment.peer import open_peer as open
    from muniment.session import Session
    from muniment.surfaces.slash import Slash
    from muniment.surfaces.tools import Toolset, tools
    from muniment.views import Hit, Hits, Record, Remembered

__all__ = [
    "Agent",
    "Hit",
    "Hits",
    "Memory",
    "MunimentError",
    "Peer",
    "Record",
    "Remembered",
    "Session",
    "Slash",
    "Toolset",
    "open",
    "tools",
]

# Nothing is imported before it is asked for: the command line starts in the time of what it uses.
_HOMES = {
    "Agent": "muniment.agent",
    "Hit": "muniment.views",
    "Hits": "muniment.views",
    "Memory": "muniment.memory",
    "MunimentError": "muniment.base.errors",
    "Peer": "muniment.peer",
    "Record": "muniment.views",
    "Remembered": "muniment.views",
    "Session": "muniment.session",
    "Slash": "muniment.surfaces.slash",
    "Toolset": "muniment.surfaces.tools",
    "open": "muniment.peer",
    "tools": "muniment.surfaces.tools",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'muniment' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), "open_peer" if name == "open" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
