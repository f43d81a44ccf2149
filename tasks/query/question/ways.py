"""The questions that a release admits, by the way in which its form shows a person."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from sfumato.expectations.shared.errors import QueryError
from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.forms.counts_table import names_of_tables
from sfumato.tasks.query.aggregates.kind import AggregateKind
from sfumato.tasks.query.question.question import MARK
from sfumato.tasks.schema.published import DeclaredColumn, DerivedColumn
from sfumato.tasks.sql.parse import quote_name
from sfumato.tasks.terms.terms import Terms

GROUP_ID = "group_id"
GROUP_VALUES = (
    "group_values"  # a query that pools the values of several tables; no table has its name
)
Bundles = Mapping[str, tuple[str, ...]]
"""The columns associated with each column apart from rows, itself included."""


@dataclass(frozen=True)
class Relations:
    """The tables of the rows, and of the sensitive values of groups.

    Attributes:
        rows: the table of all columns that are published as they are, with group_id.
        declared: the terms of the release.
    """

    rows: str
    declared: Terms

    @cached_property
    def tables(self) -> Mapping[tuple[str, ...], str]:
        """The relation of each set of sensitive columns that keep their association."""
        tables = tables_of_counts(self.declared)
        if self.declared.form.values_apart:
            return tables
        return dict.fromkeys(tables, GROUP_VALUES if self.has_pooled_values else self.rows)

    @property
    def has_counts(self) -> bool:
        """True if a value occurs once in the table of its group, with a count."""
        return self.declared.form.values_apart

    @property
    def has_pooled_values(self) -> bool:
        """True if two tables have the values of a group: for people, and vacant ones."""
        return self.declared.is_composed and not self.has_counts


def relations(declared: Terms) -> Relations:
    """Return the tables of a release that shows exact rows.

    Raises:
        TypeError: if its form shows no rows.
    """
    if declared.form.rows_table is None and not declared.has_related_rows:
        raise TypeError(declared.form.method)
    return Relations(declared.form.table_of_rows, declared)


def tables_of_counts(declared: Terms) -> Mapping[tuple[str, ...], str]:
    """Return the table of counts of each set of sensitive columns that keep their association.

    Columns that are calculated from some of them are added to their set.
    """
    sensitive = declared.names_with_roles("sensitive")
    derived = {name: bases for name in sensitive if (bases := _base(declared, name))}
    published = [name for name in sensitive if name not in derived]
    tables = names_of_tables(published, declared.form.together)
    return {
        (*columns, *(name for name, bases in derived.items() if bases <= set(columns))): table
        for table, columns in tables.items()
    }


def _base(declared: Terms, name: str) -> set[str]:
    """Return the columns that a column is calculated from; empty for a published one."""
    column = declared.columns[name]
    return set(column.of) if isinstance(column, DerivedColumn) else set()


@dataclass(frozen=True)
class Way:
    """The questions that queries on a release may ask.

    Attributes:
        bundles: returns the columns apart from rows, on which a condition is judged separately.
        aggregated: returns the column of an aggregate; None if it counts rows.
        sides: the bounds that a rewritten query returns of each aggregate, as ends of names.
        groups_by_sensitive: whether rows contain sensitive values, so that these can be grouped by.
        without_rows: whether no rows are published, so that values are counted in place of rows.
        scores_estimates: whether estimates without a guarantee are measured, too.
        calculable: the roles of columns whose values are published, to be calculated with.
        shows_rows: whether rows contain the columns that are not sensitive as they are.
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
    """Return the columns associated with each sensitive column apart from rows."""
    return {name: columns for columns in tables_of_counts(declared) for name in columns}


def of_sensitive(kind: AggregateKind, name: str, declared: Terms) -> str | None:
    """Return a sensitive column, or None for a count of rows by a column published as it is.

    Raises:
        QueryError: for another aggregate of such a column, or if the column can be null.
    """
    if declared.columns[name].role == "sensitive":
        return name
    if not kind.counts_rows:
        raise QueryError(
            f"column {quote_name(name)} is published as it is. Compute {kind.sql_name} "
            "in plain SQL on the published table, which is exact; with a condition on "
            "a sensitive column it has no bounds"
        )
    require_never_null(name, declared)
    return None


