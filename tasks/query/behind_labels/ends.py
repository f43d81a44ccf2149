"""The least and the greatest value behind labels of many, as a condition leaves them.

All values of a label that has few; of others one on each side of every constant that the
expression compares the column with, if it does nothing else with the column.
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
Ends = tuple[Any, Any]
Decide = Callable[[pa.Table, exp.Expr], np.ndarray]
"""Decides a condition on the rows of a table: an outcome for each (int8)."""


def cuts(nodes: Sequence[exp.Expr], name: str) -> list[exp.Expr] | None:
    """The constants that expressions compare a column with, None where they do anything else."""
    if any(isinstance(node.unnest(), exp.Column) for node in nodes):
        return None
    found = [constants_of(node, (*COMPARISONS, exp.Like), name) for node in nodes]
    known = [of for of in found if of is not None]
    return list(chain(*known)) if len(known) == len(found) else None


def is_few(label: Admitted, column: DeclaredColumn) -> bool:
    """Decide whether a label has so few values that they are listed."""
    number = listed_number(label, column)
    return number is not None and number <= _MOST


def candidates(
    label: Admitted, column: DeclaredColumn, constants: Sequence[Any] | None, *, liked: bool
) -> list[Any] | None:
    """Values of a label, with None for null, among which each outcome of an expression is.

    Args:
        label: of a column.
        column: as it is declared.
        constants: that the expression compares the column with; None where it does anything else.
        liked: whether it compares texts by LIKE.

    Returns:
        None where no few values do.
    """
    if is_few(label, column):
        return list(values_of_label(label, column))
    scale = scale_of(column)
    if constants is None or (liked and scale is not None):
        return None
    null: list[Any] = [None] if label.null else []
    if scale is None:
        named = [str(text) for text in constants]
        found = like_texts(named, label) if liked else texts_beside(named, label)
        return None if found is None else null + [text for text, _ in found]
    pieces = cut_line(constants, scale)
    return None if pieces is None else null + list(_met(label, pieces, scale))


def _met(label: Admitted, pieces: Sequence[Piece], scale: Scale) -> Iterator[Any]:
    """A value of each piece of the number line that a label meets."""
    low, high = limits(label, scale)
    for piece in pieces:
        first, last = max(low, piece.first), min(high, piece.last)
        if first <= last:
            yield scale.value(min(max(0, first), last))


def limits(label: Admitted, scale: Scale) -> tuple[int, int]:
    """The least and the greatest number behind a label of an ordered column."""
    if isinstance(label, Between) and label.low is not None:
        return scale.whole(label.low), scale.whole(label.high)
    return scale.lowest, scale.highest


class EndsOfLabels:
    """The ends of labels of one column on which a condition about it alone holds."""

    def __init__(
        self,
        name: str,
        column: DeclaredColumn,
        condition: exp.Expr | None,
        decide: Decide,
        fold: Fold,
    ) -> None:
        """Cut the number line by the condition, where it compares the column with constants."""
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
            pieces, found = cut
            self._kept = [p for p, of in zip(pieces, found, strict=True) if of in (TRUE, ANY)]

    def of_label(self, label: Admitted) -> Ends | None:
        """The least and the greatest value behind a label; None where it has no ends."""
        if self._scale is None or self.is_emptied(label):
            return None
        low, high = self._narrowed(label, self._scale)
        starred = not isinstance(label, Between) or label.low is None
        if starred and (low == self._scale.lowest or high == self._scale.highest):
            return None
        return self._scale.value(low), self._scale.value(high)

    def is_emptied(self, label: Admitted) -> bool:
        """Decide whether the condition leaves no value behind a label."""
        if self._scale is None:
            return False
        low, high = self._narrowed(label, self._scale)
        return low > high

    def _narrowed(self, label: Admitted, scale: Scale) -> tuple[int, int]:
        low, high = limits(label, scale)
        if isinstance(label, Between) and label.low is None:
            low, high = _published_ends(self._column, scale)
        if self._kept is None:
            return low, high
        met = [piece for piece in self._kept if piece.first <= high and piece.last >= low]
        return (max(low, met[0].first), min(high, met[-1].last)) if met else (high, low - 1)


def _published_ends(column: DeclaredColumn, scale: Scale) -> tuple[int, int]:
    """The least and the greatest number that a column may have, by what the release says of it.

    Values beyond the thresholds of a column were replaced by these.
    """
    if column.round is not None:
        return scale.lowest, scale.highest
    ends = [scale.lowest, scale.highest]
    for place, threshold in enumerate((column.bottom, column.top)):
        if isinstance(threshold, str):
            ends[place] = scale.whole(value_of(threshold, column.type))
    return ends[0], ends[1]
