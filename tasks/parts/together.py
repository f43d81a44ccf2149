"""Facts about all parts of a table, gathered before any part is made: counts, values, promises.

A promise that compares a group with all rows, and a form that shows distributions, need the values
of all parts, but a worker has only one part. A *stratum* is the rows that have certain values in
the columns that the spec names under `strata`; a stratum that is too large was cut into *pieces*.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.arrow import places_among
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.grouping import recode
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Column, Microdata, encode
from sfumato.tasks.partitions.distribution.target_distributions import CountsOfAllRows
from sfumato.tasks.partitions.partition import Partitioner, with_strata
from sfumato.tasks.partitions.registry import CHOICES
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.strata import StratumOnDisk, read_columns
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.publication.parts import (
    Totals,
    compared_columns,
    terms_of_part,
    with_rest,
)
from sfumato.tasks.terms.assessment import numbers
from sfumato.tasks.terms.parts import Where
from sfumato.tasks.terms.terms import Terms

_PART = "/part"  # no column has this name
_MOST = 20_000_000  # most distinct rows that a partition is chosen for


def totals_of(pieces: Sequence[StratumOnDisk], name: str) -> Totals:
    """Return how often each value of a column occurs in the rows of some strata."""
    totals = Totals(name)
    for table in read_columns(pieces, [name]):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        value_counts = pc.value_counts(column)
        totals.add_values(value_counts.field("values"), value_counts.field("counts").to_numpy())
    return totals


def totals_of_parts(of_parts: Sequence[Totals]) -> Totals:
    """Return how often each value occurs in all parts."""
    whole = Totals(of_parts[0].name)
    for totals in of_parts:
        whole.add_totals(totals)
    return whole


@dataclass(frozen=True)
class ValuesOnDisk:
    """Files with the counts of values, for the worker that makes a part.

    Attributes:
        all: the file with the counts of all parts.
        strata: for each piece of the part whose stratum was cut, its number in the part, and the
            file with the counts of the whole stratum.
    """

    all: Path
    strata: tuple[tuple[int, Path], ...]


@contextmanager
def values_of_all(
    parts: Sequence[PartOnDisk], terms: Terms, stage: Path
) -> Iterator[list[ValuesOnDisk | None]]:
    """Write the counts of values for each part into a stage, and delete them at the end.

    Nothing is written, and None is yielded for each part, unless the form shows distributions.
    Distributions are over the values of all parts, and the distribution of a stratum counts all
    rows of the stratum, in whichever parts they are.
    """
    if not terms.form.declares:
        yield [None] * len(parts)
        return
    place = private_directory(stage / "values")
    try:
        yield list(_write_values(parts, terms, place))
    finally:
        shutil.rmtree(place)


def _write_values(parts: Sequence[PartOnDisk], terms: Terms, place: Path) -> Iterator[ValuesOnDisk]:
    (name,), columns = terms.names_with_roles("sensitive"), len(terms.strata)
    cut = _write_strata(parts, columns, name, place)
    whole = totals_of_parts([totals_of(part.strata, name) for part in parts])
    everything = _write(place / "all.parquet", whole)
    for part in parts:
        wheres = [stratum.where[:columns] for stratum in part.strata]
        cut_strata = ((number, cut[where]) for number, where in enumerate(wheres) if where in cut)
        yield ValuesOnDisk(everything, tuple(cut_strata))


def _write_strata(
    parts: Sequence[PartOnDisk], columns: int, name: str, place: Path
) -> dict[Where, Path]:
    """Write the counts of each stratum that was cut; return the files by the strata's definitions.

    `columns` is the number of columns of strata: so many shares define a stratum.
    """
    pieces = defaultdict[Where, list[StratumOnDisk]](list)
    for stratum in (stratum for part in parts for stratum in part.strata):
        pieces[stratum.where[:columns]].append(stratum)
    cut = {where: strata for where, strata in pieces.items() if len(strata) > 1}
    return {
        where: _write(place / f"{number}.parquet", totals_of(strata, name))
        for number, (where, strata) in enumerate(cut.items())
    }


def _write(path: Path, totals: Totals) -> Path:
    totals.write(path, nulls=False)  # parts with nulls are refused
    return path


def over_all_values(
    rows: Microdata, part: PartOnDisk, name: str, values: ValuesOnDisk
) -> tuple[Microdata, CountsOfAllRows]:
    """Return the rows of a part with one column coded by the values of all parts, and counts.

    Args:
        rows: the rows of the part, in its order.
        part: the part, which has the number of rows of each piece.
        name: the column.
        values: the files for the part.
    """
    column, whole = rows[name], Totals.read(values.all, name)
    wide = recode(column, whole.values)
    piece = np.repeat(np.arange(len(part.strata)), [stratum.rows for stratum in part.strata])
    strata = {number: _wide(Totals.read(path, name), whole) for number, path in values.strata}
    others = (wide if other.name == name else other for other in rows.columns)
    return Microdata(tuple(others), rows.rows), CountsOfAllRows(whole.counts, piece, strata)


def _wide(totals: Totals, whole: Totals) -> np.ndarray:
    """Return how often each value of the whole table occurs in some rows (int64)."""
    counts = np.zeros(len(whole.counts), dtype=np.int64)
    counts[places_among(totals.values, whole.values)] = totals.counts
    return counts


def choose_for_all(parts: Sequence[PartOnDisk], terms: Terms) -> Partitioner | None:
    """Return the partition of every part if it is chosen for all rows, otherwise None.

    Raises:
        PromiseError: if the promises cannot be kept, or there are too many distinct rows.
    """
    if not terms.partition.chosen_once:
        return None
    table, number = _distinct(parts, terms)
    columns = [encode(n, terms.columns[n].role, table[n]) for n in _grouping_columns(terms)]
    part = Column(_PART, "drop", pa.array(range(len(parts))), number)
    microdata = with_hierarchies(Microdata((*columns, part), table.num_rows), terms.hierarchies)
    marked, strata = with_strata(microdata, terms.strata)
    times = table["count_all"].to_numpy()
    choose = CHOICES[terms.partition.method]
    promises = terms.form.grouped_by(terms.promises, terms.partition)
    return choose(marked, times, (*strata, _PART), promises, terms.partition)


def _distinct(parts: Sequence[PartOnDisk], terms: Terms) -> tuple[pa.Table, np.ndarray]:
    """Return the distinct rows of every part with their counts, and the part of each (int32)."""
    names, tables = _grouping_columns(terms), []
    for part in parts:
        rows = pa.concat_tables(map(_without_dictionaries, read_columns(part.strata, names)))
        tables.append(rows.group_by(names).aggregate([([], "count_all")]))
        if sum(table.num_rows for table in tables) > _MOST:
            raise PromiseError(
                f"{terms.partition.method}: there are more than {_MOST} different "
                "rows, too many for this partition. Use mondrian, which groups each "
                "part by itself"
            )
    number = np.repeat(np.arange(len(tables)), [table.num_rows for table in tables])
    return pa.concat_tables(tables), number.astype(np.int32)


def _grouping_columns(terms: Terms) -> list[str]:
    """Return the quasi-identifiers, the sensitive columns, and insensitive columns of strata."""
    return terms.names_with_roles("quasi-identifier", "sensitive") + [
        name
        for name in terms.names_with_roles("insensitive")
        if name in {getattr(stratum, "column", stratum) for stratum in terms.strata}
    ]


def _without_dictionaries(table: pa.Table) -> pa.Table:
    plain = {
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(plain)


def terms_of_parts(parts: Sequence[PartOnDisk], terms: Terms) -> list[Terms]:
    """Return the terms that each part declares, with promises only about the part's own groups.

    A promise that compares groups with all rows is replaced by one about the part by itself.

    Raises:
        PromiseError: if a part is too unlike the whole for a promise that compares with it.
    """
    names = compared_columns(terms.promises)
    of_parts = {name: [totals_of(part.strata, name) for part in parts] for name in names}
    whole = {name: totals_of_parts(totals) for name, totals in of_parts.items()}
    declared = []
    for number, part in enumerate(parts):
        called = f"part {number + 1} of {len(parts)}"
        seen = {
            name: with_rest(_as_group(totals[number]), whole[name], terms.columns)
            for name, totals in of_parts.items()
        }
        promises = tuple(
            _of_part(p, seen[str(p.sensitive)], called) if p.compares_with_all else p
            for p in terms.promises
        )
        own = terms_of_part(terms, part.name, len(parts))
        declared.append(own.model_copy(update={"promises": promises}))
    return declared


def _of_part(promise: PrivacyModel, seen: Groups, called: str) -> PrivacyModel:
    own = promise.for_part(seen)
    if own is None:
        raise PromiseError(
            f"{promise.name} cannot be kept in parts. Required is "
            f"{numbers(promise.required())}, and even {called} as one group differs as "
            "much from all rows, or more. Cut by a column that depends less on the "
            "sensitive column"
        )
    return own


def _as_group(totals: Totals) -> Groups:
    """Return all rows of a part as one group."""
    values = totals.values
    number = len(totals.counts)
    counts = Counts(
        np.zeros(number, dtype=np.int64),
        places_among(values, values),
        totals.counts,
        number,
        None,
        values,
    )
    return Groups(np.array([totals.counts.sum()]), {totals.name: counts})
