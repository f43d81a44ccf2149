"""Paired queries: drawn once from a table, stored as SQL, and asked of every candidate alike.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
If quasi-identifiers are published unchanged, the number of picked rows in each group is known. If
labels are shown, or columns apart, a group surely counts only if all its rows are picked; if some
are, any number of its rows may count.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.expectations.shared.exact import exact, is_ordered
from sfumato.tasks.microdata.table import Column, Microdata, Randomness, key
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.query.accuracy.arbitrary import some_in_random_order
from sfumato.tasks.query.accuracy.drawing import (
    column_named,
    draw_share,
    end_of_window,
    value_condition,
    values_condition,
    window_condition,
)
from sfumato.tasks.query.accuracy.parameters import (
    ArbitraryWorkload,
    CountsWorkload,
    RangeWorkload,
    Workload,
)
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.query.bounds.extremes import CountedValues, Counting
from sfumato.tasks.query.engines.engine import Files, read_table
from sfumato.tasks.query.engines.truth import as_fraction, read_help
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.files import read_bytes, read_json
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.terms import Declared

_FEW = 20  # values by which a GROUP BY is asked
Ends = tuple[Fraction | None, Fraction | None]
Picking = Callable[[np.ndarray], Ends]
"""The bounds of an aggregate over picked rows (bool, one per row of the whole table)."""


_LIST, _ROWS = "queries.json", "picked-rows"


TABLE, _PICKED = "microdata", "picked"


@dataclass(frozen=True, eq=False)
class PairedQuery:
    """A query that all candidates are asked.

    Attributes:
        workload: the name of its workload and its level, in words.
        topic: the name of its workload without the level; each topic has one vote in a ranking.
        sql: the query in SQL.
        selected: the rows that it picks one by one (bool); None if the SQL selects by columns.
        aggregate: the aggregate of picked rows.
        of: the sensitive column, None for COUNT(*).
    """

    workload: str
    topic: str
    sql: str
    selected: np.ndarray | None = None
    aggregate: str = ""
    of: str | None = None


def draw_queries(
    table: Microdata,
    workloads: Sequence[Workload],
    randomness: Randomness,
    *,
    by_values: bool = True,
) -> list[PairedQuery]:
    """Draw the queries of all workloads, and for each aggregate one by each short column.

    Args:
        table: the rows that are to be published.
        workloads: of the spec.
        randomness: the source of random numbers.
        by_values: whether short columns are asked by.
    """
    queries = [
        query
        for workload in workloads
        for query in _DRAWERS[workload.kind](workload, table, randomness)
    ]
    if not by_values:
        return queries
    pairs = dict.fromkeys(
        (workload.aggregate, _sensitive(workload, table)) for workload in workloads
    )
    return [*queries, *(query for pair in pairs for query in _group_queries(table, *pair))]


def _ranges(
    workload: RangeWorkload, table: Microdata, randomness: Randomness
) -> Iterator[PairedQuery]:
    """Draw windows of a quasi-identifier that begin at one of its values."""
    column, sensitive = table[workload.over], _sensitive(workload, table)
    values = column.values.to_pylist()
    topic = f"{workload.aggregate}({sensitive or '*'}) by range of {column.name}"
    for span in workload.spans:
        for place in randomness(workload.queries) % np.uint64(len(values)):
            low = values[int(place)]
            within = window_condition(column.name, low, end_of_window(low, span))
            yield PairedQuery(
                f"{topic}, {span}",
                topic,
                _select(workload.aggregate, sensitive, within),
            )


def _arbitrary(
    workload: ArbitraryWorkload, table: Microdata, randomness: Randomness
) -> Iterator[PairedQuery]:
    """Draw random sets of vectors of quasi-identifiers that have enough rows."""
    columns, sensitive = table.with_roles("quasi-identifier"), _sensitive(workload, table)
    keys, _ = key(columns, table.rows)
    _, vector, size = np.unique(keys, return_inverse=True, return_counts=True)
    names = [column_named(column.name) for column in columns]
    topic = f"{workload.aggregate}({sensitive or '*'}) of arbitrary selections"
    for level in workload.selected:
        for number in range(workload.queries):
            order = some_in_random_order(len(size), level, randomness)
            enough = int(np.searchsorted(np.cumsum(size[order]), level)) + 1
            chosen = np.zeros(len(size), dtype=bool)
            chosen[order[:enough]] = True
            yield PairedQuery(
                f"{topic}, {level}",
                topic,
                _select(workload.aggregate, sensitive, _picked_condition(names, level, number)),
                chosen[vector],
                workload.aggregate,
                sensitive,
            )


def _counts(
    workload: CountsWorkload, table: Microdata, randomness: Randomness
) -> Iterator[PairedQuery]:
    """Draw counts of ranges of random quasi-identifiers and the sensitive value of a random row."""
    columns = table.with_roles("quasi-identifier")
    sensitive = _sensitive(workload, table) or table.with_roles("sensitive")[0].name
    number = min(workload.attributes, len(columns))
    topic = "count(*) by ranges and a sensitive value"
    for level in workload.selectivity:
        share = (level / 100) ** (1 / max(number, 1))
        for _ in range(workload.queries):
            order = np.argsort(randomness(len(columns)), kind="stable")[:number]
            tests = [_draw_condition(columns[place], share, randomness) for place in order]
            row = int(randomness(1)[0] % np.uint64(table.rows))
            yield PairedQuery(
                f"{topic}, {level}",
                topic,
                _select("count", None, exp.and_(_equals_value(table[sensitive], row), *tests)),
            )


_DRAWERS: dict[str, Any] = {"range": _ranges, "arbitrary": _arbitrary, "counts": _counts}


def _group_queries(
    table: Microdata, aggregate: str, sensitive: str | None
) -> Iterator[PairedQuery]:
    """Yield the aggregate by each quasi-identifier of few values."""
    for column in table.with_roles("quasi-identifier"):
        if len(column.values) + column.has_null <= _FEW:
            tree = exp.select(column_named(column.name), _call(aggregate, sensitive)).from_(TABLE)
            text = tree.group_by(column_named(column.name)).sql("duckdb")
            topic = f"{aggregate}({sensitive or '*'}) by {column.name}"
            yield PairedQuery(topic, topic, text)


def _sensitive(workload: Workload, table: Microdata) -> str | None:
    """Return the column that a workload aggregates; None for COUNT(*)."""
    if workload.of is None and workload.aggregate == "count":
        return None
    return workload.of or table.with_roles("sensitive")[0].name


def _draw_condition(column: Column, share: float, randomness: Randomness) -> exp.Expr:
    """Return the condition that a column has a value of a random share of its values."""
    ordered = is_ordered(column.values.type)
    values = draw_share(column.values.to_pylist(), share, randomness, ordered=ordered)
    return values_condition(column.name, values, ordered=ordered)


def _picked_condition(names: Sequence[exp.Expr], level: int, number: int) -> exp.Expr:
    """Return the condition on the vectors that a query picks, from the table of picked rows."""
    of_query = exp.and_(_equals_number("level", level), _equals_number("query", number))
    picked = exp.select(*names).from_(_PICKED).where(of_query)
    return exp.In(this=exp.Tuple(expressions=list(names)), query=exp.Subquery(this=picked))


def _equals_number(name: str, number: int) -> exp.Expr:
    return exp.EQ(this=exp.column(name), expression=exp.Literal.number(number))


def _equals_value(column: Column, row: int) -> exp.Expr:
    """Return the condition that a column has the value of one of its rows."""
    code = int(column.codes[row])
    return value_condition(column.name, None if code < 0 else column.values[code].as_py())


def _select(aggregate: str, sensitive: str | None, where: exp.Expr) -> str:
    return exp.select(_call(aggregate, sensitive)).from_(TABLE).where(where).sql("duckdb")


def _call(aggregate: str, sensitive: str | None) -> exp.Expr:
    return exp.func(
        aggregate, exp.Star() if sensitive is None else column_named(sensitive), dialect="duckdb"
    )


def save_queries(queries: Sequence[PairedQuery], place: Path) -> None:
    """Save queries in a private directory: as SQL, and beside it the rows that some pick.

    The SQL of those refers to a table `picked`, which has the vectors of these rows.
    """
    picked = [query.selected for query in queries if query.selected is not None]
    if picked:
        packed = np.packbits(np.array(picked), axis=1)
        write_atomically(place / _ROWS, packed.tobytes())
    rows = len(picked[0]) if picked else 0
    entries = [
        {
            "workload": query.workload,
            "topic": query.topic,
            "sql": query.sql,
            "aggregate": query.aggregate,
            "of": query.of,
        }
        for query in queries
    ]
    text = "".join(f"-- {query.workload}\n{query.sql};\n" for query in queries)
    write_atomically(place / "queries.sql", text.encode())
    write_atomically(place / _LIST, json.dumps({"rows": rows, "queries": entries}).encode())


def has_queries(place: Path) -> bool:
    """Decide whether all queries were saved: their list is written last."""
    return (place / _LIST).exists()


def load_queries(place: Path) -> list[PairedQuery]:
    """Read the saved queries."""
    stored = read_json(place / _LIST, None)
    picked: Iterator[np.ndarray] = iter(())
    if stored["rows"]:
        content = np.frombuffer(read_bytes(place / _ROWS), np.uint8)
        packed = content.reshape(-1, -(-stored["rows"] // 8))
        picked = iter(np.unpackbits(packed, axis=1, count=stored["rows"]).astype(bool))
    return [
        PairedQuery(
            entry["workload"],
            entry["topic"],
            entry["sql"],
            next(picked) if entry["aggregate"] else None,
            entry["aggregate"],
            entry["of"],
        )
        for entry in stored["queries"]
    ]


def pick_from(
    declared: Declared, files: Files, table: Microdata, groups: np.ndarray, aggregate: Aggregate
) -> Picking:
    """Return the function that bounds an aggregate over picked rows of a candidate.

    Args:
        declared: what the candidate declares.
        files: its tables, with the help tables.
        table: the rows that the candidate was made from.
        groups: the group of each row, -1 for suppressed rows (int64).
        aggregate: over the picked rows.
    """
    if declared.form.rows_table is not None:
        return _pick_by_vectors(declared, files, table, aggregate)
    return _pick_by_groups(table, groups, aggregate)


def _pick_by_vectors(
    declared: Declared, files: Files, table: Microdata, aggregate: Aggregate
) -> Picking:
    """Pick published rows: all that have the quasi-identifiers of a picked row."""
    rows = read_table(files[relations(declared).rows])
    group = rows[GROUP_ID].to_numpy()
    vector, of_table = vectors(rows, declared.names_with_roles("quasi-identifier"), table)
    sensitive = aggregate.sensitive or declared.names_with_roles("sensitive")[0]
    helped = read_help(read_table(files[help_name(sensitive)]), aggregate.kind)

    def pick(picked: np.ndarray) -> Ends:
        chosen = np.zeros(int(vector.max(initial=-1)) + 2, dtype=bool)
        chosen[of_table[picked]] = True
        chosen[-1] = False  # vectors that are not published
        return helped.bounds(np.bincount(group[chosen[vector]], minlength=len(helped.start)))

    return pick


def _pick_by_groups(table: Microdata, groups: np.ndarray, aggregate: Aggregate) -> Picking:
    """Pick groups, as a whole or any number of their rows."""
    is_published = groups >= 0
    group, sizes = groups[is_published], np.bincount(groups[is_published])
    column = None if aggregate.sensitive is None else table[aggregate.sensitive]
    codes = np.zeros(len(group), np.int64) if column is None else column.codes[is_published]

    def pick(picked: np.ndarray) -> Ends:
        hits = np.bincount(group[picked[is_published]], minlength=len(sizes))
        sure, maybe = (hits == sizes) & (hits > 0), (hits > 0) & (hits < sizes)
        if aggregate.kind.counts_rows or column is None:
            return Fraction(int(sizes[sure].sum())), Fraction(int(sizes[hits > 0].sum()))
        surely, possibly = (
            _count_values(column, codes[is_meant[group]]) for is_meant in (sure, maybe)
        )
        return _ends(aggregate, column, Counting(surely, possibly))

    return pick


def _count_values(column: Column, codes: np.ndarray) -> np.ndarray:
    return np.bincount(codes, minlength=len(column.values))


def _ends(aggregate: Aggregate, column: Column, counting: Counting) -> Ends:
    if not counting.all.any():
        return None, None
    values, name = column.values, column.name
    counted = CountedValues(
        values=values.to_pylist(),
        exact=lambda: exact(values, name),
        low=counting,
        high=counting,
        whole=False,
        expected=None,
        expected_rows=float("nan"),
    )
    bounds = aggregate.bounds_over(counted)
    return as_fraction(bounds.lower), as_fraction(bounds.upper)
