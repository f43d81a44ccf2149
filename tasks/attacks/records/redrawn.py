"""Conditions on a release whose values are shuffled anew for each condition.

A permuted table is one draw of many, and conditions made from it hold in that draw. So each
condition is made from a draw of its own. Only the needed part is drawn: the value of one row, and
the number of other rows with its quasi-identifiers that have such a value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.attacks.records.columns import ComparedColumn, Span
from sfumato.tasks.attacks.records.records import ComparedRecords
from sfumato.tasks.attacks.records.shuffled import ShuffledValues

FIRST = 1_000, 30_000  # about so many rows, or people, are tested before all are


@dataclass(frozen=True, eq=False)
class RowCondition:
    """The condition to be like one row, in some columns.

    Attributes:
        row: the number of the row.
        quasi_identifiers: the columns of quasi-identifiers in the condition; at least one.
        span: the sensitive values that are like the row's in the drawn shuffle; None if the
            condition has no sensitive column.
        is_sure: whether it is already certain that no other row meets it.
    """

    row: int
    quasi_identifiers: Sequence[ComparedColumn]
    span: Span | None
    is_sure: bool = False

    def is_met_once(
        self, records: ComparedRecords, drawing: np.random.Generator
    ) -> tuple[bool, int]:
        """Decide whether no other row meets it; return also how many rows were tested.

        Some rows are tested first: if one of them also meets it, the others need no test.
        """
        if self.is_sure:
            return True, records.rows
        tested, seen = 0, np.array([self.row])
        for step in steps(records.rows):
            tested += -(-records.rows // step)
            like = self._like_known(step)
            new = like[like != self.row] if len(seen) == 1 else np.setdiff1d(like, seen, True)
            if self._meets(new, seen, records.shuffled_values, drawing):
                return False, tested
            if step > 1:
                seen = np.union1d(seen, new)
        return True, tested

    def is_one_person(self, records: ComparedRecords) -> tuple[bool, int]:
        """Decide whether exactly one person meets it; return also how many people were tested."""
        tested = 0
        for step in steps(records.people):
            tested += -(-records.people // step)
            holding = int(np.count_nonzero(self._people(records, step)))
            if holding > 1:
                break
        return holding == 1, tested

    def _like_known(self, step: int) -> np.ndarray:
        """Return those of every `step`th row with such quasi-identifiers (positions, int64)."""
        holds = np.logical_and.reduce(
            [column.rows_like(self.row)(step) for column in self.quasi_identifiers]
        )
        return np.flatnonzero(holds) * step

    def _people(self, records: ComparedRecords, step: int) -> np.ndarray:
        holds = [column.people_like(self.row)(step) for column in self.quasi_identifiers]
        if self.span is not None and records.sensitive is not None:
            low, high = self.span
            values = records.sensitive.values[::step]
            holds.append((values >= low) & (values < high))
        return np.asarray(np.logical_and.reduce(holds))

    def _meets(
        self,
        new: np.ndarray,
        seen: np.ndarray,
        values: ShuffledValues | None,
        drawing: np.random.Generator,
    ) -> bool:
        """Decide whether some new rows meet it in this draw: one of them needs such a value.

        Of the rows seen before, only the row itself has such a value.
        """
        if self.span is None or values is None or not len(new):
            return len(new) > 0
        group, number = np.unique(values.group[new], return_counts=True)
        # The row itself has one of the like values of its group. Rows seen before have none, so all
        # others are equally likely in the group's remaining rows.
        own = group == values.group[self.row]
        like = values.count_between(group, self.span) - own
        gone = np.bincount(values.group[seen], minlength=len(values.sizes))[group]
        remaining = values.sizes[group] - gone
        return bool(drawing.hypergeometric(like, remaining - like, number).any())


def row_condition(
    records: ComparedRecords, row: int, chosen: Sequence[int], drawing: np.random.Generator
) -> RowCondition:
    """Return the condition to be like a row in some columns, once values are shuffled anew.

    Args:
        records: the release.
        row: the number of one of its rows.
        chosen: the positions of columns, some of them quasi-identifiers.
        drawing: the source of randomness for the row's value.
    """
    values, columns = records.shuffled_values, _quasi_identifiers(records, chosen)
    if len(columns) == len(chosen) or values is None:
        return RowCondition(row, columns, None)
    return RowCondition(row, columns, _span(records, values.draw(row, drawing)))


def conditions_met(
    records: ComparedRecords, rows: np.ndarray, columns: np.ndarray, drawing: np.random.Generator
) -> list[RowCondition | None]:
    """Return the condition of each of some rows, each in one whole shuffle; for small tables.

    Args:
        records: the release.
        rows: some of its rows (int64).
        columns: the positions of the columns of each condition (int64, conditions x columns).
        drawing: the source of randomness for shuffles.

    Returns:
        One condition per row; None if other rows also meet it.
    """
    holds = like_known(records, rows, columns, 1)
    values, by_value = (
        records.shuffled_values,
        (columns >= len(records.quasi_identifiers)).any(axis=1),
    )
    spans: list[Span | None] = [None] * len(rows)
    if values is not None and by_value.any():
        tables = values.draw_tables(int(by_value.sum()), drawing)
        cells = tables[np.arange(len(tables)), rows[by_value]].tolist()
        value_spans = [_span(records, cell) for cell in cells]
        low, high = np.array(value_spans).T[:, :, np.newaxis]
        holds[by_value] &= (tables >= low) & (tables < high)
        for index, span in zip(np.flatnonzero(by_value).tolist(), value_spans, strict=True):
            spans[index] = span
    met = (np.count_nonzero(holds, axis=1) == 1).tolist()
    every = zip(rows.tolist(), columns.tolist(), spans, met, strict=True)
    return [
        RowCondition(row, _quasi_identifiers(records, chosen), span, is_sure=True)
        if alone
        else None
        for row, chosen, span, alone in every
    ]


def like_known(
    records: ComparedRecords, rows: np.ndarray, columns: np.ndarray, step: int
) -> np.ndarray:
    """Decide which of every `step`th row have the quasi-identifiers of `rows` (bool, 2-D).

    The first axis is `rows`, the second the tested rows.
    """
    holds = np.ones((len(rows), -(-records.rows // step)), dtype=bool)
    for index, column in enumerate(records.quasi_identifiers):
        conditions = np.flatnonzero((columns == index).any(axis=1))
        holds[conditions] &= column.rows_like_each(rows[conditions], step)
    return holds


def _quasi_identifiers(records: ComparedRecords, chosen: Sequence[int]) -> Sequence[ComparedColumn]:
    return [
        records.quasi_identifiers[index]
        for index in chosen
        if index < len(records.quasi_identifiers)
    ]


def _span(records: ComparedRecords, cell: int) -> Span | None:
    return None if records.sensitive is None else records.sensitive.span(cell)


def steps(number: int) -> Iterator[int]:
    """Yield steps, each smaller than the one before, and 1 at last.

    With step s every s-th of `number` rows is tested: about as many as `FIRST` says, then all.
    """
    yield from dict.fromkeys((*(max(number // some, 1) for some in FIRST), 1))
