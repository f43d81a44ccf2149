"""The next version of a composed line: survivors stay, newcomers are a cohort, values remain.

A *slot* is a row of a published version with its group (see `private.people.slots`). A person who
has a slot is shown in it while the values are the same; otherwise the slot is vacant in this
version, and its values stay in the group. Newcomers are grouped among themselves, or take
the slots of people who left. So every group is continued whole, and all versions together reveal
what one release with the groups of all cohorts would reveal; if slots are taken, every value of a
group stays possible. Groups in which few are left may be closed, and their people moved to others
of the same values.

Source: this project's construction; the values that stay are what m-invariance (Xiao and Tao,
SIGMOD 2007) makes up as counterfeits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.continued.cohort import Cohort, Grouping, form_cohort, nobody
from sfumato.tasks.continued.consolidate import Consolidation
from sfumato.tasks.continued.parameters import ContinuedVersions
from sfumato.tasks.continued.refill import GroupTheRest, Refill, Taken, no_slot_taken
from sfumato.tasks.continued.reinsert import Reinsertion
from sfumato.tasks.continued.rows import Drawn, draw
from sfumato.tasks.continued.survivors import LineSoFar, Met, Shape, absences, meet
from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.private.people.slots import LIVE, WITNESS, SlotMap

_MOST_RENAMED = 0.5  # a run is refused if larger shares than this are gone, and new
Judge = Callable[[Drawn], np.ndarray]
"""Marks the groups of a drawn version that break a promise (bool, one per group)."""


class NobodyShownError(PromiseError):
    """Error that no group of a line can be shown any more."""


@dataclass(frozen=True, eq=False)
class Evolved:
    """The next version of a line.

    Attributes:
        drawn: its rows and groups, including those of people who left.
        shown: marks the rows of the source that are in the release (bool).
        suppressed: marks the rows that the partition of newcomers left out (bool).
        absences: why each of the others is missing (see `Absence`; int8, one per row).
        counts: of people and groups, for the private report.
    """

    drawn: Drawn
    shown: np.ndarray
    suppressed: np.ndarray
    absences: np.ndarray
    counts: Mapping[str, int] = field(default_factory=dict)


def evolve(
    line: LineSoFar,
    shape: Shape,
    wish: ContinuedVersions,
    strata: Sequence[str],
    group: Grouping,
    judge: Judge,
    randomness: Randomness,
) -> Evolved:
    """Continue a line's groups with the people of a table.

    Args:
        line: the table and the line's slots.
        shape: what the form shows.
        wish: the spec's rules by which versions go on.
        strata: the columns that keep cohorts apart.
        group: the spec's partition, for newcomers.
        judge: marks the groups that break a promise.
        randomness: the source of random keys.

    Raises:
        PromiseError: where nobody can be shown, a person has two rows, or most people seem to be
            others than before.
    """
    met = meet(line.keys, line.slots, line.out, _compare_values(line, shape, wish))
    if not wish.others:
        _require_the_same_people(line, met)
    newcomers = _Newcomers(line, shape, strata, wish, group, randomness)
    retired = _groups_to_retire(line.slots, met, Fraction(0))
    taken, cohort = newcomers.receive(met, retired)
    # Every round draws a version. If groups break promises, those of the line are retired, or if
    # only the cohort's do, the cohort waits; then another round follows.
    while True:
        settled = newcomers.settle(taken.join(met), retired)
        closed = distinct(line.slots.group[settled.moved])
        gone = np.union1d(retired, _groups_to_retire(line.slots, settled, wish.retire)).astype(
            np.int64
        )
        retired = np.setdiff1d(gone, closed)  # the next round may close other groups than these
        if np.isin(line.slots.group[settled.slot[taken.rows]], gone).any():
            # a newcomer's slot is in a group that is gone: give slots away anew without that group
            taken, cohort = newcomers.receive(met, retired)
            continue
        version = draw(line, shape, settled, gone, cohort)
        if not version.groups:
            raise NobodyShownError(
                "versions: composed: no group can be shown any more, so no version is published. "
                "Add rows to the source, or start a line with another name"
            )
        broken = np.flatnonzero(judge(version))
        of_cohort = broken[version.line_group[broken] >= version.first_new]
        of_line = version.line_group[np.setdiff1d(broken, of_cohort)]
        # a first version is published as it was grouped: it is judged again before it appears
        if not len(of_line) and not (len(of_cohort) and len(line.slots)):
            break
        retired = np.union1d(retired, of_line)
        if len(of_cohort) and not len(of_line):
            taken, cohort = no_slot_taken(), nobody(np.flatnonzero(met.new))
    return _summarize(line, met, settled, cohort, gone, version)


@dataclass(frozen=True, eq=False)
class _Newcomers:
    """The reception of newcomers: slots that they take, and cohorts of the others."""

    line: LineSoFar
    shape: Shape
    strata: Sequence[str]
    wish: ContinuedVersions
    group: Grouping
    randomness: Randomness

    def receive(self, met: Met, retired: np.ndarray) -> tuple[Taken, Cohort]:
        """Return the slots that newcomers take, and all others as a cohort.

        The first version is a cohort that must be shown; a later one may wait.
        """
        line, new, vacancies = self.line, np.flatnonzero(met.new), self.wish.vacancies
        if not len(line.slots):
            none = np.array([], dtype=np.int64)
            return no_slot_taken(), Cohort(new, self.group(line.table.take(new)), none)
        group = self._with_changed(met) if self.wish.changes == "reinsert" else self._cohort
        if vacancies == "keep":
            return no_slot_taken(), group(new)
        refill = Refill(line, self.shape, self.strata, vacancies, self.randomness)
        return refill.fill(met, retired, group)

    def settle(self, met: Met, retired: np.ndarray) -> Met:
        """Return `met` with people moved to slots of other groups, if the spec says so."""
        if not (self.wish.consolidate and len(self.line.slots)):
            return met
        line, vacancies = self.line, self.wish.vacancies
        moving = Consolidation(line, self.shape, self.strata, vacancies, self.randomness)
        return moving.settle(met, retired)

    def _with_changed(self, met: Met) -> GroupTheRest:
        """Return a grouping that also groups people whose values changed among newcomers."""
        again = Reinsertion(self.line, self.shape, self.strata, met, self.randomness)
        return lambda new: again.group_people(new, self._cohort)

    def _cohort(self, new: np.ndarray) -> Cohort:
        return form_cohort(self.line.table, new, self.strata, self.wish.cohort, self.group)


def _require_the_same_people(line: LineSoFar, met: Met) -> None:
    was = line.slots.kind == LIVE
    stayed = np.zeros(len(line.slots), dtype=bool)
    stayed[met.slot[met.slot >= 0]] = True
    gone, new = int((was & ~stayed).sum()), int(met.new.sum())
    require_the_same_people(gone, int(was.sum()), new, len(met.new))


def require_the_same_people(gone: int, former: int, new: int, rows: int) -> None:
    """Refuse people most of whom were renamed.

    Their old values would stay, and they would come as new people.

    Args:
        gone: how many people who were shown are missing.
        former: how many people were shown.
        new: how many people were never shown.
        rows: how many people there are.

    Raises:
        PromiseError: with these counts.
    """
    if gone > _MOST_RENAMED * former and new > _MOST_RENAMED * rows:
        raise PromiseError(
            f"versions: composed: {gone} of {former} units are gone and {new} of "
            f"{rows} are new. Do one of:\n  - if they are the same people, write their "
            "former units, or declare the new ones (sfumato line rekey --units "
            "FILE)\n  - if they are other people, release with --yes-they-are-others"
        )


def _compare_values(
    line: LineSoFar, shape: Shape, wish: ContinuedVersions
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function that decides which rows still have the values of their slots."""
    compared = () if wish.changes == "as-first" else shape.compared

    def compare(rows: np.ndarray, slots: np.ndarray) -> np.ndarray:
        same = np.ones(len(rows), dtype=bool)
        for name in compared:
            codes = line.table[name].codes
            same &= codes[rows] == codes[line.rows + slots]
        return same

    return compare


