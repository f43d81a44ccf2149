"""Calculated and joined columns, put beside published ones in the tables that have them."""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.query.engines.engine import Files, Source, read_table
from sfumato.tasks.query.question.calculated import Calculated
from sfumato.tasks.query.question.joined import JoinedTable
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.sql.session import calculate, fetch_table, session

_PUBLISHED, _OWN, _PLACE = "published", "own", "\x04place"


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


def add_joined(tables: Files, joins: Iterable[JoinedTable]) -> dict[str, Source]:
    """The published tables, and beside the columns of each key those of the joined table.

    Raises:
        InputError: where a file is missing.
    """
    found = dict(tables)
    for joined in joins:
        found = {name: _with_joined(source, joined) for name, source in found.items()}
    return found


def _with_joined(source: Source, joined: JoinedTable) -> Source:
    table = read_table(source)
    if not set(joined.keys) <= set(table.column_names):
        return source
    place = pa.array(range(table.num_rows), pa.int64())
    all_ = pa.array([True] * joined.table.num_rows, pa.bool_())
    marked = joined.table.append_column(joined.matched, all_)
    with session({_PUBLISHED: _keyed(table, joined, place), _OWN: marked}) as connection:
        found = fetch_table(connection, _lookup(joined))
    for name in joined.columns:
        column = found[name]
        known = column.fill_null(False) if name == joined.matched else column
        table = table.append_column(name, known)
    return table


def _keyed(table: pa.Table, joined: JoinedTable, place: pa.Array) -> pa.Table:
    return table.select(list(joined.keys)).append_column(_PLACE, place)


def _lookup(joined: JoinedTable) -> exp.Select:
    """The query of the joined table's columns for each published row, in order."""
    shown = [exp.column(name, table=_OWN, quoted=True) for name in joined.columns]
    same = [
        exp.EQ(
            this=exp.column(name, table=_PUBLISHED, quoted=True),
            expression=exp.column(name, table=_OWN, quoted=True),
        )
        for name in joined.keys
    ]
    query = exp.select(*shown).from_(_PUBLISHED).join(_OWN, on=exp.and_(*same), join_type="left")
    return query.order_by(exp.column(_PLACE, table=_PUBLISHED, quoted=True))
