"""Published records of a release, comparable with people's records."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.groups.counting import dense, pack
from sfumato.tasks.attacks.records.columns import (
    ComparedColumn,
    ExactColumn,
    Fits,
    LabelColumn,
    PlacedNumbers,
)
from sfumato.tasks.attacks.records.shuffled import ShuffledValues
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score, skipped_attack
from sfumato.tasks.forms.admitted_people import fitting_values
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE, labels_of
from sfumato.tasks.microdata.grouping import common_type
from sfumato.tasks.query.accuracy.vectors import RowsTogether, rank_together
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.tables import form_of

_NAME = "records"
_MOST = 200_000_000  # pairs of a label and a value
_TOO_MANY = f"more than {_MOST:,} pairs of a label and a value"


@dataclass(frozen=True, eq=False)
class ComparedRecords:
    """Published records with the same columns of people.

    Attributes:
        quasi_identifiers: the columns of quasi-identifiers.
        sensitive: the column that attackers want to know, or None if they want to find people.
        rows: the number of published records.
        people: the number of people.
        group: the group of each record within which sensitive values were shuffled (int64, from 0).
            With labels, a group is the records with the same quasi-identifiers.
        are_groups_alike: whether the records of a group surely have the same quasi-identifiers.
        together: the records and people, compared, if the quasi-identifiers are compared there.
    """

    quasi_identifiers: tuple[ComparedColumn, ...]
    sensitive: ExactColumn | None
    rows: int
    people: int
    group: np.ndarray
    are_groups_alike: bool = False
    together: RowsTogether | None = None

    @property
    def columns(self) -> tuple[ComparedColumn, ...]:
        """All columns of a record."""
        return (
            self.quasi_identifiers
            if self.sensitive is None
            else (*self.quasi_identifiers, self.sensitive)
        )

    def placed_rows(self, step: int) -> Sequence[PlacedNumbers]:
        """Return every `step`th row by its cell in each quasi-identifier; made once."""
        if step not in self._rows_by_step:
            self._rows_by_step[step] = [
                PlacedNumbers(column.cells[::step]) for column in self.quasi_identifiers
            ]
        return self._rows_by_step[step]

    @cached_property
    def _rows_by_step(self) -> dict[int, Sequence[PlacedNumbers]]:
        """The rows that `placed_rows` returned, by step."""
        return {}

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of the quasi-identifiers of each row, and of each person (int64 both, dense).

        Rows and people with equal quasi-identifiers have equal numbers; that of a row is -1 if one
        of its cells admits several values.
        """
        if self.together is not None:
            return self.together.numbers[: self.rows], self.together.numbers[self.rows :]
        columns = self.quasi_identifiers
        whole = np.flatnonzero(np.all([column.single >= 0 for column in columns], axis=0))
        both = [np.concatenate([column.single[whole], column.values]) for column in columns]
        key, _ = pack(both, [int(values.max(initial=0)) + 1 for values in both])
        numbers, _ = dense(key)
        of_rows = np.full(self.rows, -1, dtype=np.int64)
        of_rows[whole] = numbers[: len(whole)]
        return of_rows, numbers[len(whole) :]

    @cached_property
    def shuffled_values(self) -> ShuffledValues | None:
        """The values of the sensitive column, equally likely in each row of their group."""
        column = self.sensitive
        return None if column is None else ShuffledValues(self.group, column.cells)


def compared_records(target: AttackedRelease) -> ComparedRecords | None:
    """Return the records of a release, or None if its tables show no whole records of people."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _read_records(target)
    records: ComparedRecords | None = target.learned[_NAME]
    return records


def without_records(target: AttackedRelease, name: str) -> tuple[Score, ...]:
    """Return the scores of an attack on records if the release has none, or too many labels."""
    declared = target.declared
    if not declared.is_recoded or declared.is_composed or declared.parts is not None:
        return ()
    is_skipped = target.people.rows and _are_too_many(target)
    return skipped_attack(name, _TOO_MANY) if is_skipped else ()


def _read_records(target: AttackedRelease) -> ComparedRecords | None:
    declared = target.declared
    if declared.is_composed or declared.parts is not None or not target.people.rows:
        return None
    if declared.is_recoded:
        if _are_too_many(target):
            return None
        labels = _label_columns(target)
        return _make_records(target, target.tables[TABLE], labels, _groups_of_labels(labels))
    if declared.form.shows != "rows" or declared.form.values_apart:
        return None
    table, together = target.tables[relations(declared).rows], target.together
    exact = [_exact_column(target, table, name) for name in together.names]
    group = table[GROUP_ID].to_numpy().astype(np.int64)
    own = (target.people[name].values.type for name in together.names)
    are_alike = all(
        type_ == table[name].type for type_, name in zip(own, together.names, strict=True)
    )
    return _make_records(target, table, exact, group, together if are_alike else None)


def _make_records(
    target: AttackedRelease,
    table: pa.Table,
    quasi_identifiers: Sequence[ComparedColumn | None],
    group: np.ndarray,
    together: RowsTogether | None = None,
) -> ComparedRecords | None:
    sensitive_name = target.sensitive
    sensitive = _exact_column(target, table, sensitive_name) if sensitive_name else None
    there = tuple(column for column in quasi_identifiers if column is not None)
    lacking = len(there) < len(quasi_identifiers) or (sensitive_name and sensitive is None)
    if not there or lacking or not table.num_rows:
        return None
    rows, people, is_recoded = table.num_rows, target.people.rows, target.declared.is_recoded
    return ComparedRecords(there, sensitive, rows, people, group, is_recoded, together)


def _groups_of_labels(labels: Sequence[ComparedColumn]) -> np.ndarray:
    """Return groups of rows with the same labels in all columns (int64, one per row, from 0)."""
    cells = [column.cells for column in labels]
    key, _ = pack(cells, [int(column_cells.max(initial=0)) + 1 for column_cells in cells])
    return dense(key)[0]


def _exact_column(target: AttackedRelease, table: pa.Table, name: str) -> ExactColumn | None:
    published, own = table[name], target.people[name]
    type_ = common_type(published.type, own.values.type)
    if type_ is None:
        return None
    if type_ == published.type and not target.declared.is_recoded:
        return ExactColumn(target.together.column(name), table.num_rows)
    return ExactColumn(rank_together(published, own, type_), table.num_rows)


def _label_columns(target: AttackedRelease) -> list[ComparedColumn]:
    return [
        _label_column(target, name) for name in target.declared.names_with_roles("quasi-identifier")
    ]


def _label_column(target: AttackedRelease, name: str) -> LabelColumn:
    declared, own = target.declared, target.people[name]
    texts, cells = labels_of(target.tables[TABLE], name)
    read = reader_for(form_of(declared))(name, declared.columns[name])
    labels = [read(text) for text in texts]
    fits = Fits(fitting_values(labels, own), own.codes)
    return LabelColumn(labels, cells.astype(np.int32), fits)


def _are_too_many(target: AttackedRelease) -> bool:
    """Decide whether a column has too many pairs of labels and people's values to compare."""
    names = target.declared.names_with_roles("quasi-identifier")
    return any(
        pc.count_distinct(target.tables[TABLE][name], mode="all").as_py()
        * len(target.people[name].values)
        > _MOST
        for name in names
    )
