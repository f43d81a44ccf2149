"""What is calculated of aggregates, by interval arithmetic: it surely contains what it comes to.

Ends are attained where at most one operand is not known exactly, since the calculations here are
monotone in each operand while the others stay; otherwise two operands may not come to their ends
together, and the interval is said not to be attained.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import NULL, UNBOUNDED, number
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.pooling import NARROWED, POOLED, proportion, variance_of_parts
from sfumato.tasks.query.bounds.spread import root_above, root_below
from sfumato.tasks.query.question.question import Aggregate


@dataclass(frozen=True)
class AskedOfPart:
    """An aggregate over the rows that one of the questions means.

    Attributes:
        part: which question.
        aggregate: of that question.
    """

    part: int
    aggregate: Aggregate


Found = Mapping[AskedOfPart, Bounds]
"""The bounds of aggregates in one cell."""


class Formula(Protocol):
    """Something that comes to a number, or to another value, in each row of an answer."""

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """The aggregates that it is calculated of."""
        ...

    def bounds(self, found: Found) -> Bounds:
        """Its bounds in a cell."""
        ...


@dataclass(frozen=True)
class Plain:
    """An aggregate by itself."""

    of: AskedOfPart

    @property
    def counts_all_rows(self) -> bool:
        """True for COUNT(*) of the rows on which WHERE holds."""
        return not self.of.part and self.of.aggregate.counts_all_rows

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """The aggregate."""
        return (self.of,)

    def bounds(self, found: Found) -> Bounds:
        """Its bounds."""
        return found[self.of]


@dataclass(frozen=True)
class Constant:
    """A number."""

    value: Fraction

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """Nothing."""
        return ()

    def bounds(self, _: Found) -> Bounds:
        """Itself."""
        return Bounds(self.value, self.value, self.value)


@dataclass(frozen=True)
class Pooled:
    """An aggregate over rows that several questions mean, no row two of them.

    Attributes:
        name: of the aggregate, one of those of `pool`.
        values: the aggregate in each part.
        counts: how many values it is of in each part.
        whole: the aggregate over rows that all these are among, if it tells more of them.
        rest: the aggregate over what else is among those, if that is one part.
    """

    name: str
    values: tuple[AskedOfPart, ...]
    counts: tuple[AskedOfPart, ...]
    whole: AskedOfPart | None = None
    rest: AskedOfPart | None = None

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """The aggregates, and the counts."""
        around = [one for one in (self.whole, self.rest) if one is not None]
        return (*self.values, *self.counts, *around)

    def bounds(self, found: Found) -> Bounds:
        """Its bounds over all parts."""
        pairs = [
            (found[value], found[count])
            for value, count in zip(self.values, self.counts, strict=True)
        ]
        pooled = POOLED[self.name](pairs)
        if self.whole is None:
            return pooled
        rest = None if self.rest is None else found[self.rest]
        return NARROWED[self.name](pooled, found[self.whole], rest)


@dataclass(frozen=True)
class PooledSpread:
    """A variance or standard deviation over rows that several questions mean, no row two of them.

    Attributes:
        name: of the aggregate, one of `SPREADS`.
        spreads: the variance of a sample in each part.
        means: the mean in each part.
        counts: how many values they are of in each part.
    """

    name: str
    spreads: tuple[AskedOfPart, ...]
    means: tuple[AskedOfPart, ...]
    counts: tuple[AskedOfPart, ...]

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """All three of each part."""
        return (*self.spreads, *self.means, *self.counts)

    def bounds(self, found: Found) -> Bounds:
        """Its bounds over all parts."""
        sample, root = SPREADS[self.name]
        of_parts = ([found[one] for one in s] for s in (self.spreads, self.means, self.counts))
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
"""Of which aggregates that is known: whether rows are a sample, and whether it is the root."""


@dataclass(frozen=True)
class Calculation:
    """A function of formulas."""

    function: Callable[..., Bounds]
    operands: tuple[Formula, ...]

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """All that the operands are calculated of."""
        return tuple(dict.fromkeys(one for operand in self.operands for one in operand.asked))

    def bounds(self, found: Found) -> Bounds:
        """What the function makes of the operands' bounds."""
        operands = [operand.bounds(found) for operand in self.operands]
        if any(one.unbounded for one in operands):
            return UNBOUNDED
        result = self.function(*operands)
        open_ = [one for one in operands if one.lower != one.upper or one.may_be_empty]
        attained = len(open_) < 2 and all(one.attained for one in operands)
        return replace(result, attained=attained and result.attained)


@dataclass(frozen=True)
class Existing:
    """A formula that is null where there is no row at all."""

    value: Formula
    rows: Formula

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """All that both are calculated of."""
        return tuple(dict.fromkeys((*self.value.asked, *self.rows.asked)))

    def bounds(self, found: Found) -> Bounds:
        """Return those of the formula, if there is a row."""
        value, rows = self.value.bounds(found), self.rows.bounds(found)
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
        function: which of these, by `bounds/among.py`.
        part: the number of the rows that count, or their sum.
        others: how many other rows there are.
        rows: how many rows there are.
        joint: whether the part and the number of others come to opposite ends together.
    """

    function: Callable[[Bounds, Bounds, Bounds, bool], Bounds]
    part: Formula
    others: Formula
    rows: Formula
    joint: bool

    @property
    def asked(self) -> tuple[AskedOfPart, ...]:
        """All that the three are calculated of."""
        formulas = (self.part, self.others, self.rows)
        return tuple(dict.fromkeys(asked for formula in formulas for asked in formula.asked))

    @property
    def limits(self) -> tuple[int | None, int | None]:
        """The least and the greatest that it can come to, as far as its function tells."""
        return (0, 1) if self.function is proportion else (None, None)

    def bounds(self, found: Found) -> Bounds:
        """Return what the function makes of the bounds of all three."""
        part, others, rows = (of.bounds(found) for of in (self.part, self.others, self.rows))
        return self.function(part, others, rows, self.joint)


def pool(
    name: str,
    values: tuple[AskedOfPart, ...],
    counts: tuple[AskedOfPart, ...],
    whole: AskedOfPart | None = None,
    rest: AskedOfPart | None = None,
) -> Formula:
    """An aggregate over the rows of several questions, as `Pooled` has them.

    Raises:
        QueryError: where it is not known of parts what it is of all.
    """
    if name not in POOLED:
        raise QueryError(
            f"{name.upper()} is not answered where OR joins conditions on columns that are "
            "published apart"
        )
    return Pooled(name, values, counts, whole, rest)
