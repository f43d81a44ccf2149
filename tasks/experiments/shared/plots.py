"""Plots of lines with bands, as geometry for a template, with linear or logarithmic scales."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, log10

import numpy as np

from sfumato.tasks.experiments.shared.described import DATA
from sfumato.tasks.experiments.shared.experiment import Figure, Matrix, Results
from sfumato.tasks.report.charts import number_axis

_DIGITS = (1, 2, 5)
_FEW = 2  # decades that get ticks between powers of ten


@dataclass(frozen=True)
class PlotScale:
    """Places of values between 0, at the bottom, and 1, and the ticks on it.

    Attributes:
        low: the value at the bottom.
        high: the value at the top.
        ticks: values with their labels.
        log: whether it is logarithmic.
    """

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool

    def place(self, value: float) -> float:
        """Return the place of a value; values below the scale are at its bottom."""
        if self.log:
            return (log10(max(value, self.low)) - log10(self.low)) / log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def scale_of(values: Sequence[float], *, log: bool) -> PlotScale:
    """Return a scale for some values; logarithmic if wished, and if any value is above 0."""
    above = [value for value in values if value > 0]
    return _logarithmic(min(above), max(above)) if log and above else _linear(max(values))


def _linear(high: float) -> PlotScale:
    axis = number_axis(Fraction(0), Fraction(max(high, 1e-9)), whole=False)
    ticks = tuple(
        (float(value), f"{label}{axis.factor if value else ''}") for value, label in axis.ticks
    )
    return PlotScale(float(axis.low), float(axis.high), ticks, log=False)


def _logarithmic(low: float, high: float) -> PlotScale:
    """Return a scale from the tick below the lowest value to the one above the highest."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    digits = _DIGITS if len(powers) - 1 <= _FEW else (1,)
    candidates = [digit * 10.0**power for power in powers for digit in digits]
    bottom = max((v for v in candidates if v <= low * 1.0001), default=candidates[0])
    top = min((v for v in candidates if v >= high * 0.9999 and v > bottom), default=candidates[-1])
    ticks = tuple((v, f"{v:,.10g}") for v in candidates if bottom <= v <= top)
    return PlotScale(bottom, top, ticks, log=True)


WIDTH, TOP, BOTTOM, RIGHT, HEIGHT = 460, 34, 240, 440, 284


_CHARACTER, _KEY = 8, 20  # width of a tick's character; height of a line of the key


@dataclass(frozen=True)
class Mark:
    """A tick or a point, with its label."""

    x: str
    y: str
    label: str = ""


@dataclass(frozen=True)
class SeriesLine:
    """A series: the medians of its seeds as a line with marks, all its seeds as a band."""

    name: str
    style: int
    line: str
    band: str
    marks: tuple[Mark, ...]
    key: int


@dataclass(frozen=True)
class LinesPlot:
    """All that a template needs to draw the plot and to say what it shows."""

    title: str
    summary: str
    x_title: str
    y_title: str
    left: int
    height: int
    x_ticks: tuple[Mark, ...]
    y_ticks: tuple[Mark, ...]
    lines: tuple[SeriesLine, ...]
    table: tuple[tuple[str, tuple[str, ...]], ...]

    width, top, bottom, right = WIDTH, TOP, BOTTOM, RIGHT


def plots_of(figure: Figure, results: Results) -> list[LinesPlot]:
    """Return the plots of a figure, one for each of the data."""
    return [
        _plot(figure, results, data)
        for data in results.data(figure.measure)
        if not figure.data or data in figure.data
    ]


