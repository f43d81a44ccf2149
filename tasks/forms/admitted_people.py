"""The people of a reference whom published labels admit: whom each group could be about.

Labels are read as queries read them, so that whoever has the release and the reference finds the
same people. A person whom labels of two groups admit could be in either: of such groups no share is
known, and they are refused.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.groups import Joint, Population
from sfumato.expectations.shared.arrow import as_numpy
from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues, admits
from sfumato.tasks.forms.recoded import ReaderOf, labels_of, sensitive_column
from sfumato.tasks.microdata.grouping import common_type
from sfumato.tasks.microdata.table import Column, Microdata, encode, key
from sfumato.tasks.schema.published import Schema

_AT_ONCE = 1 << 26  # pairs of a group and a person's values


def admitted_people(
    table: pa.Table,
    schema: Schema,
    reader_of: ReaderOf,
    scope: tuple[Sequence[str], Sequence[str]],
    people: Microdata,
) -> Population:
    """The people whom each group of rows with equal labels could be about.

    Args:
        table: the published rows; groups are numbered as `recoded.groups` numbers them.
        schema: as declared.
        reader_of: reads the labels of a column.
        scope: the columns that tell groups apart, and the sensitive attributes that are counted.
        people: the reference, with these columns.

    Raises:
        PromiseError: where somebody could be in two groups, or a label means nothing.
    """
    by, sensitive = scope
    vector, shown, first = _vectors_beside(table, schema, reader_of, by, people)
    group = _only_groups(shown, [people[name] for name in by], first)[vector]
    sizes = np.bincount(group[group >= 0], minlength=len(shown.first)).astype(np.int64)
    told = {
        name: _joint(group, vector, people[name], sensitive_column(table, schema, name))
        for name in sensitive
    }
    return Population(sizes, int((group < 0).sum()), told)


def only_groups(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, by: Sequence[str], people: Microdata
) -> np.ndarray:
    """The group that admits each person, -1 where none does (int64).

    Args:
        table: the published rows; groups are numbered as `recoded.groups` numbers them.
        schema: as declared.
        reader_of: reads the labels of a column.
        by: the columns that tell groups apart.
        people: with these columns.

    Raises:
        PromiseError: where somebody could be in two groups, or a label means nothing.
    """
    vector, shown, first = _vectors_beside(table, schema, reader_of, by, people)
    return np.asarray(_only_groups(shown, [people[name] for name in by], first)[vector])


@dataclass(frozen=True, eq=False)
class FittingPeople:
    """Which rows fit whom, by vectors of quasi-identifiers and by groups of rows.

    Attributes:
        vector: of each person (int64).
        rows: how many rows fit each vector (int64).
        expected: how many of them are a person's who has the vector, where everybody whom a group
            fits is as likely to be in it (float64).
        sizes: the rows of each group (int64).
        fit: how many people each group fits (int64).
    """

    vector: np.ndarray
    rows: np.ndarray
    expected: np.ndarray
    sizes: np.ndarray
    fit: np.ndarray


class _ShownGroups:
    """Groups by the first row of each, and by column the meaning of labels and each row's label."""

    def __init__(
        self,
        first: np.ndarray,
        sizes: np.ndarray,
        columns: Mapping[str, tuple[list[Admitted], np.ndarray]],
    ) -> None:
        self.first = first
        self.sizes = sizes
        self.columns = columns


def _groups(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, by: Sequence[str]
) -> _ShownGroups:
    keys, _ = key([encode(n, "quasi-identifier", table[n]) for n in by], table.num_rows)
    groups = distinct(keys)
    first = np.zeros(len(groups), dtype=np.int64)
    group = np.searchsorted(groups, keys)
    first[group] = np.arange(len(keys))
    columns = {}
    for name in by:
        labels, codes = labels_of(table, name)
        read = reader_of(name, schema[name])
        columns[name] = [read(label) for label in labels], codes
    return _ShownGroups(first, np.bincount(group, minlength=len(groups)), columns)


