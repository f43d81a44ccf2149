"""The published tables of a release that shows exact rows, and its help tables, by columns."""

from functools import cached_property

import numpy as np

from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.composed.lineage import LINEAGE, ROWS, VACANT_ROWS
from sfumato.tasks.forms.composed.vacancies import VACANT
from sfumato.tasks.query.engines.direct.coded_values import NotDirectError
from sfumato.tasks.query.engines.direct.group_values import GroupTotals, totals_of_values
from sfumato.tasks.query.engines.direct.help_rows import HelpRows
from sfumato.tasks.query.engines.direct.published_columns import PublishedColumns
from sfumato.tasks.query.engines.engine import Files
from sfumato.tasks.query.engines.loop_over_groups import LoopWhenWorth
from sfumato.tasks.query.help_tables.rows import help_name
from sfumato.tasks.query.question.relations import GROUP_VALUES, Relations


class ReleaseTables:
    """Every table by what it is for; columns are read once, when a question needs them."""

    def __init__(self, tables: Files, declared: Declared, known: Relations) -> None:
        """Read nothing yet."""
        self._tables, self._declared, self._known = tables, declared, known
        self.rows = PublishedColumns(tables[known.rows])
        self._values: dict[str, PublishedColumns] = {known.rows: self.rows}
        self._helping: dict[str, HelpRows] = {}
        self._totals: dict[str, GroupTotals] = {}
        self._times: dict[tuple[str, ...], np.ndarray] = {}
        self.loop = LoopWhenWorth()

    def is_whole(self, name: str) -> bool:
        """Whether a column's values are integers."""
        return self._declared.columns[name].type == "integer"

    def bundle(self, name: str) -> tuple[str, ...]:
        """The sensitive columns that keep their association with one, itself included."""
        return next(of for of in self._known.tables if name in of)

    def values(self, bundle: tuple[str, ...]) -> PublishedColumns:
        """The values of groups, of people and of nobody."""
        name = self._known.tables[bundle]
        if name not in self._values:
            parts = [self._known.rows, VACANT] if name == GROUP_VALUES else [name]
            self._values[name] = PublishedColumns(*(self._tables[part] for part in parts))
        return self._values[name]

    def times(self, bundle: tuple[str, ...]) -> np.ndarray | None:
        """How often each of them occurs (int64, one per row); None where that is once."""
        if not self._known.counted:
            return None
        if bundle not in self._times:
            self._times[bundle] = self.values(bundle).numbers("count")
        return self._times[bundle]

    def helping(self, name: str) -> HelpRows:
        """The help table of a sensitive column."""
        if name not in self._helping:
            self._helping[name] = HelpRows(PublishedColumns(self._tables[help_name(name)]))
        return self._helping[name]

    @cached_property
    def sizes(self) -> np.ndarray:
        """How many values each group has (int64, one per group).

        Raises:
            NotDirectError: where groups are not numbered 0, 1, ….
        """
        if not self._declared.composed:
            return np.bincount(self.rows.group)
        lineage = PublishedColumns(self._tables[LINEAGE])
        if not np.array_equal(lineage.group, np.arange(len(lineage.group))):
            raise NotDirectError
        return np.asarray(lineage.numbers(ROWS) + lineage.numbers(VACANT_ROWS))

    def totals(self, name: str) -> GroupTotals:
        """How many values of a column each group has, and their sum."""
        if name not in self._totals:
            self._totals[name] = self._read_totals(name)
        return self._totals[name]

    def _read_totals(self, name: str) -> GroupTotals:
        if not self._declared.composed:
            helping = self.helping(name)
            return GroupTotals(helping.sizes, helping.totals)
        bundle = self.bundle(name)
        return totals_of_values(self.values(bundle), name, self.times(bundle), self.sizes)
