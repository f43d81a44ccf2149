"""A value of a group column that represents all values that no published label names."""

from enum import Enum
from typing import Final, Literal


class Rest(Enum):
    """All other values: those of people whose label may hide a value that no label names.

    It is equal to no value that data could have.
    """

    REST = "(any other value)"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.value


REST: Final[Literal[Rest.REST]] = Rest.REST
