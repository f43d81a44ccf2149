"""Matches attack: people's records that are published as they are, and those that seem to be.

Source: Task, Bhagat, Howarth, SDNist v2: Deidentified Data Report Tool (NIST, 2023): unique exact
matches and apparent matches. Shuffled values are counted on average over all ways to shuffle them,
so that no single draw matters.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.tasks.attacks.records.columns import ExactColumn
from sfumato.tasks.attacks.records.records import (
    ComparedRecords,
    compared_records,
    without_records,
)
from sfumato.tasks.attacks.records.shuffled import OnlyRows, mean_share, only_rows
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import SuccessShare

_NAME = "matches"


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Count matches; forms whose tables show no whole records have none."""
    matches = _matches(target)
    if matches is None:
        return without_records(target, _NAME)
    records = matches.records
    person = np.flatnonzero(matches.is_apparent)
    known_alone = float(matches.is_alone_by_vector.mean())
    scores = [
        Score(
            "record like nobody else's, and published as it is",
            matches.share_exact,
            {"people whose record is like nobody else's": float(matches.is_alone.mean())},
        ),
        Score(
            "apparent match: alone with their quasi-identifiers",
            len(person) / records.people,
            {"people whose quasi-identifiers are like nobody else's": known_alone},
        ),
    ]
    column, values = records.sensitive, records.shuffled_values
    if column is not None and values is not None and len(person):
        sizes = values.sizes[values.group[matches.rows.row[person]]]
        agreeing = mean_share(matches.rows.times[person], sizes)
        others = {"by the value that most people have": _most_have(column, person)}
        measure = "own value in the apparent match, of these"
        scores.append(Score(measure, float(agreeing), others))
    return tuple(scores)


def successes(target: AttackedRelease) -> SuccessShare | None:
    """Return the share of people with a unique record published as it is; None without records."""
    matches = _matches(target)
    return None if matches is None else SuccessShare(matches.records.people, matches.share_exact)


def _matches(target: AttackedRelease) -> "_Matches | None":
    """Return the matches, which are looked for once; None without records."""
    if _NAME not in target.learned:
        records = compared_records(target)
        target.learned[_NAME] = None if records is None else _Matches(records)
    matches: _Matches | None = target.learned[_NAME]
    return matches


@dataclass(frozen=True, eq=False)
class _Matches:
    """Matches of published records and people."""

    records: ComparedRecords

    @cached_property
    def is_alone_by_vector(self) -> np.ndarray:
        """True for people with quasi-identifiers like nobody else's (bool)."""
        return _occurs_once(self.records.vectors[1])

    @cached_property
    def is_alone(self) -> np.ndarray:
        """True for people whose record is like nobody else's (bool)."""
        column, alone = self.records.sensitive, self.is_alone_by_vector
        if column is None:
            return alone
        others = np.flatnonzero(~alone)
        vector, values = self.records.vectors[1][others], column.values[others]
        key = vector * (int(values.max(initial=0)) + 1) + values
        alone = alone.copy()
        alone[others] = _occurs_once(dense(key)[0])
        return alone

    @cached_property
    def rows(self) -> OnlyRows:
        """The only row that has a person's quasi-identifiers, of each person."""
        column, values = self.records.sensitive, self.records.shuffled_values
        row = only_rows(*self.records.vectors)
        if column is None or values is None:
            return OnlyRows(row, np.zeros(0, dtype=np.int64))
        return values.only_rows(row, column.values)

    @property
    def is_apparent(self) -> np.ndarray:
        """True for people alone with their quasi-identifiers, whose only row has them (bool)."""
        return np.asarray(self.is_alone_by_vector & (self.rows.row >= 0))

    @cached_property
    def share_exact(self) -> float:
        """The share of people with a unique record that is published as it is."""
        records, alone = self.records, self.is_alone
        published, own = records.vectors
        column, values = records.sensitive, records.shuffled_values
        if column is None or values is None:
            is_published = np.zeros(1 + max(int(published.max()), int(own.max())), dtype=bool)
            is_published[published[published >= 0]] = True
            return int(is_published[own[alone]].sum()) / records.people
        rows = OnlyRows(self.rows.row[alone], self.rows.times[alone])
        of_people = column.values[alone]
        return values.expected_share(published, own[alone], of_people, records.people, rows)


def _most_have(column: ExactColumn, person: np.ndarray) -> float:
    """Return the share of some people (positions, int64) with the most frequent value of all."""
    values = column.values
    return float((values[person] == np.bincount(values).argmax()).mean())


def _occurs_once(numbers: np.ndarray) -> np.ndarray:
    """Decide which numbers, dense from 0, occur once (bool)."""
    return np.asarray((np.bincount(numbers) == 1)[numbers])
