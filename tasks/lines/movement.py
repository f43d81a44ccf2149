"""Movement between two versions, reported and not judged: files do not show why people moved.

If versions show exact rows, it reports how many combinations of quasi-identifiers occur once in
both versions, and how many of these are in another group than before. If people stay in their
groups the latter are few: somebody left, and somebody else came who looks the same. If groups are
drawn anew they are nearly all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.lines.shown import ShownVersion, in_common
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.schema.names import GROUP_ID


@dataclass(frozen=True)
class Movement:
    """Counts of groups and rows that moved from one version to the next.

    Attributes:
        continued: groups that go on.
        new: groups that do not.
        ended: groups of the version before that are shown no more.
        disappeared: rows that are missing from the group that goes on from theirs, counted by their
            quasi-identifiers if these are exact, otherwise only by the groups' numbers of rows.
        vacated: the growth of vacant values in groups that go on, None if it is not shown.
        unique: combinations of quasi-identifiers that occur once in both, None without exact rows.
        regrouped: how many of the `unique` ones are in another group than before; None like
            `unique`.
        fewest: the least number of values of a sensitive column that the two groups of a `unique`
            combination have in common; None if there is none, or groups show no values.
    """

    continued: int
    new: int
    ended: int
    disappeared: int
    vacated: int | None
    unique: int | None = None
    regrouped: int | None = None
    fewest: int | None = None


def join_movements(moved: Sequence[Movement]) -> Movement:
    """Return the movement over all parts of two versions."""
    return Movement(
        continued=sum(movement.continued for movement in moved),
        new=sum(movement.new for movement in moved),
        ended=sum(movement.ended for movement in moved),
        disappeared=sum(movement.disappeared for movement in moved),
        vacated=_sum([movement.vacated for movement in moved]),
        unique=_sum([movement.unique for movement in moved]),
        regrouped=_sum([movement.regrouped for movement in moved]),
        fewest=min(
            (movement.fewest for movement in moved if movement.fewest is not None), default=None
        ),
    )


def _sum(numbers: Sequence[int | None]) -> int | None:
    """Return the sum of the numbers that are not None, or None if all are."""
    numbers_known = [number for number in numbers if number is not None]
    return sum(numbers_known) if numbers_known else None


def movement_between(before: ShownVersion, now: ShownVersion) -> Movement:
    """Return the movement between a version and the next; lineage names the groups that go on."""
    goes_on = now.previous >= 0
    was, is_ = now.previous[goes_on], np.flatnonzero(goes_on)
    shows_vacant = before.vacancies.tells and now.vacancies.tells
    numbers = Movement(
        continued=len(is_),
        new=int((~goes_on).sum()),
        ended=len(before.rows) - len(is_),
        disappeared=int(np.maximum(before.rows[was] - now.rows[is_], 0).sum()),
        vacated=int(now.vacant[is_].sum() - before.vacant[was].sum()) if shows_vacant else None,
    )
    rows = _Rows.read(before, now)
    if rows is None:
        return numbers
    pairs = rows.unique_pairs()
    return replace(
        numbers,
        disappeared=rows.count_disappeared(),
        unique=len(pairs),
        regrouped=int((now.previous[pairs[:, 1]] != pairs[:, 0]).sum()),
        fewest=_fewest(before, now, pairs),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The exact rows of two versions (all int64).

    Attributes:
        before: the quasi-identifiers of each row of the version before, as a number.
        now: the quasi-identifiers of each row of this version, by the same numbers.
        group_before: the group of each row of the version before.
        group_now: the group of each row of this version.
        previous: by group of this version, the group from which it goes on, -1 if it is new.
    """

    before: np.ndarray
    now: np.ndarray
    group_before: np.ndarray
    group_now: np.ndarray
    previous: np.ndarray

    @classmethod
    def read(cls, before: ShownVersion, now: ShownVersion) -> "_Rows | None":
        """Return the exact rows of both versions, or None if they cannot be compared."""
        rows_before, rows_now = _exact_rows(before), _exact_rows(now)
        if rows_before is None or rows_now is None:
            return None
        shared = [
            name
            for name in now.declared.names_with_roles("quasi-identifier")
            if name in rows_before.column_names and rows_before[name].type == rows_now[name].type
        ]
        if not shared:
            return None
        both = (pa.chunked_array([*rows_before[n].chunks, *rows_now[n].chunks]) for n in shared)
        columns = [
            encode(n, "quasi-identifier", values) for n, values in zip(shared, both, strict=True)
        ]
        keys, _ = key(columns, rows_before.num_rows + rows_now.num_rows)
        _, keys = np.unique(keys, return_inverse=True)
        return cls(
            keys[: rows_before.num_rows],
            keys[rows_before.num_rows :],
            rows_before[GROUP_ID].to_numpy(),
            rows_now[GROUP_ID].to_numpy(),
            now.previous,
        )

    def unique_pairs(self) -> np.ndarray:
        """Return the groups, before and now, of each combination that occurs once in both versions.

        Returns:
            int64, combinations x 2.
        """
        values = max(self.before.max(initial=-1), self.now.max(initial=-1)) + 1
        once = [np.bincount(rows, minlength=values) == 1 for rows in (self.before, self.now)]
        both = once[0] & once[1]
        sides = []
        for rows, group in ((self.before, self.group_before), (self.now, self.group_now)):
            group_of = np.full(values, -1, dtype=np.int64)
            group_of[rows] = group
            sides.append(group_of[both])
        return np.stack(sides, axis=1)

    def count_disappeared(self) -> int:
        """Count the rows of groups that go on that are missing from the group that goes on."""
        goes_on = np.isin(self.group_before, self.previous)
        names = self.previous[self.group_now]
        group = np.concatenate([self.group_before[goes_on], names[names >= 0]])
        rows = np.concatenate([self.before[goes_on], self.now[names >= 0]])
        sign = np.repeat([1, -1], [int(goes_on.sum()), int((names >= 0).sum())])
        bound = int(rows.max(initial=0)) + 1
        _, place = np.unique(group * bound + rows, return_inverse=True)
        sums = np.bincount(place, sign)
        return int(sums[sums > 0].sum())


