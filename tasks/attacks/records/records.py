"""What a release publishes, as records that can be compared with people's."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import pack
from sfumato.tasks.attacks.attack import AttackedRelease, Score, skipped_attack
from sfumato.tasks.attacks.records.columns import (
    ComparedColumn,
    ExactColumn,
    Fits,
    LabelColumn,
)
from sfumato.tasks.attacks.records.shuffled import ShuffledValues
from sfumato.tasks.forms.admitted_people import fitting_values
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE, labels_of
from sfumato.tasks.microdata.grouping import common_type
from sfumato.tasks.query.question.ways import relations
from sfumato.tasks.schema.names import GROUP_ID
from sfumato.tasks.terms.tables import form_of

_NAME = "records"
_MOST = 200_000_000  # pairs of a label and a value
_TOO_MANY = f"more than {_MOST:,} pairs of a label and a value"


@dataclass(frozen=True, eq=False)
class ComparedRecords:
    """Published records beside people's.

    Attributes:
        known: the quasi-identifiers.
        sensitive: the column that attackers want to know, if they want one.
        rows: how many records are published.
        people: how many people there are.
        group: within which sensitive values were shuffled, of each record (int64, from 0): the
            records with the same quasi-identifiers, where labels are published.
    """

    known: tuple[ComparedColumn, ...]
    sensitive: ExactColumn | None
    rows: int
    people: int
    group: np.ndarray

    @property
    def columns(self) -> tuple[ComparedColumn, ...]:
        """All columns of a record."""
        return self.known if self.sensitive is None else (*self.known, self.sensitive)

    @cached_property
    def shuffled(self) -> ShuffledValues | None:
        """The values that attackers want to know, as likely in each row of their group."""
        wanted = self.sensitive
        return None if wanted is None else ShuffledValues(self.group, wanted.cells)

    def distance(self, columns: tuple[ComparedColumn, ...], person: int) -> np.ndarray:
        """How far each record is from a person in some columns together (float64)."""
        return np.asarray(sum(column.distance(person) for column in columns))


def compared_records(target: AttackedRelease) -> ComparedRecords | None:
    """The records of a release; None where its tables show no whole records of people."""
    if _NAME not in target.learned:
        target.learned[_NAME] = _compared(target)
    found: ComparedRecords | None = target.learned[_NAME]
    return found


def without_records(target: AttackedRelease, name: str) -> tuple[Score, ...]:
    """What is told of an attack on records of which a release has none, or too many labels."""
    declared = target.declared
    if not declared.recoded or declared.composed or declared.parts is not None:
        return ()
    labels = declared.named("quasi-identifier")
    is_skipped = target.people.rows and any(_has_too_many(target, one) for one in labels)
    return skipped_attack(name, _TOO_MANY) if is_skipped else ()


def keys_of(columns: tuple[ComparedColumn, ...]) -> tuple[np.ndarray, np.ndarray]:
    """One number per published row, -1 where a cell is no single value, and one per person.

    Equal ones have equal values in all columns (int64, int64).
    """
    both = [np.concatenate([column.single, column.values]).astype(np.int64) for column in columns]
    key, _ = pack([np.maximum(one, 0) for one in both], [int(one.max()) + 1 for one in both])
    rows = len(columns[0].single)
    whole = np.all([column.single >= 0 for column in columns], axis=0)
    return np.where(whole, key[:rows], -1), key[rows:]


def _compared(target: AttackedRelease) -> ComparedRecords | None:
    declared = target.declared
    if declared.composed or declared.parts is not None or not target.people.rows:
        return None
    if declared.recoded:
        labels = _label_columns(target)
        if None in labels:
            return None
        return _together(target, target.tables[TABLE], labels, _alike(labels))
    if declared.form.shows != "rows" or declared.form.values_apart:
        return None
    table = target.tables[relations(declared).rows]
    exact = [_exact_column(target, table, name) for name in declared.named("quasi-identifier")]
    return _together(target, table, exact, table[GROUP_ID].to_numpy().astype(np.int64))


def _together(
    target: AttackedRelease,
    table: pa.Table,
    known: Sequence[ComparedColumn | None],
    group: np.ndarray,
) -> ComparedRecords | None:
    wanted = target.sensitive
    sensitive = _exact_column(target, table, wanted) if wanted else None
    there = tuple(column for column in known if column is not None)
    lacking = len(there) < len(known) or (wanted and sensitive is None)
    if not there or lacking or not table.num_rows:
        return None
    return ComparedRecords(there, sensitive, table.num_rows, target.people.rows, group)


def _alike(labels: Sequence[ComparedColumn | None]) -> np.ndarray:
    """Which rows have the same labels in all columns (int64, one number per row, from 0)."""
    cells = [column.cells for column in labels if column is not None]
    key, _ = pack(cells, [int(of.max(initial=0)) + 1 for of in cells])
    return np.unique(key, return_inverse=True)[1]


def _exact_column(target: AttackedRelease, table: pa.Table, name: str) -> ExactColumn | None:
    shown, own = table[name].combine_chunks(), target.people[name].array()
    type_ = common_type(shown.type, own.type)
    return None if type_ is None else ExactColumn(shown.cast(type_), own.cast(type_))


def _label_columns(target: AttackedRelease) -> list[ComparedColumn | None]:
    return [_label_column(target, name) for name in target.declared.named("quasi-identifier")]


def _label_column(target: AttackedRelease, name: str) -> LabelColumn | None:
    declared, own = target.declared, target.people[name]
    if _has_too_many(target, name):
        return None
    texts, cells = labels_of(target.tables[TABLE], name)
    read = reader_for(form_of(declared))(name, declared.columns[name])
    labels = [read(text) for text in texts]
    fits = Fits(fitting_values(labels, own), own.codes)
    return LabelColumn(labels, cells.astype(np.int32), fits)


def _has_too_many(target: AttackedRelease, name: str) -> bool:
    """Whether there are too many pairs of a column's labels and people's values to compare."""
    texts, _ = labels_of(target.tables[TABLE], name)
    return len(texts) * len(target.people[name].values) > _MOST
