"""Generalization: one label per quasi-identifier for each group, which admits all its values.

The label is the node of the hierarchy that the partition chose, or the lowest one above the group;
without a hierarchy it is the interval from the least to the greatest value, or the set of values.

Source: Samarati and Sweeney, Protecting privacy when disclosing information (1998); for intervals
and sets per group, LeFevre, DeWitt, Ramakrishnan, Mondrian (ICDE 2006).
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.rules.rule import Rule
from sfumato.expectations.shared.exact import is_ordered
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.form_parameters import GeneralizedParameters
from sfumato.tasks.forms.label_readers import reader as reader_of
from sfumato.tasks.forms.labels import STAR, interval, value_set
from sfumato.tasks.forms.recoded import (
    canonical,
    groups,
    rows_by_group,
    rules_of_labels,
    schemas,
    table_of,
)
from sfumato.tasks.microdata.hierarchies import lowest_common
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import Schema

__all__ = ["canonical", "groups", "publish", "reader_of", "rules", "schemas"]


def publish(
    microdata: Microdata,
    partition: Partition,
    parameters: GeneralizedParameters,
    randomness: Randomness,
) -> Tables:
    """Replace quasi-identifiers by labels and publish in canonical order."""
    positions, group, order = rows_by_group(partition)
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    labels, plain = {}, parameters.single_values == "plain"
    for column in microdata.with_roles("quasi-identifier"):
        categories = column.category()[0][positions]
        recoding = partition.recoding.get(column.name)
        texts = _labels(column, categories[order], starts, recoding, plain)
        labels[column.name] = pc.dictionary_encode(texts).take(pa.array(group))
    return table_of(microdata, positions, labels)


def rules(
    schema: Schema, parameters: GeneralizedParameters, rows: int, withheld: Sequence[str]
) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules: every label is one of its column."""
    return rules_of_labels(schema, reader_of, rows, withheld)


def _labels(
    column: Column,
    categories: np.ndarray,
    starts: np.ndarray,
    recoding: np.ndarray | None,
    plain: bool,
) -> pa.Array:
    """Return the label of each group: a run of `categories` from each of `starts` on."""
    if column.ancestors is not None or recoding is not None:
        return _nodes(column, categories, starts, recoding, plain)
    if is_ordered(column.values.type):
        return _intervals(column, categories, starts)
    return _sets(column, categories, starts, plain)


def _nodes(
    column: Column,
    categories: np.ndarray,
    starts: np.ndarray,
    recoding: np.ndarray | None,
    plain: bool,
) -> pa.Array:
    """Return the node at the level of each group, by default the lowest at which its rows agree."""
    levels = column.levels()
    level = lowest_common(levels, categories, starts) if recoding is None else recoding
    node = levels[level, categories[starts]]
    texts = [_texts(column, number, nodes, plain) for number, nodes in enumerate(levels)]
    offsets = np.cumsum([0, *(len(of_level) for of_level in texts)])
    return pa.concat_arrays(texts).take(pa.array(offsets[level] + node))


def _texts(column: Column, level: int, nodes: np.ndarray, plain: bool) -> pa.Array:
    """Return the label of each node of a level, null for the null's own."""
    number = int(nodes.max(initial=-1)) + 1
    if column.labels is not None:
        named = column.labels[level]
        return pa.concat_arrays([named, pa.nulls(number - len(named), pa.string())])
    if level > 0:
        return pa.array([STAR])
    values = _value_texts(column, plain)
    return pa.concat_arrays([pa.nulls(number - len(values), pa.string()), values])


def _value_texts(column: Column, plain: bool) -> pa.Array:
    """Return the label of each single value."""
    texts = pc.cast(column.values, pa.string())
    if is_ordered(column.values.type):
        return texts
    return pa.array([value_set([text], plain=plain) for text in texts.to_pylist()], pa.string())


def _intervals(column: Column, categories: np.ndarray, starts: np.ndarray) -> pa.Array:
    """Return the interval from least to greatest value of each group; null is below all values."""
    null = int(column.has_null)
    high = np.maximum.reduceat(categories, starts)
    without_null = np.where(categories >= null, categories, np.iinfo(categories.dtype).max)
    low = np.minimum(np.minimum.reduceat(without_null, starts), high)
    some = np.minimum.reduceat(categories, starts) < null
    texts = [None] * null + pc.cast(column.values, pa.string()).to_pylist()
    shape = low.astype(np.int64) * len(texts) + high
    pairs, place = np.unique(shape * 2 + some, return_inverse=True)
    labels = []
    for pair in pairs.tolist():
        (first, last), with_null = divmod(pair // 2, len(texts)), bool(pair % 2)
        only_null = texts[last] is None
        labels.append(None if only_null else interval(texts[first], texts[last], with_null))
    return pa.array(labels, pa.string()).take(pa.array(place))


def _sets(column: Column, categories: np.ndarray, starts: np.ndarray, plain: bool) -> pa.Array:
    """Return the values of each group, in ascending order."""
    null, number = int(column.has_null), column.category()[1]
    texts = pc.cast(column.values, pa.string()).to_pylist()
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(categories)))
    in_group, member = np.divmod(distinct(group * number + categories), number)
    ends = np.flatnonzero(np.diff(in_group, append=len(starts))) + 1
    members, before = member.tolist(), 0
    seen: dict[tuple[int, ...], str | None] = {}
    labels = []
    for end in ends.tolist():
        run, before = tuple(members[before:end]), end
        if run not in seen:
            values = [texts[category - null] for category in run if category >= null]
            with_null = len(values) < len(run)
            seen[run] = value_set(values, with_null, plain=plain) if values else None
        labels.append(seen[run])
    return pa.array(labels, pa.string())
