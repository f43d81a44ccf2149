"""Composed versions as everyone reads them, and comparisons of one with the next.

A group *goes on* from a group of the version before: it shows the same values, some of which are
*vacant*: their people are not in this version. Every group that goes on must show exactly what it
showed, and have as many people and vacant values together as before. No group of the version before
goes on as two. A new group has no vacant values, unless the line shows the groups of another line.
If the form has changed, the values of groups are compared.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.arrow import as_integers
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.forms.composed import VACANCIES
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.lineage import LINEAGE, PREVIOUS, rows_of, vacant_of
from sfumato.tasks.forms.vacancies import Vacancies
from sfumato.tasks.microdata.table import encode, key
from sfumato.tasks.partitions.of_line import line_of
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.opened import Release
from sfumato.tasks.terms.tables import form_of, read_tables
from sfumato.tasks.terms.terms import Declared

_BROKEN = "versions: composed is broken: "


@dataclass(frozen=True, eq=False)
class ShownVersion:
    """A composed version of a line.

    Attributes:
        declared: the terms that it declares.
        tables: as they were published.
    """

    declared: Declared
    tables: Tables

    @classmethod
    def read(cls, release: Release) -> "ShownVersion":
        """Read the tables of a release.

        Raises:
            PromiseError: where they are not those that it declares.
        """
        return cls(release.declared, read_tables(release.declared, release.directory / "data"))

    @property
    def vacancies(self) -> Vacancies:
        """The form's way of showing values of people who left."""
        return VACANCIES[self.declared.form.method]

    @property
    def lineage(self) -> pa.Table:
        """The table of the groups from which its groups go on."""
        return self.tables[LINEAGE]

    @property
    def rows(self) -> np.ndarray:
        """The people shown in each group (int64, one per group)."""
        return rows_of(self.lineage)

    @property
    def vacant(self) -> np.ndarray:
        """The vacant values of each group (int64, one per group)."""
        return vacant_of(self.lineage)

    @cached_property
    def previous(self) -> np.ndarray:
        """The group of the version before from which each group goes on (int64), -1 if new."""
        return as_integers(self.lineage[PREVIOUS].fill_null(-1))

    @cached_property
    def groups(self) -> Groups:
        """Its groups in the order of their ids, with the values of every sensitive column.

        Raises:
            PromiseError: where its tables contradict each other.
        """
        columns = self.declared.columns
        sensitive = self.declared.names_with_roles("sensitive")
        return form_of(self.declared).groups(self.tables, columns, (), sensitive)


def in_common(first: Groups, second: Groups) -> tuple[Groups, Groups]:
    """Return the groups of two versions with values numbered by one dictionary per column.

    Raises:
        PromiseError: where they do not show the same columns.
    """
    pairs = {
        name: _renumber_values(counts, second.sensitive[name])
        for name, counts in first.sensitive.items()
        if name in second.sensitive
    }
    if pairs.keys() != first.sensitive.keys() | second.sensitive.keys():
        raise PromiseError(
            _BROKEN + "versions show different sensitive columns, so they cannot be compared"
        )
    return (
        replace(first, sensitive={name: pair[0] for name, pair in pairs.items()}),
        replace(second, sensitive={name: pair[1] for name, pair in pairs.items()}),
    )


def _renumber_values(counts: Counts, other: Counts) -> tuple[Counts, Counts]:
    """Return two counts of a column, with the values of both numbered in ascending order.

    A null comes first.

    Raises:
        PromiseError: where the values themselves are not known.
    """
    labels, others = counts.labels, other.labels
    if labels is None or others is None:
        raise PromiseError(
            _BROKEN + "the values of groups are not known, so versions cannot be compared"
        )
    both = pa.concat_arrays([labels.cast(others.type), others])
    coded = encode("value", "sensitive", both).counted_codes()
    codes = coded.codes.astype(np.int64)
    like = replace(
        counts, values=coded.values, numbers=coded.numbers, labels=coded.labels, ancestors=None
    )
    return (
        replace(like, value=codes[: len(labels)][counts.value]),
        replace(
            like, group=other.group, value=codes[len(labels) :][other.value], count=other.count
        ),
    )


def promise_by_values(promise: PrivacyModel) -> PrivacyModel | None:
    """Return a promise as it applies to the values that a group has over several versions.

    Returns None if it does not apply.
    """
    return promise.over_versions if promise.judged_jointly or promise.needs_covers else promise


