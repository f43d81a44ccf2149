"""What everybody can hold against each other in a composed version and the one before it.

Every group that goes on must show exactly what it showed, and count as many people and vacant
values together as before; every group goes on at most once, and nobody has left a new one of the
line's own making.
Where the form is another one, the values of groups are compared.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.sorting import distinct
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.publication.combined.common_values import in_common
from sfumato.tasks.publication.combined.shown import ShownVersion
from sfumato.tasks.schema.names import GROUP_ID


def breaches(before: ShownVersion, now: ShownVersion) -> Iterator[str]:
    """What of a version contradicts the version before it, in counts of groups."""
    if unsound := _unsound(before, now):
        yield unsound
        return
    wrong = int((now.vacant[now.previous < 0] != 0).sum())
    if wrong and line_of(now.declared.partition) is None:
        yield f"{number_of(wrong)} of newcomers with values of people who left"
    if wrong := _other_sizes(before, now):
        yield f"{number_of(wrong)} with more or fewer people and vacant values than before"
    if _alike(before, now):
        yield from _other_tables(before, now)
    elif before.declared.form.declares or now.declared.form.declares:
        yield "groups of forms that cannot be compared: one shows subdomains, the other values"
    elif wrong := _other_values(before, now):
        yield f"{number_of(wrong)} with other values than before"


def _unsound(before: ShownVersion, now: ShownVersion) -> str | None:
    """Why groups cannot be held against those that they say they go on from."""
    previous = now.previous[now.previous >= 0]
    if wrong := int((previous >= len(before.rows)).sum()):
        return f"{number_of(wrong)} that go on from none of the version before"
    if wrong := int((np.bincount(previous, minlength=1) > 1).sum()):
        return f"{number_of(wrong)} of the version before that go on more than once"
    return None


def _alike(before: ShownVersion, now: ShownVersion) -> bool:
    """Decide whether both versions show the same of a group in the same tables."""
    one, other = before.declared.form, now.declared.form
    return (one.method, one.together) == (other.method, other.together)


def _other_sizes(before: ShownVersion, now: ShownVersion) -> int:
    """The number of groups of another size than before, where both versions tell sizes."""
    if not (before.vacancies.tells and now.vacancies.tells):
        return 0
    goes_on = now.previous >= 0
    was = (before.rows + before.vacant)[now.previous[goes_on]]
    return int((was != (now.rows + now.vacant)[goes_on]).sum())


def _other_tables(before: ShownVersion, now: ShownVersion) -> Iterator[str]:
    """What a form shows of a group for ever, and is not as it was."""
    was, is_ = (
        version.vacancies.lasting(version.tables, version.declared.columns, version.declared.form)
        for version in (before, now)
    )
    if [_nullable(t).schema for t in was] != [_nullable(t).schema for t in is_]:
        yield "other columns, or columns of other types, than before"
        return
    for one, other in zip(was, is_, strict=True):
        if wrong := _other_rows(one, other, now.previous):
            yield f"{number_of(wrong)} with other values than before"


def _other_rows(was: pa.Table, is_: pa.Table, previous: np.ndarray) -> int:
    """The number of groups whose rows are others, as multisets, than those they go on from.

    Args:
        was: rows of the version before, with their group.
        is_: rows of this version.
        previous: the group that each of its groups goes on from (int64), -1 for a new one.
    """
    both = pa.concat_tables([_nullable(was), _nullable(is_)], promote_options="none")
    columns = [encode(n, "insensitive", both[n]) for n in both.column_names if n != GROUP_ID]
    rows, _ = key(columns, both.num_rows)
    of_before, of_now = was[GROUP_ID].to_numpy(), previous[is_[GROUP_ID].to_numpy()]
    sign = np.repeat([1, -1], [was.num_rows, is_.num_rows])
    if _same_items((of_before, rows[: was.num_rows]), (of_now, rows[was.num_rows :]), previous):
        return 0
    return _differing(np.concatenate([of_before, of_now]), rows, sign, previous)


def _other_values(before: ShownVersion, now: ShownVersion) -> int:
    """The number of groups whose values are others than those of the groups they go on from.

    Raises:
        PromiseError: where the versions do not show the same sensitive columns.
    """
    was, is_ = in_common(_values_alone(before.groups), _values_alone(now.groups))
    wrong = 0
    for name, one in was.sensitive.items():
        other = is_.sensitive[name]
        group = np.concatenate([one.group, now.previous[other.group]])
        value = np.concatenate([one.value, other.value])
        count = np.concatenate([one.count, -other.count])
        wrong = max(wrong, _differing(group, value, count, now.previous))
    return wrong


def _same_items(
    was: tuple[np.ndarray, np.ndarray], is_: tuple[np.ndarray, np.ndarray], previous: np.ndarray
) -> bool:
    """Decide whether the groups that go on have the same items, which two sorts tell.

    Args:
        was: the group of each item of the version before, and the item (int64 each).
        is_: the same of this one, by the groups that it goes on from.
        previous: the groups that go on (int64), and -1.
    """
    bound = 1 + max(int(item.max(initial=0)) for _, item in (was, is_))
    one, other = (
        np.sort((group * bound + item)[(group >= 0) & np.isin(group, previous)])
        for group, item in (was, is_)
    )
    return np.array_equal(one, other)


def _values_alone(groups: Groups) -> Groups:
    return Groups(groups.sizes, dict(groups.sensitive))


def _differing(group: np.ndarray, item: np.ndarray, count: np.ndarray, previous: np.ndarray) -> int:
    """The number of groups that go on in which the counts of some item do not cancel out.

    Args:
        group: of the version before, of each entry (int64); -1 for none.
        item: what is counted (int64, one per entry).
        count: how often (int64): above 0 before, below 0 now.
        previous: the groups that go on (int64), and -1.
    """
    kept = (group >= 0) & np.isin(group, previous)
    _, items = np.unique(item[kept], return_inverse=True)
    bound = int(items.max(initial=0)) + 1
    pairs, place = np.unique(group[kept] * bound + items, return_inverse=True)
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, place, count[kept])
    return len(distinct(pairs[sums != 0] // bound))


def _nullable(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))


def number_of(count: int) -> str:
    """A number of groups in words."""
    return "1 group" if count == 1 else f"{count} groups"
