"""Short questions: one aggregate, conditions as a mapping, and the columns to group by."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.expectations.shared.errors import QueryError

if TYPE_CHECKING:
    from sfumato.flows.api.answer import BoundedAnswer

Conditions = Mapping[str, Any] | str | None


class ShortQuestions(ABC):
    """Questions without SQL, to what answers queries.

    Conditions are a mapping of columns to values, which all hold, or a condition in SQL:

        {"sex": "Female"}              one value; None for a missing value
        {"town": ["Aa", "Bee"]}        one of several
        {"age": (30, 40)}              from 30 to 40, both included
        {"age": (65, None)}            65 or more
        "age >= 65 AND town <> 'Aa'"

    `group_by` names the columns to group by: the answer has a row for each of their values.
    """

    def count(
        self, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the number of rows; the aggregate is called `count`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask("COUNT(*)", "count", where, group_by)

    def sum(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the sum of a column; the aggregate is called `sum`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask(f"SUM({quote_column(column)})", "sum", where, group_by)

    def mean(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the mean of a column; the aggregate is called `mean`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask(f"AVG({quote_column(column)})", "mean", where, group_by)

    def median(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the median of a column; the aggregate is called `median`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask(f"MEDIAN({quote_column(column)})", "median", where, group_by)

    def min(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the least value of a column; the aggregate is called `min`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask(f"MIN({quote_column(column)})", "min", where, group_by)

    def max(
        self, column: str, where: Conditions = None, *, group_by: str | Sequence[str] = ()
    ) -> "BoundedAnswer":
        """Ask for the greatest value of a column; the aggregate is called `max`.

        Raises:
            QueryError: where the question is not allowed, or cannot be evaluated.
        """
        return self._ask(f"MAX({quote_column(column)})", "max", where, group_by)

    def _ask(
        self, aggregate: str, name: str, where: Conditions, group_by: str | Sequence[str]
    ) -> "BoundedAnswer":
        return self._answer_short(short_query(aggregate, name, where, group_by))

    @abstractmethod
    def _answer_short(self, sql: str) -> "BoundedAnswer":
        """Return the answer to a query, with the default estimates."""


def short_query(aggregate: str, name: str, where: Conditions, group_by: str | Sequence[str]) -> str:
    """Return the query of one aggregate.

    >>> short_query("COUNT(*)", "count", {"age": (30, 40)}, "sex")
    'SELECT "sex", COUNT(*) AS "count" FROM microdata WHERE "age" BETWEEN 30 AND 40 GROUP BY "sex"'
    """
    keys = [
        quote_column(column) for column in ([group_by] if isinstance(group_by, str) else group_by)
    ]
    selected = ", ".join([*keys, f"{aggregate} AS {quote_column(name)}"])
    condition = where if isinstance(where, str) else sql_condition(where or {})
    clauses = ["SELECT", selected, "FROM microdata"]
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
