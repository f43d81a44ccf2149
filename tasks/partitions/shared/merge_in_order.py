"""Groups in an order in which neighbours are alike, merged until every promise holds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.expectations.errors import Fault, PromiseError
from sfumato.expectations.groups.counting import count, count_people, merge
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.shared.background_knowledge import WithKnownValues, known_columns
from sfumato.tasks.partitions.shared.merging import GroupJudge, merge_until_kept


@dataclass(frozen=True)
class _OverPeople:
    """A promise that groups keep over people, too."""

    promise: PrivacyModel

    @property
    def name(self) -> str:
        """Its name in errors."""
        return f"{self.promise.name} over people"

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that break it over people (bool, one per group)."""
        if groups.people is None:
            raise Fault("nobody says whose the rows are")
        return self.promise.failing_over_people(groups.people)


def merge_in_order(
    microdata: Microdata,
    group: np.ndarray,
    stratum: np.ndarray,
    promises: Sequence[PrivacyModel],
) -> np.ndarray:
    """Merge groups that break a promise with the next of their stratum, until all are kept.

    A promise about some of the quasi-identifiers, or about each value of a sensitive attribute that
    an adversary knows, is kept where every group keeps it: what an adversary tells apart is unions
    of groups.

    Args:
        microdata: the table.
        group: the group of each row (int64), 0, 1, …; neighbours are alike.
        stratum: the stratum of each group (int64), ascending.
        promises: what must hold.

    Returns:
        The group of each row (int64), 0, 1, ….

    Raises:
        PromiseError: where a promise may break by merging, is judged on more than the groups'
            sensitive values, or breaks in a whole stratum.
    """
    for promise in promises:
        if not promise.monotone or promise.reference_uri is not None or promise.needs_covers:
            raise PromiseError(f"{promise.name} cannot be kept by merging groups")
    knowing = [
        WithKnownValues.of(promise, microdata) for promise in promises if known_columns(promise)
    ]
    counted = [column.name for column in microdata.with_roles("sensitive")]
    counted += [str(promise.sensitive) for promise in promises if promise.weighs]
    seen = {name: microdata[name].coded() for name in dict.fromkeys(counted)}
    seen |= {one.name: one.pairs for one in knowing}
    groups = count(group, max(len(stratum), 1), seen)
    judges: list[GroupJudge] = [*(p for p in promises if not known_columns(p)), *knowing]
    if microdata.person is not None:
        codes = {name: coded.codes for name, coded in seen.items()}
        people = count_people(group, microdata.person, groups, codes)
        groups = replace(groups, people=people)
        judges += [_OverPeople(promise) for promise in promises]
    into = merge_until_kept(groups, stratum, judges)
    whole = merge(groups, into)
    for judge in judges:
        if judge.failing(whole).any():
            raise PromiseError(f"{judge.name} cannot be kept: a whole stratum breaks it")
    merged: np.ndarray = into[group]
    return merged
