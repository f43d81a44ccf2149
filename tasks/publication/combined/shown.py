"""A composed version as everybody reads it: what it declares, its tables, and its groups."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sfumato.expectations.arrow import as_integers
from sfumato.expectations.groups.groups import Groups
from sfumato.tasks.declaration.opened import Release
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.tables import read_tables
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.composed.lineage import LINEAGE, PREVIOUS, rows_of, vacant_of
from sfumato.tasks.forms.composed.registry import VACANCIES
from sfumato.tasks.forms.composed.vacancies import Vacancies
from sfumato.tasks.forms.form import Tables


@dataclass(frozen=True, eq=False)
class ShownVersion:
    """A composed version of a line.

    Attributes:
        declared: what it declares.
        tables: as they were published.
    """

    declared: Declared
    tables: Tables

    @classmethod
    def of(cls, release: Release) -> "ShownVersion":
        """Read the tables of a release.

        Raises:
            PromiseError: where they are not those that it declares.
        """
        return cls(release.declared, read_tables(release.declared, release.directory / "data"))

    @property
    def vacancies(self) -> Vacancies:
        """How its form shows values of people who left."""
        return VACANCIES[self.declared.form.method]

    @property
    def lineage(self) -> pa.Table:
        """How its groups go on."""
        return self.tables[LINEAGE]

    @property
    def rows(self) -> np.ndarray:
        """The people shown in each group (int64, one per group)."""
        return rows_of(self.lineage)

    @property
    def vacant(self) -> np.ndarray:
        """The vacant values of each group (int64, one per group)."""
        return vacant_of(self.lineage)

    @cached_property
    def previous(self) -> np.ndarray:
        """The group of the version before that each goes on from (int64), -1 for a new one."""
        return as_integers(self.lineage[PREVIOUS].fill_null(-1))

    @cached_property
    def groups(self) -> Groups:
        """Its groups in the order of their ids, with the values of every sensitive column.

        Raises:
            PromiseError: where its tables contradict each other.
        """
        columns = self.declared.columns
        sensitive = self.declared.named("sensitive")
        return form_of(self.declared).groups(self.tables, columns, (), sensitive)
