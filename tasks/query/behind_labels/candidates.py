"""Few values that stand for all behind a label, as far as an expression tells them apart.

All values of a label that has few; of others one on each side of every constant that the
expression compares the column with, if it does nothing else with the column.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from sqlglot import exp

from sfumato.tasks.forms.recoded.labels import Admitted, Between
from sfumato.tasks.query.behind_labels.number_line import Piece, cut_line
from sfumato.tasks.query.behind_labels.scales import Scale, scale_of
from sfumato.tasks.query.behind_labels.values_behind_labels import (
    COMPARISONS,
    constants_of,
    like_texts,
    listed_number,
    texts_beside,
    values_of_label,
)
from sfumato.tasks.schema.published import DeclaredColumn

_MOST = 20_000  # values of one label that are listed


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
