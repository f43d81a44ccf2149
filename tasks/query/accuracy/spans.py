"""The accuracy of answers over ranges of a column, short and long, from the published tables alone.

The rule is that of the page's script (`accuracy.js`): of each length, a few ranges are spread
evenly from the column's least published value to its greatest. Bounds are exact, and so are shares
and medians of them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp, parse_one

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.query.accuracy.drawing import column_named, value_condition, window_condition
from sfumato.tasks.query.ask import ask_inquiry, open_tables
from sfumato.tasks.query.behind_labels.scales import scale_of
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.inquiries.answering import OpenTables
from sfumato.tasks.query.language.several import read_inquiries
from sfumato.tasks.query.published.columns import LabelledColumn
from sfumato.tasks.query.published.lookup import Ends, widest
from sfumato.tasks.query.question.inquiry import Inquiry
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.schema.names import COUNT
from sfumato.tasks.terms.terms import Declared

SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""The lengths of ranges, as shares of all values from the least to the greatest."""
_MOST_RANGES = 8  # of each length
_LEAST_STEPS = 3  # from the least value to the greatest
_NUMBERS = ("integer", "decimal")


@dataclass(frozen=True)
class MeasuredAggregate:
    """An aggregate whose accuracy is measured, in SQL, and the column and value that it is about.

    A count of rows is about neither; the share of the rows that have a value is about both.
    """

    aggregate: str
    column: str | None = None
    value: Any = None

    def sql(self, condition: str) -> str:
        """Return its query over the rows on which a condition holds."""
        return " ".join(["SELECT", self.aggregate, "FROM", TABLE, "WHERE", condition])


@dataclass(frozen=True)
class Span:
    """The accuracy over ranges of one length: half the width of bounds by their middle, at most 1.

    Attributes:
        share: the length, as a share of all values of the column.
        accuracies: of each range that has an answer, not empty.
    """

    share: float
    accuracies: tuple[Fraction, ...]

    @property
    def median(self) -> Fraction:
        """The median over the ranges."""
        return median(self.accuracies)


@dataclass(frozen=True)
class Spans:
    """The accuracy of an aggregate over ranges of a column, by their length."""

    measured: MeasuredAggregate
    over: str
    by_length: tuple[Span, ...]


def first_spans(declared: Declared, tables: Tables, helps: Tables) -> Spans | None:
    """Return the accuracy that a page shows: of the first aggregate whose bounds have a width.

    Aggregates are the mean of the first sensitive number, the number of rows, and the share of
    the rows with the most frequent value of the first sensitive column. Ranges are of the first
    quasi-identifier by name that has an order and at least four values. Returns None if there is
    no such column, or if all answers are exact.

    Args:
        declared: the release as its manifest declares it.
        tables: the published tables.
        helps: the help tables of these.
    """
    if declared.has_related_rows:
        return None
    read = {**tables, **helps}
    with ENGINES[declared.form.shows](read, declared, "weighted") as engine:
        opened = open_tables(read, declared, engine)
        for name in sorted(declared.names_with_roles("quasi-identifier")):
            if ranges := list(_ranges(opened, name)):
                aggregates = _aggregates(declared, tables)
                spans = (measure(opened, aggregate, name, ranges) for aggregate in aggregates)
                return next(filter(_have_width, spans), None)
    return None


def measure(
    opened: OpenTables, measured: MeasuredAggregate, over: str, ranges: Sequence[tuple[float, str]]
) -> Spans:
    """Ask an aggregate over ranges of a column, each a length and a condition in SQL."""
    of_length: dict[float, list[Fraction]] = {share: [] for share in SHARES}
    conditions = [condition for _, condition in ranges]
    for (share, _), inquiry in zip(ranges, _inquiries(opened, measured, conditions), strict=True):
        accuracy = None if inquiry is None else _accuracy(_bounds(opened, inquiry))
        of_length[share] += [] if accuracy is None else [accuracy]
    by_length = (Span(share, tuple(some)) for share, some in of_length.items() if some)
    return Spans(measured, over, tuple(by_length))


