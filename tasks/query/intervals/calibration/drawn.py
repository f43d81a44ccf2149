"""Drawn conditions decided on values at once: thousands of queries need no database."""

from typing import Any

import numpy as np
from sqlglot import exp

from sfumato.tasks.query.engines.direct.conditions import ValueConditions
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns
from sfumato.tasks.query.intervals.shapes.selection import selections_in

_NULL = np.zeros(1, dtype=bool)


class DrawnConditions(ValueConditions):
    """Judges drawn conditions itself, and others as queries do."""

    def rows(self, table: PublishedColumns, condition: exp.Expr) -> np.ndarray:
        """The rows on which a condition holds (bool, one per row).

        Raises:
            NotDirectError: where it compares columns, or cannot be evaluated on some value.
        """
        selections = selections_in(condition)
        if selections is None:
            return super().rows(table, condition)
        found = np.ones(len(table.group), dtype=bool)
        for selection in selections:
            column = table.coded(selection.name)
            admitted = selection.admits(self._known(table, selection.name))
            found &= column.among(np.append(admitted, _NULL[: column.values.null_count]))
        return found

    def _known(self, table: PublishedColumns, name: str) -> list[Any]:
        known = self._lists.get((table, name))
        if known is None:
            known = table.coded(name).values.drop_null().to_pylist()
            self._lists[table, name] = known
        return known

    def __init__(self, connection: Any) -> None:
        """Know no values yet."""
        super().__init__(connection)
        self._lists: dict[tuple[PublishedColumns, str], list[Any]] = {}
