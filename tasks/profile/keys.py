"""Keys between two tables: the column by which rows of one name the people of the other.

In the table of people nearly every row has a value of its own. Nearly all values of the other
column are among these. Where several pairs of columns are like that, those count whose names say
the same, such as `patient` twice, or `id` of customers and `customer_id`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.shared.errors import InputError, SpecError
from sfumato.tasks.microdata.readers.input_error import nearest
from sfumato.tasks.microdata.table import Column
from sfumato.tasks.profile.names import is_numbering, words_of
from sfumato.tasks.profile.table import FoundTable

_OF_KEYS = ("integer", "string", "decimal")
_OWN = Fraction(19, 20)  # least different values per row of people
_MATCHED = Fraction(9, 10)  # least share of rows that name a person of the other table
_PEOPLE = Fraction(1, 5)  # least share of people who have rows, if no name says that it is a key
_PREFIX = 3  # letters by which an abbreviation is recognised
_MOST = 4  # pairs of columns that one message lists


@dataclass(frozen=True)
class NamedTable:
    """One of two tables.

    Attributes:
        name: its name in the spec and in queries.
        found: the table as it was read.
    """

    name: str
    found: FoundTable

    @property
    def uri(self) -> str:
        """The address of its source."""
        return self.found.source.uri


@dataclass(frozen=True)
class TableKey:
    """A column of people, and the column by which rows of another table name them.

    Attributes:
        people: the table of people.
        rows: the table of rows.
        of_people: the column of people.
        of_rows: the column of rows.
        by: how it was found: the names of the columns, their values alone, or an option.
    """

    people: NamedTable
    rows: NamedTable
    of_people: str
    of_rows: str
    by: str = "names"

    @property
    def option(self) -> str:
        """The option that chooses it."""
        pair = (self.of_people, self.of_rows)
        return f"--key {pair[0]}" if pair[0] == pair[1] else f"--key {pair[0]}={pair[1]}"

    @property
    def columns(self) -> tuple[Column, Column]:
        """The column of people, and that of rows."""
        people, rows = self.people.found.microdata, self.rows.found.microdata
        return people[self.of_people], rows[self.of_rows]


def find_key(tables: Sequence[NamedTable], option: str | None) -> TableKey:
    """Return the key between two tables, chosen by the option `--key`, or found.

    Args:
        tables: the two tables; if each person has one row in both, the first is that of people.
        option: a column of both, or `A=B` for columns of different names; None to find it.

    Raises:
        SpecError: where the option names no key.
        InputError: where there is no key, or several may be it.
    """
    if option is not None:
        return _chosen_key(tables, option)
    candidates = list(_candidates(tables))
    for way, fits in _BY_RANK:
        fitting = [replace(key, by=way) for key in candidates if fits(key)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InputError(_words_on_several(tables, fitting))
    raise InputError(_words_on_none(tables))


def _chosen_key(tables: Sequence[NamedTable], option: str) -> TableKey:
    first, equals, second = (text.strip() for text in option.partition("="))
    pairs = [(first, second or first)]
    pairs += [(second, first)] if equals and second != first else []
    has = [{c.name for c in table.found.microdata.columns} for table in tables]
    pair = next((pair for pair in pairs if pair[0] in has[0] and pair[1] in has[1]), None)
    if pair is None:
        raise SpecError(_words_on_missing(tables, pairs[0], equals=bool(equals)))
    ways = list(_directions(tables, *pair, way="option"))
    best = max(ways, key=_own_values)
    if _own_values(best) < _OWN:
        raise SpecError(
            f"--key {option}: several rows have the same value in both files, so neither is a "
            "table of people. Choose a column that has each person once in one of the files"
        )
    return _by_direction([way for way in ways if _own_values(way) >= _OWN])


def _words_on_missing(tables: Sequence[NamedTable], pair: tuple[str, str], *, equals: bool) -> str:
    """Return why an option names no columns of the two tables, and what to type instead."""
    for name, table in zip(pair, tables, strict=True):
        names = [column.name for column in table.found.microdata.columns]
        if name not in names:
            guess = nearest(name, names) or "."
            other = "" if equals else " If it has another name there, type --key COLUMN=COLUMN"
            return f"--key: {table.uri} has no column {name!r}{guess}{other}".rstrip(".")
    return f"--key {pair[0]}: names no column of each file"


def _candidates(tables: Sequence[NamedTable]) -> Iterator[TableKey]:
    """Yield all pairs of columns that may be a key, each in its direction."""
    columns = [
        [
            column
            for column in table.found.microdata.columns
            if table.found.types[column.name] in _OF_KEYS and len(column.values) > 1
        ]
        for table in tables
    ]
    for first, second in product(*columns):
        ways = _directions(tables, first.name, second.name, way="names")
        fitting = [
            way for way in ways if _own_values(way) >= _OWN and _share_matched(way) >= _MATCHED
        ]
        if fitting:
            yield _by_direction(fitting)


def _directions(
    tables: Sequence[NamedTable], first: str, second: str, way: str
) -> Iterator[TableKey]:
    yield TableKey(tables[0], tables[1], first, second, way)
    yield TableKey(tables[1], tables[0], second, first, way)


def _by_direction(ways: Sequence[TableKey]) -> TableKey:
    """Return the way in which rows name people: the first of those in which people have most."""
    return max(ways, key=lambda way: (_repeats(way), len(way.columns[0].values)))


def _own_values(key: TableKey) -> Fraction:
    """Return the different values per row of the column of people; 0 if rows lack it."""
    column = key.columns[0]
    return Fraction(len(column.values), max(len(column.codes), 1))


def _share_matched(key: TableKey) -> Fraction:
    """Return the share of rows with a value whose value a person has."""
    people, rows = key.columns
    codes = rows.codes[rows.codes >= 0]
    is_among = are_among(rows.values, people.values)
    return Fraction(int(is_among[codes].sum()), max(len(codes), 1))


def are_among(values: pa.Array, others: pa.Array) -> np.ndarray:
    """Return which values another column has, too (bool); types that differ are compared as text.

    >>> are_among(pa.array(["1", "x"]), pa.array([1, 2])).tolist()
    [True, False]
    """
    if values.type != others.type:
        values, others = pc.cast(values, pa.string()), pc.cast(others, pa.string())
    return np.asarray(pc.is_in(values, value_set=others))


def _repeats(key: TableKey) -> bool:
    """Decide whether some person has several rows."""
    codes = key.columns[1].codes
    return len(np.unique(codes[codes >= 0])) < int((codes >= 0).sum())


def _names_agree(key: TableKey) -> bool:
    """Decide whether two names say the same: `patient` twice, or `id` and `customer_id`."""
    first, second = key.of_people, key.of_rows
    if _plain(first) == _plain(second):
        return True
    own, other = _subject(first) or _subject(key.people.name), _subject(second)
    return bool(own and other) and _is_beginning(own, other)


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def _subject(name: str) -> str:
    """Return the words of a name without those that say that it is a number.

    >>> _subject("customer_id"), _subject("PatientNr"), _subject("id")
    ('customer', 'patient', '')
    """
    return "".join(word for word in words_of(name) if not is_numbering(word))


def _is_beginning(first: str, second: str) -> bool:
    """Decide whether two words are the same, or one is short for the other, or its plural."""
    shorter, longer = sorted((first, second), key=len)
    if shorter.endswith("s") and not longer.startswith(shorter):
        shorter = shorter.removesuffix("s")
    return len(shorter) >= _PREFIX and longer.startswith(shorter)


def _is_by_values(key: TableKey) -> bool:
    """Decide whether values alone make a key likely: many people have rows."""
    people, rows = key.columns
    with_rows = int(are_among(people.values, rows.values).sum())
    return Fraction(with_rows, len(people.values)) >= _PEOPLE


_BY_RANK = (
    ("names", lambda key: _names_agree(key) and _repeats(key)),
    ("names", _names_agree),
    ("values", lambda key: _is_by_values(key) and _repeats(key)),
    ("values", _is_by_values),
)
"""Candidates that count, the surest first: people who have several rows, and names that agree."""


def _words_on_several(tables: Sequence[NamedTable], keys: Sequence[TableKey]) -> str:
    ways = ", or ".join(key.option for key in keys[:_MOST])
    more = f" ({len(keys) - _MOST} more pairs fit)" if len(keys) > _MOST else ""
    return (
        f"{tables[0].uri} and {tables[1].uri}: {len(keys)} pairs of columns may be the key "
        f"between them{more}. Choose one: {ways}"
    )


def _words_on_none(tables: Sequence[NamedTable]) -> str:
    return (
        f"{tables[0].uri} and {tables[1].uri}: share no key. One file needs a column with each "
        "person once, and the other a column with values that are among these. If there is "
        "one, type --key COLUMN, or --key COLUMN=COLUMN if the names differ. "
        "To draft one table, name one file"
    )
