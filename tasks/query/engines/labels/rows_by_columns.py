"""Rows that are alike in the columns of a question, for those that ask about the same ones."""

from sfumato.tasks.query.engines.labels.attendance import Attendance, EveryoneIsHere
from sfumato.tasks.query.engines.labels.rows_with_labels import Rows

_KEPT = 2  # as many rows as are published


class RowsByColumns:
    """Published rows, those that are alike taken together for each question."""

    def __init__(self, rows: Rows, attendance: Attendance) -> None:
        """Take none together yet."""
        self._rows, self._everyone = rows, isinstance(attendance, EveryoneIsHere)
        self._known: dict[frozenset[str], Rows] = {}

    def of(self, names: frozenset[str]) -> Rows:
        """The rows that some columns tell apart, which are all that a question is about.

        All rows, where some are those of people who left: of whom depends on the group.
        """
        if not self._everyone:
            return self._rows
        if names in self._known:
            return self._known[names]
        found = self._known[names] = self._nearest(names).alike(names)
        self._forget()
        return found

    def _nearest(self, names: frozenset[str]) -> Rows:
        """The fewest rows that tell at least these columns apart."""
        known = [rows for of, rows in self._known.items() if names <= of]
        return min([self._rows, *known], key=lambda rows: rows.number)

    def _forget(self) -> None:
        """Keep no more than there is room for, those that were taken together last."""
        room = _KEPT * self._rows.number
        for names, rows in reversed(list(self._known.items())):
            room -= 0 if rows is self._rows else rows.number
            if room < 0:
                del self._known[names]
