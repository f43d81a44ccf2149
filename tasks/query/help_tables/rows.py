"""The help table: the bounds of each aggregate for every group and number of hits.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
If a query selects `hits` rows of a group whose sensitive values are shuffled, any `hits` of its
values may be the selected ones. Their sum lies between the sums of the smallest and of the largest
values. If subdomains are shown instead of values, it lies between the sums of their least and
greatest values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.exact import INT64_MAX, Exact, exact, is_number
from sfumato.tasks.forms.composed import VACANCIES
from sfumato.tasks.forms.lineage import LINEAGE, rows_of
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.query.help_tables.way import HelpTables
from sfumato.tasks.schema.names import safe_name
from sfumato.tasks.terms.terms import Terms

_GROUP_ID, _COUNT = "group_id", "count"
_WORD = 2**64 - 1
_DIGITS = 38  # the most that a SQL DECIMAL can have


@dataclass(frozen=True, eq=False)
class _RowsByGroup:
    """Rows in the order of group and value, with the start and end of each row's group."""

    group: np.ndarray
    codes: np.ndarray
    start: np.ndarray
    end: np.ndarray

    @property
    def hits(self) -> np.ndarray:
        """The rank of each row's value in its group, 1 for the smallest (int64, one per row)."""
        hits: np.ndarray = np.arange(len(self.codes)) - self.start + 1
        return hits

    @property
    def mirror_positions(self) -> np.ndarray:
        """The position of a group's h-th largest value, at its h-th smallest value (int64)."""
        mirrored: np.ndarray = self.start + self.end - 1 - np.arange(len(self.codes))
        return mirrored


def help_name(sensitive: str) -> str:
    """Return the name of a sensitive column's help table, safe for SQL and for files.

    >>> help_name("capital-loss")
    'help_capital_loss'
    """
    return f"help_{safe_name(sensitive)}"


def expected_name(name: str) -> str:
    """Return the column of expected occurrences in the help table of a column.

    >>> expected_name("age"), expected_name("Occurrences")
    ('occurrences', 'occurrences_')
    """
    return "occurrences_" if name.casefold() == "occurrences" else "occurrences"


def helped_columns(declared: Terms) -> list[str]:
    """Return the sensitive columns that have a help table: those without missing values."""
    return [
        name for name in declared.names_with_roles("sensitive") if not declared.columns[name].nulls
    ]


def help_tables(tables: Mapping[str, pa.Table], sensitive: Sequence[str]) -> dict[str, pa.Table]:
    """Build the help table of each sensitive column by its name, from the published tables only.

    Args:
        tables: the tables of a permuted release, or of a split release, which has each value once
            with its `count`.
        sensitive: names of columns, each in one of the tables.

    Raises:
        InputError: see `help_table`.
    """
    return {
        help_name(name): help_table(_values_of_groups(tables, name), name) for name in sensitive
    }


def tables_of_rows(tables: Mapping[str, pa.Table], declared: Terms) -> dict[str, pa.Table]:
    """Build the help table of every sensitive column by its name.

    If people have left, a group has more values than rows, and any of its values may belong to its
    rows.

    Raises:
        InputError: see `help_table`.
    """
    if not declared.is_composed:
        return help_tables(tables, helped_columns(declared))
    whole = VACANCIES[declared.form.method].whole(tables)
    return {
        name: with_possible_hits(table, rows_of(tables[LINEAGE]))
        for name, table in help_tables(whole, helped_columns(declared)).items()
    }


def with_possible_hits(bounds: pa.Table, rows: np.ndarray) -> pa.Table:
    """Keep the bounds of at most as many hits as a group has rows (int64, one per group)."""
    possible = as_integers(bounds["hits"]) <= rows[as_integers(bounds[_GROUP_ID])]
    return bounds.take(_places(np.flatnonzero(possible)))


def _values_of_groups(tables: Mapping[str, pa.Table], name: str) -> pa.Table:
    """Return a column with one row for each value that a group has."""
    table = next(table for table in tables.values() if name in table.column_names)
    values = table.select([_GROUP_ID, name])
    if _COUNT not in table.column_names:
        return values
    times = as_integers(table[_COUNT])
    return values.take(_places(np.repeat(np.arange(table.num_rows), times)))


def help_table(microdata: pa.Table, sensitive: str) -> pa.Table:
    """Compute the bounds per `group_id` and `hits`, from one row for each value of a group.

    Columns are `l_sum`, `u_sum` (only for numbers; BIGINT, or DECIMAL if that is too narrow or
    values have decimals), `l_min`, `u_min`, `l_max`, `u_max` (of the column's own type).

    Raises:
        InputError: where a value is missing, groups are not numbered from 0, or a sum is too long.
    """
    column = encode(sensitive, "sensitive", microdata[sensitive])
    if column.has_null:
        raise InputError(
            f"column {sensitive!r}: a sensitive value is missing in the published rows. "
            "The release is damaged or was changed"
        )
    group = as_integers(microdata[_GROUP_ID])
    if len(group) and not 0 <= group.min() <= group.max() < len(group):
        raise InputError(
            "column 'group_id': its numbers do not begin at 0. The release is damaged or "
            "was changed"
        )
    return bounds_of_hits(group, column.codes, column.codes, column.values, sensitive)


