"""Linkability and inference attacks: guesses from the published records nearest to a person.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), as Anonymeter computes them with one neighbour. Anonymeter takes any
of several equally near records; here each is equally likely. So is each value of a group in each of
its rows if values are shuffled. Shares are expected shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import ceil
from typing import Any, Self

import numpy as np

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.shared.sorting import stable_order
from sfumato.tasks.attacks.records.columns import ComparedColumn, PlacedNumbers, runs_of
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
    without_records,
)
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import SuccessShare
from sfumato.tasks.attacks.shared.margins import beta_quantile, margin_of_people

ATTEMPTS = 500
_FEWEST = 100
_MOST = 100_000_000  # pairs of a person and a row
_TOLERANCE = 0.05  # largest error of a right guess, as a share of the guessed number
_NAME = "nearest"
_FEW = 4_000  # most records that are all compared
_SAMPLE = 1_000  # records that bound how far the nearest is
_SLACK = 1e-6  # more than sums of distances differ by the order in which they are added


def some_people(people: int, most: int, drawing: np.random.Generator) -> np.ndarray:
    """Return the people whom an attack tries: everyone, or `most` at random (positions, int64)."""
    return np.arange(people) if people <= most else drawing.choice(people, most, replace=False)


def upper_limit(successes: Fraction | int, tries: int) -> float:
    """Return the one-sided 95 % limit of Clopper and Pearson (1934) on a share.

    Args:
        successes: the number of successes; expected numbers are rounded up.
        tries: the number of tries.
    """
    whole = ceil(successes)
    return 1.0 if whole >= tries else beta_quantile(0.95, whole + 1, tries - whole)


def link_halves(target: AttackedRelease) -> tuple[Score, ...]:
    """Join two registers of the same people, each with half of the quasi-identifiers."""
    nearest = _nearest_rows(target)
    if nearest is None:
        return without_records(target, "linkability")
    if len(nearest.records.quasi_identifiers) < 2:
        return ()
    measure = "halves of own quasi-identifiers joined by the nearest row"
    return (nearest.score(measure, nearest.linked, {"by chance": 1 / nearest.records.rows}),)


def infer(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess a person's value from the nearest record."""
    nearest = _nearest_rows(target)
    if nearest is None:
        return without_records(target, "inference")
    if nearest.records.sensitive is None:
        return ()
    measure = "own value in the nearest row, of numbers about it (5 %)"
    beside = {"in any published row": float(nearest.chance.mean())}
    return (nearest.score(measure, nearest.inferred, beside),)


def successes_of_halves(target: AttackedRelease) -> SuccessShare | None:
    """Return the 95 % limit on the share of halves that are joined; None without records."""
    nearest = _nearest_rows(target)
    if nearest is None or len(nearest.records.quasi_identifiers) < 2:
        return None
    return SuccessShare(nearest.records.people, nearest.at_most(nearest.linked))


def successes_of_inference(target: AttackedRelease) -> SuccessShare | None:
    """Return the 95 % limit on the share of values in the nearest row; None without records."""
    nearest = _nearest_rows(target)
    if nearest is None or nearest.records.sensitive is None:
        return None
    return SuccessShare(nearest.records.people, nearest.at_most(nearest.inferred))


@dataclass(frozen=True, eq=False)
class NearestRows:
    """The nearest rows of each person tried, and the chances of right guesses from them.

    Attributes:
        records: the rows, and all people.
        linked: the chance that both halves of the quasi-identifiers lead to the same row.
        inferred: the chance that a nearest row has the own value, or nearly; 0 without values.
        chance: the chance that any row has the own value, or nearly (float64).
    """

    records: ComparedRecords
    linked: Sequence[Fraction]
    inferred: Sequence[Fraction]
    chance: np.ndarray

    def score(self, measure: str, hits: Sequence[Fraction], references: dict[str, float]) -> Score:
        """Return the share of the people tried, with the 95 % limit on the share of all people."""
        margin = margin_of_people(_total(hits), len(hits), self.records.people)
        if margin is not None:
            references = {**references, "at most, with 95 %": self.at_most(hits)}
        return Score(measure, float(_total(hits) / len(hits)), references, margin)

    def at_most(self, hits: Sequence[Fraction]) -> float:
        """Return the 95 % limit on the share of all people; the share itself if all were tried."""
        successes, tried = _total(hits), len(hits)
        return (
            float(successes / tried)
            if tried == self.records.people
            else upper_limit(successes, tried)
        )


