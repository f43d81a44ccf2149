"""The levels of labels in the hierarchies of their columns."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sfumato.tasks.forms.recoded.label_readers import Reader
from sfumato.tasks.forms.recoded.labels import STAR, ListedValues
from sfumato.tasks.forms.recoded.rule_labels import length_kept, period_name, width_of
from sfumato.tasks.schema.hierarchy_rules import Dates, Intervals, Prefixes
from sfumato.tasks.schema.published import DeclaredColumn, Labels


def levels(column: DeclaredColumn, read: Reader) -> tuple[Callable[[str | None], int], int]:
    """The level of each label of a column's hierarchy, and the root's; the lowest that it can be.

    Without a hierarchy there are two levels: what `read` finds to be a single value, and all else.
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
            return partial(_by_number, read), 1
        case labels:
            return _by_place(labels), len(labels[0]) - 1
    height = len(names) + 1

    def level(label: str | None) -> int:
        if label == STAR:
            return height
        kind = None if label is None else name(label)
        return 0 if kind is None else names.index(kind) + 1

    return level, height


def _by_number(read: Reader, label: str | None) -> int:
    admitted = read(label)
    alone = isinstance(admitted, ListedValues) and len(admitted.values) + admitted.null == 1
    return 0 if alone else 1


def _by_place(labels: Labels) -> Callable[[str | None], int]:
    places: dict[str, int] = {}
    for number in range(len(labels[0])):
        for row in labels:
            places.setdefault(row[number], number)
    return lambda label: 0 if label is None else places[label]
