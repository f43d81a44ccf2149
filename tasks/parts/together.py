"""What is known of all parts before any of them is made: counts, values, and promises of each."""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
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
    places,
    terms_of_part,
    with_rest,
)
from sfumato.tasks.terms.assessment import numbers
from sfumato.tasks.terms.parts import Where
from sfumato.tasks.terms.terms import Terms

_PART = "/part"  # no column has this name
_MOST = 20_000_000  # distinct rows


_VALUE, _COUNT = "value", "count"


def totals_of(pieces: Sequence[StratumOnDisk], name: str) -> Totals:
    """How often each value of a column occurs in the rows of some strata."""
    totals = Totals(name)
    for table in read_columns(pieces, [name]):
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        found = pc.value_counts(column)
        totals.add_values(found.field("values"), found.field("counts").to_numpy())
    return totals


def totals_of_parts(of_parts: Sequence[Totals]) -> Totals:
    """The same of all parts."""
    whole = Totals(of_parts[0].name)
    for one in of_parts:
        whole.add_totals(one)
    return whole


@dataclass(frozen=True)
class ValuesOnDisk:
    """How often values occur, where whoever makes a part reads it.

    Attributes:
        all: in all parts.
        strata: in strata that were cut into pieces, by the numbers of a part's pieces.
    """

    all: Path
    strata: tuple[tuple[int, Path], ...]


@contextmanager
def values_of_all(
    parts: Sequence[PartOnDisk], terms: Terms, stage: Path
) -> Iterator[list[ValuesOnDisk | None]]:
    """How often values occur, for each part, in a stage, and gone at the end.

    Nothing is left there unless groups are declared to have distributions: these are over the
    values of all parts, and that of a stratum is over all of its rows.
    """
    if not terms.form.declares:
        yield [None] * len(parts)
        return
    place = private_directory(stage / "values")
    try:
        yield list(_written(parts, terms, place))
    finally:
        shutil.rmtree(place)


def _written(parts: Sequence[PartOnDisk], terms: Terms, place: Path) -> Iterator[ValuesOnDisk]:
    (name,), columns = terms.named("sensitive"), len(terms.strata)
    cut = _written_strata(parts, columns, name, place)
    whole = totals_of_parts([totals_of(part.strata, name) for part in parts])
    everything = _write(place / "all.parquet", whole)
    for part in parts:
        wheres = [one.where[:columns] for one in part.strata]
        told = ((number, cut[where]) for number, where in enumerate(wheres) if where in cut)
        yield ValuesOnDisk(everything, tuple(told))


def _written_strata(
    parts: Sequence[PartOnDisk], columns: int, name: str, place: Path
) -> dict[Where, Path]:
    """Files of the strata that were cut, by what tells these from others."""
    pieces = defaultdict[Where, list[StratumOnDisk]](list)
    for one in (one for part in parts for one in part.strata):
        pieces[one.where[:columns]].append(one)
    cut = {where: of for where, of in pieces.items() if len(of) > 1}
    return {
        where: _write(place / f"{number}.parquet", totals_of(of, name))
        for number, (where, of) in enumerate(cut.items())
    }


def _write(path: Path, totals: Totals) -> Path:
    found = pa.table({_VALUE: totals.values, _COUNT: totals.counts})
    pq.write_table(found.filter(pc.is_valid(found[_VALUE])), path)  # parts with nulls are refused
    return path


def _read(path: Path, name: str) -> Totals:
    table = pq.ParquetFile(path).read()
    return Totals(name, table[_VALUE].combine_chunks(), table[_COUNT].to_numpy())


def over_all_values(
    rows: Microdata, part: PartOnDisk, name: str, values: ValuesOnDisk
) -> tuple[Microdata, CountsOfAllRows]:
    """The rows of a part, whose column may have every value of any part, and how often they occur.

    Args:
        rows: of the part, in its order.
        part: which has so many of each piece.
        name: the column.
        values: what was left for the part.
    """
    column, whole = rows[name], _read(values.all, name)
    place = np.append(places(column.values, whole.values), -1).astype(np.int32)  # of null: -1
    wide = replace(column, values=whole.values, codes=place[column.codes])
    piece = np.repeat(np.arange(len(part.strata)), [one.rows for one in part.strata])
    strata = {number: _wide(_read(path, name), whole) for number, path in values.strata}
    others = (wide if one.name == name else one for one in rows.columns)
    return Microdata(tuple(others), rows.rows), CountsOfAllRows(whole.counts, piece, strata)


