"""Floor 7: the doors. They translate and hold no rule of their own."""
