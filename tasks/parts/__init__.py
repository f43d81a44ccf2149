"""Releases in parts: a source larger than memory, cut into sub-tables that stages run on in turn.

No function here loads more than a part, or as many rows of the source as are read at once.
"""