def _wide(totals: Totals, whole: Totals) -> np.ndarray:
    """How often each value of all occurs in some rows (int64)."""
    counts = np.zeros(len(whole.counts), dtype=np.int64)
    counts[places(totals.values, whole.values)] = totals.counts
    return counts


def choose_for_all(parts: Sequence[PartOnDisk], terms: Terms) -> Partitioner | None:
    """The partition of each part where something is chosen for all rows; None where nothing is.

    Raises:
        PromiseError: where the promises cannot be kept, or there are too many distinct rows.
    """
    if not terms.partition.chosen_once:
        return None
    table, number = _distinct(parts, terms)
    columns = [encode(n, terms.columns[n].role, table[n]) for n in _named(terms)]
    part = Column(_PART, "drop", pa.array(range(len(parts))), number)
    microdata = with_hierarchies(Microdata((*columns, part), table.num_rows), terms.hierarchies)
    marked, strata = with_strata(microdata, terms.strata)
    times = table["count_all"].to_numpy()
    choose = CHOICES[terms.partition.method]
    return choose(marked, times, (*strata, _PART), terms.promises, terms.partition)


def _distinct(parts: Sequence[PartOnDisk], terms: Terms) -> tuple[pa.Table, np.ndarray]:
    """The distinct rows of every part with their counts, and the part of each (int32)."""
    names, found = _named(terms), []
    for part in parts:
        rows = pa.concat_tables(map(_decoded, read_columns(part.strata, names)))
        found.append(rows.group_by(names).aggregate([([], "count_all")]))
        if sum(table.num_rows for table in found) > _MOST:
            raise PromiseError(
                f"{terms.partition.method}: there are more than {_MOST} distinct rows, too many "
                "to choose for all of them: mondrian groups each part by itself"
            )
    number = np.repeat(np.arange(len(found)), [table.num_rows for table in found])
    return pa.concat_tables(found), number.astype(np.int32)


def _named(terms: Terms) -> list[str]:
    """The columns that tell groups apart, and those that promises and costs are about."""
    return terms.named("quasi-identifier", "sensitive") + [
        name
        for name in terms.named("insensitive")
        if name in {getattr(stratum, "column", stratum) for stratum in terms.strata}
    ]


def _decoded(table: pa.Table) -> pa.Table:
    plain = {
        name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(plain)


def terms_of_parts(parts: Sequence[PartOnDisk], terms: Terms) -> list[Terms]:
    """What each part declares by itself, with promises for its groups alone.

    Raises:
        PromiseError: where a part is too unlike the whole for a promise that compares with it.
    """
    names = compared_columns(terms.promises)
    of_parts = {name: [totals_of(part.strata, name) for part in parts] for name in names}
    whole = {name: totals_of_parts(of) for name, of in of_parts.items()}
    declared = []
    for number, part in enumerate(parts):
        called = f"part {number + 1} of {len(parts)}"
        seen = {
            name: with_rest(_as_group(of[number]), whole[name], terms.columns)
            for name, of in of_parts.items()
        }
        promises = tuple(
            _of_part(p, seen[str(p.sensitive)], called) if p.compares_with_all else p
            for p in terms.promises
        )
        own = terms_of_part(terms, part.name, len(parts))
        declared.append(own.model_copy(update={"promises": promises}))
    return declared


def _of_part(promise: PrivacyModel, seen: Groups, called: str) -> PrivacyModel:
    found = promise.for_part(seen)
    if found is None:
        raise PromiseError(
            f"{promise.name} cannot be kept in parts: required {numbers(promise.required())}, and "
            f"{called} as one group is as far from all rows, or farther: cut by a column that "
            "tells less of the sensitive one"
        )
    return found


def _as_group(totals: Totals) -> Groups:
    """All rows of a part as one group."""
    values = totals.values
    number = len(totals.counts)
    counts = Counts(
        np.zeros(number, dtype=np.int64),
        places(values, values),
        totals.counts,
        number,
        None,
        values,
    )
    return Groups(np.array([totals.counts.sum()]), {totals.name: counts})
