"""Chapters of the guide that follow from the software: keys, commands, Python, examples."""
