"""Aggregates of columns that are published unchanged, beside bounds of sensitive columns.

If no condition is on sensitive values, the rows that count are known, and the answer is exact.
Otherwise any of each group's rows that satisfy the other conditions may match, as many as the
group's values allow. These rows are chosen as those of sensitive values are, but only among the
rows' own values.

COUNT(DISTINCT …) counts a value if some row that counts has it: surely if one has it in every
world, possibly if one has it in some world. In each world there are at most as many values as rows.
If it is known which values occur, the number is exact; otherwise it has bounds, and neither end
need be attained.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.arrow import as_integers, as_numpy
from sfumato.expectations.shared.errors import QueryError
from sfumato.expectations.shared.exact import exact
from sfumato.tasks.query.bounds.arithmetic import number
from sfumato.tasks.query.bounds.bounds import Bounds, with_estimate
from sfumato.tasks.query.bounds.extremes import ArrowValues, CountedValues, Counting
from sfumato.tasks.query.bounds.spread import choices_of
from sfumato.tasks.query.question.question import Aggregate, Key, Question
from sfumato.tasks.query.question.ways import GROUP_ID, WAYS, relations
from sfumato.tasks.query.sql.sensitive_conditions import SensitiveConditions
from sfumato.tasks.query.sql.trees import (
    alias,
    join,
    key_names,
    own,
    published_column,
    select,
    tree,
    trees,
    with_parts,
)
from sfumato.tasks.sql.session import fetch_table
from sfumato.tasks.terms.terms import Declared

if TYPE_CHECKING:
    import duckdb

Answers = dict[Key, dict[Aggregate, Bounds]]
_NUMBERS = ("group_id", "times", "least", "most")
_NONE = Bounds(0, 0, 0)


def exact_bounds(
    connection: "duckdb.DuckDBPyConnection",
    declared: Declared,
    question: Question,
    aggregates: Sequence[Aggregate],
) -> Answers:
    """Return the bounds of aggregates of columns that are published unchanged.

    Args:
        connection: sees the published tables.
        declared: of the release.
        question: selects and groups the rows.
        aggregates: of columns that are published unchanged.

    Raises:
        QueryError: where the query cannot be evaluated, or a condition is on values that stand as
            subdomains.
    """
    way = WAYS[declared.form.shows]
    if question.matching and aggregates and "sensitive" not in way.calculable:
        raise QueryError(
            "columns that are published as they are have no aggregates here, because a "
            "condition is on values that the release shows as ranges. Leave the "
            "condition out, or ask for COUNT(*)"
        )
    answers: Answers = {}
    for name in dict.fromkeys(str(aggregate.sensitive) for aggregate in aggregates):
        same_column = [aggregate for aggregate in aggregates if aggregate.sensitive == name]
        for key, rows in _rows_by_cell(connection, declared, question, name).items():
            cell = answers.setdefault(key, {})
            cell.update(
                {
                    aggregate: _BOUNDS.get(aggregate.kind.name, _of_kind)(aggregate, rows)
                    for aggregate in same_column
                }
            )
    return answers


class _RowsOfCell:
    """The values of a column in the rows of one cell, by group; parallel int64 arrays.

    `code` is the position of the value among all values, `times` the number of the group's rows
    that have it, and `least` and `most` bound the number of the group's rows that count.
    """

    def __init__(self, values: pa.Array, parts: Mapping[str, np.ndarray]) -> None:
        self.values = values
        self.group, self.code, self.times, self.least, self.most = (
            parts[name] for name in ("group_id", "code", "times", "least", "most")
        )

    def limits(self) -> tuple[int, int]:
        """Return the least and the greatest number of rows that count."""
        _, first = np.unique(self.group, return_index=True)
        return int(self.least[first].sum()), int(self.most[first].sum())

    @property
    def all_count(self) -> bool:
        """True if every row surely counts."""
        _, inverse = np.unique(self.group, return_inverse=True)
        sizes = np.bincount(inverse, self.times)
        return bool((sizes[inverse] == self.least).all())

    def count_values(self) -> CountedValues:
        """Count the copies of each value, surely and possibly, from below and from above."""
        from_below, from_above = (self._counting(ascending=up) for up in (True, False))
        expected = from_below.sure.astype(np.float64) if self.all_count else None
        return CountedValues(
            values=ArrowValues(self.values),
            exact=partial(exact, self.values, "aggregated"),
            low=from_below,
            high=from_above,
            whole=bool(pa.types.is_integer(self.values.type)),
            expected=expected,
            expected_rows=0.0 if expected is None else float(expected.sum()),
        )

    def _counting(self, *, ascending: bool) -> Counting:
        """Return the copies in one order: each group's first ones surely count, later ones may."""
        order = np.lexsort((self.code if ascending else -self.code, self.group))
        group, times = self.group[order], self.times[order]
        before = np.cumsum(times) - times
        starts = np.flatnonzero(np.diff(group, prepend=-1) != 0)
        before -= np.repeat(before[starts], np.diff(np.append(starts, len(group))))
        sure = np.clip(self.least[order] - before, 0, times)
        all_ = np.clip(self.most[order] - before, 0, times)
        return Counting(
            *(
                _sum_by_code(self.code[order], copies, len(self.values))
                for copies in (sure, all_ - sure)
            )
        )


def _sum_by_code(code: np.ndarray, counts: np.ndarray, size: int) -> np.ndarray:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, code, counts)
    return total


