"""Formats of releases: how a key of a promise says that it came later than the promise."""

SINCE = "x-since-format"
"""The mark of such a key, in its JSON schema, with the number of the format."""
