"""The scores of measured queries, summed up by workload and level."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from sfumato.tasks.report.accuracy_words import share_in_words

_AXES: Mapping[str, str] = {
    "range": "span of the range",
    "arbitrary": "values selected",
    "counts": "selectivity in percent",
}


class MeasuredWorkload(Protocol):
    """A query of a workload, answered on the release and on the original.

    `level` is the span, the number of values selected or the selectivity in percent; `truth` is
    None where the original has no answer, `estimate` where none was made, errors and width where
    they are not defined.
    """

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def aggregate(self) -> str: ...  # noqa: D102
    @property
    def sensitive(self) -> str | None: ...  # noqa: D102
    @property
    def level(self) -> int: ...  # noqa: D102
    @property
    def lower(self) -> Fraction | None: ...  # noqa: D102
    @property
    def upper(self) -> Fraction | None: ...  # noqa: D102
    @property
    def truth(self) -> Fraction | None: ...  # noqa: D102
    @property
    def estimate(self) -> Fraction | None: ...  # noqa: D102
    @property
    def estimate_error(self) -> float | None: ...  # noqa: D102
    @property
    def relative_error(self) -> float | None: ...  # noqa: D102
    @property
    def relative_width(self) -> float | None: ...  # noqa: D102
    @property
    def inside(self) -> bool: ...  # noqa: D102


@dataclass(frozen=True)
class Spread:
    """Of so many scores: their mean and quartiles, None where there are no scores."""

    scored: int
    mean: float | None
    quartiles: tuple[float, float, float] | None

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """Mean, quarter, median and three quarters in words."""
        if self.mean is None or self.quartiles is None:
            return ("–",) * 4
        first, second, third, fourth = (share_in_words(v) for v in (self.mean, *self.quartiles))
        return first, second, third, fourth


@dataclass(frozen=True)
class Level:
    """The queries of a workload at one level."""

    level: int
    queries: int
    outside: int
    error: Spread
    width: Spread
    estimate: Spread

    @property
    def unscored(self) -> int:
        """Queries whose relative error is not defined."""
        return self.queries - self.error.scored


@dataclass(frozen=True)
class Workload:
    """The queries of one kind, aggregate and sensitive column, by level."""

    title: str
    axis: str
    levels: tuple[Level, ...]

    @property
    def estimated(self) -> bool:
        """True where estimates were compared with truths."""
        return any(level.estimate.scored for level in self.levels)


def summarize(measured: Iterable[MeasuredWorkload]) -> tuple[Workload, ...]:
    """The workloads in the order in which they were asked, their levels ascending."""
    asked: dict[tuple[str, str, str | None], list[MeasuredWorkload]] = {}
    for query in measured:
        asked.setdefault((query.kind, query.aggregate, query.sensitive), []).append(query)
    return tuple(_workload(*key, queries) for key, queries in asked.items())


def _workload(
    kind: str, aggregate: str, sensitive: str | None, queries: Sequence[MeasuredWorkload]
) -> Workload:
    levels = sorted({query.level for query in queries})
    return Workload(
        title=f"{aggregate.upper()}({sensitive or '*'}), {kind} queries",
        axis=_AXES[kind],
        levels=tuple(_level(at, [q for q in queries if q.level == at]) for at in levels),
    )


def _level(level: int, queries: Sequence[MeasuredWorkload]) -> Level:
    return Level(
        level=level,
        queries=len(queries),
        outside=sum(not query.inside for query in queries),
        error=_spread(query.relative_error for query in queries),
        width=_spread(query.relative_width for query in queries),
        estimate=_spread(query.estimate_error for query in queries),
    )


def _spread(scores: Iterable[float | None]) -> Spread:
    known = np.array([score for score in scores if score is not None], dtype=np.float64)
    if not len(known):
        return Spread(0, None, None)
    low, middle, high = (float(q) for q in np.quantile(known, (0.25, 0.5, 0.75)))
    return Spread(len(known), float(known.mean()), (low, middle, high))
