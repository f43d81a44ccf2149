"""JOIN of the microdata with an analyst's own tables, by columns that are published as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.language.sources import RowSource, name_among
from sfumato.tasks.query.question.calculations import JoinedTable, OwnTables, column_type
from sfumato.tasks.query.question.conditions import conjuncts
from sfumato.tasks.schema.published import DerivedColumn, Schema
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.sql.refusals import refusal

_ALLOWED = frozenset({"this", "kind", "side", "on", "using"})
_ROUNDED = (pa.types.is_floating, pa.types.is_decimal, pa.types.is_timestamp)
"""Types whose values another type may not represent exactly."""
_KINDS = frozenset({("", ""), ("", "INNER"), ("LEFT", ""), ("LEFT", "OUTER")})


def join_tables(
    source: RowSource, joins: Sequence[exp.Join], schema: Schema, own: OwnTables
) -> RowSource:
    """Return the source of a SELECT with the columns of the tables that it joins.

    Args:
        source: the source before the joins.
        joins: of the SELECT.
        schema: of the published columns.
        own: the analyst's tables.

    Raises:
        QueryError: if a table does not exist, a join is of another kind, or a table is not unique
            on its key.
    """
    for join in joins:
        source = _join_table(source, join, schema, own)
    return source


def _join_table(source: RowSource, join: exp.Join, schema: Schema, own: OwnTables) -> RowSource:
    for key, value in join.args.items():
        if value and key not in _ALLOWED:
            raise refusal(key, " in a join")
    kind, side = join.kind.upper(), join.side.upper()
    if (side, kind) not in _KINDS:
        raise QueryError(
            f"not allowed: {side or kind} JOIN, because each row of the microdata "
            "counts once. Use JOIN or LEFT JOIN"
        )
    called, table = _own_table(join.this, own)
    _require_new_name(called, source)
    keys = _keys(source, join, called, table)
    number = len(source.joins)
    names = {name: f"\x03{number}.{name}" for name in table.column_names}
    matched = f"\x03{number}"
    joined = _prepare(table, keys, names, matched, schema)
    _require_unique(joined, called)
    columns = {name: exp.column(names[name], quoted=True) for name in table.column_names}
    shared = set(keys.values())
    inner = (*source.where, exp.column(matched, quoted=True)) if not side else source.where
    return replace(
        source,
        columns={**{n: c for n, c in columns.items() if n not in shared}, **source.columns},
        others={**source.others, called: columns},
        ambiguous=source.ambiguous | (set(columns) - shared) & set(source.columns),
        where=inner,
        joins=(*source.joins, joined),
    )


def _own_table(node: exp.Expr, own: OwnTables) -> tuple[str, pa.Table]:
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise QueryError("JOIN needs the name of a table of your own (--table NAME=FILE)")
    name = name_among(node.name, own)
    if name is None:
        hint = f": {', '.join(map(quote_name, own))}" if own else ": --table NAME=FILE gives one"
        raise QueryError(f"JOIN: no table of your own is called {quote_name(node.name)}{hint}")
    return node.alias or node.name, _decode(own[name])


def _decode(table: pa.Table) -> pa.Table:
    """Return the table with values in place of codes of a dictionary."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            values = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, values)
    return table


def _require_new_name(called: str, source: RowSource) -> None:
    taken = {name.casefold() for name in (*source.others, source.called or "")}
    if called.casefold() in taken:
        raise QueryError(
            f"JOIN: two tables are called {quote_name(called)}. Give one another name with AS"
        )


def _keys(source: RowSource, join: exp.Join, called: str, table: pa.Table) -> dict[str, str]:
    """Return the columns of the table by the published columns that must equal them."""
    using = join.args.get("using")
    pairs = [
        (exp.column(identifier.name, quoted=True), identifier.name) for identifier in using or ()
    ]
    if not using:
        on = join.args.get("on")
        pairs = [] if on is None else [_pair(part.unnest(), called) for part in conjuncts(on)]
    if not pairs:
        raise QueryError(
            "JOIN needs USING (columns), or ON with equal columns, such as ON m.town = t.town"
        )
    keys: dict[str, str] = {}
    for outer, inner in pairs:
        column = source.put(outer)
        name = name_among(inner, table.column_names)
        if name is None:
            raise QueryError(f"JOIN: table {quote_name(called)} has no column {quote_name(inner)}")
        if not isinstance(column, exp.Column) or column.name.startswith("\x03"):
            raise QueryError(
                f"JOIN: {quote_name(outer.name)} is not a published column. Join by a "
                "published column"
            )
        if keys.setdefault(column.name, name) != name:
            raise QueryError(
                f"JOIN: {quote_name(outer.name)} cannot equal several columns of "
                f"{quote_name(called)} at once. Keep only the rows of "
                f"{quote_name(called)} in which these columns are equal, then join by "
                "one of them"
            )
    return keys


