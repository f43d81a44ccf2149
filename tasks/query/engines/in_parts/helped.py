"""Bounds without a condition on sensitive values, from the sides that each part gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.engines.direct.cells import SelectedRows
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.helped import BoundsFromHelp
from sfumato.tasks.query.question.aggregate import Aggregate
from sfumato.tasks.query.question.question import Key

_LONG = Context(prec=60)


@dataclass
class _HelpedCell:
    """What is known of a cell: its rows, and of each aggregate both sides and what is expected."""

    rows: int = 0
    sides: dict[Aggregate, tuple[Any, Any, Fraction | None]] = field(default_factory=dict)


class HelpedInParts:
    """The bounds of aggregates over the rows of all parts that were added."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        """Know of no part yet."""
        self._aggregates = aggregates
        self._cells: dict[Key, _HelpedCell] = {}

    def add(self, rows: SelectedRows, helped: BoundsFromHelp) -> None:
        """Join what the groups of a part contribute.

        Raises:
            NotDirectError: where no help table holds it.
        """
        cells = [self._cells.setdefault(key, _HelpedCell()) for key in rows.keys]
        counts = rows.of_cells.tolist()
        for cell, number in zip(cells, counts, strict=True):
            cell.rows += number
        for aggregate in self._aggregates:
            if aggregate.kind.counts_rows:
                continue
            of_part = zip(cells, counts, *helped.sides(aggregate), strict=True)
            for cell, number, low, high, expected in of_part:
                if number:
                    _join(cell, aggregate, (low, high, expected))

    def found(
        self, is_whole: Callable[[str], bool], *, grouped: bool
    ) -> dict[Key, dict[Aggregate, Bounds]]:
        """The bounds of each aggregate by the values of the group columns."""
        return {
            key: {a: _bounds(a, cell, is_whole) for a in self._aggregates}
            for key, cell in self._cells.items()
            if cell.rows or not grouped
        }


def _join(cell: _HelpedCell, aggregate: Aggregate, more: tuple[Any, Any, Fraction | None]) -> None:
    of = aggregate.kind.help
    if of is None:
        raise NotDirectError
    before = cell.sides.get(aggregate)
    if before is None:
        cell.sides[aggregate] = more
        return
    low, high = (
        _JOINED[column.function](one, other)
        for column, one, other in zip((of.lower, of.upper), before, more, strict=False)
    )
    expected = None if before[2] is None or more[2] is None else before[2] + more[2]
    cell.sides[aggregate] = low, high, expected


def _bounds(aggregate: Aggregate, cell: _HelpedCell, is_whole: Callable[[str], bool]) -> Bounds:
    of = aggregate.kind.help
    if of is None or aggregate not in cell.sides:
        rows = cell.rows if aggregate.kind.counts_rows else None
        return Bounds(rows, rows, rows)
    low, high, expected = cell.sides[aggregate]
    return of.bounds(low, high, cell.rows, expected, whole=is_whole(str(aggregate.sensitive)))


def _sum(one: Any, other: Any) -> Any:
    return _LONG.add(one, other) if isinstance(one, Decimal) else one + other


_JOINED: Mapping[type[exp.AggFunc], Callable[[Any, Any], Any]] = {
    exp.Sum: _sum,
    exp.Min: min,
    exp.Max: max,
}
"""How a side of two parts is that of both, by what combines it over groups."""
