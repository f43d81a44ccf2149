"""What rows that fit people of a register tell of their values.

Whoever takes each row that fits somebody for theirs, and each value of a group to be as likely in
each of its rows, believes in a value what the groups of these rows have of it on average.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.attack import (
    SURE,
    AttackedRelease,
    Score,
    most_frequent,
    right_guesses,
    skipped_attack,
)
from sfumato.tasks.attacks.linking.register import own_values, vector_of_people
from sfumato.tasks.forms.admitted_people import FittingPeople, groups_that_fit
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.query.accuracy.arbitrary import vectors
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.tables import form_of

_MOST = 20_000_000  # pairs of a group and a value
_TOO_MANY = f"more than {_MOST:,} pairs of a group, or of people who are alike, and a value"
_ROUNDED = 1 - 1e-12  # of a share that is as large as what it is compared with


def guess_values(
    target: AttackedRelease, register: Microdata, fitting: FittingPeople
) -> Iterator[Score]:
    """Guess the own values of people, of each sensitive column whose values are shown."""
    for name in target.declared.named("sensitive"):
        counts = replace(target, sensitive=name, counted=None).groups()
        if counts is None or counts.values * len(counts.sizes) > _MOST:
            yield from (
                skipped_attack(f"linkage of {name!r}", _TOO_MANY) if counts is not None else ()
            )
            continue
        ours = vector_of_people(target, register, fitting.vector)
        own = own_values(target, name, counts, ours, len(fitting.rows))
        if own is None:
            yield from (
                skipped_attack(f"linkage of {name!r}", _TOO_MANY)
                if counts.labels is not None
                else ()
            )
        else:
            yield from _scores(name, counts, own, _beliefs(target, register, fitting, counts))


def _scores(name: str, counts: Counts, own: np.ndarray, belief: np.ndarray) -> Iterator[Score]:
    """Scores from who has what, and what is believed (both vectors x values)."""
    likeliest = most_frequent(counts)
    yield Score(
        f"own {name!r} guessed from the rows that fit",
        right_guesses(np.round(belief, 12), own),
        {"without the release": likeliest},
    )
    yield Score(
        f"own {name!r} believed with {SURE:.0%} or more, from the rows that fit",
        float(own[belief >= SURE * _ROUNDED].sum() / own.sum()),
        {"without the release": likeliest if likeliest >= SURE else 0.0},
    )


def _beliefs(
    target: AttackedRelease, register: Microdata, fitting: FittingPeople, counts: Counts
) -> np.ndarray:
    """The belief in each value for who has each vector (float64, vectors x values)."""
    found = np.zeros((len(fitting.rows), counts.values))
    shown = np.zeros((counts.values, len(counts.sizes)))
    shown[counts.value, counts.group] = counts.count
    if target.declared.recoded:
        for some, admitted in _fitting_groups(target, register):
            found[some] = (shown @ admitted).T
    else:
        vector, group = _rows_of_vectors(target, register)
        for value, of_group in enumerate(shown / counts.sizes):
            found[:, value] = np.bincount(vector, of_group[group], len(found))
    return np.asarray(found / np.maximum(fitting.rows, 1)[:, None])


def _fitting_groups(
    target: AttackedRelease, register: Microdata
) -> Iterator[tuple[slice, np.ndarray]]:
    declared = target.declared
    names, reader_of = declared.named("quasi-identifier"), reader_for(form_of(declared))
    return groups_that_fit(target.tables[TABLE], declared.columns, reader_of, names, register)


def _rows_of_vectors(target: AttackedRelease, register: Microdata) -> tuple[np.ndarray, np.ndarray]:
    """The vector of each published row, and its group (both int64)."""
    table = target.tables[relations(target.declared).rows]
    shown, _ = vectors(table, target.declared.named("quasi-identifier"), register)
    return shown, table[GROUP_ID].to_numpy()
