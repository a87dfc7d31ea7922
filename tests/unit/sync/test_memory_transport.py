"""The sync conformance suite over the in-memory link."""

from __future__ import annotations

from muniment.testing.sync_suite import SyncSuite


class TestMemory(SyncSuite):
    """Two ends in one process, every message through the link."""
