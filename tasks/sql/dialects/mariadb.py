"""MariaDB: texts in a binary collation, tables filled under other names and then exchanged."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.dialects.common import (
    insert_rows,
    misfitting_floats,
    misfitting_moments,
    regular,
)
from sfumato.tasks.sql.dialects.dialect import (
    Access,
    Dialect,
    Kind,
    Made,
    Spelling,
    Storage,
    double,
)
from sfumato.tasks.sql.dialects.outward import Arithmetic, Numeric, as_double
from sfumato.tasks.sql.dialects.statements import drop

if TYPE_CHECKING:
    from sfumato.tasks.sql.dialects.address import Address

_FREELY_JOINED = (
    5  # joins of one query; for each one more, finding their order takes many times longer
)
_SORTED = 255  # characters of a text: MariaDB sorts by 1,024 bytes (max_sort_length)
_COLLATION = exp.Var(this="utf8mb4_nopad_bin")
_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"


def _errors() -> tuple[type[Exception], ...]:
    import pymysql

    return (pymysql.Error,)


def _code(error: BaseException) -> int | None:
    code = error.args[0] if isinstance(error, _errors()) and error.args else None
    return code if isinstance(code, int) else None


def _with_collation(text: str) -> exp.Expr:
    return exp.Collate(this=exp.Literal.string(text), expression=_COLLATION.copy())


def _text(text: exp.Literal) -> exp.Expr:
    """Return a text as utf8mb4 for any client's character set, in hex if modes could change it.

    A backslash is none with NO_BACKSLASH_ESCAPES, and '' is NULL with EMPTY_STRING_IS_NULL.
    """
    content: str = text.this
    plain = content.isascii() and content.isprintable() and content and "\\" not in content
    written = text.copy() if plain else exp.HexString(this=content.encode().hex())
    return exp.Introducer(this=exp.Var(this="_utf8mb4"), expression=written)


def _matches(text: exp.Expr, pattern: str, any_case: bool) -> exp.Expr:
    if any_case:
        whole = _with_collation(f"(?s){regular(pattern, end=chr(92) + 'z')}")
        place = exp.Anonymous(this="REGEXP_INSTR", expressions=[text, whole])
        return exp.GT(this=place, expression=exp.Literal.number(0))
    if "\\" not in pattern:
        return exp.Like(this=text, expression=_with_collation(pattern))
    # Whether a backslash escapes in LIKE depends on the mode: another character does.
    like = exp.Like(this=text, expression=_with_collation(pattern.replace("!", "!!")))
    return exp.Escape(this=like, expression=exp.Var(this="'!'"))


def _moment(text: exp.Expr, to: exp.DataType) -> exp.Expr:
    if to.this == exp.DataType.Type.DATE:
        return exp.Cast(this=text, to=to)
    return exp.Cast(this=text, to=exp.DataType.build("DATETIME(6)", dialect="mysql"))


def _quotient(node: exp.Expr) -> exp.Expr:
    """Return a quotient of whole numbers as floats, as in DuckDB: MariaDB's has four decimals."""
    if isinstance(node, exp.Div) and not isinstance(node.this, exp.Cast):
        return exp.Div(this=double(node.this), expression=node.expression, typed=False, safe=False)
    return node


def _node(node: exp.Expr) -> exp.Expr:
    return _joined_in_order(node) if isinstance(node, exp.Select) else _quotient(node)


def _joined_in_order(query: exp.Select) -> exp.Select:
    """Return a query whose many tables are joined as written: MariaDB tries out all orders."""
    joins: list[exp.Join] = query.args.get("joins") or []
    if len(joins) > _FREELY_JOINED:
        for join in joins:
            if join.args.get("on") and not join.side and not join.kind:
                join.set("kind", "STRAIGHT_JOIN")
    return query


def _modulo(rest: exp.Expr, kind: Kind) -> exp.Expr:
    """Return a rest without the decimal -0.0: in MariaDB it is not 0 until something is added."""
    if kind == "integer":
        return rest
    return exp.paren(exp.Add(this=rest, expression=exp.Literal.number(0)))


