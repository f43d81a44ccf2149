"""Distances of a recoded table from the original; they stay private: they need the original.

A recoded form shows a label in place of each value of a quasi-identifier. A label *admits* the
values that may be behind it. Values are compared by their *categories*: numbers from 0 in ascending
order of the values, where null is category 0 if the column has nulls.

To find which labels admit which rows, each row is a *point* whose coordinates are its categories,
one dimension per quasi-identifier. Each combination of labels is a *box*: in each dimension, from
the first to the last category that its label admits.

Sources: KL divergence: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006);
non-uniform entropy: Gionis and Tassa, k-anonymization with minimal loss of information (2009).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.shared.sorting import number, stable_order, starts, tally
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.labels import Admitted, Between, ListedValues, Prefixed, admits
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded import TABLE, read_labels
from sfumato.tasks.microdata.table import Column, Microdata, encode, key
from sfumato.tasks.terms.tables import form_of
from sfumato.tasks.terms.terms import Declared

_PAIRS = 2**16  # pairs of a point and a box that are compared at once
_SAMPLE = 1024  # points and boxes, at most, by which a dimension is chosen
_WORTH = 0.75  # a cut is used only if it leaves a smaller share of the pairs to compare
Halves = list[tuple[np.ndarray, np.ndarray]]  # the points and the boxes of each half (positions)
_LAST = chr(0x10FFFF)  # the last of all characters
_MOST = 10**9  # most pairs of a vector of values and one of labels that are compared
_CELLS = 2**25  # most cells of a matrix: combinations of labels x sensitive values
Published = Mapping[str, tuple[list[Admitted], np.ndarray]]
"""By quasi-identifier the published labels, and the label of each row (its position in them)."""


def points_in_boxes(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, most: int
) -> Iterator[tuple[np.ndarray, np.ndarray] | None]:
    """Yield the pairs of a point and a box that contains it, as two parallel arrays of positions.

    Points and boxes are halved together, at the median of some dimension, until few are left: boxes
    that overlap little are compared with few points. The budget is a number of compared pairs, not
    a time, so that the same input has an answer always or never.

    Args:
        points: dimensions x points (whole numbers from 0).
        low: the first coordinates of each box, dimensions x boxes (whole numbers from 0).
        high: one past the last coordinate of each box, dimensions x boxes.
        most: the largest number of pairs that are compared.

    Yields:
        Positions of points and of boxes, some pairs each time (int64); None as the last item if
        more than `most` pairs would have to be compared.
    """
    kind = np.min_scalar_type(int(max(points.max(initial=0), high.max(initial=0))))
    points, low, high = (numbers.astype(kind) for numbers in (points, low, high))
    rest = [(np.arange(points.shape[1]), np.arange(low.shape[1]))]
    while rest:
        some, boxes = rest.pop()
        pairs = len(some) * len(boxes)
        if not pairs:
            continue
        cut = _cut(points, low, high, some, boxes) if pairs > _PAIRS else None
        if cut is not None:
            rest += cut
            continue
        most -= pairs
        if most < 0:
            yield None
            return
        step = max(_PAIRS // len(boxes), 1)
        for start in range(0, len(some), step):
            yield _pairs_within(points, low, high, some[start : start + step], boxes)


def _cut(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, some: np.ndarray, boxes: np.ndarray
) -> Halves | None:
    """Return the halves by the dimension that is best in a sample; otherwise by the best of all.

    Args:
        points: the coordinates of all points.
        low: the first coordinates of all boxes.
        high: one past the last coordinates of all boxes.
        some: the positions of the points to halve.
        boxes: the positions of the boxes to halve.

    Returns:
        Two halves, or None if the cut in each dimension leaves too many pairs to compare.
    """
    sampled = _sample(some), _sample(boxes)
    likely = min(
        range(len(points)),
        key=lambda axis: _Plane.at_median(points, low, high, axis, *sampled).share_left,
    )
    for axes in ([likely], range(len(points))):
        cuts = [_Plane.at_median(points, low, high, axis, some, boxes) for axis in axes]
        best = min(cuts, key=lambda cut: cut.share_left)
        if best.share_left < _WORTH:
            return best.halves(some, boxes)
    return None


def _sample(places: np.ndarray) -> np.ndarray:
    return places[:: len(places) // _SAMPLE + 1]


class _Plane(NamedTuple):
    """A cut at some value of a dimension.

    Attributes:
        under: marks the points below the value (bool).
        begin: marks the boxes that begin below the value (bool).
        end: marks the boxes that reach the value or beyond (bool); a box can be on both sides.
    """

    under: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    @classmethod
    def at_median(
        cls,
        points: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        axis: int,
        some: np.ndarray,
        boxes: np.ndarray,
    ) -> "_Plane":
        """Return the cut of some points and boxes at the median of these points, or of a sample."""
        values, tried = points[axis][some], points[axis][_sample(some)]
        middle = np.partition(tried, len(tried) // 2)[len(tried) // 2]
        return cls(values < middle, low[axis][boxes] < middle, high[axis][boxes] > middle)

    @property
    def share_left(self) -> float:
        """The share of the pairs that is left to compare; 1 if no point is below."""
        points, boxes = len(self.under), len(self.begin)
        under = np.count_nonzero(self.under)
        pairs = under * np.count_nonzero(self.begin)
        pairs += (points - under) * np.count_nonzero(self.end)
        return pairs / (points * boxes) if under else 1.0

    def halves(self, some: np.ndarray, boxes: np.ndarray) -> Halves:
        """Return the points and boxes on each side, given the positions that were cut."""
        return [(some[self.under], boxes[self.begin]), (some[~self.under], boxes[self.end])]


def _pairs_within(
    points: np.ndarray, low: np.ndarray, high: np.ndarray, some: np.ndarray, boxes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of some points and boxes in which the box contains the point.

    Coordinates are compared from the box's lowest with its widths. Numbers are unsigned: a
    coordinate below the lowest wraps around, far above all widths.
    """
    within = np.ones((len(some), len(boxes)), dtype=bool)
    for coordinates, begins, ends in zip(points, low, high, strict=True):
        first = begins[boxes]
        within &= coordinates[some][:, None] - first < ends[boxes] - first
    point, box = np.nonzero(within)
    return some[point], boxes[box]


