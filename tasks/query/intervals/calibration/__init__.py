"""Calibration of likely intervals: the factor of each family of queries.

`factors` asks random queries (`drawn_queries`) of the published tables and of the original, and
finds the factors; the others ask many queries at once.
"""
