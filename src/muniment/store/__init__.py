"""Floor 3: where entries and what is derived from them are kept."""
