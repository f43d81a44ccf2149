"""Noise of differential privacy for the same queries, as a reference: no noisy answer is drawn.

Each answer gets noise in proportion to its sensitivity, which is the most that one person changes
it, and to the number of measurements that share one budget. A COUNT and a SUM are one measurement,
an AVG is two: the count, and the sum of deviations from the middle of the clamps. Rows per person
and clamps are limits that a publisher has to choose beforehand.

Sources: Dwork, McSherry, Nissim, Smith, Calibrating noise to sensitivity (TCC 2006); for Gaussian
noise Bun and Steinke, Concentrated differential privacy (TCC 2016): noise of the scale σ is
Δ²/(2σ²)-zCDP; Canonne, Kamath, Steinke, The discrete Gaussian for differential privacy (NeurIPS
2020), for the δ of a ρ. The figures are those of OpenDP 0.16.0.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import exp, log, sqrt
from statistics import NormalDist

from sfumato.expectations.shared.exact import exact, is_number
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.parameters import Workload

EPSILON = 1.0
"""The budget of all queries of a workload together."""
DELTA = 1e-6
"""The chance with which Gaussian noise may not keep the budget."""
_OUTSIDE = 0.05  # of the noise that is outside of a width
_HALVINGS, _THIRDS = 60, 200  # of intervals
Clamps = tuple[Fraction, Fraction]
Asked = tuple[str, str | None]
"""An aggregate (`count`) and the column that it is of, None for rows."""


@dataclass(frozen=True)
class NoiseLine:
    """The noise of one kind of measurement.

    Attributes:
        measured: the aggregate and its column, in words.
        measurements: how many there are.
        sensitivity: the most that one person changes it.
        laplace: the scale of Laplace noise.
        laplace_width: half the width that contains 95 % of this noise.
        gaussian: the scale of Gaussian noise.
        gaussian_width: the same half width.
    """

    measured: str
    measurements: int
    sensitivity: Fraction
    laplace: float
    laplace_width: float
    gaussian: float
    gaussian_width: float


@dataclass(frozen=True)
class NoiseReference:
    """The noise of a workload under one budget.

    Attributes:
        lines: by kind of measurement.
        rows_per_person: the number of rows that one person has at most.
        clamps: the limits to which values are clamped, by column.
        without: the aggregates that have no such measurement, or whose column has no clamps.
    """

    lines: Sequence[NoiseLine]
    rows_per_person: int
    clamps: Mapping[str, Clamps]
    without: Sequence[str]

    epsilon, delta = EPSILON, DELTA


def _count(_: Clamps | None) -> list[tuple[str, Fraction]]:
    return [("", Fraction(1))]


def _sum(clamps: Clamps | None) -> list[tuple[str, Fraction]]:
    return [] if clamps is None else [("", max(map(abs, clamps)))]


def _mean(clamps: Clamps | None) -> list[tuple[str, Fraction]]:
    if clamps is None:
        return []
    radius = (clamps[1] - clamps[0]) / 2
    return [(", its count", Fraction(1)), (", its sum of deviations from the middle", radius)]


MEASUREMENTS: Mapping[str, Callable[[Clamps | None], list[tuple[str, Fraction]]]] = {
    "count": _count,
    "sum": _sum,
    "avg": _mean,
}
"""What is measured for an aggregate: words, and the change by one row; nothing without clamps."""


def noise_reference(
    questions: Mapping[Asked, int], clamps: Mapping[str, Clamps], rows_per_person: int
) -> NoiseReference:
    """Return the noise of queries that share the budget `EPSILON`.

    Args:
        questions: the number of queries of each kind.
        clamps: the least and the greatest value, by column.
        rows_per_person: the number of rows that one person has at most.
    """
    parts: list[tuple[str, int, Fraction]] = []
    without = []
    for (aggregate, column), queries in questions.items():
        words = f"{aggregate.upper()}({column or '*'})"
        limits = clamps.get(column) if column else None
        measured = MEASUREMENTS[aggregate](limits) if aggregate in MEASUREMENTS else []
        without += [] if measured else [words]
        parts += [(words + more, queries, change * rows_per_person) for more, change in measured]
    every = sum(queries for _, queries, _ in parts)
    used = {column: clamps[column] for _, column in questions if column and column in clamps}
    lines = [_line(*part, every) for part in parts]
    return NoiseReference(lines, rows_per_person, used, without)


@cache
def largest_rho(epsilon: float, delta: float) -> float:
    """Return the largest ρ for which ρ-zCDP is (ε,δ)-differentially private.

    >>> round(largest_rho(1.0, 1e-6), 5)
    0.02436
    """
    low, high = 0.0, epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, epsilon) <= delta else (low, middle)
    return low


def _delta(rho: float, epsilon: float) -> float:
    """Return the least δ of a ρ for an ε: the least over all orders, which is found by thirds."""

    def logarithm(order: float) -> float:
        moment = (order - 1) * (order * rho - epsilon) + order * log(1 - 1 / order)
        return moment - log(order - 1)

    low, high = 1 + 1e-9, 2 + epsilon / rho
    for _ in range(_THIRDS):
        first, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if logarithm(first) < logarithm(other) else (first, high)
    return exp(min(logarithm(low), 0.0))


def _line(words: str, queries: int, sensitivity: Fraction, measurements: int) -> NoiseLine:
    """Return the noise of one kind, if so many measurements share the budget."""
    change = float(sensitivity)
    laplace = change * measurements / EPSILON
    gaussian = change * sqrt(measurements / (2 * largest_rho(EPSILON, DELTA)))
    return NoiseLine(
        words,
        queries,
        sensitivity,
        laplace,
        laplace * log(1 / _OUTSIDE),
        gaussian,
        gaussian * NormalDist().inv_cdf(1 - _OUTSIDE / 2),
    )


def reference_of(workloads: Sequence[Workload], table: Microdata) -> NoiseReference:
    """Return the noise of all queries of some workloads; every person has one row.

    The clamps are the least and the greatest value in the table.

    Args:
        workloads: the workloads.
        table: the rows, with their sensitive columns.
    """
    sensitive = {column.name: column for column in table.with_roles("sensitive")}
    questions: dict[Asked, int] = {}
    for workload in workloads:
        column = None if workload.aggregate == "count" else workload.of or next(iter(sensitive))
        kind = workload.aggregate, column
        questions[kind] = questions.get(kind, 0) + len(workload.levels) * workload.queries
    clamps = {
        name: (numbers.fraction(min(units)), numbers.fraction(max(units)))
        for name, column in sensitive.items()
        if is_number(column.values.type) and len(column.values)
        for numbers in [exact(column.values, name)]
        for units in [numbers.units.tolist()]
    }
    return noise_reference(questions, clamps, 1)
