"""A drawn query: the rows that it selects, in SQL and among the original's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.tasks.query.accuracy.random_query import OriginalColumn
from sfumato.tasks.query.accuracy.workloads.conditions import among, between, equals


@dataclass(frozen=True)
class InWindow:
    """The value of a column lies between two others, or is one of them."""

    name: str
    low: Any
    high: Any

    @property
    def condition(self) -> exp.Expr:
        """The same in SQL."""
        return between(self.name, self.low, self.high)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """The rows of which it is so (bool)."""
        return column.between(self.low, self.high)


@dataclass(frozen=True)
class OneOf:
    """The value of a column is one of some."""

    name: str
    values: tuple[Any, ...]

    @property
    def condition(self) -> exp.Expr:
        """The same in SQL."""
        return among(self.name, self.values, ordered=False)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """The rows of which it is so (bool)."""
        return column.among(self.values)


@dataclass(frozen=True)
class Exactly:
    """The value of a column is a certain one; None where it is missing."""

    name: str
    value: Any

    @property
    def condition(self) -> exp.Expr:
        """The same in SQL."""
        return equals(self.name, self.value)

    def rows(self, column: OriginalColumn) -> np.ndarray:
        """The rows of which it is so (bool)."""
        return ~column.there() if self.value is None else column.among([self.value])


@dataclass(frozen=True)
class DrawnQuery:
    """A query of the rows of which all tests hold."""

    tests: tuple[InWindow | OneOf | Exactly, ...]

    @property
    def where(self) -> exp.Expr:
        """Its condition in SQL."""
        return exp.and_(*(test.condition for test in self.tests))

    def rows(self, columns: Mapping[str, OriginalColumn]) -> np.ndarray:
        """The rows of the original that it selects (bool)."""
        found: np.ndarray = np.logical_and.reduce(
            [test.rows(columns[test.name]) for test in self.tests]
        )
        return found
