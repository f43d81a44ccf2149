"""Families of queries over a table: windows of its quasi-identifiers, and the rows they select.

A family has *levels*, which count alike: a span of windows, a number of rows that random sets
select, or the cells of a GROUP BY. The *score* of groups is the mean over all levels of the
expected width of an average; cuts are chosen so that it is small. What single rows or groups add to
the score is their *cost*.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.expectations.shared.exact import exact, is_ordered
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.partitions.aimed.parameters import (
    Aim,
    ArbitraryAim,
    CountsAim,
    GroupByAim,
    WindowsAim,
)
from sfumato.tasks.partitions.aimed.widths import GroupWidths

_CONDITIONS = 8  # of a kind, at most: of more rows, some give their values to conditions
_WINDOWS = 256  # of a span, at most: of more values, windows begin at some


@dataclass(frozen=True, eq=False)
class Windows:
    """Weighted windows of a column.

    A window's weight is what the width of its sum adds to the score: one over the number of levels,
    of windows of its level, and of the rows that it selects. So the score is the mean over levels
    of the expected width of an average.

    Attributes:
        place: the number of each row's value, from 1; 0 for a row without a value (int64).
        values: the number of different values.
        first: the first value in each window, from 1 (int64, one per window).
        end: the first value behind each window (int64).
        weight: the weight of each window (float64).
        condition: the kind of the conditions on sensitive values by which rows in each window are
            counted (str); "" where values are summed.
    """

    place: np.ndarray
    values: int
    first: np.ndarray
    end: np.ndarray
    weight: np.ndarray
    condition: np.ndarray

    def counts_below(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of rows whose value has a number below 0, 1, … (int64)."""
        counts = np.bincount(self.place[rows], minlength=self.values + 1)
        return np.append(0, np.cumsum(counts))

    def hits(self, below: np.ndarray) -> np.ndarray:
        """Return the number of rows that each window selects (int64), given `counts_below`."""
        hits: np.ndarray = below[self.end] - below[self.first]
        return hits

    def hits_of_parts(self, rows: np.ndarray, part: np.ndarray, parts: int) -> np.ndarray:
        """Return the number of rows of each part in each window (int64, parts x windows)."""
        values = self.values + 1
        counts = np.bincount(part * values + self.place[rows], minlength=parts * values)
        below = np.zeros((parts, values + 1), dtype=np.int64)
        np.cumsum(counts.reshape(parts, values), axis=1, out=below[:, 1:])
        hits: np.ndarray = below[:, self.end] - below[:, self.first]
        return hits


@dataclass(frozen=True, eq=False)
class Selections:
    """Random sets of a table's rows, weighted as windows are.

    Attributes:
        rows: the number of rows of the table.
        selected: the number of rows in a set (int64, one per level).
        weight: the weight of each level's sets (float64).
    """

    rows: int
    selected: np.ndarray
    weight: np.ndarray
    _costs: dict[GroupWidths, float] = field(default_factory=dict)

    def cost(self, widths: GroupWidths) -> float:
        """Return what rows in groups of these widths add to the score."""
        if widths not in self._costs:
            self._costs[widths] = float(
                self.weight @ widths.expected_among(self.rows, self.selected)
            )
        return self._costs[widths]


@dataclass(frozen=True, eq=False)
class AimedQueries:
    """The declared families of queries over one table.

    Attributes:
        windows: the windows of each column, by the name of the column.
        selections: random sets of rows.
        conditions: by kind, the codes of the least and the greatest sensitive value on which each
            condition holds (int64, n x 2); all conditions of a kind are asked equally often.
    """

    windows: dict[str, Windows]
    selections: Selections
    conditions: Mapping[str, np.ndarray] = field(default_factory=dict)

    def cost(self, widths: GroupWidths | None, hits: Sequence[tuple[Windows, np.ndarray]]) -> float:
        """Return what some rows add to the score; infinite if they have no groups.

        Args:
            widths: the widths of their groups, None if they have none.
            hits: the windows of each column, with the number of these rows that each window selects
                (int64).
        """
        if widths is None:
            return float("inf")
        cost = self.selections.cost(widths)
        for windows, selected in hits:
            cost += float(windows.weight @ widths.of_windows(windows.condition, selected))
        return cost

    def cost_of_parts(
        self, widths: GroupWidths | None, rows: np.ndarray, part: np.ndarray, parts: int
    ) -> float:
        """Return what parts of some rows add to the score; infinite if they have no groups.

        Args:
            widths: the widths of the groups of a part of typical size, None if it has no groups;
                the widths of other parts are in proportion to their rows.
            rows: positions of rows (int64).
            part: the part of each of these rows (int64), below `parts`.
            parts: the number of parts.
        """
        if widths is None:
            return float("inf")
        share = np.bincount(part, minlength=parts) / widths.rows
        cost = self.selections.cost(widths) * float(share.sum())
        for windows in self.windows.values():
            hits = windows.hits_of_parts(rows, part, parts)
            typical = hits / np.maximum(share, 1 / widths.rows)[:, None]
            expected = widths.of_windows(windows.condition, typical)
            cost += float(windows.weight @ (share @ expected))
        return cost

    def hits(self, rows: np.ndarray) -> list[tuple[Windows, np.ndarray]]:
        """Return each column's windows, with the number of these rows that each window selects."""
        return [
            (windows, windows.hits(windows.counts_below(rows))) for windows in self.windows.values()
        ]


