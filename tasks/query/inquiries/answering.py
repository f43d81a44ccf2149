"""Inquiries answered: each part by an engine, formulas from what it finds, rows as they are wanted.

A cell is a combination of values of GROUP BY. Where one of its columns is of sensitive values, a
cell is asked about for each value that is published; it may be that no row has it.
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

from sfumato.expectations.errors import QueryError
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
from sfumato.tasks.query.question.formulas import AskedOfPart
from sfumato.tasks.query.question.having import Having
from sfumato.tasks.query.question.inquiry import InquiredPart, Inquiry
from sfumato.tasks.query.question.question import ROWS, Aggregate, Key, Question
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
        engine: that answers questions on them.
        opening: opens another, on tables with calculated columns.
    """

    tables: Files
    declared: Declared
    engine: Engine
    opening: Opening

    @cached_property
    def values(self) -> PublishedValues:
        """What is published of each column; looked up by the engine's connection, if it has one."""
        return PublishedValues(self.tables, self.declared, getattr(self.engine, "connection", None))


def answer_inquiry(
    published: OpenTables, inquiry: Inquiry, *, estimates: bool = True, judged: bool = True
) -> OrderedRows:
    """The rows of an answer, in order.

    Args:
        published: the tables.
        inquiry: that is asked.
        estimates: whether they are wanted.
        judged: whether bounds that cannot be right are a fault, and not a finding.

    Raises:
        QueryError: where the query cannot be evaluated, or LIMIT is not certain.
        Fault: where what was found cannot be right.
    """
    tripwires = Tripwires(inquiry, published.declared, published.values) if judged else None
    with _with_calculated(published, inquiry) as known:
        cells = list(_Cells(known, inquiry, estimates, tripwires).rows())
    return order_rows(inquiry, cells)


@contextmanager
def _with_calculated(published: OpenTables, inquiry: Inquiry) -> Iterator[OpenTables]:
    """The same tables with calculated columns, where there are any."""
    if not inquiry.calculated and not inquiry.joins:
        yield published
        return
    from sfumato.tasks.query.inquiries.added_columns import add_calculated, in_one

    tables: Files = in_one(published.tables)
    if inquiry.joins:
        from sfumato.tasks.query.inquiries.added_columns import add_joined, require_joinable

        by = [key.name for key in inquiry.keys]
        require_joinable(tables, published.declared, inquiry.joins, by)
        tables = add_joined(tables, inquiry.joins)
    tables = add_calculated(tables, inquiry.calculated)
    declared = extend_terms(published.declared, [*inquiry.joins, *inquiry.calculated])
    with published.opening(tables, declared) as engine:
        yield replace(published, tables=tables, declared=declared, engine=engine)


