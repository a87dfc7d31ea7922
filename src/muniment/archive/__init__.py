"""The archive: packs of sealed payloads, their proofs, and how they come from elsewhere."""
