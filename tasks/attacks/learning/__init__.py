"""Attacks that learn from all groups of a release which values occur together."""
