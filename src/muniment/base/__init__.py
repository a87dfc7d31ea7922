"""Floor 0: words that every other floor uses. No I/O."""
