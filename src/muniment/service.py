"""`muniment.service.MemoryService`: memory for an event loop. See `docs/service.md`."""

from muniment.surfaces.service import MemoryHit, MemoryService, MemoryStats

__all__ = ["MemoryHit", "MemoryService", "MemoryStats"]
