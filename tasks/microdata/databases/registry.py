"""Choice of the way to a database, by the scheme of its address."""

from collections.abc import Mapping
from typing import Any, Protocol

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError, SpecError
from sfumato.tasks.microdata.databases import alchemy, postgres
from sfumato.tasks.microdata.notation.address import resolve, scheme_of
from sfumato.tasks.microdata.notation.parameters import BindParameter
from sfumato.tasks.microdata.notation.spelling import ValueSpelling
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.readers.distinct import Distinct
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.sql.source_query import parse_source_query, require_parameters


class DatabaseWay(Protocol):
    """A way to read the rows of a query, and then column by column as values of declared types."""

    def read(
        self,
        address: str,
        query: exp.Query,
        parameters: Mapping[str, BindParameter],
        file: str,
    ) -> Mapping[str, Any]:
        """Read the columns that a query gives, in the way's own representation.

        Raises:
            InputError: if the database refuses.
            TransientFault: if it cannot be reached, or breaks off.
        """
        ...

    def convert(
        self, values: Any, type_: ColumnType, file: str, name: str, spelling: ValueSpelling
    ) -> Distinct:
        """Convert a column that was read to values of a type.

        Raises:
            InputError: with the first row whose value is no such value.
        """
        ...


WAYS: Mapping[str, DatabaseWay] = {"postgresql": postgres, "postgres": postgres}
"""The ways of databases that have their own; SQLAlchemy reaches the others."""
_NO_DATABASES = (None, "file", "s3", "http", "https")


def way_to(address: str) -> DatabaseWay:
    """Return the way to the database of an address."""
    return WAYS.get(scheme_of(address) or "", alchemy)


def checked_query(source: Source, scheme: str | None) -> exp.Query:
    """Return the query of a source, after checking that it only reads.

    Args:
        source: a source with a query.
        scheme: the scheme of the address, None if unknown.

    Raises:
        SpecError: if it may do more, or its parameters are not those that are declared.
    """
    dialect = "postgres" if scheme in WAYS else dialect_of(scheme)
    try:
        query = parse_source_query(source.query or "", dialect)
        require_parameters(query, source.parameters)
    except QueryError as error:
        raise SpecError(f"source.query: {error}") from None
    return query


def dialect_of(scheme: str | None) -> str | None:
    """Return sqlglot's name of a database's SQL; None for unknown schemes."""
    return None if scheme is None else alchemy.dialect_of(scheme)


def read_query(source: Source, environ: Mapping[str, str]) -> tuple[dict[str, Any], DatabaseWay]:
    """Return the columns of a source's query, and the way that converts them.

    Raises:
        SpecError: if its address is no database's, or the query is not allowed.
        InputError: if the database refuses.
        TransientFault: if it cannot be reached, or breaks off.
    """
    address = resolve(source.uri, environ)
    scheme = scheme_of(address)
    if scheme in _NO_DATABASES:
        raise SpecError(
            f"{source.uri}: is not the address of a database, and source.query needs one. "
            "Correct the address, or leave query out"
        )
    way = way_to(address)
    query = checked_query(source, scheme)
    return dict(way.read(address, query, source.parameters, source.uri)), way