def _pair(part: exp.Expr, called: str) -> tuple[exp.Column, str]:
    """Return the column of the source, and the name of the table's column, that ON equates."""
    first, second = (part.this, part.expression) if isinstance(part, exp.EQ) else (None, None)
    if not isinstance(first, exp.Column) or not isinstance(second, exp.Column):
        raise QueryError("JOIN … ON needs equal columns, such as m.town = t.town")
    if first.table.casefold() == called.casefold():
        first, second = second, first
    if second.table.casefold() != called.casefold():
        raise QueryError(f"JOIN … ON: each equation needs a column of {quote_name(called)}")
    return first, second.name


def _prepare(
    table: pa.Table, keys: Mapping[str, str], names: Mapping[str, str], matched: str, schema: Schema
) -> JoinedTable:
    """Return the table with its key under published names and types, all columns renamed."""
    columns: dict[str, pa.ChunkedArray] = {}
    declared: dict[str, DerivedColumn] = {}
    for outer, inner in keys.items():
        _require_exact(outer, schema)
        try:
            columns[outer] = _as_published(table[inner], schema[outer].arrow_type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise QueryError(
                f"JOIN: column {quote_name(inner)} must be of type "
                f"{schema[outer].type}, like the published column. Convert it in your "
                "table"
            ) from None
    for name, stands in names.items():
        declared[stands] = _declare(table, name, tuple(keys))
        columns[stands] = _values(table, name, declared[stands])
    declared[matched] = DerivedColumn(role="insensitive", type="boolean", of=tuple(keys))
    return JoinedTable(pa.table(columns), tuple(keys), declared, matched)


def _as_published(key: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Return the key in the type of the published column; null if no value of that type equals it.

    A time of day is no date, and 1.501 is no number of two decimals; both zeros become one.

    Raises:
        pa.ArrowInvalid: if the values are of another kind.
    """
    if not any(is_(key.type) for is_ in _ROUNDED):
        values = key.cast(type_)
    elif pa.types.is_floating(type_):
        values = key.cast(type_, safe=False)
    else:
        values = key.cast(type_, safe=False)
        values = pc.if_else(pc.equal(values.cast(key.type, safe=False), key), values, None)
    return pc.add(values, 0.0) if pa.types.is_floating(type_) else values


def _declare(table: pa.Table, name: str, keys: tuple[str, ...]) -> DerivedColumn:
    """Return the declaration of a column of the analyst's."""
    arrow_type = table.schema.field(name).type
    if pa.types.is_timestamp(arrow_type) and arrow_type.tz is not None:
        raise QueryError(
            f"JOIN: column {quote_name(name)} has a time zone, but published times do "
            "not. Convert its times to the local time of one place"
        )
    try:
        type_, scale = column_type(arrow_type)
    except QueryError:
        raise QueryError(
            f"JOIN: column {quote_name(name)} has a type that queries cannot use. "
            "Remove it from your table"
        ) from None
    return DerivedColumn(role="insensitive", type=type_, scale=scale, nulls=True, of=keys)


def _values(table: pa.Table, name: str, declared: DerivedColumn) -> pa.ChunkedArray:
    """Return the values of a column of the analyst's; all numbers must be finite."""
    try:
        values = table[name].cast(declared.arrow_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise QueryError(
            f"JOIN: column {quote_name(name)} has a value outside the range of type "
            f"{declared.type}. Correct it, or remove the column from your table"
        ) from None
    if declared.type == "float" and pc.all(pc.is_finite(values)).as_py() is False:
        raise QueryError(
            f"JOIN: column {quote_name(name)} has a value that is infinite or not a "
            "number. Make it null"
        )
    return values


def _require_exact(name: str, schema: Schema) -> None:
    if schema[name].role == "sensitive":
        raise QueryError(
            f"JOIN: column {quote_name(name)} is sensitive, and tables can only be "
            "joined by columns that are published as they are. Join by another column"
        )


def _require_unique(joined: JoinedTable, called: str) -> None:
    keys = joined.table.select(list(joined.keys)).drop_null()
    if keys.group_by(list(joined.keys)).aggregate([]).num_rows != keys.num_rows:
        raise QueryError(
            f"JOIN: table {quote_name(called)} has several rows for one key, so rows "
            "would be counted more than once. Keep one row for each key"
        )
