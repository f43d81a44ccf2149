"""Comparisons of whole numbers and texts that published values plainly meet, without SQL."""

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.tasks.query.published.columns import PublishedColumn
from sfumato.tasks.query.published.comparisons import ColumnComparison
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.parse import number_of

_ORDER: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}


def is_plainly_met(
    comparison: ColumnComparison, type_: ColumnType, column: PublishedColumn
) -> bool:
    """Decide whether a comparison is one that a value meets; False where SQL has to tell.

    Args:
        comparison: that is decided.
        type_: of the values of its column.
        column: as it is published.
    """
    constants = [_constant(node, type_) for node in comparison.constants]
    if None in constants:
        return False
    if comparison.kind == "equality":
        return constants[0] in column.sample
    if comparison.kind == "range":
        low, high = constants
        return any(value is not None and low <= value <= high for value in column.sample)
    ends = column.ends if comparison.kind == "order" else None
    if ends is None or ends[0] is None:
        return False
    holds = _ORDER[type(comparison.condition)]
    if isinstance(comparison.condition.this.unnest(), exp.Column):
        return any(holds(end, constants[0]) for end in ends)
    return any(holds(constants[0], end) for end in ends)


def _constant(node: exp.Expr, type_: ColumnType) -> Fraction | str | None:
    """A constant of the type of its column; None of another one, or of a type that SQL rounds."""
    if type_ == "integer":
        return number_of(node)
    is_text = type_ == "string" and isinstance(node, exp.Literal) and node.is_string
    return node.name if is_text else None