def queries_of(microdata: Microdata, aims: Sequence[Aim]) -> AimedQueries:
    """Return the queries of declared families over a table."""
    levels = sum(len(list(_levels(aim))) for aim in aims)
    counted: list[str] = [aim.condition for aim in aims if isinstance(aim, CountsAim)]
    by_column: dict[str, list[tuple[np.ndarray, ...]]] = {}
    for aim in (aim for aim in aims if isinstance(aim, WindowsAim)):
        by_column.setdefault(aim.over, []).append(_windows_of_aim(microdata, aim, levels))
    windows = {}
    for name, arrays in by_column.items():
        column = microdata[name]
        made = map(np.concatenate, zip(*arrays, strict=True))
        place = column.codes.astype(np.int64) + 1
        windows[name] = Windows(place, len(column.values), *made)
    sets = [n for aim in aims if isinstance(aim, ArbitraryAim) for n in aim.selected]
    selected = np.minimum(np.array(sets, dtype=np.int64), microdata.rows)
    weight = 1 / (levels * np.maximum(selected, 1))
    conditions = {kind: _conditions(_sensitive_of(microdata), kind) for kind in counted}
    return AimedQueries(windows, Selections(microdata.rows, selected, weight), conditions)


def _levels(aim: Aim) -> Iterator[int]:
    if isinstance(aim, GroupByAim):
        yield 1
    else:
        yield from aim.selected if isinstance(aim, ArbitraryAim) else aim.spans


def _windows_of_aim(microdata: Microdata, aim: WindowsAim, levels: int) -> tuple[np.ndarray, ...]:
    """Return the first value, end value, weight and condition of each window of an aim.

    The end value is the first one behind the window.
    """
    column = microdata[aim.over]
    if isinstance(aim, GroupByAim):
        first, end, weight = _cells(column, levels)
    else:
        first, end, weight = _windows(column, aim.spans, levels)
    kind = aim.condition if isinstance(aim, CountsAim) else ""
    if kind:
        weight = weight * row_in_units(_sensitive_of(microdata))
    return first, end, weight, np.full(len(first), kind)


def _sensitive_of(microdata: Microdata) -> Column:
    """Return the sensitive column, the first one if there are several."""
    return microdata.with_roles("sensitive")[0]


def row_in_units(column: Column) -> float:
    """Return the weight of one row more or less in counts, in the units of sums.

    It is the mean distance of values from their median, and 1 if values have no order or some are
    missing: sums then add up ones.
    """
    if not is_ordered(column.values.type) or column.has_null or not len(column.codes):
        return 1.0
    values = exact(column.values, column.name).units.astype(np.float64)[column.codes]
    return float(np.abs(values - np.median(values)).mean()) or 1.0


def _conditions(column: Column, kind: str) -> np.ndarray:
    """Return the codes of the least and the greatest value of each condition (int64, n x 2).

    A condition compares with the value of one row. If rows are more than conditions, the chosen
    rows are spread evenly among all rows by value, so that they depend only on the multiset of
    values.
    """
    codes = np.sort(column.codes[column.codes >= 0]).astype(np.int64)
    number = min(len(codes), _CONDITIONS)
    high = codes[(2 * np.arange(number) + 1) * len(codes) // (2 * max(number, 1))]
    low = high if kind == "equal" else np.zeros_like(high)
    return np.stack([low, high], axis=1)


def _cells(column: Column, levels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the windows of single values that rows have; missing values are one of them."""
    counts = np.bincount(column.codes + 1, minlength=len(column.values) + 1)
    first = np.flatnonzero(counts)
    weight = 1 / (levels * max(len(first), 1) * counts[first])
    return first, first + 1, weight


def _windows(
    column: Column, spans: Sequence[int], levels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first value, end value and weight of each window of these spans.

    The end value is the first one behind the window.
    """
    numbers = exact(column.values, column.name)
    counts = np.bincount(column.codes + 1, minlength=len(column.values) + 1)
    below = np.append(0, np.cumsum(counts))
    starts = np.unique(np.linspace(1, max(len(column.values), 1), _WINDOWS).round().astype(int))
    starts = starts[starts <= len(column.values)]
    by_span = []
    for span in spans:
        reach = numbers.units[starts - 1] + span * 10**numbers.digits
        end = np.searchsorted(numbers.units, reach, side="right") + 1
        selected = below[end] - below[starts]
        weight = 1 / (levels * max(len(starts), 1) * np.maximum(selected, 1))
        by_span.append((starts, end, weight))
    first, end, weight = (np.concatenate(parts) for parts in zip(*by_span, strict=True))
    return first, end, weight
