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
    from sfumato.tasks.sql.dialects.address import Address

Types = Mapping[str, ColumnType]
"""The types of published columns by their names."""

Kind = ColumnType | Literal["null", "unknown"]
"""The type that DuckDB gives a value."""

Pattern = Callable[[exp.Expr, str, bool], exp.Expr]
"""Spells the test that a text matches a pattern, in any case of letters if the flag is set."""


def as_it_is(node: exp.Expr) -> exp.Expr:
    """Return the node unchanged."""
    return node


def double(node: exp.Expr) -> exp.Expr:
    """Return a number as a float."""
    return exp.Cast(this=node, to=exp.DataType.build("double"))


@dataclass(frozen=True)
class Spelling:
    """Spelling of conditions that mean in a database what they mean in DuckDB.

    Attributes:
        matches: makes LIKE and ILIKE.
        moment: a DATE or TIMESTAMP of a text.
        collation: compares texts by code points, if it must be named.
        number: makes a float from its literal.
        text: makes a text that means the same in every mode of server and client.
        node: changes any other part of a query.
        modulo: makes %, given its kind.
        modulo_refused: why % of numbers of a kind is not written, the divisor being 0 or not.
        casts_integers: whether integers are cast to be compared with floats.
        moments_are_texts: whether DATE and TIMESTAMP are texts.
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
    """Storage of columns, and the values that they cannot hold.

    Attributes:
        types: the types of columns by ours; decimals have a scale.
        fill: inserts the rows of a table into one of the same columns, by the connection.
        text_type: the type of a column of texts, if it depends on them.
        longest_name: the longest name, in the unit of `name_size`.
        name_size: the length of a name, in characters or bytes.
        collation: the collation of columns of texts, if it must be named.
        options: the options of new tables.
        misfit: what the database cannot store of a column of a kind, or None; the flag says whether
            decimals must be exact.
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
    """Way to connect to the database, and to write it in one transaction.

    Attributes:
        scheme: the scheme of its addresses.
        in_file: whether it is a file.
        connect: makes a driver's own connection, and the function that closes it.
        existing: the query for the names of existing tables and views.
        begins: whether a transaction must be begun.
        analyzes: whether tables are analyzed when they are filled.
        in_transaction: whether the connection has something to undo.
        require: a check before anything is made, of what a query returns.
        exchanges: the query for tables that are exchanged by name, where a transaction has none.
        execute: runs a statement, and returns the rows that it gives.
        errors: the errors of its driver, which is imported only then.
        code: an error's code in its manual, or None.
    """

    scheme: str
    in_file: bool
    connect: Callable[["Address"], tuple[Any, Callable[[], None]]]
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
"""Makes a function that runs a query: its name, the text around the condition, and its columns."""


@dataclass(frozen=True)
class Dialect:
    """A database.

    Attributes:
        name: its name on the command line.
        title: its name in messages.
        sqlglot: its name in sqlglot.
        spelling: the spelling of conditions; None for DuckDB's own.
        storage: the storage of columns.
        access: the way to connect to it.
        arithmetic: the arithmetic of exact numbers, for bounds.
        function: makes a function, where the database has such.
        function_types: the types of the function's columns, if they must be named.
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

    def quote(self, name: str) -> str:
        """Return a name as the database's SQL quotes it."""
        return exp.to_identifier(name, quoted=True).sql(self.sqlglot)

    def refusal(self, what: str) -> QueryError:
        """Return the error for what the database cannot express."""
        return QueryError(
            f"the query cannot be written for {self.title}, because of {what}. Ask with "
            "`sfumato query`"
        )


def execute_by_cursor(connection: Any, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement by a cursor of its own, and return the rows that it gives."""
    cursor = connection.cursor()
    try:
        cursor.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []
    finally:
        cursor.close()
