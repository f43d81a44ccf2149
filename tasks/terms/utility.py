"""The information that a recoded table has lost, measured on the published table alone.

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
        starred_cells: the share of the cells that tell nothing, suppressed rows included.
        starred_rows: how many published rows have no cell that tells anything.
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
    """The measures; None for forms that do not recode, and where nothing is published.

    Args:
        tables: as published.
        declared: what the release declares.
        sizes: the rows of each class that is told apart (int64).
    """
    if not declared.recoded or not tables[TABLE].num_rows:
        return None
    if declared.composed:
        sizes = rows_of(tables[LINEAGE])
    shown = _PeopleShown.of(tables, declared)
    names = declared.named("quasi-identifier")
    lost = declared.rows.suppressed
    rows = shown.rows + lost
    columns = [_column(shown, name, declared) for name in names]
    cells = rows * len(names)
    ks = [promise.k for promise in declared.promises if isinstance(promise, KAnonymity)]
    size = Fraction(shown.rows, len(sizes))
    squares = sizes.astype(object) ** 2
    return Utility(
        classes=len(sizes),
        average_class_size=size,
        c_avg=size / max(ks) if ks else None,
        discernibility=int(squares.sum()) + rows * lost,
        height=sum(column.highest for column in columns),
        imprecision=_mean([column.steps for column in columns], lost, cells),
        ncp=_mean([column.penalty for column in columns], lost, cells),
        starred_cells=_mean([Fraction(shown.count(c.starred)) for c in columns], lost, cells),
        starred_rows=shown.count(np.logical_and.reduce([column.starred for column in columns])),
        suppressed_rows=lost,
    )


def mean_penalty(tables: Tables, declared: Declared) -> Fraction | None:
    """The normalized certainty penalty of `utility` alone, for which no group is counted."""
    if not declared.recoded or not tables[TABLE].num_rows:
        return None
    shown = _PeopleShown.of(tables, declared)
    names = declared.named("quasi-identifier")
    columns = [_column(shown, name, declared) for name in names]
    lost = declared.rows.suppressed
    return _mean([one.penalty for one in columns], lost, (shown.rows + lost) * len(names))


def _mean(of_published: Sequence[Fraction], suppressed: int, cells: int) -> Fraction:
    """Over all cells, those of suppressed rows counting 1."""
    return Fraction(sum(of_published) + suppressed * len(of_published)) / cells


@dataclass(frozen=True, eq=False)
class _PeopleShown:
    """Rows of labels, and for how many people each of them stands (int64, one per row)."""

    table: pa.Table
    people: np.ndarray

    @classmethod
    def of(cls, tables: Tables, declared: Declared) -> "_PeopleShown":
        """All rows of a release; of a composed one a row of each group, whose labels agree."""
        table = tables[TABLE]
        if not declared.composed:
            return cls(table, np.ones(table.num_rows, dtype=np.int64))
        _, first = np.unique(as_integers(table[GROUP_ID]), return_index=True)
        return cls(
            table.take(as_array(first.astype(np.int64), pa.int64())), rows_of(tables[LINEAGE])
        )

    @property
    def rows(self) -> int:
        """The number of people."""
        return int(self.people.sum())

    def count(self, of: np.ndarray) -> int:
        """The number of people for whom some rows stand (bool, one per row)."""
        return int(self.people[of].sum())


@dataclass(frozen=True, eq=False)
class _ComparedColumn:
    """Sums over the published cells of a column, and which of them are stars."""

    steps: Fraction
    penalty: Fraction
    highest: int
    starred: np.ndarray


def _column(shown: _PeopleShown, name: str, declared: Declared) -> _ComparedColumn:
    labels, codes = labels_of(shown.table, name)
    column = declared.columns[name]
    read = reader_for(form_of(declared))(name, column)
    people = np.zeros(len(labels), dtype=np.int64)
    np.add.at(people, codes, shown.people)
    rows, admitted = people.tolist(), [read(label) for label in labels]
    reached, height = levels(column, labels, admitted)
    stars = np.array([label == STAR for label in labels], dtype=bool)
    return _ComparedColumn(
        steps=Fraction(sum(n * at for n, at in zip(rows, reached, strict=True)), height),
        penalty=_penalty(labels, admitted, rows, column),
        highest=max(reached),
        starred=stars[codes],
    )


def _penalty(
    labels: Sequence[str | None],
    admitted: Sequence[Admitted],
    rows: Sequence[int],
    column: DeclaredColumn,
) -> Fraction:
    """The sum of the certainty penalties of the labels' rows, added up by denominators."""
    known = [a for label, a in zip(labels, admitted, strict=True) if label != STAR]
    span, leaves = _span(known), _leaves(known, column)
    parts: defaultdict[Fraction | int, Fraction | int] = defaultdict(int)
    for label, a, times in zip(labels, admitted, rows, strict=True):
        part, whole = (1, 1) if label == STAR else _share(a, span, leaves)
        parts[whole] += part * times
    return sum((Fraction(part) / whole for whole, part in parts.items()), Fraction(0))


def _span(known: Sequence[Admitted]) -> Fraction | int:
    """The length from the least to the greatest value, where some label is an interval."""
    ends = [end for a in known if isinstance(a, Between) for end in (a.low, a.high)]
    if not ends:
        return 0
    ends += [v for a in known if isinstance(a, ListedValues) for v in a.values]
    return _length(min(ends), max(ends))


def _leaves(known: Sequence[Admitted], column: DeclaredColumn) -> int:
    """The number of values there are: leaves of the hierarchy, else whatever labels list."""
    if isinstance(column.hierarchy, tuple):
        return len(column.hierarchy)
    return len(set().union(*(a.values for a in known if isinstance(a, ListedValues))))


def _share(
    admitted: Admitted, span: Fraction | int, leaves: int
) -> tuple[Fraction | int, Fraction | int]:
    """What a label admits, and of how much, in the same unit: their ratio is its penalty."""
    if isinstance(admitted, Between):
        return _length(admitted.low, admitted.high), span
    if isinstance(admitted, Prefixed):
        return admitted.length - len(admitted.kept), admitted.length
    if isinstance(admitted, ListedValues):
        number = len(admitted.values) + admitted.null
        return (number, max(leaves, number)) if number > 1 else (0, 1)
    return 1, 1


def _length(low: Any, high: Any) -> Fraction | int:
    """The difference of two ordered values: a number, or days and seconds."""
    difference = high - low
    if isinstance(difference, int):
        return difference
    if hasattr(difference, "total_seconds"):
        return Fraction(difference.days * 86_400 + difference.seconds) + Fraction(
            difference.microseconds, 10**6
        )
    return Fraction(difference)