class _Cells:
    """The cells of an inquiry, asked about part by part."""

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
        """The rows of the answer, those that may be there, in any order."""
        values = [self._values(name) for name in self._banded]
        if prod(map(len, values)) > _MOST_CELLS:
            raise QueryError(f"GROUP BY of sensitive values has more than {_MOST_CELLS} cells")
        for chosen in product(*values):
            bands = dict(zip(self._banded, chosen, strict=True))
            for key, found in self._found(bands).items():
                row = self._row(self._key(key, bands), found)
                if row is not None:
                    yield row

    def _key(self, exact: Key, bands: Mapping[str, Any]) -> Key:
        known = {**dict(zip(self._exact, exact, strict=True)), **bands}
        return tuple(known[key.name] for key in self._inquiry.keys)

    def _row(self, key: Key, found: Mapping[AskedOfPart, Bounds]) -> AnsweredRow | None:
        """A row, None where it is surely not in the answer."""
        inquiry = self._inquiry
        whole = _WithNone(found)
        rows = inquiry.present.bounds(whole)
        if inquiry.keys and not number(rows.upper):
            return None
        known = {formula: formula.bounds(whole) for formula in self._formulas}
        if self._tripwires is not None:
            self._tripwires.require(known.values())
        _require_floats(known.values())
        exists = not inquiry.keys or bool(number(rows.lower))
        having = inquiry.having
        if having is None:
            return AnsweredRow(key, known, exists)
        if REST in key:
            kept = having.holds(self._of_some(whole, having), "possible")
            return AnsweredRow(key, known, certain=False) if kept else None
        if not having.holds(known, "possible"):
            return None
        return AnsweredRow(key, known, exists and having.holds(known, "certain"))

    def _of_some(self, whole: Mapping[AskedOfPart, Bounds], having: Having) -> dict[Any, Bounds]:
        """What HAVING compares, of some of the rows: each value behind the rest has a row.

        Of such a row no more is known than that it has not more rows than all of them.
        """
        return {
            formula: Bounds(0, formula.bounds(whole).upper)
            if getattr(formula, "counts_all_rows", False)
            else UNBOUNDED
            for formula in having.aggregates
        }

    def _found(self, bands: Mapping[str, Any]) -> dict[Key, dict[AskedOfPart, Bounds]]:
        """By the values of the exact columns all that was asked of the parts."""
        cells: dict[Key, dict[AskedOfPart, Bounds]] = {}
        for place, part in enumerate(self._inquiry.parts):
            if not part.grouped:
                continue
            for key, bounds in self._of_part(self._narrowed(part, bands)).items():
                cell = cells.setdefault(key, {})
                cell.update({AskedOfPart(place, one): of for one, of in bounds.items()})
        for cell in cells.values():
            cell.update(self._totals)
        return cells

    @cached_property
    def _totals(self) -> dict[AskedOfPart, Bounds]:
        """All that was asked of rows of the answer together."""
        return {
            AskedOfPart(place, one): of
            for place, part in enumerate(self._inquiry.parts)
            if not part.grouped
            for bounds in self._of_part(part).values()
            for one, of in bounds.items()
        }

    def _of_part(self, part: InquiredPart) -> dict[Key, dict[Any, Bounds]]:
        question = part.question(self._exact if part.grouped else ())
        asked = self._published.engine.ask(question, self._estimates)
        found: dict[Key, dict[Any, Bounds]] = {
            key: {one: self._estimated(of) for one, of in bounds.items()}
            for key, bounds in asked.items()
        }
        if part.exact:
            for key, bounds in self._exactly(question, part).items():
                found.setdefault(key, {}).update(bounds)
        return found

    def _estimated(self, bounds: Bounds) -> Bounds:
        return with_estimate(bounds) if self._estimates else bounds

    def _exactly(self, question: Question, part: InquiredPart) -> dict[Key, dict[Any, Bounds]]:
        """What is asked of columns that are published as they are, and of different values."""
        apart = [one for one in part.exact if self._stands_apart(one)]
        of_rows = [one for one in part.exact if one not in apart]
        found = self._of_rows(question, of_rows) if of_rows else {}
        for one in apart:
            for key, of in self._different(one, part, question.group_by).items():
                found.setdefault(key, {})[one] = of
        return found

    def _of_rows(
        self, question: Question, aggregates: Sequence[Aggregate]
    ) -> dict[Key, dict[Any, Bounds]]:
        """What is asked of columns that are published as they are."""
        from sfumato.tasks.query.inquiries.exact_columns import exact_bounds
        from sfumato.tasks.query.inquiries.products import products
        from sfumato.tasks.sql.session import session

        declared = self._published.declared
        weighted = [one for one in aggregates if one.weight is not None]
        others = [one for one in aggregates if one.weight is None]
        with session(self._published.tables) as connection:
            found = exact_bounds(connection, declared, question, others)
            for key, bounds in products(connection, declared, question, weighted).items():
                found.setdefault(key, {}).update(bounds)
        return found

    def _stands_apart(self, aggregate: Aggregate) -> bool:
        """Whether it is of different values, of a column that rows do not show."""
        declared = self._published.declared
        apart = declared.columns[str(aggregate.sensitive)].role == "sensitive"
        return aggregate.distinct and (apart or not WAYS[declared.form.shows].shows_rows)

    def _different(
        self, aggregate: Aggregate, part: InquiredPart, by: tuple[str, ...]
    ) -> dict[Key, Bounds]:
        """How many different values of a column there are in each cell."""
        from sfumato.tasks.query.inquiries.exact_columns import count_different

        name, declared = str(aggregate.sensitive), self._published.declared
        if WAYS[declared.form.shows].groups_by_sensitive:
            counted = self._counted(part, (*by, name))
            told = [(key, of) for key, of in counted.items() if key[-1] is not None]
            holders = [{key[:-1]: of} for key, of in told if key[-1] is not REST]
            others = {key[:-1]: of for key, of in told if key[-1] is REST}
        else:
            values = [value for value in self._values(name) if value is not None]
            if prod([len(values), *(len(self._values(one)) for one in self._banded)]) > _MOST_CELLS:
                raise QueryError(f"COUNT(DISTINCT …) of more than {_MOST_CELLS} sensitive values")
            holders = [self._counted(self._narrowed(part, {name: of}), by) for of in values]
            others = {}
        nulls = declared.columns[name].nulls and stands_beside_labels(name, declared)
        return count_different(holders, self._counted(part, by), others, never_null=not nulls)

    def _counted(self, part: InquiredPart, by: tuple[str, ...]) -> dict[Key, Bounds]:
        """By the values of some columns the number of rows that a part means."""
        question = replace(part, aggregates=(ROWS,)).question(by)
        return {key: of[ROWS] for key, of in self._published.engine.ask(question, False).items()}

    def _narrowed(self, part: InquiredPart, bands: Mapping[str, Any]) -> InquiredPart:
        """The part in which sensitive columns have some values."""
        if not bands:
            return part
        conditions = [of.condition for of in part.matching]
        conditions += [] if part.condition is None else [part.condition]
        whole = all_of([*conditions, *_equal(bands)])
        if whole is None:
            raise TypeError(bands)
        condition, matching = split_condition(whole, self._published.declared)
        return replace(part, condition=condition, matching=matching)

    def _values(self, name: str) -> list[Any]:
        """The values of a sensitive column, or calculated of some, that are published."""
        if name not in self._known_values:
            self._known_values[name] = self._read_values(name)
        return self._known_values[name]

    def _read_values(self, name: str) -> list[Any]:
        import pyarrow.compute as pc

        found: set[Any] = set()
        for source in self._published.tables.values():
            table = read_table(source)
            if name in table.column_names:
                found |= set(pc.unique(table[name]).to_pylist())
        if not found:
            raise QueryError("GROUP BY of a sensitive column whose values are not published")
        return list(found)


def _require_floats(found: Iterable[Bounds]) -> None:
    """Make sure that bounds can be written as floats.

    Raises:
        QueryError: where one cannot.
    """
    ends = (end for bounds in found for end in (bounds.lower, bounds.upper))
    numbers = (Fraction(end) for end in ends if isinstance(end, int | Fraction | Decimal))
    if any(abs(end) > float_info.max for end in numbers):
        raise QueryError("what is calculated comes to more than the largest float, 1.8e308")


def _equal(bands: Mapping[str, Any]) -> list[exp.Expr]:
    """The conditions that columns have these values."""
    return [
        exp.Is(this=exp.column(name, quoted=True), expression=exp.Null())
        if value is None
        else exp.EQ(this=exp.column(name, quoted=True), expression=literal(value))
        for name, value in bands.items()
    ]


class _WithNone(dict[AskedOfPart, Bounds]):
    """What was found in a cell; of a part that has no row there, nothing."""

    def __missing__(self, asked: AskedOfPart) -> Bounds:
        return _NO_ROWS if asked.aggregate.kind.counts_rows else NULL
