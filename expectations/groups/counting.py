"""Groups by counting: once, over packed integer keys, and from then on by adding up counts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import (
    Cover,
    Groups,
    HeldValues,
    Joint,
    People,
    Population,
    RelatedRows,
    Subdomains,
)
from sfumato.expectations.shared.exact import INT64_MAX, Exact, exact, is_ordered
from sfumato.expectations.shared.sorting import number, stable_order, starts, tally

_NARROW = 2**31  # a key below it is made of 32 bits, in half the time


class Coded(NamedTuple):
    """Codes of a sensitive attribute (integers, ascending in the value) and its values.

    `Counts` explains the other fields.
    """

    codes: np.ndarray
    values: int
    numbers: Exact | None = None
    labels: pa.Array | None = None
    ancestors: np.ndarray | None = None


def pack(codes: Sequence[np.ndarray], cardinalities: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return one key per row (int64) that differs for different code vectors, and its bound.

    If the product of the cardinalities exceeds 2^63, the key is made dense between columns: it
    never wraps.

    Args:
        codes: at least one column of integers in [0, cardinality), one per row.
        cardinalities: the cardinality of each column.

    Raises:
        ValueError: where there are no columns.
    """
    if not codes:
        raise ValueError("a key needs at least one column")
    narrow = prod(max(int(cardinality), 1) for cardinality in cardinalities) <= _NARROW
    key: np.ndarray = codes[0].astype(np.int32 if narrow else np.int64)
    bound = max(cardinalities[0], 1)
    for column, cardinality in zip(codes[1:], cardinalities[1:], strict=True):
        next_, values = column, max(cardinality, 1)
        if bound * values > INT64_MAX:
            key, bound = dense(key)
        if bound * values > INT64_MAX:
            next_, values = dense(column)
        key *= values
        key += next_.astype(key.dtype, copy=False)
        bound *= values
    return key.astype(np.int64, copy=False), bound


def dense(key: np.ndarray) -> tuple[np.ndarray, int]:
    """Renumber integer keys as 0, 1, … in ascending order (int64, one per key), and count them."""
    most = int(key.max(initial=-1))
    if most < 4 * len(key) and int(key.min(initial=0)) >= 0:
        occurs = np.zeros(most + 1, dtype=bool)
        occurs[key] = True
        return (np.cumsum(occurs, dtype=np.int64) - 1)[key], int(occurs.sum())
    order, renumbered = stable_order(key), np.empty(len(key), dtype=np.int64)
    numbers = number(key[order])
    renumbered[order] = numbers
    return renumbered, int(numbers[-1]) + 1


def count(
    key: np.ndarray,
    bound: int,
    sensitive: Mapping[str, Coded],
    times: np.ndarray | None = None,
) -> Groups:
    """Count rows by group key and sensitive value.

    Args:
        key: the key of each row (int64, in [0, bound)): rows with equal keys are one group.
        bound: above every key.
        sensitive: the sensitive attributes by name.
        times: the number of rows that each key with its values counts for (int64); by default 1.
    """
    if not sensitive:
        return Groups(tally(key, bound)[1] if times is None else add_up([key], times)[-1], {})
    if bound * max(max(coded.values, 1) for coded in sensitive.values()) > INT64_MAX:
        key, bound = dense(key)
    counted = {name: _counts(key, bound, coded, times) for name, coded in sensitive.items()}
    return Groups(next(iter(counted.values())).sizes, counted)


def _counts(key: np.ndarray, bound: int, coded: Coded, times: np.ndarray | None) -> Counts:
    """Return the counts of one attribute; arguments are as for `count`."""
    values = max(coded.values, 1)
    pairs = key * values
    pairs += coded.codes
    distinct, count = tally(pairs, bound * values) if times is None else add_up([pairs], times)
    group_key, value = _divide(distinct, values)
    group = number(group_key)
    return Counts(group, value, count, coded.values, coded.numbers, coded.labels, coded.ancestors)


