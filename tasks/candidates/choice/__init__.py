"""Choosing a partition: each candidate is tried on tables whose sensitive values are dealt anew.

Holds what tries, scores and chooses. What is chosen depends on quasi-identifiers and on the
multiset of sensitive values, and not on who has which: whoever knows how it is chosen learns no
more from it than from the same partition named in the spec.
"""
