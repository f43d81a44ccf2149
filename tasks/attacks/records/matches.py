"""Matches attack: people's records that are published as they are, and those that seem to be.

Source: Task, Bhagat, Howarth, SDNist v2: Deidentified Data Report Tool (NIST, 2023): unique exact
matches and apparent matches. Shuffled values are counted on average over all ways to shuffle them,
so that no single draw matters.
"""

import numpy as np

from sfumato.tasks.attacks.records.columns import ExactColumn
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
    keys_of,
    without_records,
)
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import SuccessShare


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Count matches; forms whose tables show no whole records have none."""
    records = compared_records(target)
    if records is None:
        return without_records(target, "matches")
    alone = _is_unique(records)
    row, person = _apparent_matches(*keys_of(records.quasi_identifiers))
    known_alone = float(_occurs_once(keys_of(records.quasi_identifiers)[1]).mean())
    scores = [
        Score(
            "record like nobody else's, and published as it is",
            _share_exact(records, alone),
            {"people whose record is like nobody else's": float(alone.mean())},
        ),
        Score(
            "apparent match: alone with their quasi-identifiers",
            len(row) / records.people,
            {"people whose quasi-identifiers are like nobody else's": known_alone},
        ),
    ]
    column, values = records.sensitive, records.shuffled_values
    if column is not None and values is not None and len(row):
        agreeing = values.share_of(row, column.values[person])
        others = {"by the value that most people have": _most_have(column, person)}
        measure = "own value in the apparent match, of these"
        scores.append(Score(measure, float(agreeing), others))
    return tuple(scores)


def successes(target: AttackedRelease) -> SuccessShare | None:
    """Return the share of people with a unique record published as it is; None without records."""
    records = compared_records(target)
    if records is None:
        return None
    return SuccessShare(records.people, _share_exact(records, _is_unique(records)))


def _is_unique(records: ComparedRecords) -> np.ndarray:
    """Decide whose record is unique (bool, one per person)."""
    return _occurs_once(keys_of(records.columns)[1])


def _share_exact(records: ComparedRecords, alone: np.ndarray) -> float:
    """Return the share of people with a unique record that is published as it is."""
    published, own = keys_of(records.quasi_identifiers)
    column, values = records.sensitive, records.shuffled_values
    if column is None or values is None:
        return int(np.isin(own[alone], published).sum()) / records.people
    of_people = column.values[alone]
    return values.expected_share(published, own[alone], of_people, records.people)


def _most_have(column: ExactColumn, person: np.ndarray) -> float:
    """Return the share of some people (positions, int64) with the most frequent value of all."""
    values = column.values
    return float((values[person] == np.bincount(values).argmax()).mean())


def _occurs_once(keys: np.ndarray) -> np.ndarray:
    """Decide which keys occur once; -1 never does (bool)."""
    _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray((times[place] == 1) & (keys >= 0))


def _apparent_matches(published: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the people unique on their side with the same key (int64, int64)."""
    rows, people = (np.flatnonzero(_occurs_once(keys)) for keys in (published, own))
    _, row_place, person_place = np.intersect1d(
        published[rows], own[people], assume_unique=True, return_indices=True
    )
    return rows[row_place], people[person_place]