def ranges_of(least: int, greatest: int, share: float) -> list[tuple[int, int]]:
    """Return the ends of ranges of one length, spread evenly over whole numbers.

    >>> ranges_of(1, 10, 0.2)
    [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (9, 10)]
    """
    values = greatest - least + 1
    length = max(1, math.ceil(values * share))
    room = values - length
    some = min(room + 1, _MOST_RANGES)
    starts = (least + room * place // max(some - 1, 1) for place in range(some))
    return [(start, start + length - 1) for start in starts]


def _ranges(opened: OpenTables, name: str) -> Iterator[tuple[float, str]]:
    """Yield ranges of a column, each with its length; nothing if it has no order or few values."""
    described = opened.declared.columns[name]
    scale, ends = scale_of(described), _ends(opened, name)
    if scale is None or described.type == "float" or ends[0] is None:
        return
    least, greatest = map(scale.whole, ends)
    if greatest - least < _LEAST_STEPS:
        return
    for share in SHARES:
        for first, last in ranges_of(least, greatest, share):
            condition = window_condition(name, scale.value(first), scale.value(last))
            yield share, condition.sql("duckdb")


def _ends(opened: OpenTables, name: str) -> Ends:
    """Return the least and the greatest value of a column, those that labels state included."""
    column = opened.values.column(name)
    if isinstance(column, LabelledColumn):
        stated = (pc.min_max(values).as_py() for values in column.values() if len(values))
        return widest((ends["min"], ends["max"]) for ends in stated)
    return (None, None) if column is None or column.ends is None else column.ends


def _aggregates(declared: Declared, tables: Tables) -> Iterator[MeasuredAggregate]:
    """Yield the aggregates that may be measured, in order."""
    sensitive = sorted(declared.names_with_roles("sensitive"))
    numbers = [name for name in sensitive if declared.columns[name].type in _NUMBERS]
    if numbers and not declared.form.counts_alone:
        yield MeasuredAggregate(f"AVG({column_named(numbers[0]).sql('duckdb')})", numbers[0])
    yield MeasuredAggregate("COUNT(*)")
    for name in sensitive[:1]:
        value = _most_frequent(name, tables)
        if value is not None:
            test = value_condition(name, value).sql("duckdb")
            yield MeasuredAggregate(f"AVG(CASE WHEN {test} THEN 1 ELSE 0 END)", name, value)


def _most_frequent(name: str, tables: Tables) -> Any:
    """Return the value of a column that most published rows have, the least of several.

    Returns None if no table shows its values.
    """
    with_column = [table for _, table in sorted(tables.items()) if name in table.column_names]
    if not with_column:
        return None
    table = with_column[0].filter(pc.is_valid(with_column[0][name]))
    times = table[COUNT] if COUNT in table.column_names else pa.repeat(1, table.num_rows)
    counted = pa.table({name: table[name], COUNT: times}).group_by(name).aggregate([(COUNT, "sum")])
    ordered = counted.sort_by([(f"{COUNT}_sum", "descending"), (name, "ascending")])
    return ordered[name][0].as_py() if len(ordered) else None


def _inquiries(
    opened: OpenTables, measured: MeasuredAggregate, conditions: Sequence[str]
) -> list[Inquiry | None]:
    """Return the inquiry about each condition in SQL; None if it is refused.

    Only the first is read if the others are the same but for the condition, as the last one is.
    """

    def read(condition: str) -> Inquiry | None:
        try:
            (inquiry,) = read_inquiries(measured.sql(condition), opened.declared).inquiries
        except QueryError:  # not every form answers every question
            return None
        return inquiry

    first, last = read(conditions[0]), read(conditions[-1])
    trees = [parse_one(condition, dialect="duckdb") for condition in conditions]
    if first is not None and all(part.condition == trees[0] for part in first.parts):
        inquiries: list[Inquiry | None] = [_with_condition(first, tree) for tree in trees]
        if inquiries[-1] == last:
            return inquiries
    return [first, *map(read, conditions[1:-1]), last][: len(conditions)]


def _with_condition(inquiry: Inquiry, condition: exp.Expr) -> Inquiry:
    """Return an inquiry with another condition on the rows of all its parts."""
    parts = (replace(part, condition=condition) for part in inquiry.parts)
    return replace(inquiry, parts=tuple(parts))


def _bounds(opened: OpenTables, inquiry: Inquiry) -> Bounds | None:
    """Return the bounds of an inquiry's only answer; None if it has none."""
    try:
        (row,) = ask_inquiry(opened, inquiry, estimates=False).rows
    except QueryError:
        return None
    (cell,) = row.values()
    return cell if isinstance(cell, Bounds) else None


def _accuracy(bounds: Bounds | None) -> Fraction | None:
    """Return half the width of bounds as a share of their middle, at most 1.

    Returns None if they are no numbers.
    """
    ends = () if bounds is None else (bounds.lower, bounds.upper)
    numbers = [Fraction(end) for end in ends if isinstance(end, int | Fraction | Decimal)]
    if len(numbers) < 2:
        return None
    lower, upper = numbers
    if lower + upper == 0:
        return Fraction(lower != upper)
    return min((upper - lower) / abs(lower + upper), Fraction(1))


def _have_width(spans: Spans) -> bool:
    return any(span.median for span in spans.by_length)
