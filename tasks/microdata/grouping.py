"""Microdata as groups: rows with equal values in some columns, and the people they may be about."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import count, count_people, cover, with_labels
from sfumato.expectations.groups.groups import Groups, Joint, Population, RelatedRows
from sfumato.expectations.shared.arrow import distinct_values, places_among
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.microdata.table import Column, Microdata, OwnedRows, encode, key

_BETWEEN, _NULL = "\x1f", "\\0"


def groups_of(
    microdata: Microdata,
    columns: Sequence[str],
    sensitive: Sequence[str],
    covered: Sequence[str] = (),
    labelled: Sequence[str] = (),
) -> Groups:
    """Return the groups of rows with equal values in `columns`, in ascending order of these.

    Args:
        microdata: the table.
        columns: the columns whose values tell groups apart; nulls are a value.
        sensitive: the attributes whose values are counted, of the table or of its related rows.
        covered: the columns whose values in each group are recorded.
        labelled: those of `columns` whose values are the labels of groups.
    """
    keys, bound = key([microdata[name] for name in columns], microdata.rows)
    own = [name for name in sensitive if microdata.has(name)]
    counted = count(keys, bound, {name: microdata[name].counted_codes() for name in own})
    if microdata.related is not None:
        group = np.searchsorted(distinct(keys), keys)
        of_others = [name for name in sensitive if name not in own]
        counted = replace(counted, related=related_rows(microdata.related, group, of_others))
    if labelled:
        counted = with_labels(counted, keys, {n: microdata[n].category()[0] for n in labelled})
    if not covered:
        return counted
    group = np.searchsorted(distinct(keys), keys)
    covers = {name: cover(group, *microdata[name].category()) for name in covered}
    return replace(counted, covers=covers)


def related_rows(related: OwnedRows, group: np.ndarray, sensitive: Sequence[str]) -> RelatedRows:
    """Count the related rows of groups, with their owners.

    Args:
        related: the rows.
        group: the group of each owner (int64).
        sensitive: the attributes of the rows that are counted.
    """
    from sfumato.expectations.groups.related import count_related  # few tables have such rows

    coded = {name: related.table[name].counted_codes() for name in sensitive}
    return count_related(group[related.owner], related.owner, coded)


def groups_of_people(
    microdata: Microdata, columns: Sequence[str], groups: Groups, sensitive: Sequence[str]
) -> Groups:
    """Return the groups that `groups_of` has made, with the people of their rows.

    Args:
        microdata: the table, with the person of each row.
        columns: as in `groups_of`.
        groups: made of the same table.
        sensitive: as in `groups_of`.
    """
    keys, _ = key([microdata[name] for name in columns], microdata.rows)
    group = np.searchsorted(distinct(keys), keys)
    codes = {name: microdata[name].counted_codes().codes for name in sensitive}
    people = count_people(group, np.asarray(microdata.person), groups, codes)
    return replace(groups, people=people)


def groups_within(
    microdata: Microdata, population: Microdata, columns: Sequence[str], sensitive: Sequence[str]
) -> Groups:
    """Return the groups, with the number of people of a population that each could be about.

    Args:
        microdata: the table, whose people belong to the population.
        population: a table with at least these columns; attributes of `sensitive` that it also has
            are counted jointly.
        columns: the columns whose values tell groups apart.
        sensitive: the attributes whose values are counted.

    Raises:
        InputError: if a column of the population has other values by their type.
    """
    jointly_counted = [name for name in sensitive if population.has(name)]
    shared = {
        name: _with_shared_values(microdata[name], population[name])
        for name in [*columns, *jointly_counted]
    }
    rows = microdata.keep(shared[c.name][0] if c.name in shared else c for c in microdata.columns)
    people = population.keep(pair[1] for pair in shared.values())
    groups = groups_of(rows, columns, sensitive)
    both = Microdata(tuple(_stack(*shared[n]) for n in columns), rows.rows + people.rows)
    keys, _ = key(both.columns, both.rows)
    classes = distinct(keys[: rows.rows])
    place = np.searchsorted(classes, keys[rows.rows :])
    place = np.minimum(place, len(classes) - 1)
    matched = classes[place] == keys[rows.rows :] if len(classes) else np.zeros(people.rows, bool)
    sizes = np.bincount(place[matched], minlength=len(groups)).astype(np.int64)
    joint = {
        name: _joint(place[matched], people[name], matched, rows[name]) for name in jointly_counted
    }
    counted_population = Population(sizes, people.rows - int(matched.sum()), joint)
    return replace(groups, population=counted_population)


def _with_shared_values(column: Column, other: Column) -> tuple[Column, Column]:
    """Return two columns of the same name, with codes into the values of both."""
    common = common_type(column.values.type, other.values.type)
    if common is None:
        raise InputError(
            f"population: column {column.name!r} has type {other.values.type} here, "
            f"and {column.values.type} in the table. Give both the same type (sfumato "
            "measure: --types)"
        )
    column, other = (replace(c, values=c.values.cast(common)) for c in (column, other))
    values = distinct_values([column.values, other.values])
    return recode(column, values), recode(other, values)


def common_type(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    """Return the type in which values are compared, or None; decimals may differ in length."""
    if first == second:
        return first
    if pa.types.is_decimal128(first) and pa.types.is_decimal128(second):
        return pa.decimal256(76, max(first.scale, second.scale))
    return None


def recode(column: Column, values: pa.Array) -> Column:
    """Return a column coded by values that include all of its own."""
    codes = np.append(places_among(column.values, values), -1).astype(np.int32)[column.codes]
    return replace(column, values=values, codes=codes, ancestors=None)


def _stack(column: Column, other: Column) -> Column:
    return replace(column, codes=np.concatenate([column.codes, other.codes]))


def _joint(group: np.ndarray, people: Column, matched: np.ndarray, published: Column) -> Joint:
    """Return the sensitive values of a population's people by group; groups are exact vectors."""
    codes = people.codes[matched].astype(np.int64) + int(published.has_null)
    has_value = codes >= 0
    values = len(people.values) + 1
    pairs, counts = np.unique(group[has_value] * values + codes[has_value], return_counts=True)
    groups, value = np.divmod(pairs, values)
    return Joint(groups, np.zeros(len(groups), dtype=np.int64), value, counts)


def as_tuples(name: str, arrays: Sequence[pa.Array | pa.ChunkedArray]) -> Column:
    """Return several columns as a sensitive one: a text for each tuple of values, with nulls."""
    texts = [_escape(array.cast(pa.string())) for array in arrays]
    joined = pc.binary_join_element_wise(
        *texts, _BETWEEN, null_handling="replace", null_replacement=_NULL
    )
    return encode(name, "sensitive", joined)


def _escape(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Escape texts so that nothing in them stands for a boundary or a null."""
    return pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), _BETWEEN, "\\s")
