"""Bounds as common table expressions: what groups can have where a condition is on them.

Trees alone: no text of SQL is put together here.
"""
