"""The help table by positions: a group's bounds over so many of its rows stand in known places."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.expectations.arrow import as_indices
from sfumato.tasks.query.engines.direct.cells import Hits
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.numbers import Units, units_of
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns
from sfumato.tasks.query.question.aggregates.kind import HelpColumn

_EXTREMES: Mapping[type[exp.AggFunc], np.ufunc] = {exp.Min: np.minimum, exp.Max: np.maximum}


class HelpRows:
    """A help table in which groups 0, 1, … have 1, 2, … hits."""

    def __init__(self, table: PublishedColumns) -> None:
        """Read nothing yet."""
        self._table = table
        self._units: dict[str, Units] = {}

    @cached_property
    def start(self) -> np.ndarray:
        """The place of each group's first row, and the number of all rows (int64, groups + 1).

        Raises:
            NotDirectError: where groups and hits are not in this order.
        """
        group, hits = self._table.group, self._table.numbers("hits")
        changed = group[1:] != group[:-1]
        start = np.concatenate(([0], np.flatnonzero(changed) + 1))[: len(group)]
        counted = np.where(changed, 1, hits[:-1] + 1)
        if not (
            np.array_equal(group[start], np.arange(len(start)))
            and (hits[:1] == 1).all()
            and np.array_equal(hits[1:], counted)
        ):
            raise NotDirectError
        return np.append(start, len(group))

    @property
    def sizes(self) -> np.ndarray:
        """The most hits of each group (int64, one per group)."""
        return np.diff(self.start)

    @property
    def totals(self) -> Units:
        """The sum of each group's values (units, one per group)."""
        sums = self.units("l_sum")
        return Units(sums.units[self.start[1:] - 1], sums.digits)

    def places(self, hits: Hits) -> np.ndarray:
        """The row for so many hits of a group (int64).

        Raises:
            NotDirectError: where there is none.
        """
        start, group = self.start, hits.each_group
        if len(group) and int(group.max()) >= len(start) - 1:
            raise NotDirectError
        places = start[group] + hits.hits
        if (places > start[1:][group]).any():
            raise NotDirectError
        return np.asarray(places - 1)

    def combined(self, column: HelpColumn, places: np.ndarray, hits: Hits) -> list[Any]:
        """A column's bounds in some places, combined by cell; None where a cell has no least one.

        Raises:
            NotDirectError: where SQL combines them otherwise.
        """
        if column.function is exp.Sum:
            numbers = self.units(column.name)
            sums = hits.sums(numbers.units[places], numbers.largest)
            return [numbers.number(of) for of in sums.tolist()]
        if column.function not in _EXTREMES:
            raise NotDirectError
        coded = self._table.coded(column.name)
        return _extremes(coded.values, coded.codes[places], hits, _EXTREMES[column.function])

    def units(self, name: str) -> Units:
        """A column of numbers."""
        if name not in self._units:
            self._units[name] = units_of(self._table.read(name).combine_chunks())
        return self._units[name]


def _extremes(values: pa.Array, codes: np.ndarray, hits: Hits, extreme: np.ufunc) -> list[Any]:
    """The value with the extreme code in each cell; None in one without codes."""
    none = len(values) if extreme is np.minimum else -1
    found = hits.reduced(extreme, codes.astype(np.int32), none)
    shown: list[Any] = values.take(as_indices(np.where(found == none, -1, found))).to_pylist()
    return shown
