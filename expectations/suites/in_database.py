"""Groups counted by a database: its `GROUP BY`, of which counts alone come back.

Values of the columns that tell groups apart stay in the database: groups come back numbered. Two
values are one group where they are one value to `expectations.groups.ranks`, too: each dialect
that is known here says how its texts are compared as bytes.
"""

from collections.abc import Callable, Mapping, Sequence
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
        """The value of the column, where this is its key."""
        return key if self.encoding is None or key is None else key.decode(self.encoding)


Keys = Callable[[sa.Connection, Any, Sequence[Expression]], list[Key]]


def count_groups(
    connection: sa.Connection, rows: Any, by: Sequence[Expression], sensitive: Sequence[Expression]
) -> Groups:
    """Let a database count the groups of some rows.

    Args:
        connection: to the database.
        rows: a table, or a query.
        by: the columns whose values tell groups apart.
        sensitive: the attribute whose values are counted in each group; none, or one.

    Raises:
        PromiseError: where the database is not known to compare exactly, or cannot.
    """
    keys_of = DIALECTS.get(connection.dialect.name)
    if keys_of is None:
        raise PromiseError(f"groups can be counted exactly by {', '.join(DIALECTS)} alone")
    of = rows if isinstance(rows, sa.FromClause) else rows.subquery()
    keys = keys_of(connection, of, [*by, *sensitive])
    counting = _counting([key.expression for key in keys], of, len(by))
    found = connection.execute(counting).fetchall()
    if not sensitive:
        return Groups(np.array([n for (n,) in found], dtype=np.int64), {})
    numbers = np.array([(group - 1, n) for group, _, n in found], dtype=np.int64).reshape(-1, 2)
    values = pa.array([keys[-1].value(key) for _, key, _ in found])
    return groups_of_counts(numbers[:, 0], numbers[:, 1], {sensitive[0].key or "": values})


def column_names(connection: sa.Connection, rows: Any) -> list[str]:
    """The names of the columns of a table or a query, of whatever types they are."""
    of = rows if isinstance(rows, sa.FromClause) else rows.subquery()
    asked: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(of).limit(0)
    with connection.execute(asked) as nothing:
        return list(nothing.keys())


def _counting(keys: Sequence[Expression], of: Any, by: int) -> sa.Select[Any]:
    """Count rows by all keys; the first of them number the groups, and are not shown."""
    labelled = [key.label(f"key_{place}") for place, key in enumerate(keys)]
    rows = sa.select(*labelled).select_from(of).subquery("sfumato_rows")
    number = sa.func.count().label("n")
    cells = sa.select(*rows.c, number).group_by(*rows.c).subquery("sfumato_counts")
    if by == len(keys):
        return sa.select(cells.c.n)
    group = sa.func.dense_rank().over(order_by=list(cells.c)[:by])
    return sa.select(group, cells.c[f"key_{by}"], cells.c.n)


def _in_sqlite(_: sa.Connection, __: Any, columns: Sequence[Expression]) -> list[Key]:
    """Values have types there, and not columns: the collation is for those that are texts."""
    return [Key(sa.collate(column, "BINARY")) for column in columns]


# PostgreSQL's bool, bytea, integers, floats, date, time, timestamps, numeric and uuid
_POSTGRES_AS_THEY_ARE = (16, 17, 20, 21, 23, 700, 701, 1082, 1083, 1114, 1184, 1700, 2950)


def _in_postgres(connection: sa.Connection, of: Any, columns: Sequence[Expression]) -> list[Key]:
    """Whatever is not known to be compared exactly is compared as text: names, enums, citext."""
    codes = _type_codes(connection, of, columns)
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


def _in_mariadb(connection: sa.Connection, of: Any, columns: Sequence[Expression]) -> list[Key]:
    """Texts as bytes, whose trailing blanks count.

    Raises:
        PromiseError: where texts are longer than what is compared of them.
    """
    asked: list[Expression] = [sa.literal_column("@@max_sort_length")]
    for column in columns:
        asked += [sa.func.max(sa.func.charset(column)), sa.func.max(sa.func.octet_length(column))]
    limit, *told = connection.execute(sa.select(*asked).select_from(of)).one()
    codes = _type_codes(connection, of, columns)
    keys = []
    for column, code, charset, longest in zip(columns, codes, told[::2], told[1::2], strict=True):
        if code in _MARIADB_AS_THEY_ARE:
            keys.append(Key(column))
        elif longest is not None and longest > limit:
            raise PromiseError(f"column {column.key!r} has texts of more than {limit} bytes")
        else:
            keys.append(Key(sa.cast(column, sa.BINARY()), _ENCODINGS.get(str(charset))))
    return keys


def _type_codes(connection: sa.Connection, of: Any, columns: Sequence[Expression]) -> list[Any]:
    """The database's own number of the type of each column."""
    with connection.execute(sa.select(*columns).select_from(of).limit(0)) as nothing:
        return [described[1] for described in nothing.cursor.description]


DIALECTS: Mapping[str, Keys] = {
    "postgresql": _in_postgres,
    "sqlite": _in_sqlite,
    "mariadb": _in_mariadb,
    "mysql": _in_mariadb,
}
