"""Floor 3: from text to vectors, by a server, by a model on this machine or by a function (design section 7)."""
