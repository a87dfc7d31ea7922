"""Sync: how replicas of a bank come to hold the same entries (design section 8)."""
