"""Facts of people, computed by SQL from the rows of a second table that belong to them.

All people are computed in one query, in a database of its own that reaches nothing else and whose
memory and time are limited. Messages name the column and what failed, and no value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Timer

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import InputError, QueryError, SpecError
from sfumato.tasks.microdata.table import Microdata, OwnedRows, encode
from sfumato.tasks.schema.columns import ColumnSpec, ColumnType, NullPolicy
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.sql.of_person import OWNER, PLACE, VALUE, PersonSql, parse_of_person
from sfumato.tasks.sql.session import Limits, session

Facts = Mapping[str, ColumnSpec]
"""Columns of people with `derive`, by name."""
TYPES: tuple[ColumnType, ...] = ("boolean", "integer", "decimal")
"""The types that facts can have."""
_LIMITS: Limits = {"memory_limit": "4GB", "temp_directory": "", "threads": 1}
_SECONDS = 600
_OF_TYPES = ("BinderException", "CatalogException")
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")


@dataclass(frozen=True, eq=False)
class PeopleWithFacts:
    """People with their facts, and how many were left out because one has no value."""

    people: Microdata
    without_value: int
    rows_without: int


def parse_facts(
    facts: Facts, table: str, columns: Mapping[str, ColumnSpec]
) -> dict[str, PersonSql]:
    """Return the SQL of facts, each held to the list of what is allowed.

    Args:
        facts: the columns of people that are computed.
        table: the name of the related table.
        columns: the columns of the related table; those that identify people cannot be used.

    Raises:
        SpecError: naming the column, and what is not allowed.
    """
    usable = [name for name, column in columns.items() if column.role != "identifier"]
    parsed = {}
    for name, column in facts.items():
        try:
            parsed[name] = parse_of_person(str(column.derive), table, usable)
        except QueryError as error:
            raise SpecError(f"columns.{name}.derive: {error}") from None
    return parsed


def columns_of_facts(facts: Facts, table: str, columns: Mapping[str, ColumnSpec]) -> set[str]:
    """Return the columns of related rows that facts are computed from."""
    parsed = parse_facts(facts, table, columns).values()
    return {name for sql in parsed for name in sql.columns}


def require_types(facts: Facts, table: str, columns: Mapping[str, ColumnSpec]) -> None:
    """Make sure that the SQL of facts fits the types of columns, before anything is read.

    Raises:
        SpecError: naming the column, and the type that its SQL gives.
    """
    schema = [pa.field(name, _arrow_type(column)) for name, column in columns.items()]
    empty = Microdata(tuple(encode(f.name, "insensitive", pa.array([], f.type)) for f in schema), 0)
    for name, sql in parse_facts(facts, table, columns).items():
        compute_fact(name, facts[name], sql, OwnedRows(np.zeros(0, np.int64), empty), 0)


def _arrow_type(column: ColumnSpec) -> pa.DataType:
    scale = 2 if column.type == "decimal" else None  # any will do
    return DeclaredColumn(role="sensitive", type=column.type, scale=scale).arrow_type


def with_facts(
    people: Microdata,
    facts: Facts,
    table: str,
    columns: Mapping[str, ColumnSpec],
    nulls: NullPolicy,
) -> PeopleWithFacts:
    """Return people with their facts as columns, without those whom null policies leave out.

    Args:
        people: with the rows that belong to them, which have all columns that facts need.
        facts: the columns to compute.
        table: the name of the related table.
        columns: the columns of the related table.
        nulls: the null policy of facts that name none.

    Raises:
        SpecError: if the SQL does not fit the types.
        InputError: if a value cannot be computed, or is missing and must not be.
    """
    if people.related is None or not facts:
        return PeopleWithFacts(people, 0, 0)
    parsed = parse_facts(facts, table, columns)
    made = [
        encode(
            name,
            facts[name].role,
            compute_fact(name, facts[name], sql, people.related, people.rows),
        )
        for name, sql in parsed.items()
    ]
    stays = np.ones(people.rows, dtype=bool)
    for column in made:
        stays &= _rows_kept(column.codes < 0, column.name, facts[column.name].nulls or nulls)
    whole = replace(people, columns=(*people.columns, *made))
    if stays.all():
        return PeopleWithFacts(whole, 0, 0)
    others = whole.take(np.flatnonzero(stays))
    before, after = (w.related.table.rows if w.related else 0 for w in (whole, others))
    if not after:
        raise InputError(
            f"columns.{made[0].name}: all people with rows lack a fact and are left out "
            "(nulls: drop-row). Write COALESCE(…, 0) in its SQL, or nulls: category"
        )
    return PeopleWithFacts(others, int((~stays).sum()), before - after)


def _rows_kept(missing: np.ndarray, name: str, policy: NullPolicy) -> np.ndarray:
    """Return which people stay (bool) by the null policy of a fact.

    Raises:
        InputError: where missing values are refused.
    """
    many = int(missing.sum())
    if policy == "refuse" and many:
        raise InputError(
            f"columns.{name}: {many:,} people have no value, such as people without rows, of whom "
            "only COUNT is 0. Write COALESCE(…, 0) in derive, or `nulls: category`, which makes "
            "it a value, or `nulls: drop-row`, which leaves these people out"
        )
    return ~missing if policy == "drop-row" else np.ones(len(missing), dtype=bool)


def compute_fact(
    name: str,
    column: ColumnSpec | DeclaredColumn,
    sql: PersonSql,
    related: OwnedRows,
    people: int,
) -> pa.Array:
    """Return the value of each person.

    Args:
        name: of the fact.
        column: with its type.
        sql: what it is computed by.
        related: the rows of people.
        people: their number.

    Raises:
        SpecError: if the SQL does not fit the types.
        InputError: if a value cannot be computed.
    """
    rows = _as_table(sql, related)
    with session({sql.table: rows}, _LIMITS) as connection:
        stop = Timer(_SECONDS, connection.interrupt)
        stop.start()
        try:
            query = _with_type(name, column, connection, sql.for_everybody())
            values = connection.sql(query).to_arrow_table()
            connection.unregister(sql.table)
            connection.register(sql.table, rows.slice(0, 0))
            query = _with_type(name, column, connection, sql.for_nobody())
            of_nobody = connection.sql(query).to_arrow_table()[VALUE]
        except _errors() as error:
            require_machine(error)
            wrong = SpecError if type(error).__name__ in _OF_TYPES else InputError
            raise wrong(f"columns.{name}.derive: {_reason(error)}") from None
        finally:
            stop.cancel()
    place = np.full(people, len(values), dtype=np.int64)
    place[values[OWNER].to_numpy()] = np.arange(len(values))
    both = pa.chunked_array([*values[VALUE].chunks, *of_nobody.chunks], values[VALUE].type)
    return both.take(pa.array(place)).combine_chunks()


def _as_table(sql: PersonSql, related: OwnedRows) -> pa.Table:
    """Return the rows with their owners, in the order of owners and of all values."""
    columns = [related.table[name] for name in sorted(sql.columns)]
    order = np.lexsort([*(column.codes for column in columns), related.owner])
    arrays = {column.name: column.take(order).array() for column in columns}
    return pa.table(
        {**arrays, OWNER: related.owner[order], PLACE: np.arange(len(order), dtype=np.int64)}
    )


def _with_type(
    name: str, column: ColumnSpec | DeclaredColumn, connection: object, query: exp.Select
) -> str:
    """Return the SQL of a query whose value has the column's type.

    Raises:
        SpecError: if the value is of another type.
    """
    relation = connection.sql(query.sql("duckdb"))  # type: ignore[attr-defined]
    kind = str(relation.types[relation.columns.index(VALUE)])
    whole, exact = kind in _WHOLE, kind.startswith("DECIMAL")
    fits = {"boolean": kind == "BOOLEAN", "integer": whole, "decimal": whole or exact}
    if not fits[column.type]:
        raise SpecError(
            f"columns.{name}.derive: gives {_words_of_type(kind)}, and the column has type "
            f"{column.type}. {_instead(kind, column.type)}"
        )
    value, cast = exp.column(VALUE, quoted=True), {"integer": "BIGINT"}.get(column.type)
    typed = exp.cast(value, cast) if cast else value
    if column.type == "decimal" and whole:
        typed = exp.cast(value, "DECIMAL(38, 0)")
    others = [exp.column(n, quoted=True) for n in relation.columns if n != VALUE]
    outer = exp.select(*others, exp.alias_(typed, VALUE, quoted=True))
    return outer.from_(query.subquery("valued")).sql("duckdb")


def _words_of_type(kind: str) -> str:
    words = {"BOOLEAN": "true or false", "DOUBLE": "floating-point numbers", "VARCHAR": "texts"}
    return words.get(kind, f"values of type {kind}")


def _instead(kind: str, wished: ColumnType) -> str:
    if kind == "BOOLEAN":
        return "Write `type: boolean`"
    if kind in _WHOLE:
        return "Write `type: integer`, or a condition such as COUNT(*) > 0"
    if wished == "boolean":
        return "Write a condition, such as COUNT(*) > 0"
    return f"Write CAST(… AS {'BIGINT' if wished == 'integer' else 'DECIMAL(18, 2)'}) around it"


def _errors() -> type[Exception]:
    import duckdb  # a spec without facts is read without it

    return duckdb.Error


def _reason(error: Exception) -> str:
    """Return why the SQL failed, in words; messages of DuckDB may quote values."""
    kind = type(error).__name__
    reasons = {
        "BinderException": (
            "its SQL does not fit the types of the columns. Compare values of one type, and give "
            "functions what they need"
        ),
        "ConversionException": "a value cannot be converted. Leave such values out with WHERE",
        "OutOfRangeException": "a number is too large for its type. Use smaller units",
        "OutOfMemoryException": "it needs more than 4 GB of memory. Use fewer windows",
        "InterruptException": "it takes more than 10 minutes. Use fewer windows",
        "InvalidInputException": "a function cannot be computed with its values",
    }
    return reasons.get(kind, "its SQL could not be computed. Check it in DuckDB")
