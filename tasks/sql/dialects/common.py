"""Common parts of several dialects: rows as Python values, misfits, and patterns of LIKE.

DuckDB's LIKE distinguishes the case of letters and has no escape character. Its ILIKE compares
lower cases, one character at a time, in every script; other databases know only ASCII, or use the
collation. Here a pattern is written out: for each letter, all letters that are equal to it.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from sfumato.tasks.sql.dialects.statements import quoted_table

_CHUNK = 20_000
_YEARS = (-719162, 2932896)  # the first and the last day that four digits of a year can name
_MICROSECONDS = 86_400_000_000
_GLOB = str.maketrans({"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"})
_SURROGATES = range(0xD800, 0xE000)
_END = 0x20000  # beyond, no script has cases


def kind_of(type_: pa.DataType) -> str:
    """Return our name of an Arrow type."""
    if pa.types.is_decimal(type_):
        return "decimal"
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_timestamp(type_):
        return "timestamp"
    if pa.types.is_date(type_):
        return "date"
    if pa.types.is_floating(type_):
        return "float"
    return "integer" if pa.types.is_integer(type_) else "string"


def insert_rows(connection: Any, dialect: str, name: str, table: pa.Table, mark: str) -> None:
    """Insert all rows by a driver in whose statements `mark` stands for a value.

    Args:
        connection: the driver's own.
        dialect: its name in sqlglot.
        name: the name of the table.
        table: the rows.
        mark: `?` or `%s`, beside which a percent sign in a name is written twice.
    """
    columns = table.column_names
    escaped = columns if mark == "?" else [column.replace("%", "%%") for column in columns]
    values = exp.Tuple(expressions=[exp.Var(this=mark) for _ in columns])
    into = exp.Insert(this=quoted_table(name, escaped), expression=exp.Values(expressions=[values]))
    statement = into.sql(dialect)
    cursor = connection.cursor()
    try:
        for rows in _rows(table):
            cursor.executemany(statement, rows)
    finally:
        cursor.close()


def _rows(table: pa.Table) -> Iterator[list[tuple[Any, ...]]]:
    for batch in table.to_batches(_CHUNK):
        columns = [column.to_pylist() for column in batch.columns]
        yield list(zip(*columns, strict=True))


def misfitting_zeros(column: pa.ChunkedArray, kind: str) -> str | None:
    """Return the rule against texts with a zero character if there are any, otherwise None."""
    has_misfit = kind == "string" and pc.any(pc.match_substring(column, "\0")).as_py()
    return "a text with a zero character" if has_misfit else None


def misfitting_floats(column: pa.ChunkedArray, kind: str) -> str | None:
    """Return the rule against infinite floats if there are any, otherwise None."""
    has_misfit = kind == "float" and not pc.all(pc.is_finite(column)).as_py()
    return "a float that is infinite or not a number" if has_misfit else None


def misfitting_moments(column: pa.ChunkedArray, kind: str) -> str | None:
    """Return the rule against years beyond four digits if there are any, otherwise None."""
    if kind not in ("date", "timestamp"):
        return None
    scale = 1 if kind == "date" else _MICROSECONDS
    days = column.cast(pa.int32() if kind == "date" else pa.int64())
    low, high = pc.min(days).as_py(), pc.max(days).as_py()
    fits = _YEARS[0] * scale <= low <= high < (_YEARS[1] + 1) * scale
    return None if fits else "a year outside 1 to 9999"


def glob_of(pattern: str, *, any_case: bool) -> str:
    """Return a pattern as SQLite's GLOB reads it.

    >>> glob_of("a%_[*", any_case=False)
    'a*?[[][*]'
    >>> glob_of("ä%", any_case=True)
    '[Ää]*'
    """
    return "".join(_glob(character, any_case) for character in pattern)


def _glob(character: str, any_case: bool) -> str:
    alike = _alike(character) if any_case else character
    return f"[{alike}]" if len(alike) > 1 else character.translate(_GLOB)


def regular(pattern: str, *, end: str) -> str:
    r"""Return an ILIKE pattern as a regular expression over the whole text, which `end` ends.

    >>> regular("ä_.%", end="$")
    '^[Ää].\\..*$'
    """
    return f"^{''.join(map(_regular, pattern))}{end}"


def _regular(character: str) -> str:
    if character in "%_":
        return ".*" if character == "%" else "."
    alike = _alike(character)
    if len(alike) > 1:
        return f"[{alike}]"
    return f"\\{character}" if character.isascii() and not character.isalnum() else character


def _alike(character: str) -> str:
    """Return all characters that ILIKE takes for this one, itself included.

    >>> _alike("Σ"), _alike("1")
    ('Σσ', '1')
    """
    lower, alike = _cases()
    return alike.get(lower.get(character, character), character)


@cache
def _cases() -> tuple[dict[str, str], dict[str, str]]:
    """Return each letter's lower case, and for each lower case its letters, as in DuckDB."""
    import duckdb  # a check rewrites queries without it

    query = """
        SELECT lower(letter) AS lower, string_agg(letter, '' ORDER BY letter)
        FROM (SELECT chr(CAST(range AS INTEGER)) AS letter
              FROM (FROM range(1, ?) UNION ALL FROM range(?, ?)))
        GROUP BY lower HAVING count(*) > 1
    """
    with duckdb.connect(":memory:") as connection:
        ends = [_SURROGATES.start, _SURROGATES.stop, _END]
        alike = dict(connection.execute(query, ends).fetchall())
    return {letter: lower for lower, letters in alike.items() for letter in letters}, alike
