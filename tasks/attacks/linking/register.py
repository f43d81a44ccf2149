"""A register of everyone whom a release could be about, and its people who are in the release."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.errors import InputError
from sfumato.tasks.attacks.shared.attack import AttackedRelease
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.references import ReferenceFile
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.terms.terms import Declared

_MOST = 20_000_000  # pairs of a vector and a value


def read_register(declared: Declared, place: Path) -> Microdata:
    """Read the quasi-identifiers of a register, with the types of the release's columns.

    Raises:
        InputError: it cannot be read or lacks a column, or columns of the release were coded.
    """
    names = declared.names_with_roles("quasi-identifier")
    if coded := [name for name in names if declared.columns[name].codings]:
        raise InputError(
            f"column {coded[0]!r} is coded in the release, and a register is not, so they "
            "cannot be compared"
        )
    return ReferenceFile(place).read(names, {name: declared.columns[name].type for name in names})


def chance_above(score: np.ndarray, people: np.ndarray, others: np.ndarray) -> float:
    """Return the chance that a person of one kind scores above one of the other; a tie is half.

    The chance is the area under the ROC curve. It is one half if one of the kinds is empty.

    Args:
        score: the score of each vector (float64).
        people: the number of people of the first kind with each vector (int64).
        others: the number of people of the other kind with each vector (int64).
    """
    pairs = int(people.sum()) * int(others.sum())
    if not pairs:
        return 0.5
    values, level = np.unique(score, return_inverse=True)
    first, second = (np.bincount(level, weights, len(values)) for weights in (people, others))
    below = np.cumsum(second) - second
    return float((first * (below + second / 2)).sum() / pairs)


def members(
    target: AttackedRelease, register: Microdata, vector: np.ndarray, number: int
) -> np.ndarray:
    """Return the number of represented people with each vector of a register (int64).

    Args:
        target: the release.
        register: everyone.
        vector: the vector of each of them (int64), below `number`.
        number: the number of vectors.

    Raises:
        InputError: a person's vector is not in the register, or more people have it than there.
    """
    counts = np.bincount(vector_of_people(target, register, vector), minlength=number)
    if (counts > np.bincount(vector, minlength=number)).any():
        raise InputError(
            "the register does not contain all people of the release. Give a complete register"
        )
    return counts


def vector_of_people(
    target: AttackedRelease, register: Microdata, vector: np.ndarray
) -> np.ndarray:
    """Return the register's vector of each represented person (int64).

    Raises:
        InputError: a person's vector is not in the register.
    """
    names = target.declared.names_with_roles("quasi-identifier")
    table = register.keep([register[name] for name in names]).table()
    ours, theirs = vectors(table, names, target.people)
    if (theirs < 0).any():
        raise InputError(
            "the register does not contain all people of the release. Give a complete register"
        )
    number = np.zeros(int(ours.max(initial=-1)) + 1, dtype=np.int64)
    number[ours] = vector
    return np.asarray(number[theirs])


def own_values(
    target: AttackedRelease, name: str, counts: Counts, vector: np.ndarray, number: int
) -> np.ndarray | None:
    """Return the represented people of each vector with each value (int64, vectors x values).

    Args:
        target: the release.
        name: the sensitive column.
        counts: the column's values in groups.
        vector: the vector of each represented person (int64), below `number`.
        number: the number of vectors.

    Returns:
        None if values are unknown, or there are too many pairs.
    """
    if counts.labels is None or number * counts.values > _MOST:
        return None
    truth = target.people[name].array().cast(counts.labels.type)
    value = pc.index_in(truth, value_set=counts.labels).to_numpy(zero_copy_only=False)
    cell = vector * counts.values + value.astype(np.int64)
    return np.bincount(cell, minlength=number * counts.values).reshape(number, -1)