def _divide(pairs: np.ndarray, values: int) -> tuple[np.ndarray, np.ndarray]:
    """Divide as `np.divmod` does, faster."""
    whole = pairs // values
    rest = whole * -values
    rest += pairs
    return whole, rest


def with_labels(groups: Groups, key: np.ndarray, codes: Mapping[str, np.ndarray]) -> Groups:
    """Return groups that `count` has made, with the label of each of some columns.

    Args:
        groups: the groups.
        key: the key of each row, as they were counted.
        codes: by column the label of each row (integers); rows with equal keys have equal labels.
    """
    _, first = np.unique(key, return_index=True)
    return replace(groups, labels={name: labels[first] for name, labels in codes.items()})


def cover(group: np.ndarray, codes: np.ndarray, values: int) -> Cover:
    """Return the values that the rows of each group have, each once.

    Args:
        group: the group of each row (integers, one per row).
        codes: the value of each row (integers from 0).
        values: above every code.
    """
    values = max(values, 1)
    pairs = group.astype(np.int64) * values + codes
    pairs, _ = tally(pairs, (int(group.max(initial=-1)) + 1) * values)
    return Cover(*_divide(pairs, values), values)


def numbers_of(values: pa.Array, has_null: bool, name: str) -> Exact | None:
    """Return the distinct values of an attribute as exact numbers, None if they have no order.

    Raises:
        InputError: where a number is not finite, or has too many digits.
    """
    if not is_ordered(values.type):
        return None
    numbers = exact(values.drop_null(), name)
    return None if has_null else numbers


def count_people(
    group: np.ndarray,
    person: np.ndarray,
    groups: Groups,
    codes: Mapping[str, np.ndarray],
    times: np.ndarray | None = None,
) -> People:
    """Count the rows of each person in each group.

    Args:
        group: the group of each row (int64), 0, 1, …, each occurring.
        person: the person of each row (integers from 0).
        groups: the same groups, with the counts of their values.
        codes: the value of each row (integers, one per row) of attributes counted there.
        times: the number of rows that each entry counts for (int64); by default 1.
    """
    times = np.ones(len(group), dtype=np.int64) if times is None else times
    keys = [group, person.astype(np.int64)]
    values = {
        name: _held_values([*keys, column.astype(np.int64)], times, groups.counts_of(name))
        for name, column in codes.items()
    }
    people = _count_rows_of_people(keys, times, len(groups), values)
    return replace(people, labels=groups.labels)


def merge(groups: Groups, into: np.ndarray) -> Groups:
    """Merge groups: `into` is the group that each becomes part of (int64, one per group, from 0).

    Every number below the largest occurs. The admitted values of a quasi-identifier are united; a
    merged group keeps the target distribution that its parts share. Labels are known only of
    quasi-identifiers of which the parts of every merged group show the same.
    """
    number = int(into.max()) + 1 if len(into) else 0

    def total(numbers: np.ndarray) -> np.ndarray:
        return _sums(into, numbers, number)

    sensitive = {name: _merge_counts(counts, into) for name, counts in groups.sensitive.items()}
    return Groups(
        total(groups.sizes),
        sensitive,
        {name: cover(into[c.group], c.value, c.values) for name, c in groups.covers.items()},
        None if groups.population is None else _merge_population(groups.population, into, number),
        {name: _merge_subdomains(s, into, number) for name, s in groups.subdomains.items()},
        total(groups.live),
        None if groups.people is None else _merge_people(groups.people, into, sensitive),
        _merge_labels(groups.labels, into, number),
        None if groups.related is None else _merge_related(groups.related, into),
    )


def merge_values(counts: Counts, into: np.ndarray) -> Counts:
    """Return the counts of generalized values: `into` is what each value becomes (int64)."""
    group, value, count = add_up([counts.group, into[counts.value]], counts.count)
    return Counts(group, value, count, int(into.max(initial=-1)) + 1, None)


def _sums(key: np.ndarray, numbers: np.ndarray, length: int) -> np.ndarray:
    totals = np.zeros(length, dtype=np.int64)
    np.add.at(totals, key, numbers)
    return totals