@dataclass(frozen=True, eq=False)
class Admission:
    """The categories that each label of a column admits; arrays have an entry per label.

    Attributes:
        categories: the number of categories of the column.
        low: the first category that the label admits (int64).
        high: the category after the last one that it admits (int64); from `low` on, this is its
            span.
        size: the number of categories that it admits (int64); fewer than its span has if the label
            has gaps.
        members: for labels with gaps, the pairs of a label and a category that it admits, as
            label * categories + category (int64, ascending).
    """

    categories: int
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    members: np.ndarray

    @cached_property
    def gaps(self) -> np.ndarray:
        """The labels that do not admit all categories between their first and last (bool)."""
        return np.asarray(self.size < self.high - self.low)

    def rows_behind(self, rows: np.ndarray) -> np.ndarray:
        """Return how many rows have a category that each label admits (int64, one per label).

        `rows` is the number of rows with each category.
        """
        before = np.append(0, np.cumsum(rows))  # rows with a category before each
        in_span = before[self.high] - before[self.low]
        label, category = np.divmod(self.members, self.categories)
        of_sets = np.bincount(label, rows[category], minlength=len(in_span)).astype(np.int64)
        return np.where(self.gaps, of_sets, in_span)

    def admits(self, label: np.ndarray, category: np.ndarray) -> np.ndarray:
        """Decide for pairs of a label and a category whether the label admits it (bool).

        Each category must be in the span of its label.
        """
        is_admitted = ~self.gaps[label]
        members = label[~is_admitted] * self.categories + category[~is_admitted]
        place = np.minimum(np.searchsorted(self.members, members), max(len(self.members) - 1, 0))
        is_admitted[~is_admitted] = self.members[place] == members if len(members) else False
        return np.asarray(is_admitted)


def admission(column: Column, labels: Sequence[Admitted]) -> Admission:
    """Return the categories of a column that its labels admit; nulls, if any, are category 0."""
    values, nulls = column.values.to_pylist(), int(column.has_null)
    comparable = [value for value in values if value == value]  # without NaN, the last value
    place = {value: nulls + number for number, value in enumerate(comparable)}
    within = _Categories(nulls, comparable, place, nulls + len(values))
    admitted = [within.admitted_by(label) for label in labels]
    sizes = np.array([len(categories) for categories in admitted], dtype=np.int64)
    low = np.array(
        [categories[0] if len(categories) else 0 for categories in admitted], dtype=np.int64
    )
    high = np.array(
        [categories[-1] + 1 if len(categories) else 0 for categories in admitted], dtype=np.int64
    )
    number = column.category()[1]
    gaps = np.flatnonzero(sizes < high - low)
    members = [label * number + np.asarray(admitted[label], dtype=np.int64) for label in gaps]
    return Admission(
        number, low, high, sizes, np.concatenate(members or [np.array([], dtype=np.int64)])
    )


