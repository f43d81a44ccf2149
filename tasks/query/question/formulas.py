"""Calculations with aggregates by interval arithmetic: the bounds surely contain the result.

Ends are attained if at most one operand is not known exactly, since the calculations here are
monotone in each operand while the others are fixed. Otherwise two operands may not reach their ends
together, and the interval is marked as not attained.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import NULL, UNBOUNDED, number
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.pooling import NARROWED, POOLED, proportion, variance_of_parts
from sfumato.tasks.query.bounds.spread import root_above, root_below
from sfumato.tasks.query.question.question import Aggregate


@dataclass(frozen=True)
class PartAggregate:
    """An aggregate over the rows of one of the questions.

    Attributes:
        part: the number of the question.
        aggregate: of that question.
    """

    part: int
    aggregate: Aggregate


CellBounds = Mapping[PartAggregate, Bounds]
"""The bounds of aggregates in one cell."""


class Formula(Protocol):
    """An expression that has a number, or another value, in each row of an answer."""

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """The aggregates that it is calculated from."""
        ...

    def bounds(self, cell: CellBounds) -> Bounds:
        """Return its bounds in a cell."""
        ...


@dataclass(frozen=True)
class Plain:
    """An aggregate without a calculation."""

    operand: PartAggregate

    @property
    def counts_all_rows(self) -> bool:
        """True for COUNT(*) of the rows on which WHERE holds."""
        return not self.operand.part and self.operand.aggregate.counts_all_rows

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """The aggregate."""
        return (self.operand,)

    def bounds(self, cell: CellBounds) -> Bounds:
        """Return the aggregate's bounds."""
        return cell[self.operand]


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: Fraction

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """No aggregate."""
        return ()

    def bounds(self, _: CellBounds) -> Bounds:
        """Return the number as both bounds."""
        return Bounds(self.value, self.value, self.value)


@dataclass(frozen=True)
class Pooled:
    """An aggregate over the disjoint rows of several questions.

    Attributes:
        name: of the aggregate, one of those of `pool`.
        values: the aggregate in each part.
        counts: the number of aggregated values in each part.
        whole: the aggregate over a larger set of rows; None if it adds no information.
        rest: the aggregate over the other rows of that set, if they are one part.
    """

    name: str
    values: tuple[PartAggregate, ...]
    counts: tuple[PartAggregate, ...]
    whole: PartAggregate | None = None
    rest: PartAggregate | None = None

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """The aggregates, and the counts."""
        surrounding = [aggregate for aggregate in (self.whole, self.rest) if aggregate is not None]
        return (*self.values, *self.counts, *surrounding)

    def bounds(self, cell: CellBounds) -> Bounds:
        """Return its bounds over all parts."""
        pairs = [
            (cell[value], cell[count])
            for value, count in zip(self.values, self.counts, strict=True)
        ]
        pooled = POOLED[self.name](pairs)
        if self.whole is None:
            return pooled
        rest = None if self.rest is None else cell[self.rest]
        return NARROWED[self.name](pooled, cell[self.whole], rest)


@dataclass(frozen=True)
class PooledSpread:
    """A variance or standard deviation over the disjoint rows of several questions.

    Attributes:
        name: of the aggregate, one of `SPREADS`.
        spreads: the variance of a sample in each part.
        means: the mean in each part.
        counts: the number of aggregated values in each part.
    """

    name: str
    spreads: tuple[PartAggregate, ...]
    means: tuple[PartAggregate, ...]
    counts: tuple[PartAggregate, ...]

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """The variance, mean and count of each part."""
        return (*self.spreads, *self.means, *self.counts)

    def bounds(self, cell: CellBounds) -> Bounds:
        """Return its bounds over all parts."""
        sample, root = SPREADS[self.name]
        of_parts = (
            [cell[operand] for operand in s] for s in (self.spreads, self.means, self.counts)
        )
        spread = variance_of_parts(*of_parts, sample=sample)
        if not root or spread.lower is None:
            return spread
        lower, upper = number(spread.lower), number(spread.upper)
        return replace(spread, lower=root_below(lower), upper=root_above(upper))


SPREADS: Mapping[str, tuple[bool, bool]] = {
    "var_samp": (True, False),
    "var_pop": (False, False),
    "stddev": (True, True),
    "stddev_pop": (False, True),
}
"""For each poolable spread: whether rows are a sample, and whether it is the root."""


@dataclass(frozen=True)
class Calculation:
    """A function of formulas."""

    function: Callable[..., Bounds]
    operands: tuple[Formula, ...]

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """All aggregates of the operands."""
        return tuple(
            dict.fromkeys(
                aggregate for operand in self.operands for aggregate in operand.aggregates
            )
        )

    def bounds(self, cell: CellBounds) -> Bounds:
        """Return the function of the operands' bounds."""
        operands = [operand.bounds(cell) for operand in self.operands]
        if any(bound.unbounded for bound in operands):
            return UNBOUNDED
        result = self.function(*operands)
        open_ = [bound for bound in operands if bound.lower != bound.upper or bound.may_be_empty]
        attained = len(open_) < 2 and all(bound.attained for bound in operands)
        return replace(result, attained=attained and result.attained)


@dataclass(frozen=True)
class Existing:
    """A formula that is null if there is no row."""

    value: Formula
    rows: Formula

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """The aggregates of the value and of the number of rows."""
        return tuple(dict.fromkeys((*self.value.aggregates, *self.rows.aggregates)))

    def bounds(self, cell: CellBounds) -> Bounds:
        """Return the bounds of the formula if there may be a row, else null."""
        value, rows = self.value.bounds(cell), self.rows.bounds(cell)
        if not number(rows.upper):
            return NULL
        if number(rows.lower):
            return value
        sure = value.attained and value.lower == value.upper
        return replace(value, may_be_empty=True, attained=sure)


@dataclass(frozen=True)
class AmongRows:
    """A number, a sum or a proportion of some rows among others.

    Attributes:
        function: one of those of `bounds/among.py`.
        part: the number of the rows that count, or their sum.
        others: the number of other rows.
        rows: the number of all rows.
        joint: whether the part and the number of others reach opposite ends together.
    """

    function: Callable[[Bounds, Bounds, Bounds, bool], Bounds]
    part: Formula
    others: Formula
    rows: Formula
    joint: bool

    @property
    def aggregates(self) -> tuple[PartAggregate, ...]:
        """The aggregates of the three formulas."""
        formulas = (self.part, self.others, self.rows)
        return tuple(
            dict.fromkeys(aggregate for formula in formulas for aggregate in formula.aggregates)
        )

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The least and the greatest value that its function allows."""
        return (0, 1) if self.function is proportion else (None, None)

    def bounds(self, cell: CellBounds) -> Bounds:
        """Return the function of the bounds of all three formulas."""
        part, others, rows = (
            formula.bounds(cell) for formula in (self.part, self.others, self.rows)
        )
        return self.function(part, others, rows, self.joint)


def pool(
    name: str,
    values: tuple[PartAggregate, ...],
    counts: tuple[PartAggregate, ...],
    whole: PartAggregate | None = None,
    rest: PartAggregate | None = None,
) -> Formula:
    """Return an aggregate over the rows of several questions, as `Pooled` describes.

    Raises:
        QueryError: if the aggregate over all rows does not follow from that of each part.
    """
    if name not in POOLED:
        raise QueryError(
            f"{name.upper()} is not answered where OR joins conditions on columns that "
            "are published separately. Ask for each condition separately"
        )
    return Pooled(name, values, counts, whole, rest)
