"""Floor 2: what is signed. Entries, acts, authority and records. No I/O."""
