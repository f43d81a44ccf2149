"""The widths of bounds and their distances from the truth, per query and per workload and level."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Measured:
    """A query of a workload, answered on the release and on the original.

    Dates count days and timestamps count seconds since 1970; None is SQL's NULL. Differences are
    divided by sizes only if `ratios` says that the values are numbers. `known_width` is the width
    of the bounds without the release, if only the number of rows and their least and greatest value
    are known.
    """

    kind: str
    aggregate: str
    sensitive: str | None
    level: int
    lower: Fraction | None
    upper: Fraction | None
    truth: Fraction | None
    over: str | None = None
    ratios: bool = True
    may_be_empty: bool = False
    estimate: Fraction | None = None
    known_width: Fraction | None = None

    @cached_property
    def inside(self) -> bool:
        """True if the truth lies within the bounds, or is NULL and the bounds allow for that."""
        if self.truth is None and self.may_be_empty:
            return True
        if self.truth is None or self.lower is None or self.upper is None:
            return self.truth is None and self.lower is None and self.upper is None
        return self.lower <= self.truth <= self.upper

    @cached_property
    def relative_error(self) -> float | None:
        """The width of the bounds relative to the truth.

        None without bounds, or if the truth is 0 or NULL.
        """
        return self._width_by(self.truth)

    @cached_property
    def estimate_error(self) -> float | None:
        """The distance of the estimate from the truth, relative to the truth.

        None without an estimate, or if the truth is 0 or NULL.
        """
        if self.estimate is None or not self.truth:
            return None
        return float(abs(self.estimate - self.truth) / abs(self.truth))

    @cached_property
    def relative_width(self) -> float | None:
        """The width of the bounds relative to their middle; None without bounds or if that is 0."""
        if self.lower is None or self.upper is None:
            return None
        return self._width_by((self.lower + self.upper) / 2)

    @cached_property
    def share_of_known(self) -> float | None:
        """The width of the bounds relative to the width without the release.

        None if either is missing, or the width without the release is 0.
        """
        if self.lower is None or self.upper is None or not self.known_width:
            return None
        return float((self.upper - self.lower) / self.known_width)

    @property
    def workload(self) -> str:
        """The name of the query's workload, in words."""
        call = f"{self.aggregate}({self.sensitive or '*'})"
        if self.kind == "range":
            return f"{call} by range of {self.over}"
        if self.kind == "counts":
            return f"{call} by ranges and a sensitive value"
        if self.kind == "people":
            return f"count(people) by range of {self.over} and their rows with one value"
        return f"{call} of {self.kind} selections"

    def _width_by(self, size: Fraction | None) -> float | None:
        if not (self.ratios and size) or self.lower is None or self.upper is None:
            return None
        return float((self.upper - self.lower) / abs(size))


@dataclass(frozen=True)
class ErrorSpread:
    """The mean and the quartiles of `scored` scores; None if there are no scores."""

    scored: int
    mean: float | None
    quartiles: tuple[float, float, float] | None


@dataclass(frozen=True)
class Summary:
    """The queries of a workload at one level. Errors and `outside` are private, widths public.

    `of_known` is the median width relative to the width without the release.
    """

    workload: str
    level: int
    queries: int
    errors: ErrorSpread
    widths: ErrorSpread
    outside: int
    of_known: float | None = None

    def public(self) -> dict[str, Any]:
        """Return the part that may be published, which does not depend on a truth."""
        lower, median, upper = self.widths.quartiles or (None, None, None)
        return {
            "workload": self.workload,
            "level": self.level,
            "queries": self.queries,
            "mean": self.widths.mean,
            "lower_quartile": lower,
            "median": median,
            "upper_quartile": upper,
            **({} if self.of_known is None else {"of_known": self.of_known}),
        }


def summaries(measured: Iterable[Measured]) -> list[Summary]:
    """Summarize the queries per workload and level, in the order in which they were asked."""
    by_level: dict[tuple[str, int], list[Measured]] = {}
    for query in measured:
        by_level.setdefault((query.workload, query.level), []).append(query)
    return [_summary(workload, level, queries) for (workload, level), queries in by_level.items()]


def _summary(workload: str, level: int, queries: Sequence[Measured]) -> Summary:
    shares = [query.share_of_known for query in queries if query.share_of_known is not None]
    return Summary(
        workload=workload,
        level=level,
        queries=len(queries),
        errors=_spread(query.relative_error for query in queries),
        widths=_spread(query.relative_width for query in queries),
        outside=sum(not query.inside for query in queries),
        of_known=None if not shares else float(np.median(shares)),
    )


def _spread(scores: Iterable[float | None]) -> ErrorSpread:
    numbers = np.array([score for score in scores if score is not None], dtype=np.float64)
    if not len(numbers):
        return ErrorSpread(0, None, None)
    low, middle, high = (float(q) for q in np.quantile(numbers, (0.25, 0.5, 0.75)))
    return ErrorSpread(len(numbers), float(numbers.mean()), (low, middle, high))
