"""The least and the greatest value behind labels of many values, under a condition.

A label of few values is decided by all of them. A label of many values is decided by one value on
each side of every constant that the expression compares the column with, if it does nothing else
with the column.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sfumato.tasks.forms.labels import Admitted, Between, value_of
from sfumato.tasks.query.behind_labels.number_line import Piece, cut_line, decide_pieces
from sfumato.tasks.query.behind_labels.scales import Scale, scale_of
from sfumato.tasks.query.behind_labels.values_behind_labels import (
    ANY,
    COMPARISONS,
    TRUE,
    Fold,
    constants_of,
    like_texts,
    listed_number,
    texts_beside,
    values_of_label,
)
from sfumato.tasks.schema.published import DeclaredColumn

_MOST = 20_000  # values of one label that are listed
Ends = tuple[Any, Any]  # the least and the greatest value behind a label
Decide = Callable[[pa.Table, exp.Expr], np.ndarray]
"""Decides a condition on the rows of a table: an outcome for each (int8)."""


def cuts(nodes: Sequence[exp.Expr], name: str) -> list[exp.Expr] | None:
    """Return the constants that expressions compare a column with.

    Returns None if an expression uses the column in any other way.
    """
    if any(isinstance(node.unnest(), exp.Column) for node in nodes):
        return None
    by_node = [constants_of(node, (*COMPARISONS, exp.Like), name) for node in nodes]
    compared = [constants for constants in by_node if constants is not None]
    return list(chain(*compared)) if len(compared) == len(by_node) else None


def is_few(label: Admitted, column: DeclaredColumn) -> bool:
    """Decide whether a label has so few values that they are listed."""
    number = listed_number(label, column)
    return number is not None and number <= _MOST


def candidates(
    label: Admitted, column: DeclaredColumn, constants: Sequence[Any] | None, *, liked: bool
) -> list[Any] | None:
    """Return values of a label, with None for null, that lead to every outcome of an expression.

    Args:
        label: a label of a column.
        column: the column as it is declared.
        constants: the values that the expression compares the column with, without null; None if it
            uses the column in another way.
        liked: whether it compares texts by LIKE.

    Returns:
        None if a few values are not enough.
    """
    if is_few(label, column):
        return list(values_of_label(label, column))
    scale = scale_of(column)
    if constants is None or (liked and scale is not None):
        return None
    null: list[Any] = [None] if label.null else []
    if scale is None:
        named = [str(text) for text in constants]
        texts = like_texts(named, label) if liked else texts_beside(named, label)
        return None if texts is None else null + [text for text, _ in texts]
    pieces = cut_line(constants, scale)
    return None if pieces is None else null + list(_values_in_pieces(label, pieces, scale))


def _values_in_pieces(label: Admitted, pieces: Sequence[Piece], scale: Scale) -> Iterator[Any]:
    """Yield a value of each piece of the number line that overlaps a label: that nearest to 0."""
    low, high = limits(label, scale)
    for piece in pieces:
        first, last = max(low, piece.first), min(high, piece.last)
        if first <= last:
            yield scale.value(min(max(0, first), last))


def limits(label: Admitted, scale: Scale) -> tuple[int, int]:
    """Return the least and the greatest number behind a label of an ordered column.

    They are those of the type if the label has no limits.
    """
    if isinstance(label, Between) and label.low is not None:
        return scale.whole(label.low), scale.whole(label.high)
    return scale.lowest, scale.highest


class EndsOfLabels:
    """The ends of labels of one column, under a condition about only this column."""

    def __init__(
        self,
        name: str,
        column: DeclaredColumn,
        condition: exp.Expr | None,
        decide: Decide,
        fold: Fold,
    ) -> None:
        """Cut the number line at the constants that the condition compares the column with.

        Args:
            name: the column.
            column: the column as it is declared.
            condition: a condition on only this column; None if there is none.
            decide: returns the outcome of a condition on the rows of a table.
            fold: returns the values of the constants.
        """
        self._column, self._scale = column, scale_of(column)
        self._kept: list[Piece] | None = None
        if condition is None or self._scale is None:
            return
        compared = constants_of(condition, COMPARISONS)
        if compared is None:
            return

        def outcomes(values: pa.Array | Sequence[Any]) -> np.ndarray:
            tried = pa.table({name: pa.array(values, column.arrow_type)})
            return decide(tried, condition.copy())

        constants = [value for value in fold(compared) if value is not None]
        cut = decide_pieces(constants, self._scale, outcomes)
        if cut is not None:
            pieces, results = cut
            self._kept = [
                p for p, outcome in zip(pieces, results, strict=True) if outcome in (TRUE, ANY)
            ]

    def of_label(self, label: Admitted) -> Ends | None:
        """Return the least and the greatest value behind a label; None if the label has no ends.

        A star has ends only if the condition, or the release, limits it on both sides.
        """
        if self._scale is None or self.is_emptied(label):
            return None
        low, high = self._narrow(label, self._scale)
        starred = not isinstance(label, Between) or label.low is None
        if starred and (low == self._scale.lowest or high == self._scale.highest):
            return None
        return self._scale.value(low), self._scale.value(high)

    def is_emptied(self, label: Admitted) -> bool:
        """Decide whether the condition leaves no value behind a label."""
        if self._scale is None:
            return False
        low, high = self._narrow(label, self._scale)
        return low > high

    def _narrow(self, label: Admitted, scale: Scale) -> tuple[int, int]:
        """Return the least and the greatest number of a label that the condition leaves.

        The least is above the greatest if it leaves none.
        """
        low, high = limits(label, scale)
        if isinstance(label, Between) and label.low is None:
            low, high = _published_ends(self._column, scale)
        if self._kept is None:
            return low, high
        met = [piece for piece in self._kept if piece.first <= high and piece.last >= low]
        return (max(low, met[0].first), min(high, met[-1].last)) if met else (high, low - 1)


def _published_ends(column: DeclaredColumn, scale: Scale) -> tuple[int, int]:
    """Return the least and the greatest number that the release allows a column to have.

    Values beyond a threshold of the column (`bottom`, `top`) were replaced by the threshold.
    """
    if column.round is not None:
        return scale.lowest, scale.highest
    ends = [scale.lowest, scale.highest]
    for place, threshold in enumerate((column.bottom, column.top)):
        if isinstance(threshold, str):
            ends[place] = scale.whole(value_of(threshold, column.type))
    return ends[0], ends[1]
