"""Aggregates: one module for each, with all that is known of it, and their registry.

Kept out: which release is asked, and how its engine finds what counts.
"""
