"""Notation of a spec for the places of rows, and for the spelling of their values.

It contains what can be read and checked without a source. Keep out what opens a file or connection.
"""
