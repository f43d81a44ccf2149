"""Points in boxes, and labels as spans of categories, against what a loop over all pairs finds."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.tasks.forms.labels import Anything, Between, ListedValues, Prefixed, admits
from sfumato.tasks.microdata.table import encode
from sfumato.tasks.publication import divergence
from sfumato.tasks.publication.divergence import admission, points_in_boxes


def pairs_inside(points, low, high, most=10**9):
    return [
        pair
        for some in points_in_boxes(points, low, high, most)
        for pair in zip(*(some or ([], [])), strict=True)
    ]


@given(st.integers(0, 2**32), st.integers(1, 3), st.sampled_from([1, 4, 64]))
def test_all_pairs_are_found_once(seed, dimensions, pairs):
    draw = np.random.default_rng(seed)
    points = draw.integers(0, 9, (dimensions, draw.integers(0, 40)))
    low = draw.integers(0, 9, (dimensions, draw.integers(0, 40)))
    high = low + draw.integers(0, 4, low.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(divergence, "_PAIRS", pairs)
        got = pairs_inside(points, low, high)
    within = (low[:, None] <= points[:, :, None]) & (points[:, :, None] < high[:, None])
    assert sorted(got) == list(zip(*np.nonzero(within.all(axis=0)), strict=True))


def test_boxes_that_overlap_little_are_compared_with_few_points():
    """And the budget counts what is compared: millions of pairs, of a thousand million."""
    number = 32_000
    points = np.random.default_rng(1).permutation(number)[None]
    low = np.arange(0, number)[None]
    assert len(pairs_inside(points, low, low + 1, most=300 * number)) == number
    assert list(points_in_boxes(points, low, low + number, most=300 * number))[-1] is None


NUMBERS = [None, -3, 0, 1, 5, 8]
TEXTS = [None, "", "1", "10", "12", "1x", "2", "20"]
NULL = st.booleans()
OF_NUMBERS = st.one_of(
    st.builds(ListedValues, st.lists(st.integers(-4, 9), max_size=3).map(tuple), NULL),
    st.builds(Between, st.integers(-4, 3), st.integers(3, 9), NULL),
    st.builds(Between, st.none(), st.none(), NULL),
)
OF_TEXTS = st.one_of(
    st.builds(ListedValues, st.lists(st.sampled_from(TEXTS[1:]), max_size=3).map(tuple), NULL),
    st.builds(Prefixed, st.sampled_from(["", "1", "2"]), st.integers(0, 2), NULL),
    st.builds(Anything, NULL),
)


def some(non_empty):
    return st.lists(non_empty, min_size=1)


@given(
    st.one_of(
        st.tuples(st.just(pa.int64()), some(st.sampled_from(NUMBERS)), some(OF_NUMBERS)),
        st.tuples(st.just(pa.string()), some(st.sampled_from(TEXTS)), some(OF_TEXTS)),
    )
)
def test_labels_admit_the_categories_of_their_values(plots_drawn):
    type_, values, labels = plots_drawn
    column = encode("q", "quasi-identifier", pa.array(values, type_))
    category, number = column.category()
    rows = np.bincount(category, minlength=number)
    admitted = admission(column, labels)
    categories = [None] * column.has_null + column.values.to_pylist()
    expected = np.array([[admits(label, value) for value in categories] for label in labels])
    label, code = np.nonzero(np.ones_like(expected))
    within = (admitted.low[label] <= code) & (code < admitted.high[label])
    within[within] = admitted.admits(label[within], code[within])
    assert within.reshape(expected.shape).tolist() == expected.tolist()
    assert admitted.size.tolist() == expected.sum(axis=1).tolist()
    assert admitted.rows_behind(rows).tolist() == (expected @ rows).tolist()


def test_no_label_admits_what_is_no_number():
    column = encode("q", "quasi-identifier", pa.array([1.0, 2.0, float("nan")]))
    admitted = admission(column, [Between(1.5, 9.0), ListedValues((2.0,))])
    assert (admitted.low.tolist(), admitted.high.tolist(), admitted.size.tolist()) == (
        [1, 1],
        [2, 2],
        [1, 1],
    )
