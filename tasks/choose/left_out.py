"""The reasons why rows of a source would not be published, for the owner only."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.expectations.shared.arrow import distinct_values, places_among
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.continued.survivors import Absence
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.rows import missing_values
from sfumato.tasks.microdata.source import rows_kept
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.private.people.identity import canonical_row_order
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy

BY_PARTITION = "suppressed: the partition could not keep the promises with it"
_IN_NO_GROUP = "waits: it is in no group of the other line that can be shown"
_REASONS = {
    Absence.SUPPRESSED: BY_PARTITION,
    Absence.WAITING: "waits: newcomers are too few, or cannot be grouped among themselves",
    Absence.CHANGED: "withheld: its values are not those that its place in a group shows",
    Absence.RETIRED: "withheld: its group is retired: too few are left, or it breaks a promise",
    Absence.OUT: "stays out for ever: it was forgotten, or another has its place in a group",
}
FILTER, _REPEAT = "removed by the filter (source.where)", "a repeat of its unit"
_FEW = 12  # values of a column that are listed one by one
_BANDS = 5


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The rows that would not be published.

    Attributes:
        row: the row numbers in the order of the source, from 1 (int64, ascending).
        why: the reason of each row, as a position in `reasons` (int64).
        alike: the number of rows that were to be published and have the same quasi-identifiers
            (int64, including the row); 0 for rows that were removed before.
        reasons: in words.
    """

    row: np.ndarray
    why: np.ndarray
    alike: np.ndarray
    reasons: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Return the number of rows per reason, the most frequent reason first."""
        of_each = np.bincount(self.why, minlength=len(self.reasons)).tolist()
        pairs = zip(self.reasons, of_each, strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    def csv(self) -> str:
        """Return a line per row: its number, reason, and the rows with its quasi-identifiers."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "why", "rows_alike"])
        alike = (number or "" for number in self.alike.tolist())
        reasons = (self.reasons[why] for why in self.why.tolist())
        writer.writerows(zip(self.row.tolist(), reasons, alike, strict=True))
        return text.getvalue()


@dataclass(frozen=True, eq=False)
class RemovedRows:
    """The rows of a source that are removed before anonymization.

    Attributes:
        by_reason: their positions (int64), by reason.
        kept: the positions of the others (int64, ascending).
    """

    by_reason: Mapping[str, np.ndarray]
    kept: np.ndarray


def removed_rows(
    whole: Microdata, source: Source, columns: Mapping[str, ColumnSpec], nulls: NullPolicy
) -> RemovedRows:
    """Return the rows that a source's declaration removes.

    Raises:
        InputError: where a row breaks a null policy, or repeats a unit.
    """
    rows = rows_kept(whole, source, columns, nulls)
    by_reason = {FILTER: np.setdiff1d(np.arange(whole.rows), rows.filtered, assume_unique=True)}
    waiting = np.ones(len(rows.filtered), dtype=bool)
    for name, null in missing_values(whole, rows.filtered, columns, nulls).items():
        by_reason[f"no value of {name} (nulls: drop-row)"] = rows.filtered[null & waiting]
        waiting &= ~null
    by_reason[_REPEAT] = np.setdiff1d(rows.complete, rows.kept, assume_unique=True)
    return RemovedRows({why: gone for why, gone in by_reason.items() if len(gone)}, rows.kept)


def without_those_above(
    removed: RemovedRows, everybody: Column, represented: Column, why: str
) -> RemovedRows:
    """Return removed rows together with those of people who have too many related rows.

    Args:
        removed: the rows that were removed before.
        everybody: the identifiers of all people of the source.
        represented: the identifiers of those who were not left out.
        why: they were left out, in words.
    """
    values = distinct_values([everybody.values, represented.values])
    people = places_among(everybody.values, values)[everybody.codes[removed.kept]]
    others = places_among(represented.values, values)[represented.codes]
    is_left_out = ~np.isin(people, others)
    gone = removed.kept[is_left_out]
    by_reason = {**removed.by_reason, **({why: gone} if len(gone) else {})}
    return RemovedRows(by_reason, removed.kept[~is_left_out])


def rows_left_out(
    removed: RemovedRows, table: Microdata, absences: np.ndarray | None, *, follows: bool = False
) -> LeftOut:
    """Return all rows that would not be published.

    Args:
        removed: the rows that were removed before.
        table: the other rows, as they were to be published.
        absences: the reason why each of these is absent (see `Absence`; int8, in canonical order);
            None if all are published.
        follows: whether the groups are those of another line.
    """
    reasons = {**_REASONS, Absence.WAITING: _IN_NO_GROUP} if follows else _REASONS
    gone, absence, alike = _absent(table, absences)
    by_reason = {
        **removed.by_reason,
        **{reasons[Absence(n)]: removed.kept[gone[absence == n]] for n in distinct(absence)},
    }
    row = np.concatenate([np.empty(0, dtype=np.int64), *by_reason.values()])
    why = np.repeat(np.arange(len(by_reason)), [len(rows) for rows in by_reason.values()])
    alike_by_row = np.zeros(int(row.max(initial=-1)) + 1, dtype=np.int64)
    alike_by_row[removed.kept[gone]] = alike
    order = np.argsort(row)
    return LeftOut(row[order] + 1, why[order], alike_by_row[row[order]], tuple(by_reason))


def _absent(
    table: Microdata, absences: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return absent rows' positions, reasons, and numbers of rows with their quasi-identifiers.

    All are int64, and the first ascend.
    """
    why = np.zeros(table.rows, dtype=np.int64)
    if absences is not None:
        why[canonical_row_order(table)] = absences
    gone = np.flatnonzero(why)
    keys, _ = key(table.with_roles("quasi-identifier"), table.rows)
    _, number, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return gone, why[gone], sizes[number[gone]]


def absent_shares(table: Microdata, absences: np.ndarray | None) -> list[dict[str, Any]]:
    """Return the share of rows left out, by value of each quasi-identifier that lost a row.

    Values are those of the table: the list is for its owner. A column of many values is split into
    bands of about as many rows each.
    """
    if absences is None:
        return []
    lost = np.zeros(table.rows, dtype=bool)
    lost[canonical_row_order(table)] = absences > 0
    shares = [
        {
            "column": column.name,
            "values": words,
            "rows": int(rows.sum()),
            "left out": int((rows & lost).sum()),
            "share": float((rows & lost).sum() / rows.sum()),
        }
        for column in table.with_roles("quasi-identifier", "insensitive")
        for words, rows in _bands(column)
    ]
    return sorted(
        (share for share in shares if share["left out"]), key=lambda share: -share["share"]
    )


def _bands(column: Column) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the values of a column, or bands of them, with their rows (bool)."""
    values = [str(value) for value in column.values.to_pylist()]
    if column.has_null:
        yield "missing", column.codes < 0
    if len(values) <= _FEW:
        for code, value in enumerate(values):
            yield value, column.codes == code
        return
    codes = np.sort(column.codes[column.codes >= 0])
    ends = np.unique(codes[[len(codes) * n // _BANDS - 1 for n in range(1, _BANDS + 1)]])
    for start, end in zip([-1, *ends[:-1].tolist()], ends.tolist(), strict=True):
        first, last = values[start + 1], values[end]
        words = first if first == last else f"{first} to {last}"
        yield words, (column.codes > start) & (column.codes <= end)
