"""Aggregates of columns that are published as they are, beside bounds of sensitive ones.

Where no condition is on sensitive values, the rows that are meant are known, and the answer is
exact. Where one is, of each group's rows with the other conditions any may be those that match, so
many as its values allow: as of sensitive values, only the rows' own values are chosen among.

A value counts where some row that is meant has it: surely where at least one does in every world,
possibly where one does in some. In each world no more values occur than rows are there. Where it is
known which values occur the number is exact; else it is bounded, and neither end need be attained.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.arrow import as_integers, as_numpy
from sfumato.expectations.errors import QueryError
from sfumato.expectations.exact import exact
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

Found = dict[Key, dict[Aggregate, Bounds]]
_NUMBERS = ("group_id", "times", "least", "most")
_NONE = Bounds(0, 0, 0)


def exact_bounds(
    connection: duckdb.DuckDBPyConnection,
    declared: Declared,
    question: Question,
    aggregates: Sequence[Aggregate],
) -> Found:
    """The bounds of aggregates of columns that are published as they are.

    Args:
        connection: sees the published tables.
        declared: of the release.
        question: which rows are meant, and how they are grouped.
        aggregates: whose column is published as it is.

    Raises:
        QueryError: where the query cannot be evaluated, or a condition is on values that stand as
            subdomains.
    """
    way = WAYS[declared.form.shows]
    if question.matching and aggregates and "sensitive" not in way.calculable:
        raise QueryError(
            "columns that are published as they are have no aggregates where a condition is on "
            "values that stand as ranges"
        )
    found: Found = {}
    for name in dict.fromkeys(str(aggregate.sensitive) for aggregate in aggregates):
        asked = [one for one in aggregates if one.sensitive == name]
        for key, rows in _rows_by_cell(connection, declared, question, name).items():
            cell = found.setdefault(key, {})
            cell.update({one: _BOUNDS.get(one.kind.name, _of_kind)(one, rows) for one in asked})
    return found


class _RowsOfCell:
    """The values of a column in the rows of one cell, by group; parallel int64 arrays.

    `code` is the place of the value among all, `times` how many of the group's rows have it, and
    `least` and `most` how many of the group's rows count.
    """

    def __init__(self, values: pa.Array, parts: Mapping[str, np.ndarray]) -> None:
        self.values = values
        self.group, self.code, self.times, self.least, self.most = (
            parts[name] for name in ("group_id", "code", "times", "least", "most")
        )

    def limits(self) -> tuple[int, int]:
        """How many rows count, at least and at most."""
        _, first = np.unique(self.group, return_index=True)
        return int(self.least[first].sum()), int(self.most[first].sum())

    @property
    def all_count(self) -> bool:
        """True where every row surely counts."""
        _, inverse = np.unique(self.group, return_inverse=True)
        sizes = np.bincount(inverse, self.times)
        return bool((sizes[inverse] == self.least).all())

    def counted(self) -> CountedValues:
        """How many copies of each value count, surely and possibly, from below and from above."""
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
        """Each group's first copies surely count, and those after them may, in one order."""
        order = np.lexsort((self.code if ascending else -self.code, self.group))
        group, times = self.group[order], self.times[order]
        before = np.cumsum(times) - times
        starts = np.flatnonzero(np.diff(group, prepend=-1) != 0)
        before -= np.repeat(before[starts], np.diff(np.append(starts, len(group))))
        sure = np.clip(self.least[order] - before, 0, times)
        all_ = np.clip(self.most[order] - before, 0, times)
        return Counting(
            *(_summed(self.code[order], of, len(self.values)) for of in (sure, all_ - sure))
        )


def _summed(code: np.ndarray, counts: np.ndarray, size: int) -> np.ndarray:
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
    bounds = aggregate.bounds_over(rows.counted())
    return Bounds(bounds.lower, bounds.upper, bounds.estimate, may_be_empty=least < fewest)


def _of_distinct(_: Aggregate, rows: _RowsOfCell) -> Bounds:
    """How many different values there are, bounded where it is open which rows count."""
    number = len(np.unique(rows.code[rows.most > 0]))
    if rows.all_count:
        return Bounds(number, number, Fraction(number))
    least, most = rows.limits()
    return Bounds(min(least, 1), min(number, most), attained=False)


_BOUNDS: Mapping[str, Callable[[Aggregate, _RowsOfCell], Bounds]] = {"count": _of_distinct}


def _rows_by_cell(
    connection: duckdb.DuckDBPyConnection, declared: Declared, question: Question, name: str
) -> dict[Key, _RowsOfCell]:
    """The rows of each cell that are meant, by the values of a column in each group."""
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
        key: _RowsOfCell(values, {end: part[at] for end, part in parts.items()})
        for key, at in places.items()
    }


def _histogram(declared: Declared, question: Question, name: str) -> exp.Select:
    """The query of group columns, group, value, how many rows have it, and how many rows count."""
    known, matched = relations(declared), bool(question.matching)
    by = [published_column(key) for key in question.group_by]
    keys = [alias(of.copy(), key) for of, key in zip(by, key_names(question), strict=True)]
    value, group = alias(published_column(name), "v"), own(GROUP_ID)
    shown = [*keys, group if matched else tree("0 AS group_id"), value, tree("COUNT(*) AS times")]
    grouped = [*by, *([group.copy()] if matched else []), published_column(name)]
    counted = select(shown, known.rows, where=[question.condition], by=grouped)
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
    ranges = SensitiveConditions(question, known).ranges()
    return with_parts([("histogram", counted), ("ranges", ranges)], query)


def count_different(
    holders: Iterable[Mapping[Key, Bounds]],
    rows: Mapping[Key, Bounds],
    others: Mapping[Key, Bounds],
    *,
    never_null: bool,
) -> dict[Key, Bounds]:
    """The bounds of COUNT(DISTINCT …) by cell.

    Args:
        holders: for each value, by cell, how many rows have it.
        rows: by cell, how many there are.
        others: by cell, how many have another value than these, each perhaps its own.
        never_null: whether each of them has a value.

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
    found = {}
    for key in possible:
        of = rows.get(key, _NONE)
        lower = max(sure[key], int(never_null and number(of.lower) >= 1))
        upper = min(possible[key], math.floor(number(of.upper)))
        found[key] = with_estimate(Bounds(lower, upper, attained=lower == upper))
    return found
