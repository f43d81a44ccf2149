"""Experiments: the figure of a paper, the measurement here, its points and its claims."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

COLUMNS = ("experiment", "data", "series", "level", "seed", "measure", "value")
Size = Literal["full", "quick"]


class Point(NamedTuple):
    """A value that was measured, with its data, series and level."""

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

    def select(self, levels: Sequence[float]) -> "Matrix":
        """Return the values at some of the levels, or at all if none are named."""
        positions = [
            position for position, level in enumerate(self.levels) if not levels or level in levels
        ]
        return Matrix(
            tuple(self.levels[position] for position in positions), self.values[:, positions]
        )


@dataclass(frozen=True)
class Results:
    """The points of each seed, and the reason of each seed that failed (it has no points)."""

    points: Mapping[int, Sequence[Point]]
    failed: Mapping[int, str] = field(default_factory=dict)

    def matrix(self, data: str, measure: str, series: str) -> Matrix:
        """Return the values of a series by seed and level."""
        key = (data, measure, series)
        cells = [
            (row, point.level, point.value)
            for row, points in enumerate(self.points.values())
            for point in points
            if (point.data, point.measure, point.series) == key
        ]
        levels = tuple(sorted({level for _, level, _ in cells}))
        values = np.full((len(self.points), len(levels)), np.nan)
        for row, level, value in cells:
            values[row, levels.index(level)] = value
        return Matrix(levels, values)

    def data(self, measure: str) -> list[str]:
        """Return the data for which a measure has points, in the order of measuring."""
        return list(dict.fromkeys(p.data for p in self._all() if p.measure == measure))

    def series(self, data: str, measure: str) -> list[str]:
        """Return the series of a measure, in the order of measuring."""
        named = (p.series for p in self._all() if (p.data, p.measure) == (data, measure))
        return list(dict.fromkeys(named))

    def csv(self, experiment: str) -> str:
        """Return all points as CSV, a line for each."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for seed, points in self.points.items():
            for data, series, level, measure, value in points:
                digits = f"{value:.9g}"
                writer.writerow((experiment, data, series, f"{level:g}", seed, measure, digits))
        return text.getvalue()

    def _all(self) -> list[Point]:
        return [point for points in self.points.values() for point in points]


@dataclass(frozen=True)
class Effect:
    """The size of what was measured, with an interval over seeds.

    Attributes:
        quantity: the measured quantity in words, such as "generalized / permuted".
        middle: its estimate; NaN where nothing could be measured.
        low: the lower end of its interval.
        high: the upper end of its interval.
        kind: of its interval: that of 95 %, or only the extremes of few seeds.
    """

    quantity: str
    middle: float
    low: float
    high: float
    kind: Literal["95 %", "extremes"] = "95 %"

    @property
    def words(self) -> str:
        """The effect in words."""
        if isnan(self.middle):
            return f"{self.quantity}: nothing was measured"
        ends = f"{self.low:.3g} to {self.high:.3g}"
        return f"{self.quantity}: {self.middle:.3g} ({self.kind}: {ends})"


@dataclass(frozen=True)
class Weight:
    """The evidence for and against a claim.

    Attributes:
        agree: the p-value of the measurements if the claim were just not true.
        disagree: the p-value of the measurements if its contrary were just not true.
        effect: the size of what was measured, with its interval.
        neither: the p-value of the measurements if the effect were just large enough, on either
            side; 1 for claims that have no least effect.
        remark: what else was measured, in words.
    """

    agree: float
    disagree: float
    effect: Effect
    neither: float = 1.0
    remark: str = ""

    @property
    def p(self) -> float:
        """The p-value of all sides together.

        Whatever is true, at most two of the three sides are false: twice the least is enough.
        """
        return min(1.0, 2 * min(self.agree, self.disagree, self.neither))

    @property
    def numbers(self) -> str:
        """The measurements in words."""
        return "; ".join(words for words in (self.effect.words, self.remark) if words)


class ClaimTest(Protocol):
    """A test of what was measured of some data."""

    @property
    def words(self) -> str:
        """The test in words."""
        ...

    def weigh(self, results: Results, data: str) -> Weight:
        """Return the evidence in some results."""
        ...


Author = Literal["paper", "project"]


@dataclass(frozen=True)
class Claim:
    """A statement about an experiment's outcome.

    Attributes:
        text: the claim in words.
        data: the key of the data that it is tested on.
        test: the test that decides it.
        by: its author: the paper, or this project about the paper.
        hindsight: whether it was written after results of a similar run had been seen.
    """

    text: str
    data: str
    test: ClaimTest
    by: Author = "paper"
    hindsight: bool = False


@dataclass(frozen=True)
class Inputs:
    """The places that an experiment reads from, and writes its trials into.

    Attributes:
        adult: the Parquet file of UCI Adult.
        hierarchies: the folder with a CSV file for each of its columns.
        scratch: a private directory for the trials of one unit of work.
    """

    adult: Path
    hierarchies: Path
    scratch: Path


Measure = Callable[[Any, Inputs, int], Iterable[Point]]
"""Measures everything once, given parameters, files and a seed."""


@dataclass(frozen=True)
class Figure:
    """A plot of a measure by level, with a line for each series, for each of the data.

    Attributes:
        measure: the plotted measure.
        x: the words of the horizontal axis.
        y: the words of the vertical axis.
        log: whether the vertical axis is logarithmic.
        data: the data that are plotted; all of them if none are named.
    """

    measure: str
    x: str
    y: str
    log: bool = False
    data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        name: its name on the command line.
        paper: the key of its paper.
        shows: the figure or table of the paper, in words.
        title: its subject.
        setting: the procedure here, in sentences.
        ours: what this project chose, because the texts at hand lack it.
        data: the keys of its data.
        full: parameters of a whole run.
        quick: parameters of a run that takes a second.
        measure: makes the points of one seed.
        figures: its plots.
        claims: its claims, with tests that were fixed before anything was run.
        apart: whether its units of work run one by one, because they measure time.
    """

    name: str
    paper: str
    shows: str
    title: str
    setting: str
    ours: str
    data: tuple[str, ...]
    full: Any
    quick: Any
    measure: Measure
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    apart: bool = field(default=False)


def parameters_of(experiment: Experiment, size: Size) -> Any:
    """Return the parameters of a run."""
    return experiment.full if size == "full" else experiment.quick


@dataclass(frozen=True)
class RowsAndLevels:
    """Number of rows drawn, and the levels that vary."""

    rows: int
    levels: tuple[int, ...]
