"""Linkability and inference: what the published records that are nearest to a person tell.

Source: Giomi, Boenisch, Wehmeyer, Tasnádi, A unified framework for quantifying privacy risk in
synthetic data (PoPETs 2023), as Anonymeter computes them with one neighbour. Of equally near
records it takes some one; here each is as likely, and shares are expected ones.
"""

from collections.abc import Callable

import numpy as np

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.records.records import ComparedRecords, compared_records
from sfumato.tasks.attacks.records.sampling import ATTEMPTS, most_likely, some_people

_FEWEST = 100
_MOST = 200_000_000  # pairs of a person and a row
_TOLERANCE = 0.05  # of a number, as a share of what is guessed


def link_halves(target: AttackedRelease) -> tuple[Score, ...]:
    """Join two registers of the same people, each with half of the quasi-identifiers."""
    records = compared_records(target)
    if records is None or len(records.known) < 2:
        return ()
    return (
        _score(
            records,
            "halves of own quasi-identifiers joined by the nearest row",
            lambda person: _linked(records, person),
            {"by chance": 1 / records.rows},
        ),
    )


def infer(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess a person's value as that of the nearest record."""
    records = compared_records(target)
    if records is None:
        return ()
    asked = _asked(records)
    chance = np.mean([records.sensitive.share_right(int(one), _TOLERANCE) for one in asked])
    return (
        _score(
            records,
            "own value in the nearest row, of numbers about it (5 %)",
            lambda person: _inferred(records, person),
            {"in any published row": float(chance)},
        ),
    )


def _score(
    records: ComparedRecords,
    measure: str,
    hit: Callable[[int], float],
    references: dict[str, float],
) -> Score:
    asked = _asked(records)
    found = sum(hit(int(person)) for person in asked)
    if len(asked) < records.people:
        references = {**references, "at most, with 95 %": most_likely(found, len(asked))}
    return Score(measure, float(found / len(asked)), references)


def _asked(records: ComparedRecords) -> np.ndarray:
    """Whom an attack tries: fewer people of large releases, whose rows are all looked at."""
    return some_people(records.people, min(ATTEMPTS, max(_FEWEST, _MOST // records.rows)))


def _linked(records: ComparedRecords, person: int) -> float:
    """How likely both halves of a person's quasi-identifiers lead to the same row."""
    half = len(records.known) // 2
    first, second = (
        _nearest(records.distance(columns, person))
        for columns in (records.known[:half], records.known[half:])
    )
    return float((first & second).sum() / (first.sum() * second.sum()))


def _inferred(records: ComparedRecords, person: int) -> float:
    """How likely a row nearest to a person has their value, or nearly."""
    nearest = _nearest(records.distance(records.known, person))
    return float(records.sensitive.right(person, _TOLERANCE)[nearest].mean())


def _nearest(distance: np.ndarray) -> np.ndarray:
    return np.asarray(distance <= distance.min() + 1e-9)
