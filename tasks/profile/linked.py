"""Two tables joined by their key: whose each row is, and what can be promised about the rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.models.related import RelatedAlpha, RelatedDiversity
from sfumato.expectations.shared.arrow import distinct_values, places_among
from sfumato.expectations.shared.numbers import Number
from sfumato.tasks.microdata.grouping import groups_of
from sfumato.tasks.microdata.related import MatchedRows, leave_out_above
from sfumato.tasks.microdata.table import Column, Microdata, OwnedRows
from sfumato.tasks.profile.keys import TableKey
from sfumato.tasks.profile.table import FoundTable

DIVERSE = (3, 2)
"""The numbers of values that a draft promises, the wished one first."""
_TRIED = 60  # most limits to the rows of one person that are tried


@dataclass(frozen=True, eq=False)
class LinkedTables:
    """People with the rows of a second table.

    Attributes:
        key: the column of each table by which rows name people.
        people: the people, each once, with the rows that are theirs; no columns of their own.
        rows_read: the number of rows of the second table.
        orphans: the number of rows of nobody in the table of people.
        missing: the number of rows without a key.
        repeated: the number of people who are in several rows of the table of people.
        unnumbered: the number of rows of the table of people without a key.
        first_rows: the row of each person in the table of people (int64, ascending).
    """

    key: TableKey
    people: Microdata
    rows_read: int
    orphans: int
    missing: int
    repeated: int
    unnumbered: int
    first_rows: np.ndarray

    @cached_property
    def rows_of_person(self) -> np.ndarray:
        """The number of rows of each person (int64)."""
        related = self.people.related
        owner = np.empty(0, np.int64) if related is None else related.owner
        return np.bincount(owner, minlength=self.people.rows)

    @property
    def without_rows(self) -> int:
        """The number of people without rows."""
        return int((self.rows_of_person == 0).sum())

    @property
    def most(self) -> int:
        """The number of rows of whoever has most."""
        return int(self.rows_of_person.max(initial=0))

    def numbers_of_rows(self) -> Iterator[tuple[int, int]]:
        """Yield each number of rows that a person has, ascending, with the number of people."""
        numbers, people = np.unique(self.rows_of_person, return_counts=True)
        yield from zip(numbers.tolist(), people.tolist(), strict=True)

    def values(self, column: str) -> int:
        """Return the largest number of values of `DIVERSE` that can be promised; 0 for none.

        It can be promised if all people as one group keep the promise.
        """
        return next((number for number in DIVERSE if self.keeps(column, number)), 0)

    def keeps(self, column: str, number: int, insiders: int = 0) -> bool:
        """Decide whether all people as one group may have so many values, none of which surely."""
        promise = RelatedDiversity(l=number, sensitive=column, insiders=1 if insiders else 0)
        return promise.check(groups_of(self.people, [], [column])).holds

    def least_alpha(self, column: str) -> Number:
        """Return the smallest share α that all people as one group keep."""
        worst, _ = RelatedAlpha(alpha=Decimal(1), sensitive=column).worst(
            groups_of(self.people, [], [column])
        )
        return worst["alpha"]

    def with_most(self, most: int) -> "LinkedTables":
        """Return the tables without people who have more rows than `most`."""
        matched = MatchedRows(self.people, 0, 0)
        return replace(self, people=leave_out_above(matched, most, "").microdata)


def link(key: TableKey) -> LinkedTables:
    """Give each row to the person whom its key names."""
    people, rows = key.people.found, key.rows.found
    names, of_rows = _alike(*key.columns)
    values = distinct_values([names.values, of_rows.values])
    first = _first_rows(names)
    person = np.full(len(values) + 1, -1, dtype=np.int64)
    person[places_among(names.values, values)[names.codes[first]]] = np.arange(len(first))
    place = np.append(places_among(of_rows.values, values), -1)
    owner = person[place[of_rows.codes]]
    matched = np.flatnonzero((of_rows.codes >= 0) & (owner >= 0))
    missing = int((of_rows.codes < 0).sum())
    table = rows.microdata.take(matched)
    related = OwnedRows(owner[matched], table)
    times = np.bincount(names.codes[names.codes >= 0], minlength=len(names.values))
    return LinkedTables(
        key=key,
        people=Microdata((), len(first), related=related),
        rows_read=rows.microdata.rows,
        orphans=rows.microdata.rows - len(matched) - missing,
        missing=missing,
        repeated=int((times > 1).sum()),
        unnumbered=people.microdata.rows - int(times.sum()),
        first_rows=first,
    )


def _first_rows(names: Column) -> np.ndarray:
    """Return the first row of each value (int64, ascending)."""
    codes, first = np.unique(names.codes, return_index=True)
    return np.sort(first[codes >= 0])


def _alike(people: Column, rows: Column) -> tuple[Column, Column]:
    """Return two columns with values of the same type; values of other types become texts."""
    if people.values.type == rows.values.type:
        return people, rows
    return as_texts(people), as_texts(rows)


def as_texts(column: Column) -> Column:
    """Return a column with its values as texts, in the order of texts."""
    texts = pc.cast(column.values, pa.string())
    order = np.asarray(pc.sort_indices(texts))
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(order)), -1
    return replace(column, values=texts.take(pa.array(order)), codes=rank[column.codes])


def limit_needed(linked: LinkedTables, columns: Sequence[str]) -> int | None:
    """Return the most rows of a person with which more columns can be promised; None for none.

    If one person has very many rows, that person surely has the most frequent value: then nothing
    can be promised unless people with so many rows are left out.
    """
    broken = [name for name in columns if not linked.values(name)]
    if not broken:
        return None
    numbers = [number for number, _ in linked.numbers_of_rows() if 0 < number < linked.most]
    for most in numbers[: -_TRIED - 1 : -1]:
        fewer = linked.with_most(most)
        if all(fewer.values(name) for name in broken):
            return most
    return None


def with_names(table: FoundTable, names: Mapping[str, str]) -> FoundTable:
    """Return a table with other names of some columns, as its source declares them then.

    Args:
        table: as it was read.
        names: the new names, by the names that the columns have now.
    """
    if not names:
        return table
    source = table.source
    before = {new: old for old, new in source.rename.items()}
    renamed = {before.get(name, name): new for name, new in names.items()}
    formats = {names.get(name, name): text for name, text in source.date_formats.items()}
    seen = tuple(names.get(name, name) for name in source.seen)
    others = {old: new for old, new in source.rename.items() if old not in renamed}
    changes = {"rename": {**others, **renamed}, "date_formats": formats, "seen": seen}
    columns = (replace(c, name=names.get(c.name, c.name)) for c in table.microdata.columns)
    return replace(
        table,
        source=source.model_copy(update=changes),
        types={names.get(name, name): type_ for name, type_ in table.types.items()},
        microdata=table.microdata.keep(columns),
        unfit=tuple(replace(u, name=names.get(u.name, u.name)) for u in table.unfit),
    )