@dataclass(frozen=True, eq=False)
class _Categories:
    """The categories of a column: one for nulls, if there are any, then those of its values.

    Attributes:
        first: the category of the first value, 0 or 1.
        values: the values in ascending order, without NaN.
        place: the category of each value.
        end: one past the last category.
    """

    first: int
    values: Sequence[Any]
    place: Mapping[Any, int]
    end: int

    def admitted_by(self, label: Admitted) -> range | list[int]:
        """Return the categories that a label admits, in ascending order."""
        categories = self._of_values(label)
        if not (self.first and label.null):
            return categories
        if isinstance(categories, range) and categories.start == self.first:
            return range(categories.stop)
        return [0, *categories]

    def _of_values(self, label: Admitted) -> range | list[int]:
        match label:
            case ListedValues(values=listed):
                return sorted({self.place[value] for value in listed if value in self.place})
            case Between(low=low, high=high) if low is not None:
                start, end = bisect_left(self.values, low), bisect_right(self.values, high)
                return range(self.first + start, self.first + end)
            case Prefixed(kept=kept):
                start = bisect_left(self.values, kept)
                end = bisect_left(self.values, kept + _LAST, lo=start)
                some = range(start, end)
                return [self.first + n for n in some if admits(label, self.values[n])]
        # `Anything`, or `Between` without a lower limit: all values, NaN too
        return range(self.first, self.end)


Fits = Mapping[str, Admission]
"""By quasi-identifier the categories that its labels admit."""


