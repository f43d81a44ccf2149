"""Inputs of a run: its spec, overrides, source, passphrases and environment."""
