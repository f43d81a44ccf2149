"""Answers to inquiries: an engine answers the parts, formulas combine them, rows are ordered.

A cell is a combination of values of GROUP BY. If one of its columns is sensitive, there is a cell
for each published value, and possibly no row has it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from sys import float_info
from typing import Any

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.bounds.arithmetic import NULL, UNBOUNDED, number
from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
from sfumato.tasks.query.engines.engine import Engine, Files, read_table
from sfumato.tasks.query.inquiries.ordering import AnsweredRow, OrderedRows, order_rows
from sfumato.tasks.query.inquiries.tripwires import Tripwires
from sfumato.tasks.query.published.values import PublishedValues
from sfumato.tasks.query.question.calculations import extend_terms
from sfumato.tasks.query.question.conditions import (
    all_of,
    split_condition,
    stands_beside_labels,
)
from sfumato.tasks.query.question.formulas import Formula, PartAggregate
from sfumato.tasks.query.question.having import Having
from sfumato.tasks.query.question.inquiry import InquiredPart, Inquiry, RowWindow
from sfumato.tasks.query.question.question import ROWS, Aggregate, Key, Question, RelatedScope
from sfumato.tasks.query.question.rest import REST
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.sql.parse import literal
from sfumato.tasks.terms.terms import Declared

_MOST_CELLS = 500
_NO_ROWS = Bounds(0, 0, 0)

Opening = Callable[[Files, Declared], AbstractContextManager[Engine]]
"""Opens an engine on published tables."""


@dataclass(frozen=True)
class OpenTables:
    """A release's tables, and an engine that has them open.

    Attributes:
        tables: by their names.
        declared: of the release.
        engine: answers questions on the tables.
        opening: opens another engine, on tables with calculated columns.
    """

    tables: Files
    declared: Declared
    engine: Engine
    opening: Opening

    @cached_property
    def values(self) -> PublishedValues:
        """The published values of each column, read by the engine's connection if it has one."""
        return PublishedValues(self.tables, self.declared, getattr(self.engine, "connection", None))


def answer_inquiry(
    published: OpenTables, inquiry: Inquiry, *, estimates: bool = True, judged: bool = True
) -> OrderedRows:
    """Return the rows of an answer, in order.

    Args:
        published: the tables.
        inquiry: the inquiry to answer.
        estimates: whether bounds get estimates.
        judged: whether impossible bounds are a fault, and not a finding.

    Raises:
        QueryError: where the query cannot be evaluated, or LIMIT is not certain.
        Fault: if the bounds are impossible.
    """
    tripwires = Tripwires(inquiry, published.declared, published.values) if judged else None
    with _with_calculated(published, inquiry) as opened:
        cells = list(_Cells(opened, inquiry, estimates, tripwires).rows())
    if inquiry.windows:
        from sfumato.tasks.query.inquiries.windows import add_windows

        cells = add_windows(inquiry, cells)
    return order_rows(inquiry, cells)


@contextmanager
def _with_calculated(published: OpenTables, inquiry: Inquiry) -> Iterator[OpenTables]:
    """Open the tables with calculated and joined columns, if there are any."""
    if inquiry.related is not None and inquiry.related.alone:
        alone = replace(inquiry, related=None)
        with _people_alone(published) as people, _with_calculated(people, alone) as opened:
            yield opened
        return
    if inquiry.related is not None:
        published = _counting(published, inquiry.related)
    if not inquiry.calculated and not inquiry.joins:
        yield published
        return
    from sfumato.tasks.query.inquiries.added_columns import add_calculated, whole_tables

    tables: Files = whole_tables(published.tables)
    if inquiry.joins:
        from sfumato.tasks.query.inquiries.added_columns import add_joined, require_joinable

        group_columns = [key.name for key in inquiry.keys]
        require_joinable(tables, published.declared, inquiry.joins, group_columns)
        tables = add_joined(tables, inquiry.joins)
    tables = add_calculated(tables, inquiry.calculated)
    declared = extend_terms(published.declared, [*inquiry.joins, *inquiry.calculated])
    with published.opening(tables, declared) as engine:
        yield replace(published, tables=tables, declared=declared, engine=engine)


