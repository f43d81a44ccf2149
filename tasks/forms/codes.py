"""The codes of columns that a release publishes, and the leaves and labels of these alone.

A hierarchy's file may list values that nobody of a release has, or that it suppressed. The root
tells of no leaf: a star in the place of a value admits any.

A list of codes may have some that nobody has, or that nobody has any more: unless it is public as a
whole, only those are told that stand in the tables or behind a published label.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.label_readers import reader
from sfumato.tasks.forms.labels import ListedValues
from sfumato.tasks.forms.targets import LOWER, UPPER
from sfumato.tasks.schema.hierarchy import ROOT
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.schema.stated import CodeLabels, PublishedWords


def with_published_leaves(
    columns: Mapping[str, DeclaredColumn], tables: Tables
) -> dict[str, DeclaredColumn]:
    """The columns of a release, their hierarchies with the leaves that may be published.

    A hierarchy of which no label but the root is published is left out.

    Args:
        columns: as declared.
        tables: what is published.
    """
    return {name: _narrow(name, column, tables) for name, column in columns.items()}


def _narrow(name: str, column: DeclaredColumn, tables: Tables) -> DeclaredColumn:
    if column.leaves == "all" or not isinstance(column.hierarchy, tuple):
        return column
    shown = published_texts(name, tables) - {ROOT, None}
    rows = tuple(row for row in column.hierarchy if not shown.isdisjoint(row))
    return column.model_copy(update={"hierarchy": rows or None})


def published_texts(name: str, tables: Tables) -> set[str | None]:
    """The different texts of a column, or of the bounds that are published in its place."""
    own = any(name in table.column_names for table in tables.values())
    places = (name,) if own else (LOWER, UPPER)
    found = (pc.unique(t[n]) for t in tables.values() for n in places if n in t.column_names)
    return {text for values in found for text in pc.cast(values, pa.string()).to_pylist()}


def with_published_codes(
    words: PublishedWords, columns: Mapping[str, DeclaredColumn], tables: Tables
) -> PublishedWords:
    """Words with the labels of published codes, where a list is not published as a whole.

    Args:
        words: as the owner says them.
        columns: as declared, with the hierarchies that are published.
        tables: what is published.
    """
    cut = {
        name: of if of.whole else _cut(of, published_codes(name, columns[name], tables))
        for name, of in words.labels.items()
        if name in columns
    }
    return words.model_copy(update={"labels": {name: of for name, of in cut.items() if of.codes}})


def published_codes(name: str, column: DeclaredColumn, tables: Tables) -> set[str]:
    """The texts that stand of a column, the values behind sets of them, and published leaves."""
    texts = {text for text in published_texts(name, tables) if text is not None}
    leaves = column.hierarchy if isinstance(column.hierarchy, tuple) else ()
    behind = {str(value) for text in texts for value in _listed(text, name, column)}
    return texts | behind | {label for row in leaves for label in row}


def _listed(text: str, name: str, column: DeclaredColumn) -> tuple[object, ...]:
    """The values that a text admits where it lists them, none where it does not."""
    try:
        found = reader(name, column)(text)
    except PromiseError:
        return ()
    return found.values if isinstance(found, ListedValues) else ()


def _cut(of: CodeLabels, codes: set[str]) -> CodeLabels:
    return of.model_copy(update={"codes": {c: t for c, t in of.codes.items() if c in codes}})
