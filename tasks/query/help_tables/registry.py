"""The help tables of releases, by the way in which a form shows a person."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.help_tables.columns import tables_of_columns
from sfumato.tasks.query.help_tables.rows import tables_of_rows
from sfumato.tasks.query.help_tables.subdomains import tables_of_subdomains

_Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class HelpTables:
    """The help tables of a way of showing.

    Attributes:
        columns: those that have one, where questions are of the given sensitive ones.
        build: makes all of them by their names, from the published tables alone.
    """

    columns: Callable[[Terms, Sequence[str]], Sequence[str]]
    build: Callable[[_Tables, Terms], dict[str, pa.Table]]


def _asked(_: Terms, sensitive: Sequence[str]) -> Sequence[str]:
    return sensitive


def _quasi_identifiers(declared: Terms, _: Sequence[str]) -> Sequence[str]:
    return declared.named("quasi-identifier")


HELP_TABLES: Mapping[str, HelpTables] = {
    "rows": HelpTables(_asked, tables_of_rows),
    "columns": HelpTables(_quasi_identifiers, tables_of_columns),
    "subdomains": HelpTables(_asked, tables_of_subdomains),
    "labels": HelpTables(lambda _declared, _sensitive: [], lambda _tables, _declared: {}),
}
