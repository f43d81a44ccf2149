"""Frames of groups for Great Expectations: a row for each group, and the groups themselves."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.sorting import distinct

_GROUPS = "sfumato-groups"  # where a frame carries them
_ROWS = "\nrows"  # no column of a table: without its groups, a frame has none to be judged by


@dataclass(frozen=True, eq=False)
class _Carried:
    """Groups that are handed on, not copied, where pandas copies what a frame carries."""

    groups: Groups

    def __deepcopy__(self, _: Any) -> Self:
        return self


def to_frame(groups: Groups) -> pd.DataFrame:
    """A frame with the rows of each group (int64), which carries the groups as they are."""
    df = pd.DataFrame({_ROWS: groups.sizes})
    df.attrs[_GROUPS] = _Carried(groups)
    return df


def carries_groups(df: pd.DataFrame) -> bool:
    """True for a frame that `to_frame` made."""
    return _GROUPS in df.attrs or _ROWS in df.columns


def from_frame(df: pd.DataFrame) -> Groups:
    """The groups that a frame carries.

    Raises:
        PromiseError: where it carries none, or has lost some of their rows, or an attribute's
            counts leave a group out, so that it cannot be judged.
    """
    carried: _Carried | None = df.attrs.get(_GROUPS)
    if carried is None or not np.array_equal(df[_ROWS].to_numpy(), carried.groups.sizes):
        raise PromiseError("the frame is not that of its groups")
    _require_every_group(carried.groups)
    return carried.groups


def _require_every_group(groups: Groups) -> None:
    every = np.arange(len(groups))
    if len(groups.live) != len(groups):
        raise PromiseError("the rows that stand for people are not those of every group")
    for name, counts in groups.sensitive.items():
        if not np.array_equal(counts.group[counts.starts], every):
            raise PromiseError(f"the counts of {name!r} are not those of every group")
    for name, cover in groups.covers.items():
        if not np.array_equal(distinct(cover.group), every):
            raise PromiseError(f"the values of {name!r} are not those of every group")
    for name, shown in groups.subdomains.items():
        if not np.array_equal(distinct(shown.group), every):
            raise PromiseError(f"the subdomains of {name!r} are not those of every group")
