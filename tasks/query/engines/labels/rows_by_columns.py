"""Rows that are alike in the columns of a question, for those that ask about the same ones."""

from sqlglot import exp

from sfumato.tasks.query.behind_labels.decide import by_column, columns_of
from sfumato.tasks.query.engines.labels.attendance import Attendance, EveryoneIsHere
from sfumato.tasks.query.engines.labels.rows_with_labels import Rows
from sfumato.tasks.query.question.question import Question

_KEPT = 2  # as many rows as are published


class RowsByColumns:
    """Published rows, those that are alike taken together for each question."""

    def __init__(self, rows: Rows, attendance: Attendance) -> None:
        """Take none together yet."""
        self._rows, self._everyone = rows, isinstance(attendance, EveryoneIsHere)
        self._known: dict[frozenset[str], Rows] = {}

    def of(self, question: Question) -> Rows:
        """The rows that a question tells apart; all of them, where it compares columns.

        All of them, too, where some are those of people who left: of whom depends on the group.
        """
        condition = question.condition
        if not self._everyone or not (condition is None or _is_by_column(condition)):
            return self._rows
        asked = columns_of(condition) if condition is not None else []
        aggregated = (a.sensitive for a in question.aggregates if a.sensitive is not None)
        names = frozenset([*asked, *question.group_by, *aggregated])
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


def _is_by_column(node: exp.Expr) -> bool:
    """Whether each part of a condition is about one column at most."""
    if len(columns_of(node)) < 2:
        return True
    if isinstance(node, exp.Paren | exp.Not):
        return _is_by_column(node.this)
    return isinstance(node, exp.And | exp.Or) and all(map(_is_by_column, by_column(node)))
