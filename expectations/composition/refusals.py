"""Why versions do not compose, in words and counts alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.composition.sparse import columns_of
from sfumato.expectations.composition.state import Atoms, Shown
from sfumato.expectations.models.model import PrivacyModel


@dataclass(frozen=True)
class Refused:
    """Versions do not keep their promises together.

    Attributes:
        reason: the rule that is broken and how many groups break it.
        groups: that number.
        people: the members of these groups, 0 where that is not told.
    """

    reason: str
    groups: int
    people: int

    def __str__(self) -> str:
        return self.reason


def number(count: int, what: str) -> str:
    """So many of something, `1 group` or `2 groups`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def why_unreadable(before: Atoms, shown: Shown, promises: Sequence[PrivacyModel]) -> Refused | None:
    """Why a version cannot be compared with those before, None where it can."""
    for promise in promises:
        if promise.reference_uri is not None:
            return Refused(f"{promise.title} is about one version alone", 0, 0)
        if promise.known_columns:
            return Refused(f"{promise.title} of people of whom more is known", 0, 0)
    return _wrong_people(shown) or _wrong_values(before, shown)


def _wrong_people(shown: Shown) -> Refused | None:
    lengths = {len(shown.person), len(shown.group), len(shown.live)}
    slots = lengths if shown.slot is None else {len(shown.slot)}
    if lengths != slots or len(lengths) > 1 or not len(shown.person):
        return Refused("the members of groups cannot be read", 0, 0)
    outside = (shown.group < 0) | (shown.group >= len(shown.groups)) | (shown.person < 0)
    if outside.any():
        return Refused("the members of groups cannot be read", 0, int(outside.sum()))
    if twice := int((np.bincount(shown.person) > 1).sum()):
        return Refused(f"{number(twice, 'person')} in two places", 0, twice)
    return None


def _wrong_values(before: Atoms, shown: Shown) -> Refused | None:
    columns = columns_of(shown.groups)
    if not columns or columns.keys() != before.groups.sensitive.keys():
        return Refused("what earlier versions were made of is not known here", 0, 0)
    members = np.bincount(shown.group, minlength=len(shown.groups))
    for name, counts in columns.items():
        sums = np.zeros(len(members), dtype=np.int64)
        sums[counts.group[counts.starts]] = np.add.reduceat(counts.count, counts.starts)
        differ = (sums != members) | (members == 0)
        differ[counts.group[counts.count <= 0]] = True
        if wrong := int(differ.sum()):
            reason = f"{number(wrong, 'group')} with more or fewer values than people"
            return Refused(reason, wrong, int(members[differ].sum()))
        if before.groups.sensitive[name].value.max(initial=-1) >= counts.values:
            return Refused("what earlier versions were made of is not known here", 0, 0)
    return None
