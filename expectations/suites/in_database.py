"""Groups counted by a database with `GROUP BY`; only counts come back.

Values of the columns that distinguish groups stay in the database: groups come back numbered. Two
values form one group exactly if they are one value to `expectations.groups.ranks`, too: each
dialect listed here defines how its texts are compared as bytes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.ranks import groups_of_counts
from sfumato.expectations.shared.errors import PromiseError

Expression = sa.ColumnElement[Any]


class Key(NamedTuple):
    """A column as it is compared: equal exactly where its values are.

    Attributes:
        expression: what rows are grouped by.
        encoding: of texts that come back as bytes; None for values that come back as they are.
    """

    expression: Expression
    encoding: str | None = None

    def value(self, key: Any) -> Any:
        """Return the value of the column that has this key."""
        return key if self.encoding is None or key is None else key.decode(self.encoding)


Keys = Callable[[sa.Connection, Any, Sequence[Expression]], list[Key]]


def count_groups(
    connection: sa.Connection,
    rows: Any,
    columns: Sequence[Expression],
    sensitive: Sequence[Expression],
    *,
    ranked: bool = False,
) -> Groups:
    """Let a database count the groups of some rows.

    Args:
        connection: to the database.
        rows: a table, or a query.
        columns: the columns whose values define groups.
        sensitive: the attribute whose values are counted in each group; none, or one.
        ranked: whether groups come with the labels of the columns, numbered.

    Raises:
        PromiseError: where the database is not known to compare exactly, or cannot.
    """
    keys_of = DIALECTS.get(connection.dialect.name)
    if keys_of is None:
        raise PromiseError(
            f"this database does not count groups exactly; use one of {', '.join(DIALECTS)}"
        )
    table = rows if isinstance(rows, sa.FromClause) else rows.subquery()
    keys = keys_of(connection, table, [*columns, *sensitive])
    counting = _count_query([key.expression for key in keys], table, len(columns), ranked=ranked)
    cells = connection.execute(counting).fetchall()
    if not sensitive:
        groups = Groups(np.array([cell[-1] for cell in cells], dtype=np.int64), {})
        labels = [cell[:-1] for cell in cells]
    else:
        numbers = np.array([(cell[-3] - 1, cell[-1]) for cell in cells], dtype=np.int64)
        numbers = numbers.reshape(-1, 2)
        values = pa.array([keys[-1].value(cell[-2]) for cell in cells])
        counted = {sensitive[0].key or "": values}
        groups = groups_of_counts(numbers[:, 0], numbers[:, 1], counted)
        labels = list({cell[-3]: cell[:-3] for cell in sorted(cells, key=itemgetter(-3))}.values())
    if not ranked:
        return groups
    ranks = np.array(labels, dtype=np.int64).reshape(len(groups), len(columns))
    named = zip((column.key or "" for column in columns), ranks.T, strict=True)
    return replace(groups, labels=dict(named))


def typed_column(name: str, type_: Any) -> Expression:
    """Return a column without a type, unless it has moments: SQLite keeps these as texts."""
    return sa.column(name, type_ if isinstance(type_, sa.Date | sa.DateTime) else None)


def column_names(connection: sa.Connection, rows: Any) -> list[str]:
    """Return the names of the columns of a table or a query, whatever types they have."""
    table = rows if isinstance(rows, sa.FromClause) else rows.subquery()
    query: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(table).limit(0)
    with connection.execute(query) as nothing:
        return list(nothing.keys())


def _count_query(
    keys: Sequence[Expression], table: Any, leading: int, *, ranked: bool
) -> sa.Select[Any]:
    """Return a query that counts rows by all keys.

    The first `leading` keys number the groups and are not shown, only ranked if they are labels.
    """
    labelled = [key.label(f"key_{place}") for place, key in enumerate(keys)]
    rows = sa.select(*labelled).select_from(table).subquery("sfumato_rows")
    number = sa.func.count().label("n")
    cells = sa.select(*rows.c, number).group_by(*rows.c).subquery("sfumato_counts")
    columns = list(cells.c)[:leading] if ranked else []
    labels = [sa.func.dense_rank().over(order_by=key) for key in columns]
    if leading == len(keys):
        return sa.select(*labels, cells.c.n)
    group = sa.func.dense_rank().over(order_by=list(cells.c)[:leading])
    return sa.select(*labels, group, cells.c[f"key_{leading}"], cells.c.n)


def _in_sqlite(_: sa.Connection, __: Any, columns: Sequence[Expression]) -> list[Key]:
    """Return columns collated as bytes: in SQLite values have types, columns do not."""
    return [Key(sa.collate(column, "BINARY")) for column in columns]


# PostgreSQL's bool, bytea, integers, floats, date, time, timestamps, numeric and uuid
_POSTGRES_AS_THEY_ARE = (16, 17, 20, 21, 23, 700, 701, 1082, 1083, 1114, 1184, 1700, 2950)


def _in_postgres(connection: sa.Connection, table: Any, columns: Sequence[Expression]) -> list[Key]:
    """Return columns that compare exactly, others as texts: names, enums, citext."""
    codes = _type_codes(connection, table, columns)
    return [
        Key(
            column if code in _POSTGRES_AS_THEY_ARE else sa.collate(sa.cast(column, sa.Text()), "C")
        )
        for column, code in zip(columns, codes, strict=True)
    ]


# the numbers and moments of MariaDB's protocol
_MARIADB_AS_THEY_ARE = (0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 246)
_ENCODINGS: Mapping[str, str] = {
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "utf8": "utf-8",
    "ascii": "ascii",
    "latin1": "cp1252",
}


def _in_mariadb(connection: sa.Connection, table: Any, columns: Sequence[Expression]) -> list[Key]:
    """Return texts as bytes, whose trailing blanks count.

    Raises:
        PromiseError: where texts are longer than what is compared of them.
    """
    expressions: list[Expression] = [sa.literal_column("@@max_sort_length")]
    for column in columns:
        expressions += [
            sa.func.max(sa.func.charset(column)),
            sa.func.max(sa.func.octet_length(column)),
        ]
    limit, *facts = connection.execute(sa.select(*expressions).select_from(table)).one()
    codes = _type_codes(connection, table, columns)
    keys = []
    for column, code, charset, longest in zip(columns, codes, facts[::2], facts[1::2], strict=True):
        if code in _MARIADB_AS_THEY_ARE:
            keys.append(Key(column))
        elif longest is not None and longest > limit:
            raise PromiseError(
                f"column {column.key!r} has texts of more than {limit} bytes, which the database "
                "does not compare whole; set max_sort_length higher"
            )
        else:
            keys.append(Key(sa.cast(column, sa.BINARY()), _ENCODINGS.get(str(charset))))
    return keys


def _type_codes(connection: sa.Connection, table: Any, columns: Sequence[Expression]) -> list[Any]:
    """Return the database's own number of the type of each column."""
    with connection.execute(sa.select(*columns).select_from(table).limit(0)) as nothing:
        return [described[1] for described in nothing.cursor.description]


DIALECTS: Mapping[str, Keys] = {
    "postgresql": _in_postgres,
    "sqlite": _in_sqlite,
    "mariadb": _in_mariadb,
    "mysql": _in_mariadb,
}
