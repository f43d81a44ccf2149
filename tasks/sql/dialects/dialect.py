"""The description of a database by its dialect; `tasks.sql.dialects.registry` names them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.dialects.outward import Arithmetic

if TYPE_CHECKING:
    from sqlalchemy import URL  # takes a tenth of a second: databases alone need it

Types = Mapping[str, ColumnType]
"""The types of published columns by their names."""

Kind = ColumnType | Literal["null", "unknown"]
"""The type that DuckDB gives a value."""

Pattern = Callable[[exp.Expr, str, bool], exp.Expr]
"""Spells that a text matches a pattern, letters of any case alike if that is told."""


def as_it_is(node: exp.Expr) -> exp.Expr:
    """The same."""
    return node


def double(node: exp.Expr) -> exp.Expr:
    """A number as a float."""
    return exp.Cast(this=node, to=exp.DataType.build("double"))


@dataclass(frozen=True)
class Spelling:
    """The spelling of conditions that mean what they mean in DuckDB.

    Attributes:
        matches: LIKE and ILIKE.
        moment: a DATE or TIMESTAMP of a text.
        collation: in which texts are compared by code points, where it must be told.
        number: a float as it is written.
        text: a text as it is written, so that it means the same in every mode of server and client.
        node: any other part of a query.
        modulo: %, whose kind is told.
        modulo_refused: why % of numbers of a kind is not written, the divisor being 0 or not.
        casts_integers: whether an integer is made a float where it is compared with one.
        moments_are_texts: whether DATE and TIMESTAMP are.
        decimals: whether numbers with decimals are exact.
        nulls_first: whether nulls come first in ascending order.
        boolean_extremes: whether there is a least boolean.
        groups_windows: whether the rows of windows must be grouped to be joined in good time.
    """

    matches: Pattern
    moment: Callable[[exp.Expr, exp.DataType], exp.Expr] = lambda text, to: exp.Cast(
        this=text, to=to
    )
    collation: exp.Expr | None = None
    number: Callable[[exp.Expr], exp.Expr] = as_it_is
    text: Callable[[exp.Literal], exp.Expr] = as_it_is
    node: Callable[[exp.Expr], exp.Expr] = as_it_is
    modulo: Callable[[exp.Expr, Kind], exp.Expr] = lambda rest, _: rest
    modulo_refused: Callable[[Kind, bool], str | None] = lambda _kind, _nonzero: None
    casts_integers: bool = False
    moments_are_texts: bool = False
    decimals: bool = True
    nulls_first: bool = False
    boolean_extremes: bool = True
    groups_windows: bool = False


@dataclass(frozen=True)
class Storage:
    """The storage of columns, and the values they cannot hold.

    Attributes:
        types: the types of columns by ours; decimals have a scale.
        fill: inserts the rows of a table into one of the same columns, by the connection.
        text_type: the type of a column of texts, where that depends on them.
        longest_name: of how many characters, or bytes, a name may be.
        name_size: how long a name is.
        collation: of columns of texts, where it must be told.
        options: of the tables that are made.
        misfit: what the database cannot hold of a column, by its kind, if anything; whether
            decimals must be held exactly is told.
    """

    types: Mapping[str, str | exp.DataType]
    fill: Callable[[Any, str, pa.Table], None]
    text_type: Callable[[pa.ChunkedArray], str] | None = None
    longest_name: int | None = None
    name_size: Callable[[str], int] = len
    collation: exp.Expr | None = None
    options: Sequence[exp.Property] = ()
    misfit: Callable[[pa.ChunkedArray, str, bool], str | None] = lambda _column, _kind, _exact: None


@dataclass(frozen=True)
class Access:
    """The way to reach the database, and to write it in one go.

    Attributes:
        scheme: of its addresses.
        in_file: whether it is a file.
        connect: makes a driver's own connection, and what closes it.
        existing: the query for the names of tables and views.
        begins: whether a transaction must be begun.
        analyzes: whether tables are analyzed when they are filled.
        in_transaction: whether the connection has something to undo.
        require: a check before anything is made, of what a query returns.
        exchanges: the query for tables that are exchanged by name, where a transaction has none.
        execute: runs a statement, and returns the rows that it gives.
        errors: those of its driver, which is imported no earlier.
        code: by which its manual knows an error, if there is one.
    """

    scheme: str
    in_file: bool
    connect: Callable[["URL"], tuple[Any, Callable[[], None]]]
    existing: str
    errors: Callable[[], tuple[type[Exception], ...]]
    code: Callable[[BaseException], object] = lambda error: getattr(error, "sqlstate", None)
    begins: bool = False
    analyzes: bool = False
    in_transaction: Callable[[Any], bool] = lambda _: True
    require: tuple[str, str, str] | None = None
    exchanges: str | None = None
    execute: Callable[[Any, str], list[tuple[Any, ...]]] = field(
        default_factory=lambda: execute_by_cursor
    )


@dataclass(frozen=True)
class Made:
    """A view or function: its name, and the statements that make, replace and drop it."""

    name: str
    create: str
    replace: str
    drop: str


Function = Callable[[str, tuple[str, str], Sequence[tuple[str, ColumnType]]], Made]
"""Makes a function that runs a query: its name, the query around a condition, what it returns."""


@dataclass(frozen=True)
class Dialect:
    """A database.

    Attributes:
        name: by which a query is asked for.
        title: in messages.
        sqlglot: its name in sqlglot.
        spelling: how conditions are written; None where it is the meaning itself.
        storage: how columns are stored.
        access: how it is reached.
        arithmetic: of the exact numbers that bounds are computed of.
        function: makes a function, where the database has such.
        function_types: the types of what it returns, where they must be told.
        arrays: whether columns can be arrays.
    """

    name: str
    title: str
    sqlglot: str
    spelling: Spelling | None
    storage: Storage
    access: Access
    arithmetic: Arithmetic
    function: Function | None = None
    function_types: Mapping[ColumnType, str] = field(default_factory=dict)
    arrays: bool = False

    def quoted(self, name: str) -> str:
        """A name as the database's SQL has it."""
        return exp.to_identifier(name, quoted=True).sql(self.sqlglot)

    def refusal(self, what: str) -> QueryError:
        """The error of what the database cannot say."""
        return QueryError(f"cannot be written for {self.title}: {what}")


def execute_by_cursor(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement by a cursor of its own, and return the rows that it gives."""
    cursor = connection.cursor()
    try:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []
    finally:
        cursor.close()


def connect_by_sqlalchemy(
    address: "URL", driver: str, query: Mapping[str, str]
) -> tuple[Any, Callable[[], None]]:
    """A driver's own connection that SQLAlchemy makes, and what closes it."""
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    whole = address.set(drivername=driver).update_query_dict(query)
    engine = create_engine(whole, poolclass=NullPool)
    wrapped = engine.raw_connection()

    def close() -> None:
        try:
            wrapped.close()
        finally:
            engine.dispose()

    return wrapped.driver_connection, close
