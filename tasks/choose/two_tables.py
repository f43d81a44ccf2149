"""Two related tables in a comparison: queries over both, limits to rows, and one table of both.

Queries are drawn from the join, in which each related row has the columns of its person, and from
people by their rows. A candidate of one joined table is asked the same queries over its rows; it
cannot answer those about people.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp, parse_one

from sfumato.expectations.shared.errors import Fault, QueryError
from sfumato.tasks.choose.paired import TABLE, PairedQuery, draw_queries
from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.forms.related.facts import is_number_of_rows
from sfumato.tasks.forms.related.parameters import ApartParameters
from sfumato.tasks.microdata.related import MatchedRows, leave_out_above
from sfumato.tasks.microdata.table import Microdata, Randomness, encode
from sfumato.tasks.query.accuracy.drawing import (
    column_named,
    end_of_window,
    value_condition,
    window_condition,
)
from sfumato.tasks.query.accuracy.parameters import PeopleWorkload, Workload
from sfumato.tasks.query.accuracy.related import join_related
from sfumato.tasks.terms.terms import Terms

_DIALECT = "duckdb"
_COUNTED, _TIMES = "counted", "times"
_SHARES = (0.05, 0.01)
"""Shares of people with rows who have more rows than a limit that is tried."""
VariantsOfRows = Callable[[Microdata], Iterator[Any]]
"""Returns values of a key of the table of rows that are tried, given people with their rows."""


def draw_queries_of_two(
    form: ApartParameters,
    table: Microdata,
    workloads: Sequence[Workload],
    randomness: Randomness,
    *,
    by_values: bool = True,
) -> list[PairedQuery]:
    """Draw the queries of all workloads over two tables.

    Args:
        form: names the tables and their key.
        table: the people with their rows.
        workloads: of the spec.
        randomness: the source of random numbers.
        by_values: whether each aggregate is also asked by each short column of people.
    """
    of_people = [workload for workload in workloads if isinstance(workload, PeopleWorkload)]
    others = [workload for workload in workloads if not isinstance(workload, PeopleWorkload)]
    joined = join_related(table)
    queries = draw_queries(joined, others, randomness, by_values=by_values)
    over_both = [
        PairedQuery(query.workload, query.topic, _over_both(query.sql, form)) for query in queries
    ]
    return [
        *over_both,
        *(q for w in of_people for q in _queries_of_people(w, form, table, joined, randomness)),
    ]


def _over_both(sql: str, form: ApartParameters) -> str:
    """Return a query over one table as one over the join of people and their rows."""
    tree = parse_one(sql, dialect=_DIALECT)
    people, rows = exp.to_table(form.people), exp.to_table(form.related)
    join = exp.Join(this=rows, using=[exp.to_identifier(form.key, quoted=True)])
    tree.set("from_", exp.From(this=people))
    tree.set("joins", [join])
    return tree.sql(_DIALECT)


def _queries_of_people(
    workload: PeopleWorkload,
    form: ApartParameters,
    table: Microdata,
    joined: Microdata,
    randomness: Randomness,
) -> Iterator[PairedQuery]:
    """Draw counts of people in a window who have so many rows with the value of a row."""
    over = table[workload.over].values.to_pylist()
    name = workload.of or joined.with_roles("sensitive")[0].name
    column = joined[name]
    topic = f"count(people) by range of {workload.over} and rows with one value of {name}"
    for times in workload.levels:
        for place in randomness(workload.queries) % np.uint64(len(over)):
            low = over[int(place)]
            window = window_condition(workload.over, low, end_of_window(low, workload.span))
            code = int(column.codes[int(randomness(1)[0] % np.uint64(joined.rows))])
            value = value_condition(name, None if code < 0 else column.values[code].as_py())
            yield PairedQuery(f"{topic}, {times}", topic, _count_people(form, window, value, times))


def _count_people(form: ApartParameters, window: exp.Expr, value: exp.Expr, times: int) -> str:
    key = column_named(form.key)
    rows = exp.select(key, exp.alias_(exp.Count(this=exp.Star()), _TIMES)).from_(form.related)
    enough = exp.GTE(this=exp.column(_TIMES), expression=exp.Literal.number(times))
    people = exp.select(exp.Count(this=exp.Star())).from_(form.people)
    joined = people.join(exp.to_table(_COUNTED), using=[form.key]).where(exp.and_(window, enough))
    return joined.with_(_COUNTED, as_=rows.where(value).group_by(key)).sql(_DIALECT)


def over_one_table(sql: str, form: FormParameters) -> str:
    """Return a query over the join of two tables as one over one joined table.

    Raises:
        QueryError: if it is about people, or asks in another way than by a join.
    """
    tree, related = parse_one(sql, dialect=_DIALECT), form.related_table
    names = [table.name for table in tree.find_all(exp.Table)]
    joined = sorted(names) == sorted([form.table_of_rows, str(related)])
    if not isinstance(tree, exp.Select) or not (joined or names == [related]):
        raise QueryError("one joined table answers only queries about rows")
    if any(True for _ in tree.find_all(exp.Subquery, exp.CTE, exp.Exists)):
        raise QueryError("one joined table answers only queries about rows")
    tree.set("from_", exp.From(this=exp.to_table(TABLE)))
    tree.set("joins", [])
    for column in tree.find_all(exp.Column):
        column.set("table", None)
    return tree.sql(_DIALECT)


def rows_to_publish(table: Microdata, terms: Terms) -> Microdata:
    """Return the rows that a candidate is made of.

    Args:
        table: the rows, or the people with their related rows, nobody left out.
        terms: of the candidate: of one table, of two, or of one joined table of both.

    Raises:
        InputError: if a limit leaves out everyone who has rows.
    """
    if table.related is None:
        return table
    if not terms.has_related_rows:
        joined = join_related(table)
        return joined.keep(c for c in joined.columns if c.name in terms.columns)
    table = _with_numbers(table, terms)
    if (limit := terms.form.most_related_rows) is None:
        return table
    return leave_out_above(MatchedRows(table, 0, 0), limit, "the table of rows").microdata


def _with_numbers(table: Microdata, terms: Terms) -> Microdata:
    """Return people with the numbers of rows that a candidate shows, and no others."""
    if table.related is None:
        return table
    numbers = {n: c for n, c in terms.columns.items() if is_number_of_rows(c)}
    others = [
        column
        for column in table.columns
        if column.name not in numbers
        and (column.name in terms.columns or column.role == "identifier")
    ]
    of_person = pa.array(np.bincount(table.related.owner, minlength=table.rows), pa.int64())
    added = [encode(name, column.role, of_person) for name, column in numbers.items()]
    return replace(table, columns=(*others, *added))


def without_limit(form: FormParameters) -> ApartParameters:
    """Return the form of two tables without a limit to the rows of a person.

    Raises:
        Fault: if it is the form of one table.
    """
    if not isinstance(form, ApartParameters):
        raise Fault("a form of one table limits no related rows")
    return form.model_copy(update={"cap": None})


def _limits(table: Microdata) -> Iterator[Any]:
    """Yield limits to the rows of a person, above which few people are."""
    if table.related is None:
        return
    rows = np.sort(np.bincount(table.related.owner, minlength=table.rows))
    rows = rows[rows > 0]
    limits = [int(rows[int((len(rows) - 1) * (1 - share))]) for share in _SHARES]
    yield from (
        {"at-most": limit, "else": "leave-out"}
        for limit in dict.fromkeys(limits)
        if limit < int(rows.max())
    )
    yield "of-groups"


def _numbers(_: Microdata) -> Iterator[Any]:
    yield from ("hidden", "shuffled", "published")


VARIANTS_OF_ROWS: Mapping[str, tuple[str, VariantsOfRows]] = {
    "maximum": ("of-groups", _limits),
    "numbers": ("hidden", _numbers),
}
"""Keys of the table of rows that a usual comparison tries other values of, and their defaults."""