def _modulo_refused(kind: Kind, nonzero: bool) -> str | None:
    return "% of floats with a divisor that can be 0" if kind == "float" and not nonzero else None


def _text_type(column: pa.ChunkedArray) -> str:
    longest = pc.max(pc.utf8_length(column)).as_py() or 0
    return f"VARCHAR({max(longest, 1)})"


def _misfit(column: pa.ChunkedArray, kind: str, _: bool) -> str | None:
    if kind == "string" and pc.max(pc.utf8_length(column)).as_py() > _SORTED:
        return f"a text with more than {_SORTED} characters, the most by which MariaDB sorts"
    return misfitting_floats(column, kind) or misfitting_moments(column, kind)


def _connect(address: "Address") -> tuple[Any, Callable[[], None]]:
    import pymysql

    options = {name: _option(name, text) for name, text in address.options.items()}
    try:
        own = pymysql.connect(
            database=address.database, charset="utf8mb4", **address.account(), **options
        )
    except TypeError:
        raise InputError(
            "address of a database: after the question mark is an option that PyMySQL does not have"
        ) from None
    return own, own.close


def _option(name: str, text: str) -> str | int:
    """Return an option of an address as the driver takes it: times are numbers of seconds."""
    return int(text) if name.endswith("_timeout") and text.isdigit() else text


def _fill(connection: Any, name: str, table: pa.Table) -> None:
    insert_rows(connection, "mysql", name, table, "%s")


def _lines(query: str) -> Iterator[str]:
    """Yield the lines of a part of a query, as texts."""
    for line in filter(None, query.split("\n")):
        yield _text(exp.Literal.string(line)).sql("mysql")


def _function(name: str, query: tuple[str, str], _: Sequence[tuple[str, ColumnType]]) -> Made:
    """Return a procedure as texts: sqlglot writes neither its parameter nor EXECUTE IMMEDIATE."""
    before, after = (", ".join(_lines(part)) for part in query)
    made = (
        f"PROCEDURE {name}(IN selected_by LONGTEXT CHARACTER SET utf8mb4) "
        f"READS SQL DATA SQL SECURITY INVOKER "
        f"EXECUTE IMMEDIATE CONCAT_WS({_text(exp.Literal.string(chr(10))).sql('mysql')}, "
        f"{before}, selected_by, {after})"
    )
    dropped = drop("PROCEDURE", exp.table_(name)).sql("mysql")
    return Made(name, f"CREATE {made}", f"CREATE OR REPLACE {made}", dropped)


def _whole(over: exp.Expr, under: exp.Expr) -> exp.Expr:
    return as_double(exp.IntDiv(this=over.copy(), expression=under.copy()))


def _rest(over: exp.Expr, under: exp.Expr, _: Numeric) -> exp.Expr:
    return exp.Mod(this=over.copy(), expression=under.copy())


mariadb = Dialect(
    name="mariadb",
    title="MariaDB",
    sqlglot="mysql",
    spelling=Spelling(
        matches=_matches,
        moment=_moment,
        text=_text,
        collation=_COLLATION,
        node=_node,
        modulo=_modulo,
        modulo_refused=_modulo_refused,
        casts_integers=True,
        nulls_first=True,
    ),
    storage=Storage(
        types={"float": "DOUBLE", "timestamp": "DATETIME(6)"},
        fill=_fill,
        text_type=_text_type,
        longest_name=64,
        options=(
            exp.EngineProperty(this=exp.Var(this="InnoDB")),
            exp.CharacterSetProperty(this=exp.Var(this="utf8mb4")),
            exp.CollateProperty(this=_COLLATION.copy()),
        ),
        misfit=_misfit,
    ),
    access=Access(
        scheme="mariadb",
        in_file=False,
        connect=_connect,
        errors=_errors,
        code=_code,
        existing=_TABLES,
        exchanges=f"{_TABLES} AND table_type = 'BASE TABLE'",
    ),
    arithmetic=Arithmetic(whole=_whole, rest=_rest),
    function=_function,
)
