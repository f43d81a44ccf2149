"""The questions that a release admits, described for each way in which forms show a person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sfumato.expectations.errors import QueryError
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.question.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.relations import tables_of_counts
from sfumato.tasks.sql.parse import quote_name

Bundles = Mapping[str, tuple[str, ...]]
"""For each column apart from rows those that keep their association with it, itself included."""


@dataclass(frozen=True)
class Way:
    """The questions that queries on a release may ask.

    Attributes:
        bundles: the columns apart from rows, on which a condition is judged by itself.
        aggregated: the column that an aggregate of a named one is of; None where it counts rows.
        sides: what a rewritten query returns of each aggregate, as ends of its columns' names.
        groups_by_sensitive: whether sensitive values stand in rows, and tell these apart.
        without_rows: whether rows stand nowhere, so that values are counted in their place.
        scores_estimates: whether estimates without a guarantee are measured, too.
        calculable: the roles of columns whose values are published, to be calculated with.
        shows_rows: whether columns that are not sensitive stand in rows as they are.
    """

    bundles: Callable[[Terms], Bundles]
    aggregated: Callable[[AggregateKind, str, Terms], str | None]
    sides: tuple[str, ...] = ("lower", "upper")
    groups_by_sensitive: bool = False
    without_rows: bool = False
    scores_estimates: bool = False
    calculable: tuple[str, ...] = ("quasi-identifier", "insensitive", "sensitive")
    shows_rows: bool = False


def sensitive_bundles(declared: Terms) -> dict[str, tuple[str, ...]]:
    """The sensitive columns apart from rows, with those that keep their association."""
    return {name: columns for columns in tables_of_counts(declared) for name in columns}


def of_sensitive(kind: AggregateKind, name: str, declared: Terms) -> str | None:
    """A sensitive column, or None for a count of rows by a column published as it is.

    Raises:
        QueryError: for another aggregate of such a column, or where it can be null.
    """
    if declared.columns[name].role == "sensitive":
        return name
    if not kind.counts_rows:
        raise QueryError(
            f"column {quote_name(name)} is published as it is: {kind.called} of it over rows "
            "chosen by such columns is exact in plain SQL on the published table, and there are no "
            "bounds of it where a condition is on a sensitive column"
        )
    require_never_null(name, declared)
    return None


def require_never_null(name: str, declared: Terms) -> None:
    """Make sure that a count of a column is a count of rows.

    Raises:
        QueryError: where the column can be null.
    """
    if declared.columns[name].nulls:
        raise QueryError(
            f"column {quote_name(name)} can be null: count with COUNT(*) and WHERE … IS NOT NULL"
        )
