"""Shapes of releases, and rows that are published together."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from tests.pairs.possible.groups import Values

METHODS = ("generalized", "suppressed", "permuted", "split", "ambiguous", "redistributed")


@dataclass(frozen=True)
class Shape:
    """The choices that are drawn before a release.

    Attributes:
        method: of the form.
        together: whether sensitive columns are published together.
        composed: whether some values are of people who left.
        parts: how many there are; 1 for a release that is one table.
    """

    method: str
    together: bool = True
    composed: bool = False
    parts: int = 1

    @property
    def name(self) -> str:
        """Return how figures call it."""
        kinds = [self.method, *(["composed"] if self.composed else [])]
        return " ".join([*kinds, *(["in parts"] if self.parts > 1 else [])])

    @property
    def labels(self) -> bool:
        """True where quasi-identifiers are labels."""
        return self.method in ("generalized", "suppressed")


@dataclass
class Part:
    """Rows that are published together: columns, groups, and who of them is still there."""

    columns: Mapping[str, list[Any]]
    group: list[int]
    left: list[int]
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        """Return how many there are."""
        return max(self.group) + 1

    def rows(self) -> Iterator[Values]:
        """Yield the represented rows."""
        for row, group, leavers in zip(
            zip(*self.columns.values(), strict=True), self.group, self.left, strict=True
        ):
            if group >= 0 and not leavers:
                yield tuple(map(exactly, row))


def exactly(value: Any) -> Any:
    """Return a number as an integer or Fraction."""
    return Fraction(value) if isinstance(value, Decimal | float) else value


def random_shape(rng: random.Random) -> Shape:
    """Return the shape of some release."""
    method = rng.choices(METHODS, [3, 2, 3, 3, 1, 2])[0]  # one of six answers little
    parts = rng.choice([1, 1, 1, 2])
    return Shape(method, rng.random() < 0.5, rng.random() < 0.3, parts)
