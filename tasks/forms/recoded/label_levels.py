"""The levels of labels in the hierarchies of their columns."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sfumato.tasks.forms.recoded.labels import STAR, Admitted, ListedValues
from sfumato.tasks.forms.recoded.rule_labels import length_kept, period_name, width_of
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes
from sfumato.tasks.schema.published import DeclaredColumn, Labels


def levels(
    column: DeclaredColumn, labels: Sequence[str | None], admitted: Sequence[Admitted]
) -> tuple[list[int], int]:
    """The level of each label of a column's hierarchy, and the root's; the lowest that it can be.

    Without a hierarchy there are two levels: single values, and all else.

    Args:
        column: as declared.
        labels: as published.
        admitted: the values that each of them admits.
    """
    name: Callable[[str], Any]
    match column.hierarchy:
        case Intervals(intervals=widths):
            names: list[Any] = list(widths)
            name = width_of
        case Dates(dates=periods):
            names, name = list(periods), period_name
        case Prefixes(prefixes=lengths):
            names, name = list(lengths), partial(length_kept, lengths=lengths)
        case None:
            return [int(not _is_alone(one)) for one in admitted], 1
        case known:
            places = _places(known)
            return [0 if label is None else places[label] for label in labels], len(known[0]) - 1
    height = len(names) + 1

    def level(label: str | None) -> int:
        if label == STAR:
            return height
        kind = None if label is None else name(label)
        return 0 if kind is None else names.index(kind) + 1

    return [level(label) for label in labels], height


def _is_alone(admitted: Admitted) -> bool:
    return isinstance(admitted, ListedValues) and len(admitted.values) + admitted.null == 1


def _places(labels: Labels) -> dict[str, int]:
    places: dict[str, int] = {}
    for number in range(len(labels[0])):
        for row in labels:
            places.setdefault(row[number], number)
    return places
