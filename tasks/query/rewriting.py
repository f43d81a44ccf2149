"""Queries rewritten for a release, and tried on its tables as a database would run them."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.machine.fault import require_machine
from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import Source, read_table
from sfumato.tasks.query.help_tables.labels import value_name
from sfumato.tasks.query.question.having import Reading
from sfumato.tasks.query.rewrite import Rewritten, rewrite
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.query.sql.registry import SQL_WAYS
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.sql.session import open_session
from sfumato.tasks.terms.opened import Release

_REFUSED = (
    "databases would refuse the SQL of this query, as DuckDB does, because a number "
    "may be too large or a divisor may be 0. Change that number in the query"
)
_ANY_VALUE = (
    "column {named}: databases would refuse the SQL of this query, because some label "
    "of the column admits any value. Name the values, as in WHERE {column} = …, or ask "
    "with `sfumato query`"
)


def open_tables(release: Release) -> "duckdb.DuckDBPyConnection":
    """Open a DuckDB connection with the tables that rewritten queries read; callers close it.

    Raises:
        InputError: where a file is missing.
    """
    declared = release.declared
    published = files_of_tables(release, declared.names_with_roles("sensitive"))
    made = SQL_WAYS[declared.form.shows].beside(_TablesOfFiles(published), declared)
    return open_session({**made, **published})


class _TablesOfFiles(dict[str, pa.Table]):
    """Tables that are read from their files when they are needed."""

    def __init__(self, files: Mapping[str, Source]) -> None:
        super().__init__()
        self._files = files

    def __missing__(self, name: str) -> pa.Table:
        return read_table(self._files[name])


@dataclass(frozen=True)
class Rewriter:
    """Queries rewritten for databases, each tried on the tables of a release."""

    release: Release
    connection: "duckdb.DuckDBPyConnection"

    def sql(
        self,
        query: str,
        dialect: str = "duckdb",
        reading: Reading = "possible",
        estimator: Estimator = "weighted",
    ) -> str:
        """Return the SQL that computes the bounds of a query in a database that has the tables.

        Raises:
            QueryError: where the query is not allowed, or databases would refuse its SQL.
        """
        rewritten = rewrite(query, self.release.declared, reading, estimator)
        text = rewritten.sql(dialect)
        self._require_values(rewritten)
        try:
            self.connection.execute(rewritten.sql())
        except duckdb.Error as error:
            require_machine(error)
            raise QueryError(_REFUSED) from None
        return text

    def _require_values(self, rewritten: Rewritten) -> None:
        """Check that tables of values have some: labels can stand for any number of them.

        Raises:
            QueryError: naming a column with a label that can stand for any number of values.
        """
        read = {table.name for table in rewritten.tree.find_all(exp.Table)}
        for name in self.release.declared.names_with_roles("quasi-identifier"):
            table = value_name(name)
            if table in read and not self._has_values(table):
                column = exp.column(name, quoted=True).sql("duckdb")
                raise QueryError(_ANY_VALUE.format(named=quote_name(name), column=column))

    def _has_values(self, table: str) -> bool:
        result = self.connection.execute(exp.select("*").from_(table).limit(0).sql("duckdb"))
        return [column[0] for column in result.description or ()] == ["value"]


@contextmanager
def rewriter(release: Release) -> Iterator[Rewriter]:
    """Open a rewriter of queries for a release.

    Raises:
        InputError: where a file of the release is missing.
    """
    with closing(open_tables(release)) as connection:
        yield Rewriter(release, connection)
