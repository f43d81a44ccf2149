"""The leaves of hierarchies that a release publishes: all, or those under a published label.

A hierarchy's file may list values that nobody of a release has, or that it suppressed. The root
tells of no leaf: a star in the place of a value admits any.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.redistributed.targets import LOWER, UPPER
from sfumato.tasks.schema.hierarchy import ROOT
from sfumato.tasks.schema.published import DeclaredColumn


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