def bounds_of_hits(
    group: np.ndarray, least: np.ndarray, greatest: np.ndarray, values: pa.Array, name: str
) -> pa.Table:
    """Compute the bounds per `group_id` and `hits` from the values that a group's rows may have.

    Args:
        group: of each row (int64, one per row).
        least: the code of the least value that a row may have (integers, one per row).
        greatest: the code of the greatest one (integers, one per row).
        values: of the column by their codes, ascending, without null.
        name: of the column.

    Raises:
        InputError: where a sum is too long.
    """
    low = _sort_rows(group, least, len(values))
    high = low if greatest is least else _sort_rows(group, greatest, len(values))
    columns = {_GROUP_ID: _places(low.group), "hits": _places(low.hits)}
    if is_number(values.type):
        whole = pa.types.is_integer(values.type)
        columns |= _sums(exact(values, name), low, high, whole, name)
    return pa.table(columns | _extremes(values, low, high))


def _sort_rows(group: np.ndarray, codes: np.ndarray, values: int) -> _RowsByGroup:
    """Sort rows by group and code; both are below the number of rows, so that their key fits."""
    ordered, by_value = np.divmod(np.sort(group * np.int64(max(values, 1)) + codes), max(values, 1))
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    ends = np.append(starts[1:], len(ordered))[: len(starts)]
    sizes = ends - starts
    return _RowsByGroup(ordered, by_value, np.repeat(starts, sizes), np.repeat(ends, sizes))


def _extremes(values: pa.Array, low: _RowsByGroup, high: _RowsByGroup) -> dict[str, pa.Array]:
    """Return the least and the greatest minimum and maximum of `hits` values of each group."""
    codes = {
        "l_min": low.codes[low.start],
        "u_min": high.codes[high.mirror_positions],
        "l_max": low.codes,
        "u_max": high.codes[high.end - 1],
    }
    return {name: values.take(_places(column_codes)) for name, column_codes in codes.items()}


def _sums(
    numbers: Exact, least: _RowsByGroup, greatest: _RowsByGroup, whole: bool, name: str
) -> dict[str, pa.Array]:
    """Return the sums of the `hits` smallest and of the `hits` largest values of each group."""
    low, high = _partial_sums(numbers.units, least, greatest)
    largest = max(_largest(low), _largest(high))
    if largest >= 10**_DIGITS:
        raise InputError(
            f"column {name!r}: the sum of a group has more than {_DIGITS} digits, which "
            "databases cannot store"
        )
    if whole and largest <= INT64_MAX:
        return {"l_sum": _places(low), "u_sum": _places(high)}
    return {"l_sum": _decimals(low, numbers.digits), "u_sum": _decimals(high, numbers.digits)}


def _partial_sums(
    units: np.ndarray, least: _RowsByGroup, greatest: _RowsByGroup
) -> tuple[np.ndarray, np.ndarray]:
    """Add up each group's values, in int64 if no group overflows: only differences count."""
    widest = int((least.end - least.start).max(initial=0))
    fits = units.dtype == np.int64 and _largest(units) * widest <= INT64_MAX
    below = above = _running(units.astype(np.int64 if fits else object), least)
    if greatest is not least:
        above = _running(units.astype(np.int64 if fits else object), greatest)
    low = below[np.arange(len(least.codes)) + 1] - below[least.start]
    high = above[greatest.end] - above[greatest.mirror_positions]
    return low, high


def _running(units: np.ndarray, rows: _RowsByGroup) -> np.ndarray:
    """Return the sum of the values before each row, and of all values."""
    return np.append(0, np.cumsum(units[rows.codes]))


def _places(numbers: np.ndarray) -> pa.Array:
    """Return whole numbers as an Arrow array (int64)."""
    return as_array(numbers.astype(np.int64), pa.int64())


def _largest(units: np.ndarray) -> int:
    """Return the largest absolute value."""
    return max(-int(units.min()), int(units.max())) if len(units) else 0


def _decimals(units: np.ndarray, digits: int) -> pa.Array:
    """Return integers as DECIMAL(38, digits): pairs of 64-bit words, the lower one first."""
    words = np.empty((len(units), 2), dtype=np.uint64)
    if units.dtype == np.int64:
        words[:, 0], words[:, 1] = units.view(np.uint64), (units >> 63).view(np.uint64)
    else:
        words[:, 0], words[:, 1] = units & _WORD, (units >> 64) & _WORD
    type_ = pa.decimal128(_DIGITS, digits)
    return pa.Array.from_buffers(type_, len(units), [None, pa.py_buffer(words.tobytes())])


def _names(declared: Terms, sensitive: Sequence[str]) -> Sequence[str]:
    return [help_name(name) for name in helped_columns(declared) if name in sensitive]


ROWS = HelpTables(_names, tables_of_rows)
