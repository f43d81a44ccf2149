"""Codings of columns: each a function of a column's values alone, or of its rows and their units.

Nulls pass. What is computed of rows is found apart from being used, so that it can be kept.
"""
