"""Releases in parts: what holds of the whole, its files, and its check.

Each part is a release of its own below `parts/`; the whole has what follows from all of them.
"""
