"""The original of a release, on which random queries have their true answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.expectations.shared.exact import exact
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.intervals.calibration.profiles import (
    CodesOfProfiles,
    Profiles,
    codes_of_rows,
    selectable,
    selected_codes,
)
from sfumato.tasks.query.intervals.calibration.quantiles_of_block import quantiles_of
from sfumato.tasks.query.intervals.shapes import ALIKE, Selection
from sfumato.tasks.query.question.question import Aggregate


class OriginalRows:
    """The original, on which queries have their true answers."""

    def __init__(self, original: Microdata, names: Sequence[str], sensitive: Sequence[str]) -> None:
        """Find the profiles of the rows.

        Args:
            original: the rows of the release before anonymization.
            names: the quasi-identifiers by which queries may select.
            sensitive: the columns by which queries may also select, or that they aggregate.
        """
        columns = {
            name: selectable(original[name].codes, original[name].values.to_pylist())
            for name in names
        }
        self.profiles = Profiles(columns)
        self._original = {name: original[name] for name in sensitive}
        self._times: dict[str, CodesOfProfiles] = {}
        self._numbers: dict[str, np.ndarray] = {}
        self._values: dict[str, Sequence[Any]] = {}

    def select(self, selections: Sequence[Sequence[Selection]]) -> "OriginalBlock":
        """Return the rows that queries select."""
        return OriginalBlock(self, self.profiles.select(selections).astype(np.float64))

    def times(self, name: str) -> CodesOfProfiles:
        """Return how often each value of a sensitive column occurs in each profile."""
        if name not in self._times:
            column = self._original[name]
            self._times[name] = codes_of_rows(
                self.profiles.of_row, self.profiles.number, column.codes, len(column.values)
            )
        return self._times[name]

    def numbers(self, name: str) -> np.ndarray:
        """Return the values of a sensitive column as numbers by code, ascending (float64)."""
        if name not in self._numbers:
            units = exact(self._original[name].values, name)
            self._numbers[name] = units.units.astype(np.float64) / 10**units.digits
        return self._numbers[name]

    def values(self, name: str) -> Sequence[Any]:
        """Return the values of a sensitive column by code."""
        if name not in self._values:
            self._values[name] = self._original[name].values.to_pylist()
        return self._values[name]


class OriginalBlock:
    """The rows of the original that each query of a block selects."""

    def __init__(self, original: OriginalRows, chosen: np.ndarray) -> None:
        """Take the original, and the selected profiles (float64, queries x profiles)."""
        self._original, self._chosen = original, chosen
        self._times: dict[str, np.ndarray] = {}

    def counts(self, matching: Sequence[Selection]) -> np.ndarray:
        """Return how many of the selected rows also match a selection (float64, one per query).

        Args:
            matching: the selection of each query; none if all selected rows are counted.
        """
        if not matching:
            rows: np.ndarray = self._chosen @ self._original.profiles.rows
            return rows
        name = matching[0].name
        matches = selected_codes(matching, self._original.values(name))
        return np.asarray(np.einsum("qc,qc->q", self.times(name), matches))

    def answers(self, name: str, aggregates: Sequence[Aggregate]) -> np.ndarray:
        """Return each aggregate of a column (float64, one per query); NaN if it is null."""
        return true_answers(aggregates, self._original.numbers(name), self.times(name))

    def times(self, name: str) -> np.ndarray:
        """Return how often selected rows have each value (float64, queries x codes)."""
        if name not in self._times:
            self._times[name] = self._original.times(name).sums(self._chosen)
        return self._times[name]


def true_answers(
    aggregates: Sequence[Aggregate], numbers: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Return alike aggregates over numbers (float64, one per query); NaN if null over them.

    Args:
        aggregates: the aggregate that each query asks for.
        numbers: the numbers by code, ascending (float64).
        times: how often each occurs among the selected rows (float64, queries x codes).
    """
    rows = times.sum(axis=1)
    answers = _ANSWERS[aggregates[0].function](aggregates, numbers, times)
    fewest = np.array([max(aggregate.kind.fewest, 1) for aggregate in aggregates])
    return np.where(rows >= fewest, answers, np.nan)


Answers = Callable[[Sequence[Aggregate], np.ndarray, np.ndarray], np.ndarray]
"""Returns alike aggregates, given what `true_answers` takes; anything for those that are null."""


def _sums(_: Sequence[Aggregate], numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
    sums: np.ndarray = times @ numbers
    return sums


def _means(_: Sequence[Aggregate], numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
    return np.asarray(times @ numbers / np.maximum(times.sum(axis=1), 1))


def _least(_: Sequence[Aggregate], numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
    return np.asarray(numbers[(times > 0).argmax(axis=1)])


def _greatest(_: Sequence[Aggregate], numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
    return np.asarray(numbers[::-1][(times > 0)[:, ::-1].argmax(axis=1)])


def _spreads(aggregates: Sequence[Aggregate], numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
    mean = _means(aggregates, numbers, times)
    squares = np.einsum("qc,qc->q", times, (numbers - mean[:, None]) ** 2).tolist()
    answers = np.full(len(aggregates), np.nan)
    for query, (aggregate, rows) in enumerate(zip(aggregates, times.sum(axis=1), strict=True)):
        rule = aggregate.kind.of_squares
        if rule is not None and rows >= aggregate.kind.fewest:
            answers[query] = rule(squares[query], float(rows))
    return answers


def _quantiles(
    aggregates: Sequence[Aggregate], numbers: np.ndarray, times: np.ndarray
) -> np.ndarray:
    upto, last = np.cumsum(times, axis=1), len(numbers) - 1
    *ends, part = quantiles_of(aggregates).ranks(upto[:, -1].astype(np.int64))
    below, above = (numbers[np.minimum((upto <= rank[:, None]).sum(axis=1), last)] for rank in ends)
    return np.asarray(below + (above - below) * part)


_ANSWERS: Mapping[str, Answers] = {
    "sum": _sums,
    "avg": _means,
    "min": _least,
    "max": _greatest,
    **dict.fromkeys(ALIKE["spread"].functions, _spreads),
    **dict.fromkeys(ALIKE["quantile"].functions, _quantiles),
}
