"""The accuracy of a release in parts: the same queries, asked of one part after the other.

No more than one part of the original is in memory, and of the release no more than queries need;
for sets of vectors a number for each different one beside it.
"""
