"""Bounds without a condition on sensitive values: rows of the help tables, combined by cell."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.direct.cells import Hits, SelectedRows, hits_of
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.group_values import GroupMeans
from sfumato.tasks.query.engines.direct.numbers import largest, product, sums_by
from sfumato.tasks.query.engines.direct.release_tables import ReleaseTables
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.aggregates.kind import HelpColumn


class BoundsFromHelp:
    """The bounds of aggregates over some rows in cells."""

    def __init__(self, tables: ReleaseTables, rows: SelectedRows, *, estimates: bool) -> None:
        """Count nothing yet: a number of rows needs no help."""
        self._tables, self._rows, self._estimates = tables, rows, estimates
        self._places: dict[str, np.ndarray] = {}
        self._combined: dict[tuple[str, str], list[Any]] = {}

    @cached_property
    def _hits(self) -> Hits:
        return hits_of(self._rows, self._tables.rows.groups)

    def bounds(self, aggregate: Aggregate) -> list[Bounds]:
        """The bounds of an aggregate, by cell.

        Raises:
            NotDirectError: where no help table holds them.
        """
        counts, of = self._rows.of_cells.tolist(), aggregate.kind.help
        if aggregate.kind.counts_rows:
            return [Bounds(rows, rows, rows) for rows in counts]
        if of is None:
            raise NotDirectError
        low, high, sums = self.sides(aggregate)
        whole = self._tables.is_whole(str(aggregate.sensitive))
        cells = zip(low, high, counts, sums, strict=True)
        return [of.bounds(*cell, whole=whole) for cell in cells]

    def sides(self, aggregate: Aggregate) -> tuple[list[Any], list[Any], Sequence[Fraction | None]]:
        """Both columns of the help table that bound an aggregate, combined, and expected sums.

        Raises:
            NotDirectError: where no help table holds them.
        """
        of, name = aggregate.kind.help, str(aggregate.sensitive)
        if of is None:
            raise NotDirectError
        low, high = (self._side(name, column) for column in (of.lower, of.upper))
        if of.expected and self._estimates:
            return low, high, self._expected(name)
        return low, high, [None] * len(low)

    def _side(self, name: str, column: HelpColumn) -> list[Any]:
        """A column of the help table, combined by cell."""
        key, helping = (name, column.name), self._tables.helping(name)
        if name not in self._places:
            self._places[name] = helping.places(self._hits)
        if key not in self._combined:
            self._combined[key] = helping.combined(column, self._places[name], self._hits)
        return self._combined[key]

    def _expected(self, name: str) -> list[Fraction]:
        return expected_sums(self._hits, self._tables.totals(name).means)


def expected_sums(hits: Hits, means: GroupMeans) -> list[Fraction]:
    """The sum that is expected in each cell: of every group its hits times its mean."""
    units = product(means.units[hits.group], hits.hits)
    scale = 10**means.digits
    if means.rank is None:
        denominator = int(means.denominators[0]) * scale
        return [Fraction(int(of), denominator) for of in hits.sums(units, largest(units))]
    number = len(means.denominators)
    sums = sums_by(hits.cell * number + means.rank[hits.group], hits.cells * number, units)
    found = [Fraction(0)] * hits.cells
    for place in np.flatnonzero(sums).tolist():
        cell, of = divmod(place, number)
        found[cell] += Fraction(int(sums[place]), int(means.denominators[of]) * scale)
    return found
