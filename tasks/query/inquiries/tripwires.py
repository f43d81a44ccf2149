"""The last check of every answer: impossible bounds are a fault, and are never returned."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from sfumato.expectations.shared.errors import Fault
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.published.values import PublishedValues
from sfumato.tasks.query.question.formulas import Existing, Formula, Plain, Pooled
from sfumato.tasks.query.question.inquiry import Inquiry, Measure
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.terms.terms import Declared

Limits = tuple[Any, Any]
"""The least and the greatest possible value; each is None if it is unknown."""

# aggregates whose answer is never outside the values of the column
_WITHIN_VALUES = frozenset({"avg", "min", "max", "percentile_cont", "percentile_disc"})
_LOST = Fraction(1, 10**9)  # the rounding error of sums of floats, relative to the ends
_NO_LIMITS: Limits = (None, None)


@runtime_checkable
class LimitedFormula(Protocol):
    """A formula whose values have limits, as a proportion has."""

    @property
    def limits(self) -> Limits:
        """The least and the greatest value of the formula."""
        ...


class Tripwires:
    """The limits of every formula of an inquiry."""

    def __init__(self, inquiry: Inquiry, declared: Declared, values: PublishedValues) -> None:
        """Look up the limits of every formula.

        Args:
            inquiry: the inquiry that is answered.
            declared: the terms of the release, without calculated columns.
            values: the values that the release publishes.
        """
        labels = {m.formula: m.label for m in inquiry.shown if isinstance(m, Measure)}
        self._limited = [
            (_construct(formula, labels.get(formula)), _limits(formula, declared, values))
            for formula in inquiry.formulas
        ]

    def require(self, answers: Iterable[Bounds]) -> None:
        """Check the bounds of every formula, in order, against its limits.

        Raises:
            Fault: naming the formula, if bounds are outside its limits, or a lower bound is above
                its upper bound.
        """
        for (construct, limits), bounds in zip(self._limited, answers, strict=True):
            lower, upper = _comparable(bounds.lower), _comparable(bounds.upper)
            if lower is None or upper is None:
                continue
            if _is_above(lower, upper):
                raise _fault(construct, "its lower bound is above its upper bound")
            if _is_above(limits[0], lower) or _is_above(upper, limits[1]):
                raise _fault(construct, "its bounds lie outside what is possible")


def _fault(construct: str, wrong: str) -> Fault:
    return Fault(
        f"{construct}: {wrong}. This is a fault of Sfumato, so the query has no answer. Please "
        "report the query"
    )


def _limits(formula: Formula, declared: Declared, values: PublishedValues) -> Limits:
    """Return the limits of a formula's values, if its kind has any."""
    if isinstance(formula, LimitedFormula):
        low, high = formula.limits
        return _comparable(low), _comparable(high)
    aggregate = _aggregate(formula)
    if aggregate is None:
        return _NO_LIMITS
    if aggregate.kind.counts_rows:
        return 0, values.rows
    if aggregate.kind.name not in _WITHIN_VALUES:
        return _NO_LIMITS
    return _ends(str(aggregate.sensitive), declared, values)


def _ends(name: str, declared: Declared, values: PublishedValues) -> Limits:
    """Return the least and the greatest value of a published column, widened for rounded floats."""
    column = values.column(name)  # None if it is calculated, or a reader's own
    ends = None if column is None else column.ends
    if ends is None:
        return _NO_LIMITS
    low, high = map(_comparable, ends)
    if declared.columns[name].type != "float":
        return low, high
    if not isinstance(low, Fraction) or not isinstance(high, Fraction):
        return _NO_LIMITS  # an end is infinite
    lost = max(abs(low), abs(high)) * _LOST
    return low - lost, high + lost


def _aggregate(formula: Formula) -> Aggregate | None:
    """Return the aggregate that a formula is, over any rows; None for a calculation."""
    if isinstance(formula, Existing):
        return _aggregate(formula.value)
    if isinstance(formula, Pooled):
        return formula.values[0].aggregate
    return formula.operand.aggregate if isinstance(formula, Plain) else None


def _construct(formula: Formula, label: str | None) -> str:
    """Return the words for a formula in a message: its aggregate, or its label in the answer."""
    aggregate = _aggregate(formula)
    if aggregate is None or not (aggregate.sensitive or "*").isprintable():
        return label or "a calculation in HAVING or ORDER BY"
    distinct = "DISTINCT " if aggregate.distinct else ""
    return f"{aggregate.kind.sql_name}({distinct}{aggregate.sensitive or '*'})"


def _comparable(value: Any) -> Any:
    """Return a value that compares exactly: floats as the decimal numbers they print as."""
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, float):  # if it is finite, it minus itself is 0
        return Fraction(Decimal(str(value))) if value - value == 0 else value
    return value


def _is_above(first: Any, second: Any) -> bool:
    """Decide whether a value is above another; False if one is unknown, or of another kind."""
    if first is None or second is None or _kind(first) is not _kind(second):
        return False
    return bool(first > second)


def _kind(value: Any) -> type:
    if isinstance(value, int | float | Fraction):
        return Fraction
    return datetime if isinstance(value, datetime) else type(value)
