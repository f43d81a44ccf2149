"""Order attack: is the value in a person's row theirs more often than by chance?

Values are shuffled within groups. If they were not shuffled, or were sorted as the rows were, a
reader of single lines knows more than the groups show.
"""

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.shared.sorting import positions
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess that people whose quasi-identifiers are unique have the value in their row."""
    declared = target.declared
    if declared.form.shows != "rows" or declared.form.values_apart:
        return ()
    table = target.tables[relations(declared).rows]
    row, person = _unique_rows(*target.vectors())
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
    entry = positions(place, group * counts.values + own)
    chance = counts.count[entry] / counts.sizes[group]
    return (
        Score(
            "own value beside the only row that fits",
            float((beside == own).mean()),
            {"where values are shuffled": float(chance.mean())},
        ),
    )


def _unique_rows(vector: np.ndarray, of_people: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows with a unique vector, and the people whom they are about (int64, int64)."""
    has_row = np.flatnonzero(of_people >= 0)
    number = int(max(vector.max(initial=-1), of_people.max(initial=-1))) + 1
    is_once, place = np.ones(number, dtype=bool), []
    for rows, vectors in ((np.arange(len(vector)), vector), (has_row, of_people[has_row])):
        is_once &= np.bincount(vectors, minlength=number) == 1
        last = np.zeros(number, dtype=np.int64)
        last[vectors] = rows
        place.append(last)
    return place[0][is_once], place[1][is_once]
