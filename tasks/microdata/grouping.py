"""Microdata as groups: rows with equal values in some columns, and whom they are drawn from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import count, count_people, cover
from sfumato.expectations.groups.groups import Groups, Joint, Population
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.microdata.table import Column, Microdata, encode, key

_BETWEEN, _NULL = "\x1f", "\\0"


def groups_of(
    microdata: Microdata, by: Sequence[str], sensitive: Sequence[str], covered: Sequence[str] = ()
) -> Groups:
    """The groups of rows that have equal values in the columns `by`, in ascending order of these.

    Args:
        microdata: the table.
        by: the columns whose values tell groups apart; nulls are a value.
        sensitive: the attributes whose values are counted.
        covered: the columns of which is told which values each group has.
    """
    keys, bound = key([microdata[name] for name in by], microdata.rows)
    counted = count(keys, bound, {name: microdata[name].coded() for name in sensitive})
    if not covered:
        return counted
    group = np.searchsorted(distinct(keys), keys)
    covers = {name: cover(group, *microdata[name].category()) for name in covered}
    return replace(counted, covers=covers)


def groups_of_people(
    microdata: Microdata, by: Sequence[str], groups: Groups, sensitive: Sequence[str]
) -> Groups:
    """The groups that `groups_of` has made, with whose their rows are.

    Args:
        microdata: the table, which says whose each row is.
        by: as there.
        groups: made of the same.
        sensitive: as there.
    """
    keys, _ = key([microdata[name] for name in by], microdata.rows)
    group = np.searchsorted(distinct(keys), keys)
    codes = {name: microdata[name].coded().codes for name in sensitive}
    people = count_people(group, np.asarray(microdata.person), groups, codes)
    return replace(groups, people=people)


def groups_within(
    microdata: Microdata, population: Microdata, by: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """The same groups, with how many people of a population each could be about.

    Args:
        microdata: the table, whose people belong to the population.
        population: a table with at least the columns `by`; attributes of `sensitive` that it has,
            too, are counted jointly.
        by: the columns whose values tell groups apart.
        sensitive: the attributes whose values are counted.

    Raises:
        InputError: where a column of the population has other values by their type.
    """
    told = [name for name in sensitive if population.has(name)]
    shared = {name: _shared(microdata[name], population[name]) for name in [*by, *told]}
    rows = microdata.keep(shared[c.name][0] if c.name in shared else c for c in microdata.columns)
    people = population.keep(pair[1] for pair in shared.values())
    groups = groups_of(rows, by, sensitive)
    both = Microdata(tuple(_stacked(*shared[n]) for n in by), rows.rows + people.rows)
    keys, _ = key(both.columns, both.rows)
    classes = distinct(keys[: rows.rows])
    place = np.searchsorted(classes, keys[rows.rows :])
    place = np.minimum(place, len(classes) - 1)
    matched = classes[place] == keys[rows.rows :] if len(classes) else np.zeros(people.rows, bool)
    sizes = np.bincount(place[matched], minlength=len(groups)).astype(np.int64)
    joint = {name: _joint(place[matched], people[name], matched, rows[name]) for name in told}
    found = Population(sizes, people.rows - int(matched.sum()), joint)
    return replace(groups, population=found)


def _shared(column: Column, other: Column) -> tuple[Column, Column]:
    """Two columns of the same name, with codes into the values of both."""
    common = common_type(column.values.type, other.values.type)
    if common is None:
        raise InputError(
            f"population: column {column.name!r} holds {other.values.type}, "
            f"the table {column.values.type}: give both one type (sfumato measure: --types)"
        )
    column, other = (replace(c, values=c.values.cast(common)) for c in (column, other))
    values = pc.unique(pa.concat_arrays([column.values, other.values]))
    values = values.take(pc.sort_indices(values))
    return _recoded(column, values), _recoded(other, values)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type in which values are compared: one for both, but decimals may differ in length."""
    if one == other:
        return one
    if pa.types.is_decimal128(one) and pa.types.is_decimal128(other):
        return pa.decimal256(76, max(one.scale, other.scale))
    return None


def _recoded(column: Column, values: pa.Array) -> Column:
    place = pc.index_in(column.values, value_set=values).to_numpy(zero_copy_only=False)
    codes = np.append(place, -1).astype(np.int32)[column.codes]
    return replace(column, values=values, codes=codes, ancestors=None)


def _stacked(column: Column, other: Column) -> Column:
    return replace(column, codes=np.concatenate([column.codes, other.codes]))


def _joint(group: np.ndarray, people: Column, matched: np.ndarray, shown: Column) -> Joint:
    """The sensitive values of a population's people by group; each group is one exact vector."""
    codes = people.codes[matched].astype(np.int64) + int(shown.has_null)
    known = codes >= 0
    values = len(people.values) + 1
    pairs, counts = np.unique(group[known] * values + codes[known], return_counts=True)
    groups, value = np.divmod(pairs, values)
    return Joint(groups, np.zeros(len(groups), dtype=np.int64), value, counts)


def as_tuples(name: str, arrays: Sequence[pa.Array | pa.ChunkedArray]) -> Column:
    """Several columns as a sensitive one: a text for each tuple of values, nulls among them."""
    texts = [_escaped(array.cast(pa.string())) for array in arrays]
    joined = pc.binary_join_element_wise(
        *texts, _BETWEEN, null_handling="replace", null_replacement=_NULL
    )
    return encode(name, "sensitive", joined)


def _escaped(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Texts in which nothing stands for a boundary, or for a null."""
    return pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), _BETWEEN, "\\s")