def _of_kind(aggregate: Aggregate, rows: _RowsOfCell) -> Bounds:
    least, most = rows.limits()
    fewest = aggregate.kind.fewest
    if most < fewest:
        return Bounds(None, None, None)
    if aggregate.kind.of_choices is not None:
        numbers = exact(rows.values, "aggregated")
        counts = np.stack([rows.times, rows.least, rows.most], axis=1)
        choices = choices_of(rows.group, numbers.units[rows.code], counts, numbers.digits)
        return aggregate.bounds_of(choices)
    bounds = aggregate.bounds_over(rows.count_values())
    return Bounds(bounds.lower, bounds.upper, bounds.estimate, may_be_empty=least < fewest)


def _of_distinct(_: Aggregate, rows: _RowsOfCell) -> Bounds:
    """Return the number of different values, which has bounds if it is open which rows count."""
    number = len(np.unique(rows.code[rows.most > 0]))
    if rows.all_count:
        return Bounds(number, number, Fraction(number))
    least, most = rows.limits()
    return Bounds(min(least, 1), min(number, most), attained=False)


_BOUNDS: Mapping[str, Callable[[Aggregate, _RowsOfCell], Bounds]] = {"count": _of_distinct}


def _rows_by_cell(
    connection: "duckdb.DuckDBPyConnection", declared: Declared, question: Question, name: str
) -> dict[Key, _RowsOfCell]:
    """Return the rows of each cell that may count, by the values of a column in each group."""
    table = fetch_table(connection, _histogram(declared, question, name))
    width = len(question.group_by)
    value = table["v"].combine_chunks()
    values = value.unique()
    values = values.take(pc.sort_indices(values))
    parts = {end: as_integers(table[end]) for end in _NUMBERS}
    parts["code"] = as_numpy(pc.index_in(value, values)).astype(np.int64)
    keys = list(zip(*(column.to_pylist() for column in table.columns[:width]), strict=True))
    places: dict[Key, list[int]] = {}
    for place, key in enumerate(keys or [()] * table.num_rows):
        places.setdefault(key, []).append(place)
    return {
        key: _RowsOfCell(values, {end: part[positions] for end, part in parts.items()})
        for key, positions in places.items()
    }


def _histogram(declared: Declared, question: Question, name: str) -> exp.Select:
    """Return the query for group columns, group, value, its rows, and the rows that count."""
    tables, matched = relations(declared), bool(question.matching)
    group_columns = [published_column(key) for key in question.group_by]
    keys = [
        alias(column.copy(), key)
        for column, key in zip(group_columns, key_names(question), strict=True)
    ]
    value, group = alias(published_column(name), "v"), own(GROUP_ID)
    fields = [*keys, group if matched else tree("0 AS group_id"), value, tree("COUNT(*) AS times")]
    grouped = [*group_columns, *([group.copy()] if matched else []), published_column(name)]
    counted = select(fields, tables.rows, where=[question.condition], group_by=grouped)
    names = key_names(question)
    columns = [*(own(key, "h") for key in names), *trees("h.group_id", "h.v", "h.times")]
    source = exp.table_("histogram", alias="h")
    if not matched:
        total = exp.Window(
            this=exp.Sum(this=own("times", "h")), partition_by=[own(key, "h") for key in names]
        )
        ends = [alias(total, "least"), alias(total.copy(), "most")]
        return with_parts([("histogram", counted)], select([*columns, *ends], source))
    query = select([*columns, *trees("r.lo AS least", "r.hi AS most")], source)
    same = [tree("h.group_id = r.group_id")]
    same += [exp.NullSafeEQ(this=own(key, "h"), expression=own(key, "r")) for key in names]
    join(query, exp.table_("ranges", alias="r"), exp.and_(*same, copy=False))
    ranges = SensitiveConditions(question, tables).ranges()
    return with_parts([("histogram", counted), ("ranges", ranges)], query)


def count_different(
    holders: Iterable[Mapping[Key, Bounds]],
    rows: Mapping[Key, Bounds],
    others: Mapping[Key, Bounds],
    *,
    never_null: bool,
) -> dict[Key, Bounds]:
    """Return the bounds of COUNT(DISTINCT …) by cell.

    Args:
        holders: for each value, by cell, the number of rows that have it.
        rows: by cell, the number of rows.
        others: by cell, the number of rows with another value, which may all be different.
        never_null: whether every row has a value.

    >>> holders = [{(): Bounds(1, 2)}, {(): Bounds(0, 2)}]
    >>> found = count_different(holders, {(): Bounds(3, 3)}, {}, never_null=True)
    >>> found[()].lower, found[()].upper
    (1, 2)
    """
    sure: Counter[Key] = Counter()
    possible: Counter[Key] = Counter()
    for counts in holders:
        for key, count in counts.items():
            sure[key] += number(count.lower) >= 1
            possible[key] += number(count.upper) >= 1
    for key, count in others.items():
        sure[key] += number(count.lower) >= 1
        possible[key] += math.floor(number(count.upper))
    answers = {}
    for key in possible:
        cell_rows = rows.get(key, _NONE)
        lower = max(sure[key], int(never_null and number(cell_rows.lower) >= 1))
        upper = min(possible[key], math.floor(number(cell_rows.upper)))
        answers[key] = with_estimate(Bounds(lower, upper, attained=lower == upper))
    return answers
