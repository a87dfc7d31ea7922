"""Floor 6: everything that can be asked for, defined once."""
