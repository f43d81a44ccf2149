"""Which way leads to a database, by the scheme of its address."""

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
    """Reads the rows of a query, and then column by column as values of declared types."""

    def read(
        self,
        address: str,
        query: exp.Query,
        parameters: Mapping[str, BindParameter],
        file: str,
    ) -> Mapping[str, Any]:
        """Read the columns that a query gives, in the way's own representation.

        Raises:
            InputError: where the database refuses.
            TransientFault: where it cannot be reached, or breaks off.
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
"""Those of databases that have one of their own; SQLAlchemy leads to others."""
_NO_DATABASES = (None, "file", "s3", "http", "https")


def way_to(address: str) -> DatabaseWay:
    """The way to the database of an address."""
    return WAYS.get(scheme_of(address) or "", alchemy)


def checked_query(source: Source, scheme: str | None) -> exp.Query:
    """The query of a source, which reads and does nothing else.

    Args:
        source: has a query.
        scheme: of the address, where that is known.

    Raises:
        SpecError: where it may do more, or its parameters are not those that are declared.
    """
    dialect = "postgres" if scheme in WAYS else dialect_of(scheme)
    try:
        query = parse_source_query(source.query or "", dialect)
        require_parameters(query, source.parameters)
    except QueryError as error:
        raise SpecError(f"source.query: {error}") from None
    return query


def dialect_of(scheme: str | None) -> str | None:
    """Sqlglot's name of a database's SQL; None where it knows none."""
    return None if scheme is None else alchemy.dialect_of(scheme)


def read_query(source: Source, environ: Mapping[str, str]) -> tuple[dict[str, Any], DatabaseWay]:
    """The columns that a source's query gives, and what converts them.

    Raises:
        SpecError: where its address is no database's, or the query is not allowed.
        InputError: where the database refuses.
        TransientFault: where it cannot be reached, or breaks off.
    """
    address = resolve(source.uri, environ)
    scheme = scheme_of(address)
    if scheme in _NO_DATABASES:
        raise SpecError(f"{source.uri}: is no database's address, and source.query is for one")
    way = way_to(address)
    query = checked_query(source, scheme)
    return dict(way.read(address, query, source.parameters, source.uri)), way
