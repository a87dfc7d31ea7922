"""Persistent memory for AI agents that its owners can prove."""