@contextmanager
def _people_alone(published: OpenTables) -> Iterator[OpenTables]:
    """Open the table of people by itself, as one whose facts are permuted."""
    from sfumato.tasks.query.question.facts import people_alone, tables_alone

    declared, form = people_alone(published.declared), published.declared.form
    tables = tables_alone(published.tables, form)
    with published.opening(tables, declared) as engine:
        yield replace(published, tables=tables, declared=declared, engine=engine)


def _counting(published: OpenTables, scope: RelatedScope) -> OpenTables:
    """Return the tables with engines that count people, or related rows, as an inquiry asks."""
    from sfumato.tasks.query.engines.related import with_scope

    @contextmanager
    def opening(tables: Files, declared: Declared) -> Iterator[Engine]:
        with published.opening(tables, declared) as engine:
            yield with_scope(engine, scope)

    return replace(published, engine=with_scope(published.engine, scope), opening=opening)


class _Cells:
    """The cells of an inquiry, each computed part by part."""

    def __init__(
        self, published: OpenTables, inquiry: Inquiry, estimates: bool, tripwires: Tripwires | None
    ) -> None:
        self._published, self._inquiry, self._estimates = published, inquiry, estimates
        self._tripwires = tripwires
        self._formulas = inquiry.formulas
        self._known_values: dict[str, list[Any]] = {}
        self._banded = [key.name for key in inquiry.keys if key.banded]
        self._exact = tuple(key.name for key in inquiry.keys if not key.banded)

    def rows(self) -> Iterator[AnsweredRow]:
        """Yield the rows that may be in the answer, in any order."""
        values = [self._values(name) for name in self._banded]
        if prod(map(len, values)) > _MOST_CELLS:
            raise QueryError(
                f"GROUP BY of sensitive values would give more than {_MOST_CELLS} rows, "
                "which is the limit. Group by fewer columns"
            )
        for chosen in product(*values):
            bands = dict(zip(self._banded, chosen, strict=True))
            for key, bounds in self._bounds_by_key(bands).items():
                row = self._row(self._key(key, bands), bounds)
                if row is not None:
                    yield row

    def _key(self, exact: Key, bands: Mapping[str, Any]) -> Key:
        values_by_name = {**dict(zip(self._exact, exact, strict=True)), **bands}
        return tuple(values_by_name[key.name] for key in self._inquiry.keys)

    def _row(self, key: Key, cell: Mapping[PartAggregate, Bounds]) -> AnsweredRow | None:
        """Return a row; None if it is surely not in the answer."""
        inquiry = self._inquiry
        whole = _CellBounds(cell)
        rows = inquiry.present.bounds(whole)
        if inquiry.keys and not number(rows.upper):
            return None
        bounds: dict[Formula | RowWindow, Bounds] = {
            formula: formula.bounds(whole) for formula in self._formulas
        }
        if self._tripwires is not None:
            self._tripwires.require(bounds.values())
        _require_floats(bounds.values())
        exists = not inquiry.keys or bool(number(rows.lower))
        having = inquiry.having
        if having is None:
            return AnsweredRow(key, bounds, exists)
        if REST in key:
            is_possible = having.holds(self._of_some(whole, having), "possible")
            return AnsweredRow(key, bounds, certain=False) if is_possible else None
        if not having.holds(bounds, "possible"):
            return None
        return AnsweredRow(key, bounds, exists and having.holds(bounds, "certain"))

    def _of_some(self, whole: Mapping[PartAggregate, Bounds], having: Having) -> dict[Any, Bounds]:
        """Return the values that HAVING compares if a row is one of the values behind the rest.

        Nothing is known of such a row, except that it has at most as many rows as the rest has.
        """
        return {
            formula: Bounds(0, formula.bounds(whole).upper)
            if getattr(formula, "counts_all_rows", False)
            else UNBOUNDED
            for formula in having.aggregates
        }

    def _bounds_by_key(self, bands: Mapping[str, Any]) -> dict[Key, dict[PartAggregate, Bounds]]:
        """Return the bounds of all parts by the values of the exact columns."""
        cells: dict[Key, dict[PartAggregate, Bounds]] = {}
        for place, part in enumerate(self._inquiry.parts):
            if not part.grouped:
                continue
            for key, bounds in self._of_part(self._narrow(part, bands)).items():
                cell = cells.setdefault(key, {})
                cell.update(
                    {PartAggregate(place, aggregate): ends for aggregate, ends in bounds.items()}
                )
        for partition, totals in self._totals:
            places = [self._exact.index(name) for name in partition]
            for key, cell in cells.items():
                of_partition = tuple(key[place] for place in places)
                if REST in of_partition:
                    raise QueryError(
                        "PARTITION BY is not possible here, because hidden values (*) may be "
                        "several partitions. Leave them out with WHERE"
                    )
                cell.update(totals.get(of_partition, {}))
        return cells

    @cached_property
    def _totals(self) -> list[tuple[tuple[str, ...], dict[Key, dict[PartAggregate, Bounds]]]]:
        """The bounds of the parts that are over several rows of the answer together.

        They are by the values of the group columns in which these rows agree.
        """
        return [
            (
                part.partition,
                {
                    key: {PartAggregate(place, aggregate): ends for aggregate, ends in cell.items()}
                    for key, cell in self._of_part(part).items()
                },
            )
            for place, part in enumerate(self._inquiry.parts)
            if not part.grouped
        ]

    def _of_part(self, part: InquiredPart) -> dict[Key, dict[Any, Bounds]]:
        question = part.question(self._exact if part.grouped else part.partition)
        answers = self._published.engine.ask(question, self._estimates)
        by_key: dict[Key, dict[Any, Bounds]] = {
            key: {aggregate: self._with_estimate(ends) for aggregate, ends in bounds.items()}
            for key, bounds in answers.items()
        }
        if part.exact:
            for key, bounds in self._exact_answers(question, part).items():
                cell = by_key.setdefault(key, {})
                cell.update({a: self._with_estimate(ends) for a, ends in bounds.items()})
        return by_key

    def _with_estimate(self, bounds: Bounds) -> Bounds:
        return with_estimate(bounds) if self._estimates else bounds

    def _exact_answers(
        self, question: Question, part: InquiredPart
    ) -> dict[Key, dict[Any, Bounds]]:
        """Return aggregates of unchanged columns, and counts of different values."""
        apart = [aggregate for aggregate in part.exact if self._is_separate(aggregate)]
        of_rows = [aggregate for aggregate in part.exact if aggregate not in apart]
        answers = self._of_rows(question, of_rows) if of_rows else {}
        for aggregate in apart:
            for key, bounds in self._count_different(aggregate, part, question.group_by).items():
                answers.setdefault(key, {})[aggregate] = bounds
        return answers

    def _of_rows(
        self, question: Question, aggregates: Sequence[Aggregate]
    ) -> dict[Key, dict[Any, Bounds]]:
        """Return aggregates of columns that are published unchanged."""
        from sfumato.tasks.query.inquiries.exact_columns import exact_bounds
        from sfumato.tasks.query.inquiries.products import products
        from sfumato.tasks.sql.session import session

        declared = self._published.declared
        weighted = [aggregate for aggregate in aggregates if aggregate.weight is not None]
        others = [aggregate for aggregate in aggregates if aggregate.weight is None]
        with session(self._published.tables) as connection:
            answers = exact_bounds(connection, declared, question, others)
            for key, bounds in products(connection, declared, question, weighted).items():
                answers.setdefault(key, {}).update(bounds)
        return answers

    def _is_separate(self, aggregate: Aggregate) -> bool:
        """Decide whether an aggregate counts different values of a column that rows do not show."""
        declared = self._published.declared
        apart = declared.columns[str(aggregate.sensitive)].role == "sensitive"
        return aggregate.distinct and (apart or not WAYS[declared.form.shows].shows_rows)

    def _count_different(
        self, aggregate: Aggregate, part: InquiredPart, group_columns: tuple[str, ...]
    ) -> dict[Key, Bounds]:
        """Bound the number of different values of a column in each cell."""
        from sfumato.tasks.query.inquiries.exact_columns import count_different

        name, declared = str(aggregate.sensitive), self._published.declared
        if WAYS[declared.form.shows].groups_by_sensitive:
            counted = self._count_rows(part, (*group_columns, name))
            in_rows = [(key, rows) for key, rows in counted.items() if key[-1] is not None]
            holders = [{key[:-1]: rows} for key, rows in in_rows if key[-1] is not REST]
            others = {key[:-1]: rows for key, rows in in_rows if key[-1] is REST}
        else:
            values = [value for value in self._values(name) if value is not None]
            if (
                prod([len(values), *(len(self._values(column)) for column in self._banded)])
                > _MOST_CELLS
            ):
                raise QueryError(
                    f"COUNT(DISTINCT …) would need more than {_MOST_CELLS} combinations of "
                    "values, which is the limit. Group by fewer columns"
                )
            holders = [
                self._count_rows(self._narrow(part, {name: value}), group_columns)
                for value in values
            ]
            others = {}
        nulls = declared.columns[name].nulls and stands_beside_labels(name, declared)
        return count_different(
            holders, self._count_rows(part, group_columns), others, never_null=not nulls
        )

    def _count_rows(self, part: InquiredPart, columns: tuple[str, ...]) -> dict[Key, Bounds]:
        """Bound the number of rows of a part, by the values of some columns."""
        question = replace(part, aggregates=(ROWS,)).question(columns)
        return {
            key: bounds[ROWS] for key, bounds in self._published.engine.ask(question, False).items()
        }

    def _narrow(self, part: InquiredPart, bands: Mapping[str, Any]) -> InquiredPart:
        """Return the part restricted to some values of sensitive columns."""
        if not bands:
            return part
        related = self._inquiry.related
        marks = set() if related is None else set(related.marks)
        of_marks = [matched for matched in part.matching if marks & {*matched.columns}]
        conditions = [matched.condition for matched in part.matching if matched not in of_marks]
        conditions += [] if part.condition is None else [part.condition]
        whole = all_of([*conditions, *_equal(bands)])
        if whole is None:
            raise TypeError(bands)
        condition, matching = split_condition(whole, self._published.declared)
        return replace(part, condition=condition, matching=(*matching, *of_marks))

    def _values(self, name: str) -> list[Any]:
        """Return the published values of a sensitive column, or of a calculation on one."""
        if name not in self._known_values:
            self._known_values[name] = self._read_values(name)
        return self._known_values[name]

    def _read_values(self, name: str) -> list[Any]:
        import pyarrow.compute as pc

        tables = map(read_table, self._published.tables.values())
        columns = [table[name] for table in tables if name in table.column_names]
        values = {value for column in columns for value in pc.unique(column).to_pylist()}
        if not columns:
            raise QueryError(
                "GROUP BY of a sensitive column is not possible here, because its values "
                "are not published. Ask for each value with WHERE"
            )
        return list(values)


def _require_floats(answers: Iterable[Bounds]) -> None:
    """Check that bounds can be written as floats.

    Raises:
        QueryError: where one cannot.
    """
    ends = (end for bounds in answers for end in (bounds.lower, bounds.upper))
    numbers = (Fraction(end) for end in ends if isinstance(end, int | Fraction | Decimal))
    if any(abs(end) > float_info.max for end in numbers):
        raise QueryError(
            "a result is larger than the largest floating-point number, 1.8e308. Use "
            "smaller numbers"
        )


def _equal(bands: Mapping[str, Any]) -> list[exp.Expr]:
    """Return the conditions that columns have these values."""
    return [
        exp.Is(this=exp.column(name, quoted=True), expression=exp.Null())
        if value is None
        else exp.EQ(this=exp.column(name, quoted=True), expression=literal(value))
        for name, value in bands.items()
    ]


class _CellBounds(dict[PartAggregate, Bounds]):
    """The bounds of a cell; a part that has no row there has a count of 0 or null."""

    def __missing__(self, part_aggregate: PartAggregate) -> Bounds:
        return _NO_ROWS if part_aggregate.aggregate.kind.counts_rows else NULL
