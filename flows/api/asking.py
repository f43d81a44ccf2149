"""Short questions: one aggregate, conditions as a mapping, and the columns to group by."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfumato.expectations.shared.errors import QueryError

if TYPE_CHECKING:
    from sfumato.flows.api.answer import BoundedAnswer

Conditions = Mapping[str, Any] | str | None
_TABLE = "microdata"


@dataclass(frozen=True)
class NamedTables:
    """Two related tables, as short questions read them.

    Attributes:
        people: the table of people.
        related: the table of rows that belong to them.
        key: the column by which both name people.
        columns: the columns of the related table.
    """

    people: str
    related: str
    key: str
    columns: tuple[str, ...]

    def source(self, names: Collection[str], table: str | None) -> str:
        """Return the table that has all these columns, and the rows of `table`; or both, joined.

        Raises:
            QueryError: if there is no table of this name.
        """
        if table not in (None, self.people, self.related):
            raise QueryError(f"table: no table {table!r}. Count {self.people} or {self.related}")
        related = {column.casefold() for column in self.columns}
        owners = {self.related if n.casefold() in related else self.people for n in names}
        owners |= {self.people} if table is None and not owners else set()
        owners |= {table} if table is not None else set()
        if len(owners) == 1:
            return owners.pop()
        return f"{self.people} JOIN {self.related} USING ({quote_column(self.key)})"

    def count(self, source: str, table: str | None) -> str:
        """Return the aggregate that counts rows of a source, or people with such rows."""
        counts_people = table == self.people and source != self.people
        return f"COUNT(DISTINCT {quote_column(self.key)})" if counts_people else "COUNT(*)"


class ShortQuestions(ABC):
    """Questions without SQL, to what answers queries.

    Conditions are a mapping of columns to values, which all hold, or a condition in SQL:

        {"sex": "Female"}              one value; None for a missing value
        {"town": ["Aa", "Bee"]}        one of several
        {"age": (30, 40)}              from 30 to 40, both included
        {"age": (65, None)}            65 or more
        "age >= 65 AND town <> 'Aa'"

    `group_by` names the columns to group by: the answer has a row for each of their values.

    Of two related tables, such as patients and their stays, a question reads the table that has the
    columns that it names, or both, joined by their key.
    """

    def count(
        self,
        where: Conditions = None,
        *,
        group_by: str | Sequence[str] = (),
        table: str | None = None,
    ) -> "BoundedAnswer":
        """Ask for the number of rows; the aggregate is called `count`.

        `table` names the table whose rows are counted, if the release has two related tables:
        `count({"diagnosis": "flu"}, table="patients")` counts the patients with such stays. Without
        it people are counted if no column of their rows is named, and rows otherwise.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        keys = _as_list(group_by)
        tables = self._asked_tables()
        if tables is None:
            if table not in (None, _TABLE):
                raise QueryError(f"table: this release has one table, {_TABLE}. Leave it out")
            return self._answer_short(short_query("COUNT(*)", "count", where, keys))
        source = tables.source([*keys, *_named_in(where)], table)
        call = tables.count(source, table)
        return self._answer_short(short_query(call, "count", where, keys, source))

    def sum(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the sum of a column; the aggregate is called `sum`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask("SUM", column, "sum", where, group_by)

    def mean(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the mean of a column; the aggregate is called `mean`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask("AVG", column, "mean", where, group_by)

    def median(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the median of a column; the aggregate is called `median`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask("MEDIAN", column, "median", where, group_by)

    def min(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the least value of a column; the aggregate is called `min`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask("MIN", column, "min", where, group_by)

    def max(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the greatest value of a column; the aggregate is called `max`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask("MAX", column, "max", where, group_by)

    def _ask(
        self,
        function: str,
        column: str,
        name: str,
        where: Conditions,
        group_by: str | Sequence[str],
    ) -> "BoundedAnswer":
        keys, call = _as_list(group_by), f"{function}({quote_column(column)})"
        tables = self._asked_tables()
        source = _TABLE
        if tables is not None:
            source = tables.source([column, *keys, *_named_in(where)], None)
        return self._answer_short(short_query(call, name, where, keys, source))

    @abstractmethod
    def _asked_tables(self) -> NamedTables | None:
        """Return the two related tables of the release; None if it has one table."""

    @abstractmethod
    def _answer_short(self, sql: str) -> "BoundedAnswer":
        """Return the answer to a query, with the default estimates."""


def _as_list(group_by: str | Sequence[str]) -> list[str]:
    return [group_by] if isinstance(group_by, str) else list(group_by)


def _named_in(where: Conditions) -> Iterator[str]:
    """Yield the columns that conditions name; of a text that is no condition, none."""
    if not isinstance(where, str):
        yield from where or ()
        return
    from sqlglot import exp

    from sfumato.tasks.sql.parse import parse

    try:
        select = parse(" ".join(["SELECT 1 FROM", _TABLE, "WHERE", where]), exp.Select)
    except QueryError:  # the question itself is refused, with the place of the mistake
        return
    for column in select.find_all(exp.Column):
        if column.parent_select is select:  # not of the rows that EXISTS finds
            yield column.name


def short_query(
    aggregate: str,
    name: str,
    where: Conditions,
    group_by: str | Sequence[str],
    source: str = _TABLE,
) -> str:
    """Return the query of one aggregate of a table, or of two that are joined.

    >>> short_query("COUNT(*)", "count", {"age": (30, 40)}, "sex")
    'SELECT "sex", COUNT(*) AS "count" FROM microdata WHERE "age" BETWEEN 30 AND 40 GROUP BY "sex"'
    """
    keys = [quote_column(column) for column in _as_list(group_by)]
    selected = ", ".join([*keys, f"{aggregate} AS {quote_column(name)}"])
    condition = where if isinstance(where, str) else sql_condition(where or {})
    clauses = ["SELECT", selected, "FROM", source]
    clauses += ["WHERE", condition] if condition else []
    clauses += ["GROUP BY", ", ".join(keys)] if keys else []
    return " ".join(clauses)


def quote_column(name: str) -> str:
    """Return the name of a column in quotes of SQL.

    >>> quote_column("capital-loss")
    '"capital-loss"'
    """
    escaped = str(name).replace('"', '""')
    return f'"{escaped}"'


def sql_condition(values: Mapping[str, Any]) -> str:
    """Return the condition that every column has its value, is in its range, or in its list.

    >>> sql_condition({"rooms": [2, None], "age": (65, None)})
    '("rooms" IN (2) OR "rooms" IS NULL) AND "age" >= 65'

    Raises:
        QueryError: if a range has not two ends, or a list is empty.
    """
    return " AND ".join(_comparison(quote_column(name), value) for name, value in values.items())


def _comparison(column: str, value: Any) -> str:
    if value is None:
        return f"{column} IS NULL"
    if isinstance(value, tuple):
        return _in_range(column, value)
    if isinstance(value, list | set | frozenset):
        return _in_list(column, list(value))
    return f"{column} = {_literal(value)}"


def _in_range(column: str, ends: tuple[Any, ...]) -> str:
    if len(ends) != 2 or ends == (None, None):
        raise QueryError(
            f"{column}: a range needs two ends, such as (30, 40). Write a list for several values"
        )
    low, high = ends
    if high is None:
        return f"{column} >= {_literal(low)}"
    if low is None:
        return f"{column} <= {_literal(high)}"
    return f"{column} BETWEEN {_literal(low)} AND {_literal(high)}"


def _in_list(column: str, values: list[Any]) -> str:
    if not values:
        raise QueryError(f"{column}: the list of values is empty. Name at least one")
    listed = ", ".join(_literal(value) for value in values if value is not None)
    choices = [f"{column} IN ({listed})"] if listed else []
    choices += [f"{column} IS NULL"] if None in values else []
    return choices[0] if len(choices) == 1 else f"({' OR '.join(choices)})"


def _literal(value: Any) -> str:
    from sfumato.tasks.sql.parse import literal

    plain = value.item() if hasattr(value, "item") else value  # numbers of numpy
    return str(literal(plain).sql("duckdb"))
