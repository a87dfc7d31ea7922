"""Floor 1: who signs. Keys, DIDs and sealing. No I/O."""
