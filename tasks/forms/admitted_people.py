"""The people of a reference whom published labels admit: whom each group could be about.

Labels are read as queries read them, so that everyone who has the release and the reference finds
the same people. A person whom labels of two groups admit could be in either. No share of such
groups is known, so they are refused.
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
    """Return the people whom each group of rows with equal labels could be about.

    Args:
        table: the published rows; groups are numbered as `recoded.groups` numbers them.
        schema: as declared.
        reader_of: reads the labels of a column.
        scope: the columns that define groups, and the sensitive attributes that are counted.
        people: the reference, with these columns.

    Raises:
        PromiseError: where somebody could be in two groups, or a label means nothing.
    """
    names, sensitive = scope
    vector, published, first = _vectors_beside(table, schema, reader_of, names, people)
    group = _only_groups(published, [people[name] for name in names], first)[vector]
    sizes = np.bincount(group[group >= 0], minlength=len(published.first)).astype(np.int64)
    joint = {
        name: _joint(group, vector, people[name], sensitive_column(table, schema, name))
        for name in sensitive
    }
    return Population(sizes, int((group < 0).sum()), joint)


def only_groups(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, names: Sequence[str], people: Microdata
) -> np.ndarray:
    """Return the group that admits each person, -1 if no group does (int64).

    Args:
        table: the published rows; groups are numbered as `recoded.groups` numbers them.
        schema: as declared.
        reader_of: reads the labels of a column.
        names: the columns that define groups.
        people: with these columns.

    Raises:
        PromiseError: where somebody could be in two groups, or a label means nothing.
    """
    vector, published, first = _vectors_beside(table, schema, reader_of, names, people)
    return np.asarray(_only_groups(published, [people[name] for name in names], first)[vector])


@dataclass(frozen=True, eq=False)
class FittingPeople:
    """The fit of rows to people, by vectors of quasi-identifiers and by groups of rows.

    Attributes:
        vector: the vector of each person (int64).
        rows: how many rows fit each vector (int64).
        expected: how many of them belong to a person with the vector, if everyone whom a group fits
            is equally likely to be in it (float64).
        sizes: the rows of each group (int64).
        fit: how many people each group fits (int64).
    """

    vector: np.ndarray
    rows: np.ndarray
    expected: np.ndarray
    sizes: np.ndarray
    fit: np.ndarray


class _PublishedGroups:
    """Groups by their first rows, and columns by their labels' meanings and rows' labels."""

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
    table: pa.Table, schema: Schema, reader_of: ReaderOf, names: Sequence[str]
) -> _PublishedGroups:
    keys, _ = key([encode(n, "quasi-identifier", table[n]) for n in names], table.num_rows)
    groups = distinct(keys)
    first = np.zeros(len(groups), dtype=np.int64)
    group = np.searchsorted(groups, keys)
    first[group] = np.arange(len(keys))
    columns = {}
    for name in names:
        labels, codes = labels_of(table, name)
        read = reader_of(name, schema[name])
        columns[name] = [read(label) for label in labels], codes
    return _PublishedGroups(first, np.bincount(group, minlength=len(groups)), columns)


def _admit_vectors(
    published: _PublishedGroups, columns: Sequence[Column], first: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield some vectors at a time, and which groups admit them (bool, groups x vectors)."""
    labels = [
        (codes[published.first], fitting_values(meanings, column))
        for (meanings, codes), column in zip(published.columns.values(), columns, strict=True)
    ]
    step = max(1, _AT_ONCE // max(1, len(published.first)))
    for start in range(0, len(first), step):
        some = slice(start, start + step)
        admitted = np.ones((len(published.first), len(first[some])), dtype=bool)
        for (label, fits), column in zip(labels, columns, strict=True):
            admitted &= fits[:, column.codes[first[some]]][label]
        yield some, admitted


def people_who_fit(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, names: Sequence[str], people: Microdata
) -> FittingPeople:
    """Return how rows of groups fit people; several groups may fit one person.

    Args:
        table: the published rows; groups are numbered as `recoded.groups` numbers them.
        schema: as declared.
        reader_of: reads the labels of a column.
        names: the columns that define groups.
        people: with these columns.
    """
    vector, published, first = _vectors_beside(table, schema, reader_of, names, people)
    columns, many = [people[name] for name in names], np.bincount(vector, minlength=len(first))
    fit = np.zeros(len(published.first), dtype=np.int64)
    for some, admitted in _admit_vectors(published, columns, first):
        fit += admitted @ many[some]
    rows = np.zeros(len(first), dtype=np.int64)
    expected = np.zeros(len(first))
    for some, admitted in _admit_vectors(published, columns, first):
        rows[some] = published.sizes @ admitted
        expected[some] = (published.sizes / np.maximum(fit, 1)) @ admitted
    return FittingPeople(vector, rows, expected, published.sizes, fit)


def groups_that_fit(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, names: Sequence[str], people: Microdata
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the groups that fit vectors of people, some vectors at a time, as in `people_who_fit`.

    Yields:
        The vectors, and the groups that fit each of them (bool, groups x vectors).
    """
    _, published, first = _vectors_beside(table, schema, reader_of, names, people)
    yield from _admit_vectors(published, [people[name] for name in names], first)


def _vectors_beside(
    table: pa.Table, schema: Schema, reader_of: ReaderOf, names: Sequence[str], people: Microdata
) -> tuple[np.ndarray, _PublishedGroups, np.ndarray]:
    """Return each person's vector (int64), the groups, and a person with each vector (int64)."""
    vectors, vector = np.unique(
        key([people[n] for n in names], people.rows)[0], return_inverse=True
    )
    first = np.zeros(len(vectors), dtype=np.int64)
    first[vector] = np.arange(people.rows)
    return vector, _groups(table, schema, reader_of, names), first


def _only_groups(
    published: _PublishedGroups, columns: Sequence[Column], first: np.ndarray
) -> np.ndarray:
    """Return the group that admits each vector of values, -1 for none (int64, one per vector).

    `first` has a row of the reference for each vector.
    """
    chosen = np.full(len(first), -1, dtype=np.int64)
    double = 0
    for some, admitted in _admit_vectors(published, columns, first):
        times = admitted.sum(axis=0)
        double += int((times > 1).sum())
        chosen[some] = np.where(times == 1, admitted.argmax(axis=0), -1)
    if double:
        raise PromiseError(
            f"reference: labels of several groups admit the same people ({double} combinations of "
            "quasi-identifiers); use a partition with groups that do not overlap, such as "
            "full-domain"
        )
    return chosen


def fitting_values(labels: Sequence[Admitted], column: Column) -> np.ndarray:
    """Mark the values that each label admits (bool, labels x values); null is the last column."""
    values = column.values.to_pylist()
    place = {value: index for index, value in enumerate(values)}
    fits = np.zeros((len(labels), len(values) + 1), dtype=bool)
    for row, label in zip(fits, labels, strict=True):
        row[-1] = label.null
        row[:-1][_values_of(label, values, place)] = True
    return fits


def _values_of(
    label: Admitted, values: Sequence[Any], place: Mapping[Any, int]
) -> slice | list[int]:
    """Return the positions of the values that a label admits; `values` ascend."""
    match label:
        case ListedValues(values=listed):
            return [place[value] for value in listed if value in place]
        case Between(low=low, high=high):
            if low is None:
                return slice(None)
            if values and isinstance(values[0], float):  # NaN has no place in their order
                return [index for index, value in enumerate(values) if low <= value <= high]
            return slice(bisect_left(values, low), bisect_right(values, high))
    return [index for index, value in enumerate(values) if admits(label, value)]


def _joint(group: np.ndarray, vector: np.ndarray, people: Column, published: Column) -> Joint:
    """Return people's sensitive values by group and vector, with the numbers of the release."""
    number = _numbers(people, published)[people.codes]
    inside = (group >= 0) & (people.codes >= 0)
    triples = np.stack([group[inside], vector[inside], number[inside]])
    rows, counts = np.unique(triples, axis=1, return_counts=True)
    return Joint(rows[0], rows[1], rows[2], counts.astype(np.int64))


def _numbers(people: Column, published: Column) -> np.ndarray:
    """Return the number of each value of the people (int64), new if the release lacks the value."""
    type_ = common_type(people.values.type, published.values.type)
    if type_ is None:
        raise InputError(
            f"reference: column {published.name!r} has type {people.values.type}, but the release "
            f"has {published.values.type}; use the same type"
        )
    indices = pc.index_in(people.values.cast(type_), value_set=published.values.cast(type_))
    place = as_numpy(indices.fill_null(-1)).astype(np.int64)
    null, new = int(published.has_null), place < 0
    place += null
    place[new] = len(published.values) + null + np.arange(int(new.sum()))
    return np.append(place, -1)
