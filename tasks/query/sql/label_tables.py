"""Label tables in queries: labels, the values behind them, and labels of one value."""

from sqlglot import exp

from sfumato.tasks.query.help_tables.labels import (
    Kind,
    kind_of_labels,
    label_name,
    value_name,
)
from sfumato.tasks.query.sql.trees import alias, join, own, same, select, tree
from sfumato.tasks.schema.columns import ColumnType
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.sql.dialects.dialect import Types
from sfumato.tasks.terms.terms import Terms


def types_of_labels(declared: Terms) -> Types:
    """Return the types of the columns of label tables, by the names of both."""
    types: dict[str, ColumnType] = {}
    for name in declared.names_with_roles("quasi-identifier"):
        type_, table = declared.columns[name].type, label_name(name)
        types |= {f"{table}.{column}": type_ for column in ("value", "low", "high")}
        types |= dict.fromkeys(
            [f"{value_name(name)}.value", f"{single_values_name(name)}.value"], type_
        )
    return types


def single_values_name(name: str) -> str:
    """Return the name of the part with the labels of a column that are one value each."""
    return f"alone_{safe_name(name)}"


class LabelTable:
    """The label table of a column.

    Attributes:
        column: the column.
        name: the name of the table.
        kind: how it describes the values that labels admit.
        label: its column of labels.
        value: the column of values behind them, see `values_query`.
        has_stars: whether a label without limits and value may occur, which admits anything.
    """

    def __init__(self, declared: Terms, column: str) -> None:
        """Take a quasi-identifier of a release that shows labels."""
        self.column = column
        self.name = label_name(column)
        self.kind: Kind = kind_of_labels(declared, column)
        self.label = own("label", self.name)
        self.has_stars = self.kind != "ranges" and _has_stars(declared, column)
        self._values = value_name(column)
        self.value = own("value", self._values if self.kind == "ranges" else self.name)

    def own_column(self, name: str) -> exp.Column:
        """Return another of its columns."""
        return own(name, self.name)

    def labels(self, condition: exp.Expr) -> exp.Select:
        """Return the query of the labels on which a condition holds, once each."""
        return select([self.label.copy()], self.name, where=[condition]).distinct(copy=False)

    def values_query(self, *columns: exp.Expr) -> exp.Select:
        """Return the query of columns for each value behind each label.

        It reads the table of all values. If the release has no such table, databases refuse the
        query.
        """
        query = select([column.copy() for column in columns], self.name)
        value = own("value", self._values)
        on: exp.Expr = exp.EQ(this=value, expression=self.value.copy())
        if self.kind == "ranges":
            on = exp.Between(this=value, low=self.own_column("low"), high=self.own_column("high"))
        join(query, self._values, on)
        return query

    def single_values(self) -> exp.Select:
        """Return the query of the labels that are one value each, and of this value."""
        never_null = exp.not_(self.own_column("admits_null"), copy=False)
        if self.kind == "ranges":
            columns = [self.label.copy(), alias(self.own_column("low"), "value")]
            is_single = exp.EQ(this=self.own_column("low"), expression=self.own_column("high"))
            return select(columns, self.name, where=[never_null, is_single])
        counted = tree("COUNT(*) = 1")
        single = select([own("label")], self.name, group_by=[own("label")]).having(
            counted, copy=False
        )
        has_value = exp.not_(exp.Is(this=self.value.copy(), expression=exp.Null()), copy=False)
        query = select(
            [self.label.copy(), self.value.copy()], self.name, where=[never_null, has_value]
        )
        join(query, single.subquery("single", copy=False), same("label", "single", self.name))
        return query


def _has_stars(declared: Terms, name: str) -> bool:
    column = declared.columns[name]
    listed = isinstance(column.hierarchy, tuple) and declared.form.shows_hierarchies
    return not (column.type == "boolean" or (listed and column.leaves == "all"))
