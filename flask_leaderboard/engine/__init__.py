"""The engine: one submission, one read."""
