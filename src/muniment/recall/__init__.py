"""Floor 4: ranking records by words."""
