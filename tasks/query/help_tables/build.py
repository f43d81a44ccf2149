"""The tables that queries need beside the data: functions of it, published for databases."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.query.help_tables.columns import occurrence_tables
from sfumato.tasks.query.help_tables.rows import help_name, help_tables
from sfumato.tasks.query.help_tables.subdomains import subdomain_tables
from sfumato.tasks.query.question.relations import tables_of_counts


def helped(declared: Terms, sensitive: Sequence[str] | None = None) -> list[str]:
    """The columns that have a help table, where questions are of some sensitive ones or of all."""
    if declared.form.shows == "labels":
        return []
    if declared.form.shows == "columns":
        return declared.named("quasi-identifier")
    return declared.named("sensitive") if sensitive is None else list(sensitive)


def helping(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """Every help table of a release by its name, from the published tables alone.

    Raises:
        InputError: where values are missing, or a sum is too long.
    """
    names = helped(declared)
    if declared.form.shows == "columns":
        return occurrence_tables(tables, names, next(iter(tables_of_counts(declared).values())))
    if declared.form.method == "redistributed":
        (name,) = names
        return subdomain_tables(tables, name, declared.columns[name])
    return help_tables(tables, names)


def help_names(declared: Terms, sensitive: Sequence[str] | None = None) -> list[str]:
    """The names of these help tables."""
    return [help_name(name) for name in helped(declared, sensitive)]
