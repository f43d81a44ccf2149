"""Matches attack: people's records that are published as they are, and those that seem to be.

Source: Task, Bhagat, Howarth, SDNist v2: Deidentified Data Report Tool (NIST, 2023): unique exact
matches and apparent matches. Shuffled values are counted on average over all ways to shuffle them,
so that no single draw matters.
"""

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.tasks.attacks.records.columns import ExactColumn
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
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
    row, person = _apparent_matches(*records.vectors)
    known_alone = float(_occurs_once(records.vectors[1]).mean())
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
    vector, column = records.vectors[1], records.sensitive
    if column is None:
        return _occurs_once(vector)
    return _occurs_once(dense(vector * (int(column.values.max()) + 1) + column.values)[0])


def _share_exact(records: ComparedRecords, alone: np.ndarray) -> float:
    """Return the share of people with a unique record that is published as it is."""
    published, own = records.vectors
    column, values = records.sensitive, records.shuffled_values
    if column is None or values is None:
        return int(np.isin(own[alone], published).sum()) / records.people
    of_people = column.values[alone]
    return values.expected_share(published, own[alone], of_people, records.people)


def _most_have(column: ExactColumn, person: np.ndarray) -> float:
    """Return the share of some people (positions, int64) with the most frequent value of all."""
    values = column.values
    return float((values[person] == np.bincount(values).argmax()).mean())


def _occurs_once(numbers: np.ndarray) -> np.ndarray:
    """Decide which numbers, dense from 0, occur once (bool)."""
    return np.asarray((np.bincount(numbers) == 1)[numbers])


def _apparent_matches(published: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the people unique on their side with the same number (int64, int64)."""
    number = 1 + max(int(published.max(initial=-1)), int(own.max(initial=-1)))
    place, is_once = [], np.ones(number, dtype=bool)
    for numbers in (published, own):
        whole = np.flatnonzero(numbers >= 0)
        is_once &= np.bincount(numbers[whole], minlength=number) == 1
        last = np.zeros(number, dtype=np.int64)
        last[numbers[whole]] = whole
        place.append(last)
    return place[0][is_once], place[1][is_once]
