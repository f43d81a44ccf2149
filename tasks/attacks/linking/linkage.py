"""Linkage attack: rows of a release and people of a register with the same quasi-identifiers.

The attacker takes all rows that fit a person to be equally likely theirs, and a group's values to
be equally likely in each of its rows. So the belief in a value is its average share in the groups
of these rows.

Source: Sweeney, k-anonymity: a model for protecting privacy (2002), for linking; Nergiz, Atzori,
Clifton, Hiding the presence of individuals from shared databases (SIGMOD 2007), for presence. The
attacker has a register of everyone whom the release could be about, and asks whose each row is, and
who is in the release.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.linking.join_back import join_back, presence_by_people
from sfumato.tasks.attacks.linking.register import (
    chance_above,
    members,
    own_values,
    read_register,
    vector_of_people,
)
from sfumato.tasks.attacks.shared.attack import (
    SURE,
    AttackedRelease,
    Score,
    most_frequent,
    right_guesses,
    skipped_attack,
)
from sfumato.tasks.attacks.shared.beliefs import TrueBeliefs
from sfumato.tasks.forms.admitted_people import FittingPeople, groups_that_fit, people_who_fit
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE
from sfumato.tasks.microdata.table import Microdata, key
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.tables import form_of

_MOST = 20_000_000  # pairs of a group and a value
_TOO_MANY = (
    f"more than {_MOST:,} pairs of a value and a group, or of a value and people with the "
    "same quasi-identifiers"
)
_ROUNDED = 1 - 1e-12  # tolerance for rounding in a share that equals its limit


def guess_values(
    target: AttackedRelease, register: Microdata, fitting: FittingPeople
) -> Iterator[Score]:
    """Yield scores of guesses of people's own values, for each sensitive column that is shown.

    Args:
        target: the release.
        register: everyone whom it could be about.
        fitting: the vectors of the register's people, with the rows that fit each.
    """
    for name in target.declared.names_with_roles("sensitive"):
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
    """Yield the scores from people's own values and the beliefs (both vectors x values)."""
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
    """Return the belief in each value for a person with each vector (float64, vectors x values)."""
    belief = np.zeros((len(fitting.rows), counts.values))
    occurrences = np.zeros((counts.values, len(counts.sizes)))
    occurrences[counts.value, counts.group] = counts.count
    if target.declared.is_recoded:
        for some, admitted in _fitting_groups(target, register):
            belief[some] = (occurrences @ admitted).T
    else:
        vector, group = _rows_of_vectors(target, register)
        for value, of_group in enumerate(occurrences / counts.sizes):
            belief[:, value] = np.bincount(vector, of_group[group], len(belief))
    return np.asarray(belief / np.maximum(fitting.rows, 1)[:, None])


def _fitting_groups(
    target: AttackedRelease, register: Microdata
) -> Iterator[tuple[slice, np.ndarray]]:
    declared = target.declared
    names, reader_of = declared.names_with_roles("quasi-identifier"), reader_for(form_of(declared))
    return groups_that_fit(target.tables[TABLE], declared.columns, reader_of, names, register)


def _rows_of_vectors(target: AttackedRelease, register: Microdata) -> tuple[np.ndarray, np.ndarray]:
    """Return the vector of each published row, and its group (both int64)."""
    table = target.tables[relations(target.declared).rows]
    vector, _ = vectors(table, target.declared.names_with_roles("quasi-identifier"), register)
    return vector, table[GROUP_ID].to_numpy()


def link(target: AttackedRelease, register: Microdata) -> tuple[Score, ...]:
    """Link a register with a release.

    Args:
        target: the release.
        register: everyone whom it could be about, with its quasi-identifiers.

    Raises:
        InputError: people of the release are not in the register.
    """
    if target.declared.form.shows == "columns":
        return join_back(target, register)
    fitting = _fitting_people(target, register)
    everybody = np.bincount(fitting.vector, minlength=len(fitting.rows))
    there = members(target, register, fitting.vector, len(fitting.rows))
    present, absent = int(there.sum()), int((everybody - there).sum())
    presence = np.minimum(1.0, fitting.expected)
    sizes, fit = fitting.sizes, np.maximum(fitting.fit, 1)
    share = present / (present + absent)
    return (
        Score(
            "own row picked among the rows that fit",
            float((there / np.maximum(fitting.rows, 1)).sum() / present),
            {"without the release's quasi-identifiers": 1 / int(sizes.sum())},
        ),
        Score(
            "person picked for a row, among those of the register whom it fits",
            float((sizes / fit).sum() / sizes.sum()),
            {"without the release's quasi-identifiers": 1 / (present + absent)},
        ),
        Score(
            "in a row that fits one person of the register alone",
            float(sizes[fitting.fit == 1].sum() / sizes.sum()),
            {
                "people of the register who are like nobody else there": _share_unique(
                    target, register
                )
            },
        ),
        Score(
            "surely in the release, of those who are",
            float(there[presence >= 1].sum() / present),
            {"share of the register that is in it": share},
        ),
        Score(
            "likelier to be in the release than somebody of the register who is not",
            chance_above(presence, there, everybody - there),
            {"by a coin": 0.5},
        ),
        *guess_values(target, register, fitting),
    )


def own_rows(target: AttackedRelease, register: Path) -> TrueBeliefs:
    """Return the beliefs in each person's own row, among the rows that fit.

    Raises:
        InputError: the register cannot be read, or lacks people of the release.
    """
    people = read_register(target.declared, register)
    fitting = _fitting_people(target, people)
    there = members(target, people, fitting.vector, len(fitting.rows))
    return _of_people(there, 1 / np.maximum(fitting.rows, 1))


def presence(target: AttackedRelease, register: Path) -> TrueBeliefs | None:
    """Return the beliefs that people are in the release; None if covered people are unknown.

    Raises:
        InputError: the register cannot be read, or lacks people of the release.
    """
    people = read_register(target.declared, register)
    if target.declared.form.shows == "columns":
        return presence_by_people(target, people)
    fitting = _fitting_people(target, people)
    there = members(target, people, fitting.vector, len(fitting.rows))
    return _of_people(there, np.minimum(1.0, fitting.expected))


def _of_people(people: np.ndarray, belief: np.ndarray) -> TrueBeliefs:
    there = people > 0
    return TrueBeliefs(people[there], belief[there])


def _share_unique(target: AttackedRelease, register: Microdata) -> float:
    """Return the share of a register's people whose quasi-identifiers are unique in it."""
    names = target.declared.names_with_roles("quasi-identifier")
    keys, _ = key([register[name] for name in names], register.rows)
    return float((np.unique(keys, return_counts=True)[1] == 1).sum() / register.rows)


def _fitting_people(target: AttackedRelease, register: Microdata) -> FittingPeople:
    declared = target.declared
    names = declared.names_with_roles("quasi-identifier")
    if declared.is_recoded:
        reader_of = reader_for(form_of(declared))
        return people_who_fit(target.tables[TABLE], declared.columns, reader_of, names, register)
    table = target.tables[relations(declared).rows]
    row_vector, vector = vectors(table, names, register)
    sizes = np.bincount(row_vector)
    has_row = vector >= 0
    fit = np.bincount(vector[has_row], minlength=len(sizes))
    nobody = np.append(sizes, 0)  # the last vector is that of all people without a fitting row
    expected = np.append(sizes / np.maximum(fit, 1), 0.0)
    return FittingPeople(np.where(has_row, vector, len(sizes)), nobody, expected, sizes, fit)
