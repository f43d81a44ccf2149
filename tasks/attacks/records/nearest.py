"""Linkability and inference attacks: guesses from the published records nearest to a person.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), as Anonymeter computes them with one neighbour. Anonymeter takes any
of several equally near records; here each is equally likely. So is each value of a group in each of
its rows if values are shuffled. Shares are expected shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Self

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.tasks.attacks.records.columns import ComparedColumn
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
        cells: the cells of each different record, by column (int32).
        record: the number of the different record of each row (int32).
        times: the number of rows with each different record (int64).
    """

    columns: Sequence[ComparedColumn]
    cells: Sequence[np.ndarray]
    record: np.ndarray
    times: np.ndarray

    @classmethod
    def of_columns(cls, columns: Sequence[ComparedColumn]) -> Self:
        """Make the different records of some columns."""
        every = [column.cells.astype(np.int64) for column in columns]
        key, _ = pack(every, [int(cells.max()) + 1 for cells in every])
        _, first, record, times = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        return cls(
            columns, [column.cells[first] for column in columns], record.astype(np.int32), times
        )

    def distance(self, person: int) -> np.ndarray:
        """Return the distance of each different record from a person (float64)."""
        pairs = zip(self.columns, self.cells, strict=True)
        return np.asarray(sum(column.distances(person).take(cells) for column, cells in pairs))


def _chances(
    records: ComparedRecords, halves: Sequence[HalfRecords], person: int
) -> tuple[Fraction, Fraction]:
    """Return the chances that both halves lead to one row, and the nearest row to the own value.

    Rows that are nearest in both halves are nearest in all columns.
    """
    far = [half.distance(person) for half in halves]
    near = [_nearest(distance) for distance in far]
    both = np.logical_and.reduce(
        [is_near.take(half.record) for is_near, half in zip(near, halves, strict=True)]
    )
    number = int(both.sum())
    ways = [int(half.times[is_near].sum()) for is_near, half in zip(near, halves, strict=True)]
    linked = Fraction(number, ways[0] * ways[-1])
    if not number:
        both = _nearest(sum(d.take(half.record) for d, half in zip(far, halves, strict=True)))
    column, values = records.sensitive, records.shuffled_values
    if column is None or values is None:
        return linked, Fraction(0)
    right = column.right(person, _TOLERANCE)
    return linked, values.share_among(np.flatnonzero(both), right)


def _nearest(distance: Any) -> np.ndarray:
    return np.asarray(distance <= np.min(distance) + 1e-9)
