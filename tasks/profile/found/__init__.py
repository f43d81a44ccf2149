"""How a source that nobody has declared is written, and its table, read as a release reads it."""