def _plot(figure: Figure, results: Results, data: str) -> LinesPlot:
    names = results.series(data, figure.measure)
    matrices = {name: results.matrix(data, figure.measure, name) for name in names}
    levels = sorted({level for matrix in matrices.values() for level in matrix.levels})
    values = np.concatenate([matrix.values.ravel() for matrix in matrices.values()])
    scale = scale_of(values[np.isfinite(values)].tolist(), log=figure.log)
    left_edge = 14 + _CHARACTER * max(len(label) for _, label in scale.ticks)
    step = (RIGHT - left_edge) / len(levels)
    places = {level: left_edge + step * (position + 0.5) for position, level in enumerate(levels)}
    lines = tuple(
        _line(name, style, matrix, places, scale)
        for style, (name, matrix) in enumerate(matrices.items())
    )
    return LinesPlot(
        title=f"{DATA[data].title}: {figure.measure} by {figure.x}",
        summary=_summary(matrices, figure),
        x_title=figure.x,
        y_title=f"{figure.y}{' (logarithmic)' if scale.log else ''}",
        left=left_edge,
        height=HEIGHT + _KEY * len(lines),
        x_ticks=tuple(
            Mark(_coordinate(x), _coordinate(BOTTOM), f"{level:,g}") for level, x in places.items()
        ),
        y_ticks=tuple(Mark("", _coordinate(_height(scale, v)), label) for v, label in scale.ticks),
        lines=lines,
        table=tuple(
            (f"{level:,g}", tuple(_cell(matrix, level) for matrix in matrices.values()))
            for level in levels
        ),
    )


def _line(
    name: str, style: int, matrix: Matrix, places: dict[float, float], scale: PlotScale
) -> SeriesLine:
    positions = [
        position for position, column in enumerate(matrix.values.T) if np.isfinite(column).any()
    ]
    x = [places[matrix.levels[position]] for position in positions]
    least, middle, most = (
        [_height(scale, value) for value in quantile[positions]] for quantile in _spread(matrix)
    )
    there, back = _path(x, most), _path(x[::-1], least[::-1]).replace("M", "L")
    marks = tuple(
        Mark(_coordinate(across), _coordinate(y)) for across, y in zip(x, middle, strict=True)
    )
    key = HEIGHT + _KEY * style
    return SeriesLine(name, style, _path(x, middle), f"{there}{back}z", marks, key)


def _spread(matrix: Matrix) -> np.ndarray:
    """Return the least, median and greatest of the seeds at each level; NaN where there is none."""
    empty = ~np.isfinite(matrix.values).any(axis=0)
    filled = np.where(empty, 0.0, matrix.values)
    quantiles: np.ndarray = np.nanquantile(filled, (0, 0.5, 1), axis=0)
    quantiles[:, empty] = np.nan
    return quantiles


def _summary(matrices: dict[str, Matrix], figure: Figure) -> str:
    """Return in words what the plot shows: each series at its first and last level."""
    parts = []
    for name, matrix in matrices.items():
        middle = _spread(matrix)[1]
        ends = [(matrix.levels[position], middle[position]) for position in (0, -1)]
        first, last = (f"{value:.3g} at {level:,g}" for level, value in ends)
        parts.append(f"{name} {first}" if len(matrix.levels) == 1 else f"{name} {first}, {last}")
    seeds = len(next(iter(matrices.values())).values)
    subject = f"{figure.y} by {figure.x}, medians of {seeds} seeds"
    return f"{subject[0].upper()}{subject[1:]}: {'; '.join(parts)}."


def _cell(matrix: Matrix, level: float) -> str:
    if level not in matrix.levels:
        return "–"
    least, middle, most = _spread(matrix)[:, matrix.levels.index(level)]
    return f"{middle:.3g} ({least:.3g} to {most:.3g})" if np.isfinite(middle) else "–"


def _path(x: Sequence[float], y: Sequence[float]) -> str:
    pairs = [
        f"{_coordinate(across)} {_coordinate(down)}" for across, down in zip(x, y, strict=True)
    ]
    return f"M{'L'.join(pairs)}" if pairs else ""


def _height(scale: PlotScale, value: float) -> float:
    return BOTTOM - scale.place(value) * (BOTTOM - TOP)


def _coordinate(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
