"""Linkability and inference: what the published records that are nearest to a person tell.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), as Anonymeter computes them with one neighbour. Of equally near
records it takes some one; here each is as likely, as is each value of a group in each of its rows
where values are shuffled, and shares are expected ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Self

import numpy as np

from sfumato.expectations.groups.counting import pack
from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import SuccessShare
from sfumato.tasks.attacks.margins import margin_of_people
from sfumato.tasks.attacks.records.columns import ComparedColumn
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
    without_records,
)

ATTEMPTS = 500
_FEWEST = 100
_MOST = 100_000_000  # pairs of a person and a row
_TOLERANCE = 0.05  # of a number, as a share of what is guessed
_NAME = "nearest"


def some_people(people: int, most: int, drawing: np.random.Generator) -> np.ndarray:
    """Whom an attack tries: everybody, or as many as it tries at most (positions, int64)."""
    return np.arange(people) if people <= most else drawing.choice(people, most, replace=False)


def most_likely(found: Fraction | int, of: int) -> float:
    """The one-sided 95 % limit of Clopper and Pearson (1934) on a share.

    Args:
        found: how many of the tries succeed; expected numbers are rounded up.
        of: how many tries there were.
    """
    from scipy.stats import beta  # imported where it is used: it takes long

    whole = ceil(found)
    return 1.0 if whole >= of else float(beta.ppf(0.95, whole + 1, of - whole))


def link_halves(target: AttackedRelease) -> tuple[Score, ...]:
    """Join two registers of the same people, each with half of the quasi-identifiers."""
    found = _nearest_rows(target)
    if found is None:
        return without_records(target, "linkability")
    if len(found.records.known) < 2:
        return ()
    measure = "halves of own quasi-identifiers joined by the nearest row"
    return (found.score(measure, found.linked, {"by chance": 1 / found.records.rows}),)


def infer(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess a person's value as that of the nearest record."""
    found = _nearest_rows(target)
    if found is None:
        return without_records(target, "inference")
    if found.records.sensitive is None:
        return ()
    measure = "own value in the nearest row, of numbers about it (5 %)"
    beside = {"in any published row": float(found.chance.mean())}
    return (found.score(measure, found.inferred, beside),)


def successes_of_halves(target: AttackedRelease) -> SuccessShare | None:
    """What share of halves are joined, at most with 95 %; None without records."""
    found = _nearest_rows(target)
    if found is None or len(found.records.known) < 2:
        return None
    return SuccessShare(found.records.people, found.at_most(found.linked))


def successes_of_inference(target: AttackedRelease) -> SuccessShare | None:
    """What share of values are in the nearest row, at most with 95 %; None without records."""
    found = _nearest_rows(target)
    if found is None or found.records.sensitive is None:
        return None
    return SuccessShare(found.records.people, found.at_most(found.inferred))


@dataclass(frozen=True, eq=False)
class NearestRows:
    """What the rows tell that are nearest to each person who is tried.

    Attributes:
        records: the rows, and all people.
        linked: how likely both halves of the quasi-identifiers lead to the same row.
        inferred: how likely a nearest row has the own value, or nearly; 0 without one.
        chance: the same of any row (float64).
    """

    records: ComparedRecords
    linked: Sequence[Fraction]
    inferred: Sequence[Fraction]
    chance: np.ndarray

    def score(self, measure: str, hits: Sequence[Fraction], references: dict[str, float]) -> Score:
        """The share of those who were tried, and what it is of all, nearly surely, at most."""
        margin = margin_of_people(_total(hits), len(hits), self.records.people)
        if margin is not None:
            references = {**references, "at most, with 95 %": self.at_most(hits)}
        return Score(measure, float(_total(hits) / len(hits)), references, margin)

    def at_most(self, hits: Sequence[Fraction]) -> float:
        """What the share is of all, nearly surely, at most; what it is, where all were tried."""
        found, tried = _total(hits), len(hits)
        return float(found / tried) if tried == self.records.people else most_likely(found, tried)


def _total(hits: Sequence[Fraction]) -> Fraction:
    return sum(hits, Fraction(0))


def _nearest_rows(target: AttackedRelease) -> NearestRows | None:
    """The rows nearest to people, once; None where no records are published."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _found(target)
    found: NearestRows | None = target.learned[_NAME]
    return found


def _found(target: AttackedRelease) -> NearestRows | None:
    """Fewer people of large releases are tried, whose rows are all looked at."""
    records = compared_records(target)
    if records is None:
        return None
    most = min(ATTEMPTS, max(_FEWEST, _MOST // records.rows))
    asked = some_people(records.people, most, target.drawing(_NAME)).tolist()
    half = len(records.known) // 2
    parts = records.known[:half], records.known[half:]
    halves = [HalfRecords.of_columns(columns) for columns in parts if columns]
    told = [_told(records, halves, person) for person in asked]
    linked, inferred = zip(*told, strict=True)
    wanted = records.sensitive
    chance = [] if wanted is None else [wanted.share_right(one, _TOLERANCE) for one in asked]
    return NearestRows(records, linked, inferred, np.array(chance))


@dataclass(frozen=True, eq=False)
class HalfRecords:
    """Some columns of the records: those that are equal there are looked at once.

    Attributes:
        columns: of them.
        cells: of each different record, by column (int32).
        of: the different record of each row (int32).
        times: how many rows have each (int64).
    """

    columns: Sequence[ComparedColumn]
    cells: Sequence[np.ndarray]
    of: np.ndarray
    times: np.ndarray

    @classmethod
    def of_columns(cls, columns: Sequence[ComparedColumn]) -> Self:
        """The different records of some columns."""
        every = [column.cells.astype(np.int64) for column in columns]
        key, _ = pack(every, [int(cells.max()) + 1 for cells in every])
        _, first, of, times = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        return cls(columns, [column.cells[first] for column in columns], of.astype(np.int32), times)

    def distance(self, person: int) -> np.ndarray:
        """How far each different record is from a person (float64)."""
        pairs = zip(self.columns, self.cells, strict=True)
        return np.asarray(sum(column.distances(person).take(cells) for column, cells in pairs))


def _told(
    records: ComparedRecords, halves: Sequence[HalfRecords], person: int
) -> tuple[Fraction, Fraction]:
    """How likely both halves lead to one row, and the nearest row of both to the own value.

    Rows that are nearest in both halves are nearest in all columns.
    """
    far = [half.distance(person) for half in halves]
    near = [_nearest(distance) for distance in far]
    both = np.logical_and.reduce([of.take(half.of) for of, half in zip(near, halves, strict=True)])
    number = int(both.sum())
    ways = [int(half.times[of].sum()) for of, half in zip(near, halves, strict=True)]
    linked = Fraction(number, ways[0] * ways[-1])
    if not number:
        both = _nearest(sum(d.take(half.of) for d, half in zip(far, halves, strict=True)))
    wanted, values = records.sensitive, records.shuffled
    if wanted is None or values is None:
        return linked, Fraction(0)
    right = wanted.right(person, _TOLERANCE)
    return linked, values.share_among(np.flatnonzero(both), right)


def _nearest(distance: Any) -> np.ndarray:
    return np.asarray(distance <= np.min(distance) + 1e-9)
