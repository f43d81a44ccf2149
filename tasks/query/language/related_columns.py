"""Columns that a query over two related tables names, and refusals with what to ask instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.forms.related.parameters import ApartParameters
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.terms.terms import Terms

_SHAPES = (
    "{people} alone; {related} alone; {people} JOIN {related} USING ({key}); EXISTS (SELECT 1 FROM "
    "{related} WHERE {related}.{key} = {people}.{key} AND …); or WITH n AS (SELECT {key}, COUNT(*) "
    "AS times FROM {related} GROUP BY {key}) … {people} JOIN n USING ({key}) WHERE times >= 2"
)


def refusal_of_tables(form: ApartParameters, why: str) -> QueryError:
    """Return a refusal that ends with the shapes of queries that are answered."""
    names = {"people": form.people, "related": form.related, "key": form.key}
    return QueryError(f"{why}. Ask {_SHAPES.format(**names)}")


@dataclass(frozen=True)
class ColumnsRead:
    """The columns of the tables that a query reads.

    Attributes:
        form: the form of the release, which names the tables.
        declared: its terms.
        called: the tables, and queries in WITH, by the names that the query gives them.
        counts: the names of counts of rows, by the queries in WITH that make them.
    """

    form: ApartParameters
    declared: Terms
    called: Mapping[str, str]
    counts: Mapping[str, str | None]

    def require_table(self, column: exp.Column) -> None:
        """Refuse a column of a table that is not in the query, and all columns of a table.

        Raises:
            QueryError: with what to ask instead.
        """
        table = column.table.casefold()
        if table and table not in self.called:
            raise refusal_of_tables(
                self.form,
                f"column {quote_name(column.name)}: there is no table "
                f"{quote_name(column.table)} in this query",
            )
        if column.is_star:
            raise self._refusal_of_all(column)

    def require_read(self, column: exp.Column) -> None:
        """Refuse a column that no table of the query has, or another one than named.

        Raises:
            QueryError: with the columns that there are, or what to ask instead.
        """
        name, form = column.name.casefold(), self.form
        if name == form.key.casefold():
            return
        if name not in {declared.casefold() for declared in self.declared.columns}:
            raise self._refusal_of_unknown(column)
        of_rows = name in {related.casefold() for related in form.columns}
        owner = form.related if of_rows else form.people
        if owner not in self._tables_of(column):
            raise refusal_of_tables(form, f"column {quote_name(column.name)} is in {owner}")

    def _tables_of(self, column: exp.Column) -> list[str]:
        """Return the tables, or queries in WITH, of which a column can be."""
        if column.table:
            return [self.called[column.table.casefold()]]
        return list(dict.fromkeys(self.called.values()))

    def _columns_of(self, table: str) -> list[str]:
        """Return the published columns of one of the two tables; none of a query in WITH."""
        if table == self.form.related:
            return list(self.form.columns)
        names = self.declared.columns if table == self.form.people else ()
        return [name for name in names if name not in self.form.columns]

    def _refusal_of_all(self, star: exp.Column) -> QueryError:
        """Return the refusal of all columns of a table, in an aggregate or as rows."""
        columns = self._columns_of(self.called.get(star.table.casefold(), self.form.people))
        first = exp.to_identifier((columns or [self.form.key])[0]).sql("duckdb")
        return QueryError(
            f"not allowed: {star.table}.*, because rows are in the published tables. Use COUNT(*), "
            f"or name columns: SELECT {first}, COUNT(*) … GROUP BY {first}"
        )

    def _refusal_of_unknown(self, column: exp.Column) -> QueryError:
        """Return the refusal of a column that no table has, or of a count that is not compared."""
        tables = self._tables_of(column)
        counts = [self.counts[table] for table in tables if table in self.counts]
        if column.name.casefold() in {count.casefold() for count in counts if count is not None}:
            return refusal_of_tables(
                self.form,
                f"{column.name} is a count of each person's rows, which may only be compared with "
                f"a whole number in WHERE. For each number, ask with WHERE {column.name} = 2",
            )
        published = {table: self._columns_of(table) for table in tables if table not in self.counts}
        names = [name for columns in published.values() for name in columns]
        close = get_close_matches(column.name, names, 1)
        hint = f"; did you mean {quote_name(close[0])}?" if close else "."
        lists = "; ".join(f"{table} has {', '.join(each)}" for table, each in published.items())
        return QueryError(f"unknown column {quote_name(column.name)}{hint} Published: {lists}")
