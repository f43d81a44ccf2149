"""The codes of columns that a release publishes, and only their leaves and labels.

A hierarchy's file may list values that nobody of a release has, or that it suppressed. The root
reveals no leaf: a star in place of a value admits any value.

A list of codes may have some that nobody has, or no longer has. Unless the whole list is public,
only codes in the tables or behind a published label are published.
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
    """Return the columns of a release, their hierarchies with the leaves that may be published.

    A hierarchy whose only published label is the root is left out.

    Args:
        columns: as declared.
        tables: what is published.
    """
    return {name: _narrow(name, column, tables) for name, column in columns.items()}


def _narrow(name: str, column: DeclaredColumn, tables: Tables) -> DeclaredColumn:
    if column.leaves == "all" or not isinstance(column.hierarchy, tuple):
        return column
    texts = published_texts(name, tables) - {ROOT, None}
    rows = tuple(row for row in column.hierarchy if not texts.isdisjoint(row))
    return column.model_copy(update={"hierarchy": rows or None})


def published_texts(name: str, tables: Tables) -> set[str | None]:
    """Return the different texts of a column, or of the bounds that are published in its place."""
    own = any(name in table.column_names for table in tables.values())
    places = (name,) if own else (LOWER, UPPER)
    columns = (pc.unique(t[n]) for t in tables.values() for n in places if n in t.column_names)
    return {text for values in columns for text in pc.cast(values, pa.string()).to_pylist()}


def with_published_codes(
    words: PublishedWords, columns: Mapping[str, DeclaredColumn], tables: Tables
) -> PublishedWords:
    """Return words with the labels of published codes, unless the whole list is published.

    Args:
        words: as the owner says them.
        columns: as declared, with the hierarchies that are published.
        tables: what is published.
    """
    cut = {
        name: labels if labels.whole else _cut(labels, published_codes(name, columns[name], tables))
        for name, labels in words.labels.items()
        if name in columns
    }
    return words.model_copy(
        update={"labels": {name: labels for name, labels in cut.items() if labels.codes}}
    )


def published_codes(name: str, column: DeclaredColumn, tables: Tables) -> set[str]:
    """Return a column's published texts, the values behind sets of them, and published leaves."""
    texts = {text for text in published_texts(name, tables) if text is not None}
    leaves = column.hierarchy if isinstance(column.hierarchy, tuple) else ()
    behind = {str(value) for text in texts for value in _listed_values(text, name, column)}
    return texts | behind | {label for row in leaves for label in row}


def _listed_values(text: str, name: str, column: DeclaredColumn) -> tuple[object, ...]:
    """Return the values that a text lists, none if it lists none."""
    try:
        admitted = reader(name, column)(text)
    except PromiseError:
        return ()
    return admitted.values if isinstance(admitted, ListedValues) else ()


def _cut(labels: CodeLabels, codes: set[str]) -> CodeLabels:
    return labels.model_copy(
        update={"codes": {c: t for c, t in labels.codes.items() if c in codes}}
    )
