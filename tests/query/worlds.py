"""Small releases in memory, and brute force over every world that they leave possible."""

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from sfumato.tasks.forms.parameters import FormChoice
from sfumato.tasks.query.ask import ask, engine
from sfumato.tasks.query.help_tables.rows import help_name, help_table
from sfumato.tasks.query.inquiries.answer import Answer
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.schema.formats import software
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Declared, RowCounts

COUNTS = RowCounts(
    read=9,
    dropped_by_filter=0,
    dropped_for_nulls=2,
    dropped_as_repeats=0,
    suppressed=1,
    published=6,
    fakes=0,
)


def column(role: str, type_: str, **more: Any) -> DeclaredColumn:
    return DeclaredColumn(role=role, type=type_, **more)


def shape(method: str, **more: Any) -> FormChoice:
    """The parameters of a form."""
    return TypeAdapter(FormChoice).validate_python({"method": method, **more})


def partial_declaration(**fields: Any) -> Declared:
    """Return a declaration that has some of its fields alone, unvalidated."""
    return Declared.model_construct(**fields)


def declare(form: str = "permuted", **columns: DeclaredColumn) -> Declared:
    return partial_declaration(
        name="small",
        title="A small release",
        columns={name.replace("_", "-"): c for name, c in columns.items()},
        form=shape(form),
        rows=COUNTS,
        versions="disjoint",
        software=software(),
    )


CENSUS = declare(
    age=column("quasi-identifier", "integer"),
    sex=column("quasi-identifier", "string", nulls=True),
    day=column("quasi-identifier", "date"),
    vip=column("insensitive", "boolean"),
    loss=column("sensitive", "integer"),
    capital_loss=column("sensitive", "integer"),
    seen=column("sensitive", "date"),
    word=column("sensitive", "string"),
)


def with_help(microdata: pa.Table, *sensitive: str) -> dict[str, pa.Table]:
    helping = {help_name(name): help_table(microdata, name) for name in sensitive}
    return {"microdata": microdata} | helping


def answers_on(
    tables: Mapping[str, pa.Table], declared: Declared, queries: Iterable[str]
) -> list[Answer]:
    """The answers to several queries on the same tables, which are opened once."""
    with engine(tables, declared) as asking:
        return [ask(asking, declared, read_question(query, declared)) for query in queries]


def worlds(groups: list[int], values: list[Any]) -> Iterator[list[Any]]:
    """Every assignment of each group's values to its rows."""
    rows = [[i for i, g in enumerate(groups) if g == group] for group in sorted(set(groups))]
    shuffles = [itertools.permutations([values[i] for i in members]) for members in rows]
    for chosen in itertools.product(*shuffles):
        world = list(values)
        for members, shuffled in zip(rows, chosen, strict=True):
            for i, value in zip(members, shuffled, strict=True):
                world[i] = value
        yield world


def aggregate(function: str, values: list[Any]) -> Any:
    if function == "count":
        return len(values)
    if not values:
        return None
    if function == "avg":
        return Fraction(sum(values), len(values))
    return {"sum": sum, "min": min, "max": max}[function](values)


HAVINGS: Mapping[str, Callable[[list[Any]], bool]] = {
    "COUNT(*) < 3": lambda v: len(v) < 3,
    "COUNT(*) >= 0": lambda _: True,
    "COUNT(*) = 0": lambda v: not v,
    "COUNT(*) BETWEEN 0 AND 2": lambda v: len(v) <= 2,
    "NOT COUNT(*) > 1": lambda v: len(v) <= 1,
    "COUNT(*) >= 1": lambda v: len(v) >= 1,
    "COUNT(*) > 1": lambda v: len(v) > 1,
    "COUNT(loss) < 9": lambda v: len(v) < 9,
    "SUM(loss) >= 0": lambda v: bool(v) and sum(v) >= 0,
    "MAX(loss) > -9 AND COUNT(loss) <= 2": lambda v: bool(v) and len(v) <= 2,
    "MIN(loss) > 0 OR COUNT(loss) < 9": lambda v: len(v) < 9,
}
"""Clauses, and whether they keep a row of an answer that is of these values."""


def in_every_world(
    answer: Answer, names: Collection[str], having: str, outcomes: Mapping[Any, Collection[Any]]
) -> Counter[str]:
    """Hold an answer against the answers of all worlds, each of which it bounds.

    Args:
        answer: to a query with the clause, grouped by the named columns.
        names: of the group columns; without any, a row is in the answer also where it is of none.
        having: the clause.
        outcomes: by the values of the group columns which values a row is of in some world.

    Returns:
        How many rows are certain, and how many are not for they may be of no values.
    """
    certain = {
        tuple(row[name] for name in names): sure
        for row, sure in zip(answer.rows, answer.certain, strict=True)
    }
    assert set(certain) <= set(outcomes)
    counts_by_having: Counter[str] = Counter()
    for cell, worlds in outcomes.items():
        satisfied = [HAVINGS[having](list(values)) for values in worlds]
        is_counted = [
            holds and (bool(values) or not names)
            for holds, values in zip(satisfied, worlds, strict=True)
        ]
        assert certain.get(cell, False) == all(is_counted), (having, cell)
        assert cell in certain or not any(is_counted), (having, cell)
        counts_by_having["certain"] += all(is_counted)
        counts_by_having["empty"] += cell in certain and all(satisfied) and not all(is_counted)
    return counts_by_having


def assert_attained(row: Mapping[str, Any], limits: Mapping[str, Any], name: str = "loss") -> int:
    """Hold a row against the least and greatest of all worlds, of each function, and count them."""
    for function, (low, high, empty) in limits.items():
        bounds = row[f"{function}({name})"]
        assert (bounds.lower, bounds.upper) == (low, high), function
        assert bounds.may_be_empty == empty, function
        if bounds.estimate is not None:
            assert bounds.lower <= bounds.estimate <= bounds.upper, function
    return len(limits)
