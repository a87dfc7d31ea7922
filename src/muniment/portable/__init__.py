"""Floor 4: files in and out, one module per format."""
