"""How a spec writes where rows are, and how their values are spelled there.

Holds what can be read and checked without a source. Keep out what opens a file or a connection.
"""
