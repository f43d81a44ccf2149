"""The tables of a release whose sensitive values stand apart, as queries see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.forms.counts_table import names_of_tables
from sfumato.tasks.schema.published import DerivedColumn

GROUP_ID = "group_id"
GROUP_VALUES = "group_values"  # a query that pools the values of tables; no table has its name


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