def add_up(columns: Sequence[np.ndarray], numbers: np.ndarray) -> list[np.ndarray]:
    """Return equal rows of `columns` once, in ascending order, and the sum of their numbers."""
    key, _ = pack(columns, [int(c.max(initial=0)) + 1 for c in columns])
    order = stable_order(key)
    first = starts(key[order])
    sums = np.add.reduceat(numbers[order], first) if len(order) else numbers
    return [*(column[order][first] for column in columns), sums]


def _merge_counts(counts: Counts, into: np.ndarray) -> Counts:
    group, value, count = add_up([into[counts.group], counts.value], counts.count)
    return Counts(
        group, value, count, counts.values, counts.numbers, counts.labels, counts.ancestors
    )


def _merge_people(people: People, into: np.ndarray, like: Mapping[str, Counts]) -> People:
    values = {
        name: _held_values(
            [into[attribute.group], attribute.person, attribute.value], attribute.rows, like[name]
        )
        for name, attribute in people.held.items()
    }
    groups = int(into.max(initial=-1)) + 1
    return _count_rows_of_people([into[people.group], people.person], people.rows, groups, values)


def _held_values(columns: Sequence[np.ndarray], times: np.ndarray, like: Counts) -> HeldValues:
    group, person, value, rows = add_up(columns, times)
    return HeldValues(group, person, value, rows, like)


def _count_rows_of_people(
    keys: Sequence[np.ndarray], times: np.ndarray, groups: int, values: Mapping[str, HeldValues]
) -> People:
    group, person, rows = add_up(keys, times)
    return People(group, person, rows, groups, values)


def _merge_labels(
    labels: Mapping[str, np.ndarray], into: np.ndarray, number: int
) -> dict[str, np.ndarray]:
    merged = {}
    for name, label in labels.items():
        of_group = np.zeros(number, dtype=np.int64)
        of_group[into] = label
        if np.array_equal(of_group[into], label):
            merged[name] = of_group
    return merged


def _merge_related(related: RelatedRows, into: np.ndarray) -> RelatedRows:
    """Merge the groups of related rows; all rows of a person are in one of the merged groups."""
    merged = into[related.group]
    inner, number = dense(merged)
    most = np.zeros(number, dtype=np.int64)
    np.maximum.at(most, inner, related.most)
    fewest = None if related.fewest is None else _merge_fewest(related.fewest, inner, merged, into)
    with_rows = related.with_rows
    if with_rows is not None:
        with_rows = np.bincount(inner, with_rows, number).astype(np.int64)
    return RelatedRows(np.unique(merged), merge(related.rows, inner), most, fewest, with_rows)


def _merge_fewest(
    fewest: np.ndarray, inner: np.ndarray, merged: np.ndarray, into: np.ndarray
) -> np.ndarray:
    """Return the rows that everybody has of merged groups: 0 where one of them has no rows."""
    least = np.full(int(inner.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, inner, fewest)
    occupied, parts = np.unique(merged, return_counts=True)
    return np.where(np.bincount(into)[occupied] > parts, 0, least)


def _merge_population(population: Population, into: np.ndarray, number: int) -> Population:
    joint = {name: _merge_joint(counts, into) for name, counts in population.joint.items()}
    return Population(_sums(into, population.sizes, number), population.elsewhere, joint)


def _merge_joint(joint: Joint, into: np.ndarray) -> Joint:
    """Merge the groups of a joint distribution; cells of different groups stay apart."""
    most = int(joint.cell.max(initial=0)) + 1
    cell, _ = dense(joint.group * most + joint.cell)
    return Joint(*add_up([into[joint.group], cell, joint.value], joint.count))


def _merge_subdomains(subdomains: Subdomains, into: np.ndarray, number: int) -> Subdomains:
    group, node, count = add_up([into[subdomains.group], subdomains.node], subdomains.count)
    target = np.zeros(number, dtype=np.int64)
    target[into] = subdomains.target
    return replace(subdomains, group=group, node=node, count=count, target=target)