def _groups_to_retire(slots: SlotMap, met: Met, share: Fraction) -> np.ndarray:
    """Return the groups (int64) that are retired already, or in which too few people are left.

    Args:
        slots: the slots of the line.
        met: the state of each row's person in the line.
        share: the least share of a group's people who must be left; at least one must.
    """
    people = slots.kind != WITNESS
    number = int(slots.group.max(initial=-1)) + 1
    all_ = np.bincount(slots.group[people], minlength=number)
    remaining = np.bincount(slots.group[met.slot[met.continued]], minlength=number)
    gone = (remaining == 0) | (remaining * share.denominator < all_ * share.numerator)
    gone[slots.group[slots.retired]] = True
    return np.flatnonzero(gone & (all_ > 0))


def _summarize(
    line: LineSoFar, met: Met, settled: Met, cohort: Cohort, retired: np.ndarray, version: Drawn
) -> Evolved:
    """Return a drawn version with the reasons why rows are missing, and counts for the report."""
    in_version = np.zeros(line.rows, dtype=bool)
    in_version[version.source[version.source >= 0]] = True
    suppressed = np.zeros(line.rows, dtype=bool)
    if cohort.partition is not None:
        suppressed[cohort.rows[cohort.partition.group < 0]] = True
    stay = np.flatnonzero(met.continued)
    in_retired = np.isin(line.slots.group[settled.slot[stay]], retired)
    returning = ~met.new
    refilled = int((settled.continued & met.new).sum())
    changed = returning & ~met.continued
    counts = {
        "continued": int((in_version & met.continued).sum()),
        "new": int((in_version & ~returning).sum()) - refilled,
        "refilled": refilled,
        "moved": len(settled.moved),
        "reinserted": int((in_version & changed).sum()),
        "withheld": int((~in_version & changed).sum()),
        "in_retired_groups": int(in_retired.sum()),
        "waiting": len(cohort.waiting),
        "vacant": version.vacant,
        "groups_continued": version.groups - version.new_groups,
        "groups_new": version.new_groups,
        "groups_retired": len(retired),
    }
    return Evolved(version, in_version, suppressed, absences(met, in_version, suppressed), counts)
