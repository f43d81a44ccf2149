"""Asking exact rows beside the sensitive values of their group."""

from sfumato.tasks.forms.vacancies import VACANT
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.report.snippets.snippet import Snippet
from sfumato.tasks.report.snippets.text import (
    aggregates,
    line_of_table,
    ordered_columns,
    per_group,
    words,
)
from sfumato.tasks.terms.terms import Declared


def _lines(declared: Declared) -> list[str]:
    """The published rows, and what is exact of the values of a group."""
    if declared.form.values_apart:
        return _joined(declared)
    known = relations(declared)
    read, whole = [line_of_table(known.rows, declared)], known.rows
    if known.pooled:
        read += [line_of_table(VACANT, declared), f"values = pd.concat([{known.rows}, {VACANT}])"]
        whole = "values"
    return [*read, *per_group(whole, ["size", "min", "max"], declared)]


def _joined(declared: Declared) -> list[str]:
    """Every row beside the values of its group, and what is exact of them."""
    known = relations(declared)
    first = (ordered_columns(declared) or sorted(declared.named("sensitive")))[0]
    values = next(table for columns, table in known.tables.items() if first in columns)
    read = [line_of_table(name, declared) for name in (known.rows, values)]
    joined = f'{known.rows}.merge({values}, on="group_id")'
    return [*read, joined, *per_group(values, ["min", "max"], declared)]


rows = Snippet(lines=_lines, by=lambda declared: words(declared)[:1], aggregates=aggregates)
