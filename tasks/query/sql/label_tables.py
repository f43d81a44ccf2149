"""Label tables as queries see them: labels, the values behind them, and labels of one value."""

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
    """The types of the columns of label tables, by the names of both."""
    found: dict[str, ColumnType] = {}
    for name in declared.named("quasi-identifier"):
        type_, table = declared.columns[name].type, label_name(name)
        found |= {f"{table}.{column}": type_ for column in ("value", "low", "high")}
        found |= dict.fromkeys([f"{value_name(name)}.value", f"{alone_name(name)}.value"], type_)
    return found


def alone_name(name: str) -> str:
    """The name of the part that knows the labels of a column which are one value each."""
    return f"alone_{safe_name(name)}"


class LabelTable:
    """The label table of a column.

    Attributes:
        name: of the table.
        kind: how it tells what labels admit.
        label: its column of labels.
        value: the column of values behind them, see `told`.
        has_stars: whether labels may tell neither limits nor a value, and stand for anything.
    """

    def __init__(self, declared: Terms, column: str) -> None:
        self.column = column
        self.name = label_name(column)
        self.kind: Kind = kind_of_labels(declared, column)
        self.label = own("label", self.name)
        self.has_stars = self.kind != "ranges" and _has_stars(declared, column)
        self._values = value_name(column)
        self.value = own("value", self._values if self.kind == "ranges" else self.name)

    def of(self, name: str) -> exp.Column:
        """Another of its columns."""
        return own(name, self.name)

    def labels(self, condition: exp.Expr) -> exp.Select:
        """The query of the labels on which a condition holds, once each."""
        return select([self.label.copy()], self.name, where=[condition]).distinct(copy=False)

    def told(self, *columns: exp.Expr) -> exp.Select:
        """The query of columns for each value behind each label.

        The table of all values is read: where it has none, databases refuse the query.
        """
        query = select([column.copy() for column in columns], self.name)
        value = own("value", self._values)
        on: exp.Expr = exp.EQ(this=value, expression=self.value.copy())
        if self.kind == "ranges":
            on = exp.Between(this=value, low=self.of("low"), high=self.of("high"))
        join(query, self._values, on)
        return query

    def alone(self) -> exp.Select:
        """The query of the labels that are one value each, and of this value."""
        known = exp.not_(self.of("admits_null"), copy=False)
        if self.kind == "ranges":
            shown = [self.label.copy(), alias(self.of("low"), "value")]
            one = exp.EQ(this=self.of("low"), expression=self.of("high"))
            return select(shown, self.name, where=[known, one])
        counted = tree("COUNT(*) = 1")
        single = select([own("label")], self.name, by=[own("label")]).having(counted, copy=False)
        told = exp.not_(exp.Is(this=self.value.copy(), expression=exp.Null()), copy=False)
        query = select([self.label.copy(), self.value.copy()], self.name, where=[known, told])
        join(query, single.subquery("single", copy=False), same("label", "single", self.name))
        return query


def _has_stars(declared: Terms, name: str) -> bool:
    column = declared.columns[name]
    listed = isinstance(column.hierarchy, tuple) and declared.form.shows_hierarchies
    return not (column.type == "boolean" or (listed and column.leaves == "all"))
