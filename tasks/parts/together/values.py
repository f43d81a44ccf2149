"""How often each value of a sensitive column occurs in all parts, and each in the rows of one."""

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

from sfumato.tasks.declaration.cuts import Where
from sfumato.tasks.declaration.terms import Terms
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.distribution.more_rows import CountsOfAllRows
from sfumato.tasks.parts.divided import PartOnDisk
from sfumato.tasks.parts.strata import StratumOnDisk, read_columns
from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.publication.parts import Totals, places

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
