"""Queries for databases that need values which a release does not tell."""

from sqlglot import exp

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.query.ask import files_of_tables
from sfumato.tasks.query.engines.engine import read_table
from sfumato.tasks.query.help_tables.labels import lists_values, value_name
from sfumato.tasks.query.question.question import TABLE
from sfumato.tasks.sql.parse import quote_name


def require_values(query: exp.Query, release: Release) -> None:
    """Make sure that a release tells the values that a query reads.

    Raises:
        QueryError: where a label hides its value, or all labels together have too many.
        InputError: where a file of the release is missing.
    """
    read = {table.name for table in query.find_all(exp.Table)}
    declared = release.declared
    names = declared.named("quasi-identifier") if declared.recoded else []
    for name in names:
        if value_name(name) not in read:
            continue
        microdata = read_table(files_of_tables(release, ())[TABLE])
        if not lists_values(microdata, declared, name):
            raise QueryError(
                f"not written in SQL for databases: some labels of column {quote_name(name)} stand "
                f"for any value, or for too many, so that {value_name(name)} has none; ask with "
                "`sfumato query`"
            )
