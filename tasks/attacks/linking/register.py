"""A register of everybody whom a release could be about, and who of them is in it."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.attack import AttackedRelease
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.private.references import ReferenceFile
from sfumato.tasks.query.accuracy.vectors import vectors
from sfumato.tasks.terms.terms import Declared

_MOST = 20_000_000  # pairs of a vector and a value


def read_register(declared: Declared, place: Path) -> Microdata:
    """The quasi-identifiers of a register, of the types of the release's.

    Raises:
        InputError: where it cannot be read or lacks a column, or the release's were coded.
    """
    names = declared.named("quasi-identifier")
    if coded := [name for name in names if declared.columns[name].codings]:
        raise InputError(f"{coded[0]!r} of the release is coded, and a register is not")
    return ReferenceFile(place).read(names, {name: declared.columns[name].type for name in names})


def likelier(score: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """The chance that somebody of one kind scores above somebody of the other; a tie is half.

    The area under the ROC curve. Without anybody of the other kind it is one half.

    Args:
        score: of each vector (float64).
        one: how many people of the first kind have it (int64).
        other: how many of the other.
    """
    pairs = int(one.sum()) * int(other.sum())
    if not pairs:
        return 0.5
    values, at = np.unique(score, return_inverse=True)
    first, second = (np.bincount(at, of, len(values)) for of in (one, other))
    below = np.cumsum(second) - second
    return float((first * (below + second / 2)).sum() / pairs)


def members(
    target: AttackedRelease, register: Microdata, vector: np.ndarray, number: int
) -> np.ndarray:
    """How many represented people have each vector of a register (int64, one per vector).

    Args:
        target: the release.
        register: everybody.
        vector: of each of them (int64), below `number`.
        number: how many vectors there are.

    Raises:
        InputError: where somebody's is not in the register, or more people have it than there.
    """
    found = np.bincount(vector_of_people(target, register, vector), minlength=number)
    if (found > np.bincount(vector, minlength=number)).any():
        raise InputError("the register lacks people of the release")
    return found


def vector_of_people(
    target: AttackedRelease, register: Microdata, vector: np.ndarray
) -> np.ndarray:
    """The register's vector of each represented person (int64).

    Raises:
        InputError: where somebody's is not in the register.
    """
    names = target.declared.named("quasi-identifier")
    known = register.keep([register[name] for name in names]).table()
    ours, theirs = vectors(known, names, target.people)
    if (theirs < 0).any():
        raise InputError("the register lacks people of the release")
    number = np.zeros(int(ours.max(initial=-1)) + 1, dtype=np.int64)
    number[ours] = vector
    return np.asarray(number[theirs])


def own_values(
    target: AttackedRelease, name: str, counts: Counts, vector: np.ndarray, number: int
) -> np.ndarray | None:
    """How many represented people of each vector have each value (int64, vectors x values).

    Args:
        target: the release.
        name: the sensitive column.
        counts: its values in groups.
        vector: of each represented person (int64), below `number`.
        number: how many vectors there are.

    Returns:
        None where values are not known, or there are too many pairs.
    """
    if counts.labels is None or number * counts.values > _MOST:
        return None
    truth = target.people[name].array().cast(counts.labels.type)
    value = pc.index_in(truth, value_set=counts.labels).to_numpy(zero_copy_only=False)
    at = vector * counts.values + value.astype(np.int64)
    return np.bincount(at, minlength=number * counts.values).reshape(number, -1)
