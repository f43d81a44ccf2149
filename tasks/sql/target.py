"""A database to be filled: reached by its address, written in one transaction.

Messages name the host and the database, never an account or a password, and never what a driver
says: that may quote values.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args
from urllib.parse import quote

import duckdb
import psycopg
import pymysql
from sqlalchemy import URL, create_engine, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from sfumato.expectations.errors import InputError
from sfumato.tasks.sql.dialects import Dialect

Scheme = Literal["duckdb", "sqlite", "postgresql", "mariadb"]

_DIALECTS: Mapping[str, Dialect] = {
    "duckdb": "duckdb",
    "sqlite": "sqlite",
    "postgresql": "postgres",
    "mariadb": "mariadb",
}
_DRIVERS: Mapping[str, str] = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "mariadb": "mariadb+pymysql",
}
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_ERRORS = (duckdb.Error, sqlite3.Error, psycopg.Error, pymysql.Error, SQLAlchemyError, OSError)


@dataclass(frozen=True)
class Target:
    """A connection to a database, its dialect, and what the database is called in messages."""

    dialect: Dialect
    place: str
    connection: Any

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement, and return the rows that it gives."""
        if self.dialect == "duckdb":
            rows: list[tuple[Any, ...]] = self.connection.execute(statement).fetchall()
            return rows
        cursor = self.connection.cursor()
        try:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            cursor.close()

    def begin(self) -> None:
        """Start a transaction, where the driver does not by itself."""
        if self.dialect in ("duckdb", "sqlite"):
            self.execute("BEGIN")

    def end(self, *, well: bool) -> None:
        """Keep what was done, or undo it."""
        if well:
            self.connection.commit()
        elif self.dialect != "sqlite" or self.connection.in_transaction:
            self.connection.rollback()


@contextmanager
def target(url: str, environ: Mapping[str, str] = os.environ) -> Iterator[Target]:
    """Connect to the database at an address; `${NAME}` in it comes from the environment.

    Raises:
        InputError: where the address is none, the database cannot be reached, or it refuses.
    """
    address = read_url(url, environ)
    place = shown_place(address)
    with telling(f"{place}: cannot connect"):
        connect, close = _connect(address)
    try:
        yield Target(_DIALECTS[address.drivername], place, connect)
    finally:
        close()


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Say in one line what a database refused, with the kind of its error alone.

    Raises:
        InputError: where it refuses.
    """
    try:
        yield
    except _ERRORS as error:
        raise InputError(f"{what} ({_kind(error)})") from None


def _kind(error: Exception) -> str:
    inner = getattr(error, "orig", None) or error
    state = getattr(inner, "sqlstate", None)
    if isinstance(inner, pymysql.Error) and inner.args and isinstance(inner.args[0], int):
        state = inner.args[0]
    return f"{type(inner).__name__} {state}" if state else type(inner).__name__


def read_url(url: str, environ: Mapping[str, str]) -> URL:
    """The address of a database.

    Raises:
        InputError: for an address that is none, or a variable that is not set.
    """
    account, at, rest = url.rpartition("@")
    missing = [name for name in _VARIABLE.findall(url) if name not in environ]
    if missing:
        raise InputError(f"address of a database: environment variable {missing[0]} is not set")
    expanded = _VARIABLE.sub(lambda match: quote(environ[match[1]], safe=""), account)
    expanded += at + _VARIABLE.sub(lambda match: environ[match[1]], rest)
    scheme = expanded.partition("://")[0]
    if scheme not in get_args(Scheme):
        raise InputError(
            "address of a database: it starts with duckdb://, sqlite://, postgresql:// or "
            "mariadb://"
        )
    try:
        address = make_url(expanded)
    except (SQLAlchemyError, ValueError):
        raise InputError(f"address of a database: not one of {scheme}") from None
    in_file = scheme in ("duckdb", "sqlite")
    if not address.database or (in_file and (address.host or address.database == ":memory:")):
        form = f"{scheme}:///FILE" if in_file else f"{scheme}://HOST/DATABASE"
        raise InputError(f"address of a database: write {form}")
    return address


def shown_place(address: URL) -> str:
    """What messages call a database.

    >>> shown_place(make_url("mariadb://me:secret@db:3307/releases?password=secret"))
    'mariadb://db:3307/releases'
    """
    host = (address.host or "") + (f":{address.port}" if address.port else "")
    return f"{address.drivername}://{host}/{address.database}"


def _connect(address: URL) -> tuple[Any, Callable[[], None]]:
    """A driver's own connection, and how to close it."""
    if address.drivername == "duckdb":
        own = duckdb.connect(str(address.database))
        own.execute("SET enable_progress_bar = false")
        return own, own.close
    charset = {"charset": "utf8mb4"} if address.drivername == "mariadb" else {}
    whole = address.set(drivername=_DRIVERS[address.drivername]).update_query_dict(charset)
    engine = create_engine(whole, poolclass=NullPool)
    wrapped = engine.raw_connection()
    driver = wrapped.driver_connection
    if isinstance(driver, sqlite3.Connection):
        driver.isolation_level = None
    return driver, partial(_close, wrapped, engine)


def _close(wrapped: Any, engine: Any) -> None:
    try:
        wrapped.close()
    finally:
        engine.dispose()
