"""Calculated columns, put beside published ones in the tables that have them."""

from collections.abc import Iterable

import pyarrow as pa

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.engines.engine import Files, Source, read_table
from sfumato.tasks.query.question.calculated import Calculated
from sfumato.tasks.sql.session import calculate


def add_calculated(tables: Files, calculated: Iterable[Calculated]) -> dict[str, Source]:
    """The published tables, and each column beside those that it is calculated of.

    Raises:
        QueryError: where something cannot be calculated.
        InputError: where a file is missing.
    """
    wanted = list(calculated)
    return (
        {name: _extended(table, wanted) for name, table in tables.items()} if wanted else {**tables}
    )


def _extended(source: Source, calculated: list[Calculated]) -> Source:
    table = read_table(source)
    own = [one for one in calculated if set(one.of) <= set(table.column_names)]
    if not own:
        return source
    needed = list(dict.fromkeys(name for one in own for name in one.of))
    found = calculate(table.select(needed), [one.expression for one in own])
    for one, column in zip(own, found.columns, strict=True):
        table = table.append_column(one.name, _cast(column, one))
    return table


def _cast(column: pa.ChunkedArray, one: Calculated) -> pa.ChunkedArray:
    try:
        return column.cast(one.declared.arrow_type)
    except pa.ArrowInvalid:
        raise QueryError("a calculation that comes to numbers beyond 64 bits") from None