def judged_promises(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    """Return the promises as they apply to the values that groups of several versions have.

    A promise against an attacker who knows other values of a person is judged in each version,
    whose groups have to be those of all versions (see `composed`).
    """
    over_versions = [
        promise_by_values(promise) for promise in promises if not promise.known_columns
    ]
    return [promise for promise in over_versions if promise is not None]


def breaches(before: ShownVersion, now: ShownVersion) -> Iterator[str]:
    """Yield how a version contradicts the version before it, in counts of groups."""
    if unsound := _unsound(before, now):
        yield unsound
        return
    wrong = int((now.vacant[now.previous < 0] != 0).sum())
    if wrong and line_of(now.declared.partition) is None:
        yield f"{number_of(wrong)} of new people with values of people who left"
    if wrong := _other_sizes(before, now):
        yield f"{number_of(wrong)} with more or fewer people and vacant values than before"
    if _have_like_forms(before, now):
        yield from _other_tables(before, now)
    elif before.declared.form.declares or now.declared.form.declares:
        yield (
            "groups cannot be compared, because one form shows subdomains and the other "
            "shows values"
        )
    elif wrong := _other_values(before, now):
        yield f"{number_of(wrong)} with other values than before"


def _unsound(before: ShownVersion, now: ShownVersion) -> str | None:
    """Return why groups cannot be compared with those that they go on from, or None if they can."""
    previous = now.previous[now.previous >= 0]
    if wrong := int((previous >= len(before.rows)).sum()):
        return f"{number_of(wrong)} continuing no group of the last version"
    if wrong := int((np.bincount(previous, minlength=1) > 1).sum()):
        return f"{number_of(wrong)} of the last version continued more than once"
    return None


def _have_like_forms(before: ShownVersion, now: ShownVersion) -> bool:
    """Decide whether both versions show the same of a group in the same tables."""
    form_before, form_now = before.declared.form, now.declared.form
    return (form_before.method, form_before.together) == (form_now.method, form_now.together)


def _other_sizes(before: ShownVersion, now: ShownVersion) -> int:
    """Return the number of groups of another size than before; 0 if a version hides sizes."""
    if not (before.vacancies.tells and now.vacancies.tells):
        return 0
    goes_on = now.previous >= 0
    was = (before.rows + before.vacant)[now.previous[goes_on]]
    return int((was != (now.rows + now.vacant)[goes_on]).sum())


def _other_tables(before: ShownVersion, now: ShownVersion) -> Iterator[str]:
    """Yield the differences in tables that must not change while a group goes on."""
    was, is_ = (
        version.vacancies.lasting(version.tables, version.declared.columns, version.declared.form)
        for version in (before, now)
    )
    if [_nullable(t).schema for t in was] != [_nullable(t).schema for t in is_]:
        yield "other columns, or columns of other types, than before"
        return
    for table_before, table_now in zip(was, is_, strict=True):
        if wrong := _other_rows(table_before, table_now, now.previous):
            yield f"{number_of(wrong)} with other values than before"


def _other_rows(was: pa.Table, is_: pa.Table, previous: np.ndarray) -> int:
    """Return the number of groups whose rows differ from those of the groups they go on from.

    Rows are compared as multisets.

    Args:
        was: the rows of a table of the version before, with their group ids.
        is_: the rows of the same table of this version.
        previous: by group of this version, the group from which it goes on (int64), -1 if new.
    """
    both = pa.concat_tables([_nullable(was), _nullable(is_)], promote_options="none")
    columns = [encode(n, "insensitive", both[n]) for n in both.column_names if n != GROUP_ID]
    rows, _ = key(columns, both.num_rows)
    of_before, of_now = was[GROUP_ID].to_numpy(), previous[is_[GROUP_ID].to_numpy()]
    sign = np.repeat([1, -1], [was.num_rows, is_.num_rows])  # equal rows cancel out
    if _same_items((of_before, rows[: was.num_rows]), (of_now, rows[was.num_rows :]), previous):
        return 0
    return _count_differing(np.concatenate([of_before, of_now]), rows, sign, previous)


def _other_values(before: ShownVersion, now: ShownVersion) -> int:
    """Return the number of groups whose values differ from those of the groups they go on from.

    Raises:
        PromiseError: where the versions do not show the same sensitive columns.
    """
    was, is_ = in_common(_values_alone(before.groups), _values_alone(now.groups))
    wrong = 0
    for name, counts_before in was.sensitive.items():
        counts_now = is_.sensitive[name]
        group = np.concatenate([counts_before.group, now.previous[counts_now.group]])
        value = np.concatenate([counts_before.value, counts_now.value])
        count = np.concatenate([counts_before.count, -counts_now.count])
        wrong = max(wrong, _count_differing(group, value, count, now.previous))
    return wrong


def _same_items(
    was: tuple[np.ndarray, np.ndarray], is_: tuple[np.ndarray, np.ndarray], previous: np.ndarray
) -> bool:
    """Decide whether the groups that go on have the same items, by two sorts.

    Args:
        was: for the version before, the group of each item, and the item (int64 each).
        is_: for this version, the group from which each item's group goes on (-1 if new), and the
            item (int64 each).
        previous: the groups of the version before that go on (int64), and -1.
    """
    bound = 1 + max(int(item.max(initial=0)) for _, item in (was, is_))
    items_before, items_now = (
        np.sort((group * bound + item)[(group >= 0) & np.isin(group, previous)])
        for group, item in (was, is_)
    )
    return np.array_equal(items_before, items_now)


def _values_alone(groups: Groups) -> Groups:
    return Groups(groups.sizes, dict(groups.sensitive))


def _count_differing(
    group: np.ndarray, item: np.ndarray, count: np.ndarray, previous: np.ndarray
) -> int:
    """Return the number of groups that go on in which the counts of some item do not cancel out.

    Args:
        group: the group of each entry, by its id in the version before (int64); -1 if it is new.
        item: the counted item (int64, one per entry).
        count: how often the item occurs (int64): above 0 in the version before, below 0 in this.
        previous: the groups of the version before that go on (int64), and -1.
    """
    is_compared = (group >= 0) & np.isin(group, previous)
    _, items = np.unique(item[is_compared], return_inverse=True)
    bound = int(items.max(initial=0)) + 1
    pairs, place = np.unique(group[is_compared] * bound + items, return_inverse=True)
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, place, count[is_compared])
    return len(distinct(pairs[sums != 0] // bound))


def _nullable(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))


def number_of(count: int) -> str:
    """Return a number of groups in words."""
    return "1 group" if count == 1 else f"{count} groups"
