"""Two readings of a table of labels that need no software: by shares of labels, and by midpoints.

Both are estimates that people make of a k-anonymous table by hand. A label `[30, 39]` stands for 30
to 39. By shares, a row counts by the share of its labels that a selection has; by midpoints, it
counts if the middle of each label is selected. A sex that is not shown counts by shares in both.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tests.benchmarks.selections import AGES, SCHOOLING, SEXES, Limits, Selection

Ends = tuple[np.ndarray, np.ndarray]
Reading = Callable[[Ends, tuple[int, int]], np.ndarray]


def ends_of_labels(labels: Sequence[str], whole: tuple[int, int]) -> Ends:
    """Return the least and the greatest number of each label (int64).

    >>> [ends.tolist() for ends in ends_of_labels(["[30, 39]", "17", "*"], (17, 90))]
    [[30, 17, 17], [39, 17, 90]]
    """
    pairs = [_ends_of_label(label, whole) for label in labels]
    low, high = np.array(pairs, dtype=np.int64).T
    return low, high


def _ends_of_label(label: str, whole: tuple[int, int]) -> tuple[int, int]:
    if label == "*":
        return whole
    first, _, last = label.strip("[]").partition(", ")
    return int(first), int(last or first)


def share_selected(ends: Ends, selected: tuple[int, int]) -> np.ndarray:
    """Return the share of each label's numbers that are selected (float64)."""
    low, high = ends
    common = np.minimum(high, selected[1]) - np.maximum(low, selected[0]) + 1
    return np.maximum(common, 0) / (high - low + 1)


def midpoint_selected(ends: Ends, selected: tuple[int, int]) -> np.ndarray:
    """Return 1.0 for each label whose middle is selected, 0.0 otherwise."""
    middle = (ends[0] + ends[1]) / 2
    return ((middle >= selected[0]) & (middle <= selected[1])).astype(np.float64)


READINGS: dict[str, Reading] = {"shares": share_selected, "midpoints": midpoint_selected}


def read_labels(
    table: pa.Table,
    sensitive: str,
    selections: Sequence[Selection],
    limits: Limits,
    reading: Reading,
) -> dict[str, np.ndarray]:
    """Estimate each measure for each selection (float64).

    Args:
        table: published rows: labels of age, education-num and sex, and exact sensitive values.
        sensitive: name of the column with the values.
        selections: to be asked about.
        limits: of the values; the mean of no rows is the middle.
        reading: of labels with ends.
    """
    ages = ends_of_labels(table["age"].to_pylist(), AGES)
    schooling = ends_of_labels(table["education-num"].to_pylist(), SCHOOLING)
    sex, value = np.array(table["sex"].to_pylist()), table[sensitive].to_numpy()
    answers = []
    for selection in selections:
        weight = reading(ages, selection.ages) * reading(schooling, selection.schooling)
        weight *= _share_of_sexes(sex, selection.sexes)
        rows, total = weight.sum(), (weight * value).sum()
        mean = total / rows if rows else limits.middle
        answers.append((rows, weight[value > limits.above].sum(), total, mean))
    columns = np.array(answers, dtype=np.float64).T
    return dict(zip(("rows", "above", "total", "mean"), columns, strict=True))


def _share_of_sexes(sex: np.ndarray, selected: tuple[str, ...]) -> np.ndarray:
    hidden = ~np.isin(sex, SEXES)
    share = np.isin(sex, selected).astype(np.float64)
    share[hidden] = float(Fraction(len(selected), len(SEXES)))
    return share
