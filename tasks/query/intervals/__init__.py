"""Likely ranges beside bounds: an estimate, and an interval that 95 % of queries like it meet.

Holds the laws of what a release leaves open, the shapes of queries whose intervals a publisher
calibrates, and one module for each way of showing. Keep out whatever is guaranteed: bounds stand in
`query.bounds`, and nothing here may narrow them.
"""
