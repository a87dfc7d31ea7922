"""Blobs: immutable bytes named by their hash, and the places where they are kept."""
