"""Order: whether the value that stands in a person's row is more often theirs than by chance.

Values are shuffled within groups. Where they were not, or sorted as the rows were, who reads the
table line by line knows more than the groups tell.
"""

import numpy as np
import pyarrow.compute as pc

from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Take the value beside each person whose quasi-identifiers nobody else has for their own."""
    declared = target.declared
    if declared.form.shows != "rows" or declared.form.values_apart:
        return ()
    table = target.tables[relations(declared).rows]
    row, person = _alone(*target.vectors())
    counts = target.groups()
    if counts is None or counts.labels is None or not len(row):
        return ()
    beside, own = (
        pc.index_in(values.cast(counts.labels.type), value_set=counts.labels).to_numpy(False)
        for values in (
            table[target.sensitive].combine_chunks().take(row),
            target.people[target.sensitive].array().take(person),
        )
    )
    group = table[GROUP_ID].to_numpy()[row]
    place = counts.group * counts.values + counts.value
    entry = np.searchsorted(place, group * counts.values + own)
    chance = counts.count[entry] / counts.sizes[group]
    return (
        Score(
            "own value beside the only row that fits",
            float((beside == own).mean()),
            {"where values are shuffled": float(chance.mean())},
        ),
    )


def _alone(vector: np.ndarray, of_people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that no other is like, and the people whom they are of (int64, int64)."""
    known = of_people >= 0
    number = int(max(vector.max(initial=-1), of_people.max(initial=-1))) + 1
    rows = np.bincount(vector, minlength=number)
    people = np.bincount(of_people[known], minlength=number)
    alone = (rows == 1) & (people == 1)
    row, person = (np.flatnonzero(alone[of]) for of in (vector, np.where(known, of_people, 0)))
    person = person[known[person]]
    return row[np.argsort(vector[row])], person[np.argsort(of_people[person])]
