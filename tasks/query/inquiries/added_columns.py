"""Columns added to published ones: calculated from them, or joined from an analyst's own tables."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.labels import Admitted, ListedValues
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import labels_of, read_labels
from sfumato.tasks.query.engines.engine import Files, Source, read_table
from sfumato.tasks.query.question.calculations import Calculated, JoinedTable
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.query.question.ways import WAYS
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.sql.parted import TableInParts
from sfumato.tasks.sql.session import calculate, fetch_table, session
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Declared

_PUBLISHED, _OWN, _PLACE = "published", "own", "\x04place"


def require_joinable(
    tables: Files, declared: Declared, joins: Sequence[JoinedTable], group_columns: Sequence[str]
) -> None:
    """Refuse joins by labels of several values, or by columns that are published apart.

    Args:
        tables: that are published.
        declared: the terms of the release.
        joins: the tables that the microdata is joined with.
        group_columns: the group columns of the query.

    Raises:
        QueryError: with the reason, and what to do.
        InputError: where a file is missing.
    """
    if WAYS[declared.form.shows].without_rows:
        _require_one_column(joins, group_columns)
    else:
        _require_exact_keys(tables, declared, joins)


def _require_one_column(joins: Sequence[JoinedTable], group_columns: Sequence[str]) -> None:
    apart = "this release publishes each column separately"
    for joined in joins:
        if len(joined.keys) > 1:
            names = " and ".join(map(quote_name, joined.keys))
            raise QueryError(
                f"JOIN by {names} is not possible, because {apart}. Join by one column"
            )
        if set(group_columns) & set(joined.columns):
            raise QueryError(
                "GROUP BY of a column of your own table is not possible, because "
                f"{apart}. Group by {quote_name(joined.keys[0])}, or ask for each "
                "value with WHERE"
            )


def _require_exact_keys(tables: Files, declared: Declared, joins: Iterable[JoinedTable]) -> None:
    """Refuse a join by a column whose labels stand for several values: no text matches these."""
    names = {name for joined in joins for name in joined.keys}
    columns = {name: column for name, column in declared.columns.items() if name in names}
    if not declared.is_recoded:
        return
    microdata = read_table(tables[TABLE])
    labels = read_labels(microdata, columns, reader_for(form_of(declared)))
    for name, (admitted, codes) in labels.items():
        texts, _ = labels_of(microdata, name)
        one_value = map(_is_one_value, admitted, texts)
        several = ~np.fromiter(one_value, dtype=bool, count=len(texts))
        hidden = int(several[codes].sum())
        if hidden:
            rows = "row shows" if hidden == 1 else "rows show"
            raise QueryError(
                f"JOIN by {quote_name(name)}: {hidden:,} {rows} it as a label for several values, "
                "so they match no single key. Ask for the values instead: "
                f"WHERE {exp.column(name, quoted=True).sql('duckdb')} IN (…)"
            )


def _is_one_value(label: Admitted, text: str | None) -> bool:
    """Decide whether a label is a single value written as it is, or only null."""
    if not isinstance(label, ListedValues) or len(label.values) + label.null != 1:
        return False
    return all(value == text for value in label.values if isinstance(value, str))


def add_joined(tables: Files, joins: Iterable[JoinedTable]) -> dict[str, Source]:
    """Add the columns of joined tables to the published tables that have their keys.

    Raises:
        InputError: where a file is missing.
    """
    added = dict(tables)
    for joined in joins:
        added = {name: _with_joined(source, joined) for name, source in added.items()}
    return added


def _with_joined(source: Source, joined: JoinedTable) -> Source:
    table = read_table(source)
    if not set(joined.keys) <= set(table.column_names):
        return source
    place = pa.array(range(table.num_rows), pa.int64())
    all_ = pa.array([True] * joined.table.num_rows, pa.bool_())
    marked = joined.table.append_column(joined.matched, all_)
    with session({_PUBLISHED: _with_places(table, joined, place), _OWN: marked}) as connection:
        looked_up = fetch_table(connection, _lookup(joined))
    for name in joined.columns:
        column = looked_up[name]
        filled = column.fill_null(False) if name == joined.matched else column
        table = table.append_column(name, filled)
    return table


def _with_places(table: pa.Table, joined: JoinedTable, place: pa.Array) -> pa.Table:
    return table.select(list(joined.keys)).append_column(_PLACE, place)


def _lookup(joined: JoinedTable) -> exp.Select:
    """Return the query for the joined table's columns of each published row, in order."""
    columns = [exp.column(name, table=_OWN, quoted=True) for name in joined.columns]
    same = [
        exp.EQ(
            this=exp.column(name, table=_PUBLISHED, quoted=True),
            expression=exp.column(name, table=_OWN, quoted=True),
        )
        for name in joined.keys
    ]
    query = exp.select(*columns).from_(_PUBLISHED).join(_OWN, on=exp.and_(*same), join_type="left")
    return query.order_by(exp.column(_PLACE, table=_PUBLISHED, quoted=True))


def whole_tables(tables: Files) -> dict[str, Source]:
    """Return the tables, each of them whole if it is in parts."""
    return {
        name: read_table(source) if isinstance(source, TableInParts) else source
        for name, source in tables.items()
    }


def add_calculated(tables: Files, calculated: Iterable[Calculated]) -> dict[str, Source]:
    """Add each calculated column to the published tables that have its operands.

    Calculations on labels are left to the engine that knows the values behind them.

    Raises:
        QueryError: where something cannot be calculated.
        InputError: where a file is missing.
    """
    unlabelled = [calculation for calculation in calculated if not calculation.labelled]
    return (
        {name: _add_columns(table, unlabelled) for name, table in tables.items()}
        if unlabelled
        else {**tables}
    )


def _add_columns(source: Source, calculated: list[Calculated]) -> Source:
    table = read_table(source)
    own = [
        calculation
        for calculation in calculated
        if set(calculation.sources) <= set(table.column_names)
    ]
    if not own:
        return source
    needed = list(dict.fromkeys(name for calculation in own for name in calculation.sources))
    columns = _calculate(table.select(needed), own)
    for calculation, column in zip(own, columns.columns, strict=True):
        table = table.append_column(calculation.name, _cast(column, calculation))
    return table


def _calculate(table: pa.Table, calculations: list[Calculated]) -> pa.Table:
    try:
        return calculate(table, [calculation.expression for calculation in calculations])
    except QueryError as error:
        raise QueryError(
            f"{error}: a calculation is undefined in some row, or its result is too "
            "large for its type. To divide safely, use NULLIF(…, 0) as the divisor"
        ) from None


def _cast(column: pa.ChunkedArray, calculation: Calculated) -> pa.ChunkedArray:
    try:
        values = column.cast(calculation.columns[calculation.name].arrow_type)
    except pa.ArrowInvalid:
        raise QueryError(
            "a calculation gives numbers beyond 64 bits. Use smaller numbers"
        ) from None
    if calculation.type == "float" and pc.all(pc.is_finite(values)).as_py() is False:
        raise QueryError(
            "a calculation is infinite, or not a number, in some row. To divide "
            "safely, use NULLIF(…, 0) as the divisor"
        )
    return values
