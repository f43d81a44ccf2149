"""Likely ranges beside bounds: an estimate, and an interval that contains 95 % of such answers.

The modules contain the laws of what a release leaves open, the shapes of queries with calibrated
intervals, and one module for each way of showing a person. Guaranteed bounds belong to
`query.bounds`, and nothing here may narrow them.
"""