def _total(hits: Sequence[Fraction]) -> Fraction:
    return sum(hits, Fraction(0))


def _nearest_rows(target: AttackedRelease) -> NearestRows | None:
    """Return the rows nearest to people, searched once; None if no records are published."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _search(target)
    nearest: NearestRows | None = target.learned[_NAME]
    return nearest


def _search(target: AttackedRelease) -> NearestRows | None:
    """Search the rows nearest to people; of large releases fewer people are tried, on all rows."""
    records = compared_records(target)
    if records is None:
        return None
    most = min(ATTEMPTS, max(_FEWEST, _MOST // records.rows))
    tried = some_people(records.people, most, target.drawing(_NAME)).tolist()
    half = len(records.quasi_identifiers) // 2
    parts = records.quasi_identifiers[:half], records.quasi_identifiers[half:]
    halves = [HalfRecords.of_columns(columns) for columns in parts if columns]
    chances = [_chances(records, halves, person) for person in tried]
    linked, inferred = zip(*chances, strict=True)
    column = records.sensitive
    chance = [] if column is None else [column.share_right(person, _TOLERANCE) for person in tried]
    return NearestRows(records, linked, inferred, np.array(chance))


@dataclass(frozen=True, eq=False)
class HalfRecords:
    """Records in some columns, where equal records are compared once.

    Attributes:
        columns: the columns.
        placed: the different records by their cells, by column.
        record: the number of the different record of each row (int64).
        times: the number of rows with each different record (int64).
    """

    columns: Sequence[ComparedColumn]
    placed: Sequence[PlacedNumbers]
    record: np.ndarray
    times: np.ndarray

    @classmethod
    def of_columns(cls, columns: Sequence[ComparedColumn]) -> Self:
        """Make the different records of some columns."""
        every = [column.cells.astype(np.int64) for column in columns]
        key, _ = pack(every, [int(cells.max()) + 1 for cells in every])
        record, number = dense(key)
        some_row = np.empty(number, dtype=np.int64)
        some_row[record] = np.arange(len(record))
        placed = [PlacedNumbers(column.cells[some_row]) for column in columns]
        return cls(columns, placed, record, np.bincount(record))

    @cached_property
    def _order(self) -> np.ndarray:
        """The rows in the order of their records (int64)."""
        return stable_order(self.record)

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.cumsum(self.times)

    def list_rows(self, records: np.ndarray) -> np.ndarray:
        """Return the rows that have one of some records (int64, in the order of these)."""
        times = self.times[records]
        shift = self._ends[records] - np.cumsum(times)
        return np.asarray(self._order[np.arange(times.sum()) + np.repeat(shift, times)])

    def is_among(self, rows: np.ndarray, records: np.ndarray) -> np.ndarray:
        """Decide which of some rows have one of some records (bool)."""
        table = np.zeros(len(self.times), dtype=bool)
        table[records] = True
        return np.asarray(table.take(self.record[rows]))

    def distances(self, person: int) -> Sequence[np.ndarray]:
        """Return the distances of cells from a person, by column (float64)."""
        return [column.distances(person) for column in self.columns]


def _chances(
    records: ComparedRecords, halves: Sequence[HalfRecords], person: int
) -> tuple[Fraction, Fraction]:
    """Return the chances that both halves lead to one row, and the nearest row to the own value.

    Rows that are nearest in both halves are nearest in all columns.
    """
    far = [half.distances(person) for half in halves]
    near = [nearest_records([each], [half.placed]) for each, half in zip(far, halves, strict=True)]
    ways = [int(half.times[some].sum()) for some, half in zip(near, halves, strict=True)]
    rows = _rows_of_all(halves, near, ways)
    linked = Fraction(len(rows), ways[0] * ways[-1])
    if not len(rows):
        placed, first = records.placed_rows(1), len(halves[0].columns)
        rows = nearest_records(far, [some for some in (placed[:first], placed[first:]) if some])
    column, values = records.sensitive, records.shuffled_values
    if column is None or values is None:
        return linked, Fraction(0)
    return linked, values.share_among(rows, runs_of(column.are_right(person, _TOLERANCE)))


def _rows_of_all(
    halves: Sequence[HalfRecords], near: Sequence[np.ndarray], ways: Sequence[int]
) -> np.ndarray:
    """Return the rows that have one of some records in each half (int64, in no order).

    The half with the fewest such rows lists them, and the other is tested on these alone.

    Args:
        halves: at least one.
        near: the numbers of the records, by half (int64).
        ways: the number of rows with such a record in each half.
    """
    first, *others = sorted(range(len(halves)), key=ways.__getitem__)
    rows = halves[first].list_rows(near[first])
    for half, some in ((halves[index], near[index]) for index in others):
        rows = rows[half.is_among(rows, some)]
    return rows


def nearest_records(
    far: Sequence[Sequence[np.ndarray]], placed: Sequence[Sequence[PlacedNumbers]]
) -> np.ndarray:
    """Return the records that are nearest over all columns (positions, int64, ascending).

    Few records are all compared. Of many, some that are nearest in one column bound how far the
    nearest may be. Records beyond the bound are left out column by column, beginning with the one
    in which the fewest are near.

    Args:
        far: the distance of each cell, by part and column (float64); each part is added by itself.
        placed: the records by their cells, by part and column.
    """
    columns = [*zip(chain(*far), chain(*placed), strict=True)]
    number = len(columns[0][1].numbers)
    if number <= _FEW:
        return np.flatnonzero(_nearest(_add_distances(far, placed, np.arange(number))))
    bound = _add_distances(far, placed, _some_near(columns)).min() + _SLACK
    spans = [runs_of(distances <= bound) for distances, _ in columns]
    counts = [numbers.count(each) for (_, numbers), each in zip(columns, spans, strict=True)]
    first, *others = sorted(range(len(columns)), key=counts.__getitem__)
    some = columns[first][1].list_places(spans[first])
    total = columns[first][0][columns[first][1].numbers[some]]
    for distances, numbers in (columns[index] for index in others):
        total = total + distances[numbers.numbers[some]]
        is_near = total <= bound
        some, total = some[is_near], total[is_near]
    some = np.sort(some).astype(np.int64)
    return np.asarray(some[_nearest(_add_distances(far, placed, some))])


def _some_near(columns: Sequence[tuple[np.ndarray, PlacedNumbers]]) -> np.ndarray:
    """Return some records nearest in the column in which the fewest are (positions, integers).

    Args:
        columns: the distance of each cell (float64), and the records by their cells.
    """
    spans = []
    for distances, numbers in columns:
        there = np.where(numbers.times(len(distances)) > 0, distances, np.inf)
        spans.append(runs_of(there == there.min()))
    counts = [numbers.count(each) for (_, numbers), each in zip(columns, spans, strict=True)]
    fewest = int(np.argmin(counts))
    near = columns[fewest][1].list_places(spans[fewest])
    return near[:: max(len(near) // _SAMPLE, 1)]


def _add_distances(
    far: Sequence[Sequence[np.ndarray]],
    placed: Sequence[Sequence[PlacedNumbers]],
    some: np.ndarray,
) -> np.ndarray:
    """Return the distances of some records (positions, integers) over all columns (float64)."""
    parts = [
        sum(distances[numbers.numbers[some]] for distances, numbers in zip(*part, strict=True))
        for part in zip(far, placed, strict=True)
    ]
    return np.asarray(sum(parts))


def _nearest(distance: Any) -> np.ndarray:
    return np.asarray(distance <= np.min(distance) + 1e-9)
