"""Calculated columns, put beside published ones in the tables that have them."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.engines.engine import Files, Source, read_table
from sfumato.tasks.query.question.calculated import Calculated
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.sql.session import calculate


def in_one(tables: Files) -> dict[str, Source]:
    """The same tables, each of them whole where it is in parts."""
    return {
        name: read_table(source) if isinstance(source, TableInParts) else source
        for name, source in tables.items()
    }


def add_calculated(tables: Files, calculated: Iterable[Calculated]) -> dict[str, Source]:
    """The published tables, and each column beside those that it is calculated of.

    What is calculated of labels is left to whoever knows what these stand for.

    Raises:
        QueryError: where something cannot be calculated.
        InputError: where a file is missing.
    """
    wanted = [one for one in calculated if not one.labelled]
    return (
        {name: _extended(table, wanted) for name, table in tables.items()} if wanted else {**tables}
    )


def _extended(source: Source, calculated: list[Calculated]) -> Source:
    table = read_table(source)
    own = [one for one in calculated if set(one.of) <= set(table.column_names)]
    if not own:
        return source
    needed = list(dict.fromkeys(name for one in own for name in one.of))
    found = _calculated(table.select(needed), own)
    for one, column in zip(own, found.columns, strict=True):
        table = table.append_column(one.name, _cast(column, one))
    return table


def _calculated(table: pa.Table, wanted: list[Calculated]) -> pa.Table:
    try:
        return calculate(table, [one.expression for one in wanted])
    except QueryError as error:
        raise QueryError(
            f"{error}: what is calculated is undefined in some row, or beyond its type "
            "(NULLIF(…, 0) as a divisor is null where it would be 0)"
        ) from None


def _cast(column: pa.ChunkedArray, one: Calculated) -> pa.ChunkedArray:
    try:
        found = column.cast(one.columns[one.name].arrow_type)
    except pa.ArrowInvalid:
        raise QueryError("a calculation that comes to numbers beyond 64 bits") from None
    if one.type == "float" and pc.all(pc.is_finite(found)).as_py() is False:
        raise QueryError(
            "a calculation that is infinite, or no number, in some row: NULLIF(…, 0) as a divisor "
            "is null where it would be 0"
        )
    return found
