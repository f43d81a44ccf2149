"""Linkability and inference: what the published records that are nearest to a person tell.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), as Anonymeter computes them with one neighbour. Of equally near
records it takes some one; here each is as likely, and shares are expected ones.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.records.records import ComparedRecords, compared_records
from sfumato.tasks.attacks.records.sampling import ATTEMPTS, most_likely, some_people

_FEWEST = 100
_MOST = 100_000_000  # pairs of a person and a row
_TOLERANCE = 0.05  # of a number, as a share of what is guessed
_NAME = "nearest"


def link_halves(target: AttackedRelease) -> tuple[Score, ...]:
    """Join two registers of the same people, each with half of the quasi-identifiers."""
    found = _nearest_rows(target)
    if found is None or len(found.records.known) < 2:
        return ()
    measure = "halves of own quasi-identifiers joined by the nearest row"
    return (found.score(measure, found.linked, {"by chance": 1 / found.records.rows}),)


def infer(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess a person's value as that of the nearest record."""
    found = _nearest_rows(target)
    if found is None:
        return ()
    measure = "own value in the nearest row, of numbers about it (5 %)"
    beside = {"in any published row": float(found.chance.mean())}
    return (found.score(measure, found.inferred, beside),)


@dataclass(frozen=True, eq=False)
class NearestRows:
    """What the rows tell that are nearest to each person who is tried.

    Attributes:
        records: the rows, and all people.
        linked: how likely both halves of the quasi-identifiers lead to the same row (float64).
        inferred: how likely a nearest row has the own value, or nearly (float64).
        chance: the same of any row (float64).
    """

    records: ComparedRecords
    linked: np.ndarray
    inferred: np.ndarray
    chance: np.ndarray

    def score(self, measure: str, hits: np.ndarray, references: dict[str, float]) -> Score:
        """The share of those who were tried, and what it is of all, nearly surely, at most."""
        found, tried = float(hits.sum()), len(hits)
        if tried < self.records.people:
            references = {**references, "at most, with 95 %": most_likely(found, tried)}
        return Score(measure, found / tried, references)


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
    told = [_told(records, person) for person in asked]
    chance = [records.sensitive.share_right(person, _TOLERANCE) for person in asked]
    linked, inferred = np.array(told, dtype=np.float64).T
    return NearestRows(records, linked, inferred, np.array(chance))


def _told(records: ComparedRecords, person: int) -> tuple[float, float]:
    """How likely both halves lead to one row, and the nearest row of both to the own value."""
    half = len(records.known) // 2
    halves = [
        records.distance(columns, person)
        for columns in (records.known[:half], records.known[half:])
        if columns
    ]
    first, second = (_nearest(far) for far in (halves[0], halves[-1]))
    linked = (first & second).sum() / (first.sum() * second.sum())
    nearest = _nearest(halves[0] + halves[1] if half else halves[0])
    right = records.sensitive.right(person, _TOLERANCE)[nearest].mean()
    return float(linked), float(right)


def _nearest(distance: np.ndarray) -> np.ndarray:
    return np.asarray(distance <= distance.min() + 1e-9)
