"""Chapters of the guide that follow from the software: spec keys, commands, Python, examples."""
