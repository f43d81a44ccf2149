"""The codebook of a release: what stands of each column in its files, and how often.

Made of the published tables alone. Nothing that is not in them belongs here.
"""
