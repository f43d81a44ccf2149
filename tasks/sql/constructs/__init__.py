"""Constructs of SQL that are not answered: their names, why, and what to write instead.

Kept out: what is allowed, which those who read a query decide.
"""
