"""A small set of conversations, and a walk through what can be done with them."""
