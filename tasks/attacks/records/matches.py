"""Matches: records of people that are published as they are, and those that seem to be.

Source: Task, Bhagat, Howarth, SDNist v2: Deidentified Data Report Tool (NIST, 2023): unique exact
matches and apparent matches. Values that are shuffled are where they are on average over all ways
to shuffle them: no draw counts.
"""

from fractions import Fraction

import numpy as np

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import SuccessShare
from sfumato.tasks.attacks.records.columns import ExactColumn
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
    keys_of,
    without_records,
)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Count matches; forms whose tables show no whole records have none."""
    records = compared_records(target)
    if records is None:
        return without_records(target, "matches")
    alone = _alone(records)
    row, person = _apparent(*keys_of(records.known))
    known_alone = float(_met_once(keys_of(records.known)[1]).mean())
    found = [
        Score(
            "record like nobody else's, and published as it is",
            float(_exact(records, alone)),
            {"people whose record is like nobody else's": float(alone.mean())},
        ),
        Score(
            "apparent match: alone with their quasi-identifiers",
            len(row) / records.people,
            {"people whose quasi-identifiers are like nobody else's": known_alone},
        ),
    ]
    wanted, values = records.sensitive, records.shuffled
    if wanted is not None and values is not None and len(row):
        agreeing = values.share_of(row, wanted.values[person])
        others = {"by the value that most people have": _most_have(wanted, person)}
        measure = "own value in the apparent match, of these"
        found.append(Score(measure, float(agreeing), others))
    return tuple(found)


def successes(target: AttackedRelease) -> SuccessShare | None:
    """How many have a record like nobody else's, published as it is; None without records."""
    records = compared_records(target)
    if records is None:
        return None
    return SuccessShare(records.people, float(_exact(records, _alone(records))))


def _alone(records: ComparedRecords) -> np.ndarray:
    """Whose record is like nobody else's (bool)."""
    return _met_once(keys_of(records.columns)[1])


def _exact(records: ComparedRecords, alone: np.ndarray) -> Fraction:
    """The share of people who are alone with their record, and it is published as it is."""
    shown, own = keys_of(records.known)
    wanted, values = records.sensitive, records.shuffled
    if wanted is None or values is None:
        return Fraction(int(np.isin(own[alone], shown).sum()), records.people)
    return values.expected_records(shown, own[alone], wanted.values[alone]) / records.people


def _most_have(wanted: ExactColumn, person: np.ndarray) -> float:
    """The share of some people (positions, int64) who have the value that most people have."""
    values = wanted.values
    return float((values[person] == np.bincount(values).argmax()).mean())


def _met_once(keys: np.ndarray) -> np.ndarray:
    """Which entries no other is like; never those of -1 (bool)."""
    _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray((times[place] == 1) & (keys >= 0))


def _apparent(shown: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows, and the people, who are alone on their side with the same key (int64, int64)."""
    rows, people = (np.flatnonzero(_met_once(keys)) for keys in (shown, own))
    _, at, of = np.intersect1d(shown[rows], own[people], assume_unique=True, return_indices=True)
    return rows[at], people[of]
