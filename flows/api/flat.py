"""An answer as a flat table: the sides of bounds are columns of one type each."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.tasks.query.bounds.bounds import Bounds, json_above, json_below, json_nearest
from sfumato.tasks.query.question.rest import REST

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.tasks.query.inquiries.answer import Answer

_LARGE = 1 << 63


def flat_table(answer: "Answer") -> "pa.Table":
    """Return an answer as an Arrow table.

    Raises:
        QueryError: where an alias is the name of a column of bounds.
    """
    import pyarrow as pa

    from sfumato.tasks.query.inquiries.answer import flat_columns

    return pa.table(flat_columns(_columns(answer)))


def _columns(answer: "Answer") -> Iterator[tuple[str, "pa.Array"]]:
    import pyarrow as pa

    for name in answer.columns:
        column = [row[name] for row in answer.rows]
        bounds = [value for value in column if isinstance(value, Bounds)]
        rest = [value is REST for value in column]
        if bounds:
            yield from _columns_of(name, bounds)
        else:
            yield name, pa.array([None if value is REST else value for value in column])
        if any(rest):
            yield f"{name}_rest", pa.array(rest)
    if not all(answer.certain):
        yield "certain", pa.array(answer.certain)
    if any(answer.rest) and not any(REST in row.values() for row in answer.rows):
        yield "rest", pa.array(answer.rest)


def _columns_of(name: str, bounds: Sequence[Bounds]) -> Iterator[tuple[str, "pa.Array"]]:
    """Yield the columns that hold the bounds of one aggregate, each with its name."""
    import pyarrow as pa

    from sfumato.tasks.query.inquiries.answer import DOUBTS

    lower = _number_array([interval.lower for interval in bounds], json_below)
    estimate = _number_array([interval.estimate for interval in bounds], json_nearest)
    yield f"{name}_lower", lower
    yield f"{name}_upper", _number_array([interval.upper for interval in bounds], json_above)
    yield f"{name}_estimate", estimate.cast(lower.type) if estimate.type == pa.null() else estimate
    if any(interval.likely for interval in bounds):
        ends = [interval.likely.interval if interval.likely else None for interval in bounds]
        yield f"{name}_likely_lower", _number_array([end and end[0] for end in ends], json_below)
        yield f"{name}_likely_upper", _number_array([end and end[1] for end in ends], json_above)
    for doubt in DOUBTS:
        doubted = [getattr(interval, doubt) for interval in bounds]
        if any(doubted):
            yield f"{name}_{doubt}", pa.array(doubted)


def _number_array(values: Sequence[Any], rounding: Callable[[Any], Any]) -> "pa.Array":
    """Return numbers as an array of one type: integers if all are and fit, otherwise floats.

    Floats are rounded one by one by `rounding`.
    """
    import pyarrow as pa

    numbers = [value for value in values if isinstance(value, int | Fraction | Decimal)]
    if all(isinstance(value, int) and -_LARGE <= value < _LARGE for value in numbers):
        return pa.array(values)
    return pa.array([None if value is None else rounding(Fraction(value)) for value in values])
