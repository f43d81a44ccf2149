"""Names that published tables have in common, and names that are safe for files and SQL."""

import re

GROUP_ID, COUNT = "group_id", "count"
AIMS, TARGETS, TARGET = "aims", "targets", "target"
"""The tables of distributions that groups are declared to have, and the column of their numbers."""


def safe_name(column: str) -> str:
    """The name of a column within the names of files and tables.

    >>> safe_name("capital-loss")
    'capital_loss'
    """
    return re.sub("[^a-z0-9]", "_", column.lower())
