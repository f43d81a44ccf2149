"""Why each row of a source would not be published, for its owner alone."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.tasks.microdata.readers.declared import Source
from sfumato.tasks.microdata.rows import missing_values
from sfumato.tasks.microdata.source import rows_kept
from sfumato.tasks.microdata.table import Column, Microdata, key
from sfumato.tasks.private.line import canonical_row_order
from sfumato.tasks.schema.columns import ColumnSpec, NullPolicy

BY_PARTITION = "suppressed: the partition could not keep the promises with it"
BY_VERSIONS = "suppressed, or kept out by earlier versions"
_FILTER, _REPEAT = "removed by the filter (source.where)", "a repeat of its unit"
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
    found = {_FILTER: np.setdiff1d(np.arange(whole.rows), rows.filtered, assume_unique=True)}
    waiting = np.ones(len(rows.filtered), dtype=bool)
    for name, null in missing_values(whole, rows.filtered, columns, nulls).items():
        found[f"no value of {name} (nulls: drop-row)"] = rows.filtered[null & waiting]
        waiting &= ~null
    found[_REPEAT] = np.setdiff1d(rows.complete, rows.kept, assume_unique=True)
    return RemovedRows({why: gone for why, gone in found.items() if len(gone)}, rows.kept)


def rows_left_out(
    removed: RemovedRows, shown: Microdata, suppressed: np.ndarray | None, reason: str
) -> LeftOut:
    """All rows that would not be published.

    Args:
        removed: those that were removed before.
        shown: the others, as they were to be published.
        suppressed: which of these are not (bool, in canonical order), None for none.
        reason: why.
    """
    gone, alike = _suppressed(shown, suppressed)
    by_reason = {**removed.by_reason, **({reason: removed.kept[gone]} if len(gone) else {})}
    row = np.concatenate([np.empty(0, dtype=np.int64), *by_reason.values()])
    why = np.repeat(np.arange(len(by_reason)), [len(rows) for rows in by_reason.values()])
    known = np.append(np.zeros(len(row) - len(gone), dtype=np.int64), alike)
    order = np.argsort(row)
    return LeftOut(row[order] + 1, why[order], known[order], tuple(by_reason))


def _suppressed(shown: Microdata, suppressed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The positions of suppressed rows, and how many rows have the quasi-identifiers of each."""
    if suppressed is None:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    gone = np.sort(canonical_row_order(shown)[suppressed])
    keys, _ = key(shown.with_roles("quasi-identifier"), shown.rows)
    _, number, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return gone, sizes[number[gone]]


def suppressed_shares(shown: Microdata, suppressed: np.ndarray | None) -> list[dict[str, Any]]:
    """Who is suppressed: by value of each quasi-identifier, where any of its rows is.

    Values are those of the table: the list is for its owner. A column of many values is told in
    bands of about as many rows each.
    """
    if suppressed is None:
        return []
    lost = np.zeros(shown.rows, dtype=bool)
    lost[canonical_row_order(shown)[suppressed]] = True
    found = [
        {
            "column": column.name,
            "values": words,
            "rows": int(rows.sum()),
            "suppressed": int((rows & lost).sum()),
            "share": float((rows & lost).sum() / rows.sum()),
        }
        for column in shown.with_roles("quasi-identifier", "insensitive")
        for words, rows in _bands(column)
    ]
    return sorted((one for one in found if one["suppressed"]), key=lambda one: -one["share"])


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
