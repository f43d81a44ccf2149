"""A database to fill: found by its address, written in one transaction.

Messages name the host and the database, never an account or a password, and never a driver's
message, which may quote values.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sqlglot import exp

from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.sql.dialects.address import Address
from sfumato.tasks.sql.dialects.dialect import Dialect
from sfumato.tasks.sql.dialects.registry import DIALECTS

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class TargetDatabase:
    """A connection to a database, its dialect, and its name in messages."""

    dialect: Dialect
    place: str
    connection: Any

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run one statement, and return the rows that it gives."""
        return self.dialect.access.execute(self.connection, statement)

    def run(self, statement: exp.Expr) -> None:
        """Run one statement that returns no rows."""
        self.execute(statement.sql(self.dialect.sqlglot))

    def begin(self) -> None:
        """Start a transaction, where the driver does not by itself."""
        if self.dialect.access.begins:
            self.execute("BEGIN")

    def end(self, *, well: bool) -> None:
        """Keep what was done, or undo it."""
        if well:
            self.connection.commit()
        elif self.dialect.access.in_transaction(self.connection):
            self.connection.rollback()


@contextmanager
def target(url: str, environ: Mapping[str, str] = os.environ) -> Iterator[TargetDatabase]:
    """Connect to the database at an address; `${NAME}` in it comes from the environment.

    Raises:
        InputError: if the address is none, the database cannot be reached, or it refuses.
    """
    address = read_url(url, environ)
    place, dialect = address.name_in_messages(), _schemes()[address.scheme]
    with translate_refusals(f"{place}: cannot connect", dialect):
        connection, close = dialect.access.connect(address)
    try:
        yield TargetDatabase(dialect, place, connection)
    finally:
        close()


@contextmanager
def translate_refusals(what: str, dialect: Dialect) -> Iterator[None]:
    """Translate a database's refusal into one line with only the kind of its error.

    Raises:
        InputError: if it refuses.
    """
    errors: tuple[type[Exception], ...] = (*dialect.access.errors(), OSError)
    try:
        yield
    except errors as error:
        raise InputError(f"{what} ({_kind(error, dialect)})") from None


def _kind(error: Exception, dialect: Dialect) -> str:
    code = dialect.access.code(error)
    return f"{type(error).__name__} {code}" if code else type(error).__name__


def read_url(url: str, environ: Mapping[str, str]) -> Address:
    """Return the address of a database.

    Raises:
        InputError: for an invalid address, or a variable that is not set.
    """
    account, separator, rest = url.rpartition("@")
    missing = [name for name in _VARIABLE.findall(url) if name not in environ]
    if missing:
        raise InputError(
            f"address of a database: the environment variable {missing[0]} is not set. Set "
            "it to the address"
        )
    expanded = _VARIABLE.sub(lambda match: quote(environ[match[1]], safe=""), account)
    expanded += separator + _VARIABLE.sub(lambda match: environ[match[1]], rest)
    scheme = expanded.partition("://")[0]
    if scheme not in _schemes():
        *others, last = (f"{scheme_name}://" for scheme_name in _schemes())
        raise InputError(f"address of a database: must start with {', '.join(others)} or {last}")
    try:
        address = Address.read(expanded)
    except ValueError:
        raise InputError(f"address of a database: must be one of {scheme}") from None
    dialect = _schemes()[scheme]
    in_file = dialect.access.in_file
    if not address.database or (in_file and (address.host or address.database == ":memory:")):
        raise InputError(f"address of a database: must have the form {_form(dialect)}")
    return address


def address_forms() -> list[str]:
    """Return the forms of the addresses of each dialect's databases, files first."""
    return [_form(dialect) for dialect in _schemes().values()]


def _form(dialect: Dialect) -> str:
    place = "/FILE" if dialect.access.in_file else "HOST/DATABASE"
    return f"{dialect.access.scheme}://{place}"


def _schemes() -> dict[str, Dialect]:
    """Return the dialects by the schemes of addresses, files first."""
    dialects = sorted(DIALECTS.values(), key=lambda dialect: not dialect.access.in_file)
    return {dialect.access.scheme: dialect for dialect in dialects}
