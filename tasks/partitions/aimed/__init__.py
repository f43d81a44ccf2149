"""Partitions aimed at a workload: quasi-identifiers are cut where that makes answers more accurate.

Three things decide about cuts: quasi-identifiers, the hits of declared families of queries, and the
multiset of sensitive values of the rows that may be cut, dealt to them at random. The values of
individual rows do not. A decision is therefore the same in every world that exchanges values within
the resulting groups, and somebody who knows how it was made learns only what the groups show. A cut
is never taken back when a side cannot keep the promise, since that would reveal something: nothing
is published then.
"""