@dataclass(frozen=True)
class Divergence:
    """The divergence of a recoded table from its original, in nats per row.

    Attributes:
        kl: KL divergence of the original's joint distribution of quasi-identifiers and sensitive
            attributes from the distribution that the published table implies, each row spread
            evenly over the values that its labels admit; None if the table is too large to compare.
        entropy: non-uniform entropy: the mean over the rows of the sum over the columns of
            ln(rows whose value the label admits / rows with the row's own value).
        skipped: the reason why there is no KL divergence, None if there is one.
    """

    kl: float | None
    entropy: float
    skipped: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the measures for JSON, and why one is missing."""
        measures = {"kl": self.kl, "entropy": self.entropy}
        return measures | ({} if self.skipped is None else {"kl_skipped": self.skipped})


def divergence(original: Microdata, tables: Tables, declared: Declared) -> Divergence | None:
    """Return the divergence of the published tables from the original.

    Domains are the values that occur in `original`. A suppressed row counts as one that could have
    any values.

    Args:
        original: the rows that were to be published, suppressed ones included.
        tables: the published tables.
        declared: the terms of the release.

    Returns:
        The divergence; None for forms that do not recode, or if no row is published.
    """
    if not declared.is_recoded or not tables[TABLE].num_rows:
        return None
    table = tables[TABLE]
    published = read_labels(table, declared.columns, reader_for(form_of(declared)))
    fits = {name: admission(original[name], labels) for name, (labels, _) in published.items()}
    sensitive = declared.names_with_roles("sensitive")
    kl = _kl(original, published, fits, _number_jointly(original, table, sensitive))
    entropy = _entropy(original, published, fits)
    return Divergence(None, entropy, kl) if isinstance(kl, str) else Divergence(kl, entropy)


def _entropy(original: Microdata, published: Published, fits: Fits) -> float:
    """Return the non-uniform entropy (see `Divergence`)."""
    total, suppressed = 0.0, original.rows
    for name, (_, codes) in published.items():
        category, size = original[name].category()
        rows = np.bincount(category, minlength=size)
        behind = fits[name].rows_behind(rows)
        suppressed = original.rows - len(codes)
        # for each row ln(rows behind its label), of suppressed ones all; less ln(rows of its value)
        total += float(np.log(behind)[codes].sum()) + suppressed * log(original.rows)
        total -= float((rows * np.log(np.maximum(rows, 1))).sum())
    return total / original.rows


def _number_jointly(
    original: Microdata, table: pa.Table, sensitive: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, int]:
    """Number the different vectors of sensitive values.

    Returns:
        The number of each original row's vector, that of each published row's, and how many
        different ones there are.
    """
    both = []
    for name in sensitive:
        values_original = original[name].array().cast(table[name].type)
        values = pa.chunked_array([values_original, *table[name].chunks])
        both.append(encode(name, "sensitive", values))
    keys, _ = key(both, original.rows + table.num_rows)
    numbers, distinct = dense(keys)
    return numbers[: original.rows], numbers[original.rows :], distinct


def _kl(
    original: Microdata,
    published: Published,
    fits: Fits,
    sensitive: tuple[np.ndarray, np.ndarray, int],
) -> float | str:
    """Return the KL divergence, or the reason why it is not computed (a text).

    A vector is a combination of quasi-identifiers that occurs in the original. A class is a
    combination of labels that occurs in the published table. `sensitive` is the result of
    `_number_jointly`.
    """
    of_original, of_published, values = sensitive
    vectors, vector = _distinct([original[name].category()[0] for name in published])
    classes, class_ = _distinct([codes for _, codes in published.values()])
    cells = classes.shape[1] * values
    if cells > _CELLS:
        return (
            f"there are {cells:,} cells of labels and sensitive values, and at most "
            f"{_CELLS:,} can be computed"
        )
    # a published row is spread evenly over the vectors that its class admits, and a suppressed one
    # (`lost`) over the whole domain
    domain = np.prod([float(fit.categories) for fit in fits.values()])
    admitted = [fit.size[nodes] for fit, nodes in zip(fits.values(), classes, strict=True)]
    spread = np.bincount(class_ * values + of_published, minlength=classes.shape[1] * values)
    per_vector = spread.reshape(-1, values) / np.prod(np.array(admitted, float), axis=0)[:, None]
    lost = np.bincount(of_original, minlength=values) - np.bincount(of_published, minlength=values)
    # `seen` are the pairs of a vector and sensitive values in the original, with their rows
    seen, count = tally(vector * values + of_original, vectors.shape[1] * values)
    expected = _expected_rows(vectors, classes, list(fits.values()), per_vector, seen)
    if expected is None:
        return f"more than {_MOST:,} pairs of a combination and labels would have to be compared"
    # KL is the mean over the rows of ln(share in the original / implied share). Both shares are
    # rows divided by all rows, which cancels.
    ratio = np.log(count) - np.log(expected + lost[seen % values] / domain)
    return float((count * ratio).sum() / original.rows) + 0.0  # -0.0 becomes 0.0


def _expected_rows(
    vectors: np.ndarray,
    classes: np.ndarray,
    fits: Sequence[Admission],
    per_vector: np.ndarray,
    seen: np.ndarray,
) -> np.ndarray | None:
    """Return the rows that the published table implies for each pair of a vector and a value.

    Args:
        vectors: the category of each vector in each column (columns x vectors).
        classes: the label of each class in each column (columns x classes).
        fits: the categories that the labels of each column admit.
        per_vector: the rows that a class implies for each vector that it admits, by sensitive
            value (float64, classes x values).
        seen: the pairs, as vector * number of values + value (int64, ascending).

    Returns:
        One number per pair (float64); None if too many vectors and classes had to be compared.
    """
    values = per_vector.shape[1]
    ends = np.searchsorted(seen, np.arange(vectors.shape[1] + 1) * values)
    # the pairs of vector v are from ends[v] up to ends[v + 1]
    expected, numbers = np.zeros(len(seen)), np.diff(ends)
    low, high = (
        np.array([bounds[nodes] for bounds, nodes in zip(limits, classes, strict=True)])
        for limits in ([fit.low for fit in fits], [fit.high for fit in fits])
    )
    of_columns = zip(fits, classes, vectors, strict=True)
    with_gaps = [column for column in of_columns if len(column[0].members)]
    for pairs in points_in_boxes(vectors, low, high, _MOST):
        if pairs is None:
            return None
        vector, class_ = pairs
        # Boxes span from the first to the last admitted category: drop pairs that fall into gaps.
        for fit, nodes, codes in with_gaps:
            within = fit.admits(nodes[class_], codes[vector])
            vector, class_ = vector[within], class_[within]
        number = numbers[vector]
        places = _runs(ends[vector], number)
        np.add.at(expected, places, per_vector[np.repeat(class_, number), seen[places] % values])
    return expected


def _runs(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the positions in runs of these starts and lengths, one run after another (int64).

    >>> _runs(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths))


def _distinct(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the different vectors of codes (columns x vectors), and each row's vector (int64)."""
    keys, _ = pack(columns, [int(codes.max(initial=0)) + 1 for codes in columns])
    order = stable_order(keys)
    ordered, of_row = keys[order], np.empty(len(keys), dtype=np.int64)
    of_row[order] = number(ordered)
    first = order[starts(ordered)]
    return np.array([codes[first] for codes in columns]), of_row
