"""The tables of a grouped release, as queries see them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tasks.forms.schema import safe_name
from tasks.query.question import TABLE, bundles
from tasks.release.declared import Terms

GROUP_ID = "group_id"


@dataclass(frozen=True)
class Relations:
    """Where the rows stand, and where the sensitive values of a group.

    `rows` is the table of all columns that are published as they are, with group_id.
    """

    rows: str
    declared: Terms

    @cached_property
    def tables(self) -> Mapping[tuple[str, ...], str]:
        """By the sensitive columns that keep their association the table that they are in."""
        found = dict.fromkeys(bundles(self.declared).values())
        if self.rows == TABLE:
            return dict.fromkeys(found, TABLE)
        if len(found) == 1:
            return dict.fromkeys(found, "st")
        return {columns: f"st_{safe_name(columns[0])}" for columns in found}


def relations(declared: Terms) -> Relations:
    """The tables of a permuted or split release."""
    return Relations("qit" if declared.form.method == "split" else TABLE, declared)