def require_never_null(name: str, declared: Terms) -> None:
    """Require that a count of a column is a count of rows.

    Raises:
        QueryError: if the column can be null.
    """
    if declared.columns[name].nulls:
        raise QueryError(
            f"column {quote_name(name)} can be null. Count with COUNT(*) and WHERE … IS NOT NULL"
        )


rows = Way(bundles=sensitive_bundles, aggregated=of_sensitive, shows_rows=True)


def _bundles(declared: Terms) -> dict[str, tuple[str, ...]]:
    """Return each quasi-identifier with the columns joined by it, then sensitive columns."""
    bundles: dict[str, tuple[str, ...]] = {}
    for name in declared.names_with_roles("quasi-identifier"):
        joined = (other for other, column in declared.columns.items() if _is_beside(column, name))
        bundle = (name, *joined)
        bundles |= dict.fromkeys(bundle, bundle)
    return bundles | sensitive_bundles(declared)


def _is_beside(column: DeclaredColumn, name: str) -> bool:
    return isinstance(column, DerivedColumn) and column.of == (name,)


def _count_rows_only(kind: AggregateKind, name: str, declared: Terms) -> None:
    if not kind.counts_rows:
        raise QueryError(
            f"a release in form {declared.form.method} answers COUNT, but not "
            f"{kind.sql_name}, because it does not show who has which value. Ask for "
            "counts of a condition on each column: COUNT(*) FILTER (WHERE …)"
        )
    require_never_null(name, declared)


columns = Way(
    bundles=_bundles,
    aggregated=_count_rows_only,
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


def facts_of(declared: Terms) -> tuple[str, ...]:
    """Return the shuffled facts of people; none of a release of one table."""
    if not declared.has_related_rows:
        return ()
    facts = ((n, c) for n, c in declared.columns.items() if c.derive is not None)
    return tuple(name for name, column in facts if column.role == "sensitive")


def bundles_of_facts(declared: Terms) -> tuple[tuple[str, ...], ...]:
    """Return the sets of facts that are shuffled together, in order; none of a release without."""
    facts = facts_of(declared)
    together = declared.form.facts_together
    return (facts,) if facts and together else tuple((name,) for name in facts)


def _beside_people(declared: Terms) -> dict[str, tuple[str, ...]]:
    """Return the related columns, which stand together; calculated ones stand beside their own."""
    marks = {name: (name,) for name in declared.columns if name.startswith(MARK)}
    related = set(declared.form.related_columns)
    derived = {name for name, column in declared.columns.items() if _base(declared, name) & related}
    apart = (related | derived) - marks.keys()
    names = tuple(name for name in declared.columns if name in apart)
    return {**dict.fromkeys(names, names), **marks, **_facts(declared)}


def _facts(declared: Terms) -> dict[str, tuple[str, ...]]:
    """Return the facts that stand in one row with each fact; calculated ones beside their own."""
    facts, together = facts_of(declared), declared.form.facts_together
    bundles = {name: facts if together else (name,) for name in facts}
    for name in declared.columns:
        bases = _base(declared, name)
        owner = next((fact for fact in bundles if bases and bases <= {*bundles[fact]}), None)
        if owner is not None:
            bundle = (*bundles[owner], name)
            bundles |= dict.fromkeys(bundle, bundle)
    return bundles


apart = Way(bundles=_beside_people, aggregated=of_sensitive, shows_rows=True)


WAYS: Mapping[str, Way] = Entries(
    "sfumato.tasks.query.question",
    {
        "rows": "ways:rows",
        "columns": "ways:columns",
        "subdomains": "ways:subdomains",
        "labels": "ways:labels",
        "apart": "ways:apart",
    },
)