def _exact_rows(version: ShownVersion) -> pa.Table | None:
    name = version.declared.form.rows_table
    return None if name is None else version.tables[name]


def _fewest(before: ShownVersion, now: ShownVersion, pairs: np.ndarray) -> int | None:
    """Return the least number of values that both groups of a pair show of a sensitive column."""
    if not len(pairs) or before.declared.form.declares or now.declared.form.declares:
        return None
    groups = (Groups(v.groups.sizes, dict(v.groups.sensitive)) for v in (before, now))
    was, is_ = in_common(*groups)
    pairs = np.unique(pairs, axis=0)
    counts = [
        _common(was_counts, is_.sensitive[name], pairs)
        for name, was_counts in was.sensitive.items()
    ]
    return min((int(number.min()) for number in counts), default=None)


def _common(was: Counts, is_: Counts, pairs: np.ndarray) -> np.ndarray:
    """Return how many values both groups of each pair show (int64, one per pair).

    Args:
        was: the counts of the version before.
        is_: the counts of this version, with values numbered alike.
        pairs: the group before, and the group now (int64, pairs x 2).
    """
    length = was.distinct[pairs[:, 0]]
    pair = np.repeat(np.arange(len(pairs)), length)
    offset = np.arange(len(pair)) - np.repeat(np.cumsum(length) - length, length)
    value = was.value[was.starts[pairs[pair, 0]] + offset]
    bound = int(max(was.value.max(initial=0), is_.value.max(initial=0))) + 1
    there = np.isin(pairs[pair, 1] * bound + value, is_.group * bound + is_.value)
    return np.bincount(pair[there], minlength=len(pairs))
