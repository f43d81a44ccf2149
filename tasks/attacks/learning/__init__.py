"""Attacks that learn from all groups of a release what goes with what."""