def _admitted(
    shown: _ShownGroups, columns: Sequence[Column], first: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Which groups admit which vectors (bool, groups x vectors), some vectors at a time."""
    labels = [
        (codes[shown.first], fitting_values(of, column))
        for (of, codes), column in zip(shown.columns.values(), columns, strict=True)
    ]
    step = max(1, _AT_ONCE // max(1, len(shown.first)))
    for start in range(0, len(first), step):
        some = slice(start, start + step)
        admitted = np.ones((len(shown.first), len(first[some])), dtype=bool)
        for (label, fits), column in zip(labels, columns, strict=True):
            admitted &= fits[:, column.codes[first[some]]][label]
        yield some, admitted


def people_who_fit(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, by: Sequence[str], people: Microdata
) -> FittingPeople:
    """Which rows of groups fit whom of some people, in as many groups as it is.

    Args:
        table: the published rows; groups are numbered as `recoded.groups` numbers them.
        schema: as declared.
        reader_of: reads the labels of a column.
        by: the columns that tell groups apart.
        people: with these columns.
    """
    vector, shown, first = _vectors_beside(table, schema, reader_of, by, people)
    columns, many = [people[name] for name in by], np.bincount(vector, minlength=len(first))
    fit = np.zeros(len(shown.first), dtype=np.int64)
    for some, admitted in _admitted(shown, columns, first):
        fit += admitted @ many[some]
    rows = np.zeros(len(first), dtype=np.int64)
    expected = np.zeros(len(first))
    for some, admitted in _admitted(shown, columns, first):
        rows[some] = shown.sizes @ admitted
        expected[some] = (shown.sizes / np.maximum(fit, 1)) @ admitted
    return FittingPeople(vector, rows, expected, shown.sizes, fit)


def groups_that_fit(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, by: Sequence[str], people: Microdata
) -> Iterator[tuple[slice, np.ndarray]]:
    """Which groups fit which vectors of some people, some vectors at a time, as `people_who_fit`.

    Yields:
        Which vectors, and which groups fit each of them (bool, groups x vectors).
    """
    _, shown, first = _vectors_beside(table, schema, reader_of, by, people)
    yield from _admitted(shown, [people[name] for name in by], first)


def _vectors_beside(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, by: Sequence[str], people: Microdata
) -> tuple[np.ndarray, _ShownGroups, np.ndarray]:
    """The vector of each person (int64), the groups, and somebody with each vector (int64)."""
    vectors, vector = np.unique(key([people[n] for n in by], people.rows)[0], return_inverse=True)
    first = np.zeros(len(vectors), dtype=np.int64)
    first[vector] = np.arange(people.rows)
    return vector, _groups(table, schema, reader_of, by), first


def _only_groups(shown: _ShownGroups, columns: Sequence[Column], first: np.ndarray) -> np.ndarray:
    """The group that admits each vector of values, -1 for none (int64, one per vector).

    `first` has a row of the reference for each vector.
    """
    found = np.full(len(first), -1, dtype=np.int64)
    double = 0
    for some, admitted in _admitted(shown, columns, first):
        times = admitted.sum(axis=0)
        double += int((times > 1).sum())
        found[some] = np.where(times == 1, admitted.argmax(axis=0), -1)
    if double:
        raise PromiseError(
            f"reference: labels of several groups admit people with the same quasi-identifiers "
            f"({double} combinations of these): no share of them is known; use a partition whose "
            "groups do not overlap, such as full-domain"
        )
    return found


def fitting_values(labels: Sequence[Admitted], column: Column) -> np.ndarray:
    """Which values each label admits (bool, labels x values), last whether it admits null."""
    values = column.values.to_pylist()
    place = {value: at for at, value in enumerate(values)}
    fits = np.zeros((len(labels), len(values) + 1), dtype=bool)
    for row, label in zip(fits, labels, strict=True):
        row[-1] = label.null
        row[:-1][_values_of(label, values, place)] = True
    return fits


def _values_of(
    label: Admitted, values: Sequence[Any], place: Mapping[Any, int]
) -> slice | list[int]:
    """Where the values are that a label admits; `values` ascend."""
    match label:
        case ListedValues(values=listed):
            return [place[value] for value in listed if value in place]
        case Between(low=low, high=high):
            if low is None:
                return slice(None)
            if values and isinstance(values[0], float):  # NaN has no place in their order
                return [at for at, value in enumerate(values) if low <= value <= high]
            return slice(bisect_left(values, low), bisect_right(values, high))
    return [at for at, value in enumerate(values) if admits(label, value)]


def _joint(group: np.ndarray, vector: np.ndarray, people: Column, shown: Column) -> Joint:
    """The sensitive values of people by group and vector, numbered as they are shown."""
    number = _numbers(people, shown)[people.codes]
    known = (group >= 0) & (people.codes >= 0)
    triples = np.stack([group[known], vector[known], number[known]])
    rows, counts = np.unique(triples, axis=1, return_counts=True)
    return Joint(rows[0], rows[1], rows[2], counts.astype(np.int64))


def _numbers(people: Column, shown: Column) -> np.ndarray:
    """The number of each value of the people (int64): as shown, and from there on if it is not."""
    type_ = common_type(people.values.type, shown.values.type)
    if type_ is None:
        raise InputError(
            f"reference: column {shown.name!r} holds {people.values.type}, "
            f"the release {shown.values.type}"
        )
    found = pc.index_in(people.values.cast(type_), value_set=shown.values.cast(type_))
    place = as_numpy(found.fill_null(-1)).astype(np.int64)
    null, new = int(shown.has_null), place < 0
    place += null
    place[new] = len(shown.values) + null + np.arange(int(new.sum()))
    return np.append(place, -1)
