"""Floor 3: the system clock, entropy and the folders of a peer."""
