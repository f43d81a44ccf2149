"""How large an experiment is, where it says no more than this."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RowsAndLevels:
    """How many rows are drawn, and what is varied."""

    rows: int
    levels: tuple[int, ...]
