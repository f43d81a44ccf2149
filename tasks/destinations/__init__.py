"""Copies of a line in other places, each brought up to the line's state here.

The public directory is the truth: nothing is decided by what a copy says. One module per kind of
place; what is common to all, and what is said of a place that stays behind, is in `deliver`.
"""
