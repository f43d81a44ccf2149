"""What versions tell together, judged by the promises as if it were one release of the atoms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.expectations.composition.refusals import number
from sfumato.expectations.composition.sparse import join_groups, take_groups
from sfumato.expectations.composition.state import Atoms
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.numbers import plain


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is told of people after a version.

    Attributes:
        now: what is told of those whom this version shows: their atoms, and the groups of those who
            were mixed.
        atom: the atom of each of `now` (int64, one per group), -1 for those groups.
        new: the atoms that no version told before (int64).
        rests: those of them that this version does not show (int64).
        atoms: the state after this version.
    """

    now: Groups
    atom: np.ndarray
    new: np.ndarray
    rests: np.ndarray
    atoms: Atoms


def words(promise: PrivacyModel) -> str:
    """A promise with its numbers, `distinct l-diversity (l = 3)`."""
    numbers = ", ".join(f"{name} = {plain(n)}" for name, n in promise.required().items())
    return f"{promise.title} ({numbers})"


def breaches(told: Evidence, promises: Sequence[PrivacyModel]) -> Iterator[tuple[str, int]]:
    """Each promise that is broken, in words, and how many groups of people break it."""
    for promise in promises:
        if promise.judged_jointly and not promise.check(told.atoms.groups).holds:
            yield f"all versions together break {words(promise)}", len(told.atoms)
        if (asked := promise.over_versions) is None:
            continue
        failing = asked.failing(told.now)
        atoms = np.zeros(len(told.atoms), dtype=bool)
        atoms[told.atom[failing & (told.atom >= 0)]] = True
        _mark_of_before(atoms, asked, told)
        batches = int(atoms[told.new].sum())
        others = int(atoms.sum()) - batches + int((failing & (told.atom < 0)).sum())
        if batches:
            who = f"{number(batches, 'group')} of people who came or left together"
            yield f"{who} {_break(batches)} {words(promise)}", batches
        if others:
            yield f"{number(others, 'group')} {_break(others)} {words(promise)}", others


def _mark_of_before(failing: np.ndarray, asked: PrivacyModel, told: Evidence) -> None:
    """Mark the new atoms that break a promise, seen among all that an earlier version showed."""
    atoms = told.atoms
    if not asked.compares_with_all:
        if len(told.rests):
            failing[told.rests] |= asked.failing(take_groups(atoms.groups, told.rests))
        return
    for version, shown in enumerate(atoms.shown[:-1]):
        rows = told.new[shown[told.new]]
        if len(rows):
            failing[rows] |= asked.failing(_among_all(atoms, rows, version))[: len(rows)]


def _among_all(atoms: Atoms, rows: np.ndarray, version: int) -> Groups:
    """Some atoms that a version showed, and all else that it showed as one group more."""
    some = take_groups(atoms.groups, rows)
    whole = take_groups(atoms.versions, np.array([version]))
    others = Groups(
        whole.sizes - some.rows,
        {name: _without(c, some.sensitive[name]) for name, c in whole.sensitive.items()},
    )
    return join_groups([some, others], some) if others.rows else some


def _without(whole: Counts, some: Counts) -> Counts:
    left = whole.count - some.totals[whole.value]
    kept = left > 0
    return replace(whole, group=whole.group[kept], value=whole.value[kept], count=left[kept])


def _break(groups: int) -> str:
    return "breaks" if groups == 1 else "break"
