"""The help tables of releases, by the way in which a form shows a person."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.help_tables.columns import tables_of_columns
from sfumato.tasks.query.help_tables.labels import label_tables, names_of_label_tables
from sfumato.tasks.query.help_tables.rows import help_name, helped_columns, tables_of_rows
from sfumato.tasks.query.help_tables.subdomains import tables_of_subdomains

_Tables = Mapping[str, pa.Table]


@dataclass(frozen=True)
class HelpTables:
    """The help tables of a way of showing.

    Attributes:
        names: those that questions on the given sensitive columns need.
        build: makes all of them by their names, from the published tables alone.
    """

    names: Callable[[Terms, Sequence[str]], Sequence[str]]
    build: Callable[[_Tables, Terms], dict[str, pa.Table]]


def _of_rows(declared: Terms, sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in helped_columns(declared) if name in sensitive]


def _asked(_: Terms, sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in sensitive]


def _quasi_identifiers(declared: Terms, _: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in declared.named("quasi-identifier")]


def _of_labels(declared: Terms, _: Sequence[str]) -> Sequence[str]:
    return names_of_label_tables(declared) if declared.form.tells_labels else []


def _labels(tables: _Tables, declared: Terms) -> dict[str, pa.Table]:
    return label_tables(tables, declared) if declared.form.tells_labels else {}


HELP_TABLES: Mapping[str, HelpTables] = {
    "rows": HelpTables(_of_rows, tables_of_rows),
    "columns": HelpTables(_quasi_identifiers, tables_of_columns),
    "subdomains": HelpTables(_asked, tables_of_subdomains),
    "labels": HelpTables(_of_labels, _labels),
}
