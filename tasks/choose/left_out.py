"""Why each row of a source would not be published, for its owner alone."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.expectations.sorting import distinct
from sfumato.tasks.continued.survivors import Absence
from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.rows import missing_values
from sfumato.tasks.microdata.source import rows_kept
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.private.line import canonical_row_order
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
        row: their numbers in the order of the source, from 1 (int64, ascending).
        why: the reason of each, as its number in `reasons` (int64).
        alike: how many rows that were to be published have its quasi-identifiers (int64, itself
            among them); 0 for rows that were removed before.
        reasons: in words.
    """

    row: np.ndarray
    why: np.ndarray
    alike: np.ndarray
    reasons: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """How many rows there are of each reason, the most frequent one first."""
        of_each = np.bincount(self.why, minlength=len(self.reasons)).tolist()
        found = zip(self.reasons, of_each, strict=True)
        return dict(sorted(found, key=lambda pair: -pair[1]))

    def csv(self) -> str:
        """A line per row: its number, why, and how many rows have its quasi-identifiers."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["row", "why", "rows_alike"])
        alike = (number or "" for number in self.alike.tolist())
        reasons = (self.reasons[why] for why in self.why.tolist())
        writer.writerows(zip(self.row.tolist(), reasons, alike, strict=True))
        return text.getvalue()


@dataclass(frozen=True, eq=False)
class RemovedRows:
    """The rows of a source that never come to be anonymized.

    Attributes:
        by_reason: their positions (int64), by reason.
        kept: the positions of the others (int64, ascending).
    """

    by_reason: Mapping[str, np.ndarray]
    kept: np.ndarray


def removed_rows(
    whole: Microdata, source: Source, columns: Mapping[str, ColumnSpec], nulls: NullPolicy
) -> RemovedRows:
    """The rows that a source's declaration removes.

    Raises:
        InputError: where a row breaks a null policy, or repeats a unit.
    """
    rows = rows_kept(whole, source, columns, nulls)
    found = {FILTER: np.setdiff1d(np.arange(whole.rows), rows.filtered, assume_unique=True)}
    waiting = np.ones(len(rows.filtered), dtype=bool)
    for name, null in missing_values(whole, rows.filtered, columns, nulls).items():
        found[f"no value of {name} (nulls: drop-row)"] = rows.filtered[null & waiting]
        waiting &= ~null
    found[_REPEAT] = np.setdiff1d(rows.complete, rows.kept, assume_unique=True)
    return RemovedRows({why: gone for why, gone in found.items() if len(gone)}, rows.kept)


def rows_left_out(
    removed: RemovedRows, shown: Microdata, absences: np.ndarray | None, *, follows: bool = False
) -> LeftOut:
    """All rows that would not be published.

    Args:
        removed: those that were removed before.
        shown: the others, as they were to be published.
        absences: why some of these are not (see `Absence`; int8, in canonical order), None where
            all are.
        follows: whether the groups are another line's.
    """
    reasons = {**_REASONS, Absence.WAITING: _IN_NO_GROUP} if follows else _REASONS
    gone, absence, alike = _absent(shown, absences)
    by_reason = {
        **removed.by_reason,
        **{reasons[Absence(n)]: removed.kept[gone[absence == n]] for n in distinct(absence)},
    }
    row = np.concatenate([np.empty(0, dtype=np.int64), *by_reason.values()])
    why = np.repeat(np.arange(len(by_reason)), [len(rows) for rows in by_reason.values()])
    known = np.zeros(int(row.max(initial=-1)) + 1, dtype=np.int64)
    known[removed.kept[gone]] = alike
    order = np.argsort(row)
    return LeftOut(row[order] + 1, why[order], known[row[order]], tuple(by_reason))


def _absent(
    shown: Microdata, absences: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The positions of rows that are absent, why, and how many have the quasi-identifiers of each.

    All are int64, and the first ascend.
    """
    why = np.zeros(shown.rows, dtype=np.int64)
    if absences is not None:
        why[canonical_row_order(shown)] = absences
    gone = np.flatnonzero(why)
    keys, _ = key(shown.with_roles("quasi-identifier"), shown.rows)
    _, number, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return gone, why[gone], sizes[number[gone]]


def absent_shares(shown: Microdata, absences: np.ndarray | None) -> list[dict[str, Any]]:
    """Who is left out: by value of each quasi-identifier, where any of its rows is.

    Values are those of the table: the list is for its owner. A column of many values is told in
    bands of about as many rows each.
    """
    if absences is None:
        return []
    lost = np.zeros(shown.rows, dtype=bool)
    lost[canonical_row_order(shown)] = absences > 0
    found = [
        {
            "column": column.name,
            "values": words,
            "rows": int(rows.sum()),
            "left out": int((rows & lost).sum()),
            "share": float((rows & lost).sum() / rows.sum()),
        }
        for column in shown.with_roles("quasi-identifier", "insensitive")
        for words, rows in _bands(column)
    ]
    return sorted((one for one in found if one["left out"]), key=lambda one: -one["share"])


def _bands(column: Column) -> Iterator[tuple[str, np.ndarray]]:
    """The values of a column, or bands of them, and their rows (bool)."""
    values = [str(value) for value in column.values.to_pylist()]
    if column.has_null:
        yield "missing", column.codes < 0
    if len(values) <= _FEW:
        for code, value in enumerate(values):
            yield value, column.codes == code
        return
    known = np.sort(column.codes[column.codes >= 0])
    ends = np.unique(known[[len(known) * n // _BANDS - 1 for n in range(1, _BANDS + 1)]])
    for start, end in zip([-1, *ends[:-1].tolist()], ends.tolist(), strict=True):
        first, last = values[start + 1], values[end]
        words = first if first == last else f"{first} to {last}"
        yield words, (column.codes > start) & (column.codes <= end)
