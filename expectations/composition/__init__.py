"""Composition of versions: holds the tests of composition over counts; keep files out."""
