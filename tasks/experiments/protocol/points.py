"""What an experiment measured: points, by data, series, level, measure and seed."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

COLUMNS = ("experiment", "data", "series", "level", "seed", "measure", "value")


class Point(NamedTuple):
    """A value that was measured: of which data, under which series, at which level."""

    data: str
    series: str
    level: float
    measure: str
    value: float


@dataclass(frozen=True, eq=False)
class Matrix:
    """The values of a series.

    Attributes:
        levels: ascending.
        values: float64, seeds x levels, NaN where nothing could be measured.
    """

    levels: tuple[float, ...]
    values: np.ndarray

    def at(self, levels: Sequence[float]) -> "Matrix":
        """The values at some of the levels, or at all where none are named."""
        kept = [at for at, level in enumerate(self.levels) if not levels or level in levels]
        return Matrix(tuple(self.levels[at] for at in kept), self.values[:, kept])


@dataclass(frozen=True)
class Results:
    """The points of each seed, and of each that failed the reason, which leaves no points."""

    points: Mapping[int, Sequence[Point]]
    failed: Mapping[int, str] = field(default_factory=dict)

    def matrix(self, data: str, measure: str, series: str) -> Matrix:
        """The values of a series by seed and level."""
        wanted = (data, measure, series)
        found = [
            (row, point.level, point.value)
            for row, points in enumerate(self.points.values())
            for point in points
            if (point.data, point.measure, point.series) == wanted
        ]
        levels = tuple(sorted({level for _, level, _ in found}))
        values = np.full((len(self.points), len(levels)), np.nan)
        for row, level, value in found:
            values[row, levels.index(level)] = value
        return Matrix(levels, values)

    def data(self, measure: str) -> list[str]:
        """The data of which something was measured, in the order of measuring."""
        return list(dict.fromkeys(p.data for p in self._all() if p.measure == measure))

    def series(self, data: str, measure: str) -> list[str]:
        """The series of a measure, in the order of measuring."""
        named = (p.series for p in self._all() if (p.data, p.measure) == (data, measure))
        return list(dict.fromkeys(named))

    def csv(self, experiment: str) -> str:
        """All points, a line for each."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for seed, points in self.points.items():
            for data, series, level, measure, value in points:
                shown = f"{value:.9g}"
                writer.writerow((experiment, data, series, f"{level:g}", seed, measure, shown))
        return text.getvalue()

    def _all(self) -> list[Point]:
        return [point for points in self.points.values() for point in points]
