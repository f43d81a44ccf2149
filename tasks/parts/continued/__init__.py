"""Composed versions in parts: a part goes on as a line of its own, and nobody is ever in two."""
