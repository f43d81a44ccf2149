"""The information that a recoded table has lost, measured on the published table only.

The measures are those of the literature (see `tasks.partitions.full_domain.metrics`, which measures
the same before publication, on the domains of the original). Here a domain is what the published
labels span: the hull of an ordered column's labels, the leaves of a hierarchy, the values in all
sets.
Where versions are composed, the rows of a group look alike and not all are people's: its labels
count as often as its people.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.shared.arrow import as_array, as_integers
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.label_readers import levels
from sfumato.tasks.forms.labels import STAR, Admitted, Between, ListedValues, Prefixed
from sfumato.tasks.forms.lineage import LINEAGE, rows_of
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE, labels_of
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Declared


@dataclass(frozen=True)
class Utility:
    """The measures of a recoded table; shares are of all represented rows or cells.

    Attributes:
        classes: different vectors of labels.
        average_class_size: rows per class.
        c_avg: the same over the largest k that is promised, None where none is.
        discernibility: each published row counts the rows of its class, a suppressed one all rows.
        height: the sum of the highest level that each column's labels have.
        imprecision: the mean over all cells of the level over the height (1 - Prec).
        ncp: the mean over all cells of the normalized certainty penalty.
        starred_cells: the share of the cells with the label *, suppressed rows included.
        starred_rows: how many published rows have only such cells.
        suppressed_rows: how many rows are not published.
    """

    classes: int
    average_class_size: Fraction
    c_avg: Fraction | None
    discernibility: int
    height: int
    imprecision: Fraction
    ncp: Fraction
    starred_cells: Fraction
    starred_rows: int
    suppressed_rows: int


def utility(tables: Tables, declared: Declared, sizes: np.ndarray) -> Utility | None:
    """Return the measures; None for forms that do not recode, and if nothing is published.

    Args:
        tables: as published.
        declared: what the release declares.
        sizes: the rows of each class that is told apart (int64).
    """
    if not declared.is_recoded or not tables[TABLE].num_rows:
        return None
    if declared.is_composed:
        sizes = rows_of(tables[LINEAGE])
    represented = _PeopleShown.from_tables(tables, declared)
    names = declared.names_with_roles("quasi-identifier")
    lost = declared.rows.suppressed
    rows = represented.rows + lost
    columns = [_column(represented, name, declared) for name in names]
    cells = rows * len(names)
    ks = [promise.k for promise in declared.promises if isinstance(promise, KAnonymity)]
    size = Fraction(represented.rows, len(sizes))
    squares = sizes.astype(object) ** 2
    return Utility(
        classes=len(sizes),
        average_class_size=size,
        c_avg=size / max(ks) if ks else None,
        discernibility=int(squares.sum()) + rows * lost,
        height=sum(column.highest for column in columns),
        imprecision=_mean([column.steps for column in columns], lost, cells),
        ncp=_mean([column.penalty for column in columns], lost, cells),
        starred_cells=_mean([Fraction(represented.count(c.starred)) for c in columns], lost, cells),
        starred_rows=represented.count(
            np.logical_and.reduce([column.starred for column in columns])
        ),
        suppressed_rows=lost,
    )


def mean_penalty(tables: Tables, declared: Declared) -> Fraction | None:
    """Return only the normalized certainty penalty of `utility`; no group is counted."""
    if not declared.is_recoded or not tables[TABLE].num_rows:
        return None
    represented = _PeopleShown.from_tables(tables, declared)
    names = declared.names_with_roles("quasi-identifier")
    columns = [_column(represented, name, declared) for name in names]
    lost = declared.rows.suppressed
    return _mean(
        [column.penalty for column in columns], lost, (represented.rows + lost) * len(names)
    )


def hidden_shares(tables: Tables, declared: Declared) -> dict[str, Fraction]:
    """Return for each quasi-identifier the share of all rows for which it says nothing.

    Its label is then a star or admits every value that labels of the column admit; a suppressed row
    says nothing in any column. Empty for forms that do not recode, and if nothing is published.
    """
    if not declared.is_recoded or not tables[TABLE].num_rows:
        return {}
    represented = _PeopleShown.from_tables(tables, declared)
    lost = declared.rows.suppressed
    rows = represented.rows + lost
    names = declared.names_with_roles("quasi-identifier")
    return {
        name: Fraction(_column(represented, name, declared).hidden + lost, rows) for name in names
    }


def _mean(of_published: Sequence[Fraction], suppressed: int, cells: int) -> Fraction:
    """Return the mean over all cells; each cell of a suppressed row counts 1."""
    return Fraction(sum(of_published) + suppressed * len(of_published)) / cells


@dataclass(frozen=True, eq=False)
class _PeopleShown:
    """Rows of labels, and the number of people whom each row represents (int64, one per row)."""

    table: pa.Table
    people: np.ndarray

    @classmethod
    def from_tables(cls, tables: Tables, declared: Declared) -> "_PeopleShown":
        """Return all rows of a release; for a composed release, one row of each group.

        The labels of a group agree.
        """
        table = tables[TABLE]
        if not declared.is_composed:
            return cls(table, np.ones(table.num_rows, dtype=np.int64))
        _, first = np.unique(as_integers(table[GROUP_ID]), return_index=True)
        return cls(
            table.take(as_array(first.astype(np.int64), pa.int64())), rows_of(tables[LINEAGE])
        )

    @property
    def rows(self) -> int:
        """The number of people."""
        return int(self.people.sum())

    def count(self, rows: np.ndarray) -> int:
        """Return the number of people whom some rows represent (bool, one per row)."""
        return int(self.people[rows].sum())


@dataclass(frozen=True, eq=False)
class _ComparedColumn:
    """Sums over the published cells of a column, and which of them are stars.

    `hidden` is the number of people whose label admits everything.
    """

    steps: Fraction
    penalty: Fraction
    hidden: int
    highest: int
    starred: np.ndarray


def _column(represented: _PeopleShown, name: str, declared: Declared) -> _ComparedColumn:
    labels, codes = labels_of(represented.table, name)
    column = declared.columns[name]
    read = reader_for(form_of(declared))(name, column)
    people = np.zeros(len(labels), dtype=np.int64)
    np.add.at(people, codes, represented.people)
    rows, admitted = people.tolist(), [read(label) for label in labels]
    reached, height = levels(column, labels, admitted)
    stars = np.array([label == STAR for label in labels], dtype=bool)
    penalty, hidden = _penalty(labels, admitted, rows, column)
    return _ComparedColumn(
        steps=Fraction(sum(n * level for n, level in zip(rows, reached, strict=True)), height),
        penalty=penalty,
        hidden=hidden,
        highest=max(reached),
        starred=stars[codes],
    )


def _penalty(
    labels: Sequence[str | None],
    admitted: Sequence[Admitted],
    rows: Sequence[int],
    column: DeclaredColumn,
) -> tuple[Fraction, int]:
    """Return the sum of the certainty penalties of the labels' rows, and the rows whose is 1.

    Penalties are added up by their denominators.
    """
    unstarred = [a for label, a in zip(labels, admitted, strict=True) if label != STAR]
    span, leaves = _span(unstarred), _leaves(unstarred, column)
    parts: defaultdict[Fraction | int, Fraction | int] = defaultdict(int)
    hidden = 0
    for label, a, times in zip(labels, admitted, rows, strict=True):
        part, whole = (1, 1) if label == STAR else _share(a, span, leaves)
        parts[whole] += part * times
        hidden += times * (part == whole)
    return sum((Fraction(part) / whole for whole, part in parts.items()), Fraction(0)), hidden


def _span(admitted: Sequence[Admitted]) -> Fraction | int:
    """Return the length from the least to the greatest value, or 0 if no label is an interval."""
    ends = [end for a in admitted if isinstance(a, Between) for end in (a.low, a.high)]
    if not ends:
        return 0
    ends += [v for a in admitted if isinstance(a, ListedValues) for v in a.values]
    return _length(min(ends), max(ends))


def _leaves(admitted: Sequence[Admitted], column: DeclaredColumn) -> int:
    """Return the number of values: leaves of the hierarchy, otherwise the values in labels."""
    if isinstance(column.hierarchy, tuple):
        return len(column.hierarchy)
    return len(set().union(*(a.values for a in admitted if isinstance(a, ListedValues))))


def _share(
    admitted: Admitted, span: Fraction | int, leaves: int
) -> tuple[Fraction | int, Fraction | int]:
    """Return what a label admits and the whole, in the same unit; their ratio is its penalty."""
    if isinstance(admitted, Between):
        return _length(admitted.low, admitted.high), span
    if isinstance(admitted, Prefixed):
        return admitted.length - len(admitted.kept), admitted.length
    if isinstance(admitted, ListedValues):
        number = len(admitted.values) + admitted.null
        return (number, max(leaves, number)) if number > 1 else (0, 1)
    return 1, 1


def _length(low: Any, high: Any) -> Fraction | int:
    """Return the difference of two ordered values: a number, or days and seconds."""
    difference = high - low
    if isinstance(difference, int):
        return difference
    if hasattr(difference, "total_seconds"):
        return Fraction(difference.days * 86_400 + difference.seconds) + Fraction(
            difference.microseconds, 10**6
        )
    return Fraction(difference)
