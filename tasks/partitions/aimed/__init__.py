"""Partitions aimed at a workload: quasi-identifiers are cut where answers get narrower by it.

What is cut is decided by quasi-identifiers, by the hits of declared families of queries, and by the
multiset of sensitive values of the rows that may be cut, dealt to them at random. Who of these rows
has which value is not looked at. A decision is the same in every world in which values are
exchanged within the groups that result, so whoever knows how it was made learns nothing from it
that the groups do not tell. No cut is taken back when it turns out that a side cannot keep the
promise: that would tell. Nothing is published then.
"""
