"""The values behind labels, and how often each occurs there, fitted from the labels alone.

Where labels overlap, as boxes do, they tell how frequent the values are that they have in common:
expectation and maximisation, in few rounds so that what is found stays smooth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from sfumato.tasks.forms.recoded.labels import Admitted, Between, ListedValues, admits

_MOST_VALUES = 5_000  # behind all labels of a column
_MOST_CELLS = 5_000_000  # labels times values
_ROUNDS = 50


@dataclass(frozen=True, eq=False)
class ColumnOfLabels:
    """A recoded column.

    Attributes:
        values: behind its labels, ascending where they have an order.
        share: of each label the share of each value (float64, labels x values).
        codes: the label of each row (integers).
    """

    values: Sequence[Any]
    share: np.ndarray
    codes: np.ndarray


def values_behind(labels: Sequence[Admitted], type_: str) -> list[Any] | None:
    """The values that labels admit, ascending; None where there are too many, or no end."""
    found: set[Any] = set()
    for label in labels:
        if isinstance(label, ListedValues):
            found.update(value for value in label.values if value is not None)
        elif isinstance(label, Between) and type_ in ("integer", "date"):
            between = _between(label.low, label.high)
            if between is None:
                return None
            found.update(between)
        if len(found) > _MOST_VALUES:
            return None
    return sorted(found) if len(labels) * len(found) <= _MOST_CELLS else None


def _between(low: Any, high: Any) -> list[Any] | None:
    """All integers or days from one to another; None where they are too many."""
    if low is None or high is None:
        return None
    days = isinstance(low, date)
    steps = (high - low).days if days else high - low
    if steps > _MOST_VALUES:
        return None
    return [low + (timedelta(days=step) if days else step) for step in range(steps + 1)]


def fitted_shares(
    labels: Sequence[Admitted], codes: np.ndarray, values: Sequence[Any]
) -> ColumnOfLabels:
    """The share of each value behind each label, under one distribution for all labels."""
    inside = np.array([[admits(label, value) for value in values] for label in labels], float)
    times = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    weight = np.ones(len(values))
    for _ in range(_ROUNDS):
        whole = np.maximum(inside @ weight, 1e-300)
        weight = weight * (inside.T @ (times / whole))
    share = inside * weight
    found = share.sum(axis=1, keepdims=True)
    share = np.where(found > 0, share / np.where(found > 0, found, 1), 0.0)
    return ColumnOfLabels(values, share, codes)
