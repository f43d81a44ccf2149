"""The questions that a release admits, by the way in which its form shows a person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sfumato.expectations.errors import QueryError
from sfumato.expectations.registered import Entries
from sfumato.tasks.forms.counts_table import names_of_tables
from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.schema.published import DeclaredColumn, DerivedColumn
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.terms.terms import Terms

GROUP_ID = "group_id"
GROUP_VALUES = "group_values"  # a query that pools the values of tables; no table has its name
Bundles = Mapping[str, tuple[str, ...]]
"""For each column apart from rows those that keep their association with it, itself included."""


@dataclass(frozen=True)
class Relations:
    """The tables of the rows, and of the sensitive values of groups.

    `rows` is the table of all columns that are published as they are, with group_id.
    """

    rows: str
    declared: Terms

    @cached_property
    def tables(self) -> Mapping[tuple[str, ...], str]:
        """By the sensitive columns that keep their association the relation that they are in."""
        found = tables_of_counts(self.declared)
        if self.declared.form.values_apart:
            return found
        return dict.fromkeys(found, GROUP_VALUES if self.pooled else self.rows)

    @property
    def counted(self) -> bool:
        """True where a value stands once in its group, with a count."""
        return self.declared.form.values_apart

    @property
    def pooled(self) -> bool:
        """True where the values of a group stand in two tables, beside people and beside nobody."""
        return self.declared.composed and not self.counted


def relations(declared: Terms) -> Relations:
    """The tables of a release that shows exact rows.

    Raises:
        TypeError: where its form shows none.
    """
    if declared.form.rows_table is None:
        raise TypeError(declared.form.method)
    return Relations(declared.form.rows_table, declared)


def tables_of_counts(declared: Terms) -> Mapping[tuple[str, ...], str]:
    """By the sensitive columns that keep their association the table of their counts.

    What is calculated of some of them stands beside them.
    """
    sensitive = declared.named("sensitive")
    derived = {name: of for name in sensitive if (of := _base(declared, name))}
    published = [name for name in sensitive if name not in derived]
    found = names_of_tables(published, declared.form.together)
    return {
        (*columns, *(name for name, of in derived.items() if of <= set(columns))): table
        for table, columns in found.items()
    }


def _base(declared: Terms, name: str) -> set[str]:
    """The columns that one is calculated of, none of a published one."""
    column = declared.columns[name]
    return set(column.of) if isinstance(column, DerivedColumn) else set()


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


rows = Way(bundles=sensitive_bundles, aggregated=of_sensitive, shows_rows=True)


def _bundles(declared: Terms) -> dict[str, tuple[str, ...]]:
    """Return each quasi-identifier by itself, first, with the columns that are joined by it."""
    alone: dict[str, tuple[str, ...]] = {}
    for name in declared.named("quasi-identifier"):
        joined = (of for of, column in declared.columns.items() if _is_beside(column, name))
        bundle = (name, *joined)
        alone |= dict.fromkeys(bundle, bundle)
    return alone | sensitive_bundles(declared)


def _is_beside(column: DeclaredColumn, name: str) -> bool:
    return isinstance(column, DerivedColumn) and column.of == (name,)


def _counted(kind: AggregateKind, name: str, declared: Terms) -> None:
    if not kind.counts_rows:
        raise QueryError(
            f"a release in form {declared.form.method} answers COUNT, not {kind.called}: who "
            "has which value is not published. Ask for counts of a condition on each column: "
            "COUNT(*) FILTER (WHERE …)"
        )
    require_never_null(name, declared)


columns = Way(
    bundles=_bundles,
    aggregated=_counted,
    sides=("lower", "upper", "estimate"),
    without_rows=True,
    scores_estimates=True,
    calculable=("sensitive",),
)


def _nothing_apart(_: Terms) -> Bundles:
    return {}


def _beside_labels(_: AggregateKind, name: str, __: Terms) -> str | None:
    return name


labels = Way(bundles=_nothing_apart, aggregated=_beside_labels, groups_by_sensitive=True)


subdomains = Way(
    bundles=sensitive_bundles,
    aggregated=of_sensitive,
    scores_estimates=True,
    shows_rows=True,
    calculable=("quasi-identifier", "insensitive"),
)


WAYS: Mapping[str, Way] = Entries(
    "sfumato.tasks.query.question",
    {
        "rows": "ways:rows",
        "columns": "ways:columns",
        "subdomains": "ways:subdomains",
        "labels": "ways:labels",
    },
)
