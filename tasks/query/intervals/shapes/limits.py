"""The size below which no query has an interval."""

LEAST_ROWS = 20
LEAST_GROUPS = 2
"""Of fewer rows or groups no interval is given, nor is any calibrated on them."""
