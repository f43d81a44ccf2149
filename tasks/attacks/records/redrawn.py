"""Conditions asked of a release whose values are shuffled anew for each of them.

A permuted table is one draw of many, and conditions made from it hold in that draw. So each
condition is made from a draw of its own, of which no more is drawn than it asks for: the value of
one row, and how many of the other rows that its quasi-identifiers leave have such a value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.tasks.attacks.records.columns import ComparedColumn, Span
from sfumato.tasks.attacks.records.records import ComparedRecords
from sfumato.tasks.attacks.records.shuffled import ShuffledValues

FIRST = 1_000, 30_000  # about as many rows, or people, are asked before all are


@dataclass(frozen=True, eq=False)
class RowCondition:
    """What one row is like, in some columns.

    Attributes:
        row: which it is.
        known: its quasi-identifiers that the condition asks for; at least one.
        span: which sensitive values are like its own; None where it asks for none.
        is_sure: whether it is known that no other row meets it.
    """

    row: int
    known: Sequence[ComparedColumn]
    span: Span | None
    is_sure: bool = False

    def is_met_once(
        self, records: ComparedRecords, drawing: np.random.Generator
    ) -> tuple[bool, int]:
        """Decide whether no other row meets it, and tell of how many rows it was asked.

        Some are asked first: where another is found among them, the others need not be.
        """
        if self.is_sure:
            return True, records.rows
        asked, seen = 0, np.array([self.row])
        for step in steps(records.rows):
            asked += -(-records.rows // step)
            like = self._like_known(step)
            new = like[like != self.row] if len(seen) == 1 else np.setdiff1d(like, seen, True)
            if self._meets(new, seen, records.shuffled, drawing):
                return False, asked
            if step > 1:
                seen = np.union1d(seen, new)
        return True, asked

    def is_one_person(self, records: ComparedRecords) -> tuple[bool, int]:
        """Decide whether it holds of one person alone, and tell of how many it was asked."""
        asked = 0
        for step in steps(records.people):
            asked += -(-records.people // step)
            holding = int(np.count_nonzero(self._people(records, step)))
            if holding > 1:
                break
        return holding == 1, asked

    def _like_known(self, step: int) -> np.ndarray:
        """Which of each so manieth row have such quasi-identifiers (positions, int64)."""
        holds = np.logical_and.reduce([column.rows_like(self.row)(step) for column in self.known])
        return np.flatnonzero(holds) * step

    def _people(self, records: ComparedRecords, step: int) -> np.ndarray:
        holds = [column.people_like(self.row)(step) for column in self.known]
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
        """Whether some new rows, the value of one of them at least, are like it, in this draw.

        Of the rows seen before, the row itself alone has such a value.
        """
        if self.span is None or values is None or not len(new):
            return len(new) > 0
        group, number = np.unique(values.group[new], return_counts=True)
        own = group == values.group[self.row]
        like = values.between(group, self.span) - own
        gone = np.bincount(values.group[seen], minlength=len(values.sizes))[group]
        left = values.sizes[group] - gone
        return bool(drawing.hypergeometric(like, left - like, number).any())


def row_condition(
    records: ComparedRecords, row: int, chosen: Sequence[int], drawing: np.random.Generator
) -> RowCondition:
    """What a row is like in some columns, once values are shuffled anew.

    Args:
        records: the release.
        row: which of its rows.
        chosen: the places of columns, some of them quasi-identifiers.
        drawing: what the row's value is drawn from.
    """
    values, known = records.shuffled, _known(records, chosen)
    if len(known) == len(chosen) or values is None:
        return RowCondition(row, known, None)
    return RowCondition(row, known, _span(records, values.draw(row, drawing)))


def conditions_met(
    records: ComparedRecords, rows: np.ndarray, drawn: np.ndarray, drawing: np.random.Generator
) -> list[RowCondition | None]:
    """What each of some rows is like, all of each shuffle at once: for small tables.

    Args:
        records: the release.
        rows: some of its rows (int64).
        drawn: the places of columns of each (int64, conditions x columns).
        drawing: what shuffles are drawn from.

    Returns:
        None where other rows meet it, too.
    """
    holds = like_known(records, rows, drawn, 1)
    values, by_value = records.shuffled, (drawn >= len(records.known)).any(axis=1)
    spans: list[Span | None] = [None] * len(rows)
    if values is not None and by_value.any():
        tables = values.draw_tables(int(by_value.sum()), drawing)
        cells = tables[np.arange(len(tables)), rows[by_value]].tolist()
        told = [_span(records, cell) for cell in cells]
        low, high = np.array(told).T[:, :, np.newaxis]
        holds[by_value] &= (tables >= low) & (tables < high)
        for at, span in zip(np.flatnonzero(by_value).tolist(), told, strict=True):
            spans[at] = span
    met = (np.count_nonzero(holds, axis=1) == 1).tolist()
    every = zip(rows.tolist(), drawn.tolist(), spans, met, strict=True)
    return [
        RowCondition(row, _known(records, chosen), span, is_sure=True) if alone else None
        for row, chosen, span, alone in every
    ]


def like_known(
    records: ComparedRecords, rows: np.ndarray, drawn: np.ndarray, step: int
) -> np.ndarray:
    """Which of each so manieth row have quasi-identifiers like some rows (bool, like x rows)."""
    holds = np.ones((len(rows), -(-records.rows // step)), dtype=bool)
    for at, column in enumerate(records.known):
        asked = np.flatnonzero((drawn == at).any(axis=1))
        holds[asked] &= column.rows_like_each(rows[asked], step)
    return holds


def _known(records: ComparedRecords, chosen: Sequence[int]) -> Sequence[ComparedColumn]:
    return [records.known[at] for at in chosen if at < len(records.known)]


def _span(records: ComparedRecords, cell: int) -> Span | None:
    return None if records.sensitive is None else records.sensitive.span(cell)


def steps(number: int) -> Iterator[int]:
    """Of how many rows each time one is asked: of ever fewer, and of all in the end."""
    yield from dict.fromkeys((*(max(number // some, 1) for some in FIRST), 1))
