"""Anatomy whose groups have values alike: still anatomy, and who has which value stays open."""

from collections import Counter
from itertools import combinations, permutations, product
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chisquare

from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.anatomy import alike, anatomy
from sfumato.tasks.partitions.anatomy.alike import (
    MOST,
    alike_sets,
    bands_of,
    count_with_noise,
    two_sided_geometric,
)
from sfumato.tasks.partitions.anatomy.anatomy import draw_alike_groups
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from tests.laws.test_anatomy import assert_is_anatomy
from tests.laws.test_mondrian import with_hierarchy

ALIKE = AnatomyParameters(method="anatomy", alike={"epsilon": "1"})
PLAIN = AnatomyParameters(method="anatomy")


def test_values_of_one_kind_are_together():
    """Two values of people with x, two of people with y, all as frequent."""
    counts = [np.array([[10, 10, 0, 0], [0, 0, 10, 10]])]
    sets = list(alike_sets(counts, np.full(4, 10), 2))
    assert {frozenset(values.tolist()) for values, _ in sets} == {
        frozenset({0, 1}),
        frozenset({2, 3}),
    }
    assert sum(many for _, many in sets) == 20


def test_a_value_that_would_be_left_goes_first():
    """Half of the rows have one value: it is in every group, whatever it is like."""
    counts = [np.array([[9, 0, 0, 0], [0, 3, 3, 3]])]
    sets = list(alike_sets(counts, np.array([9, 3, 3, 3]), 2))
    assert all(0 in values for values, _ in sets)


HISTOGRAMS = st.lists(st.integers(0, 30), min_size=1, max_size=9)


@given(HISTOGRAMS, st.integers(1, 5), st.integers(0, 99))
def test_whatever_counts_say_it_is_anatomy(histogram, l, seed):
    rows = sum(histogram)
    histogram = [min(n, rows // l) for n in histogram]
    if not sum(histogram) or max(histogram) * l > sum(histogram):
        return
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(histogram)), histogram))
    counts = [rng.integers(-5, 50, (rng.integers(1, 4), len(histogram))) for _ in range(2)]
    group = draw_alike_groups(counts, codes, l, seeded_keys(seed))
    assert_is_anatomy(codes, group, l)


@pytest.mark.parametrize("values", [300, 20_000])
def test_many_values(values):
    rng = np.random.default_rng(values)
    codes = rng.permutation(np.arange(60_000) % values)
    bands = [rng.integers(0, 9, len(codes)) for _ in range(3)]
    counts = count_with_noise(bands, codes, values, 1.0, seeded_keys(2))
    assert_is_anatomy(codes, draw_alike_groups(counts, codes, 4, seeded_keys(3)), 4)


def test_no_quasi_identifier_tells_anything():
    codes = np.array([0, 0, 1, 1])
    assert_is_anatomy(codes, draw_alike_groups([], codes, 2, seeded_keys(1)), 2)


def test_who_is_with_whom_is_drawn_evenly():
    """Given the counts with noise, every way to give the values of the sets is as likely."""
    counts = [np.array([[2, 2, 0, 0], [0, 0, 2, 2]])]
    codes = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    groupings = Counter(
        tuple(
            np.unique(draw_alike_groups(counts, codes, 2, seeded_keys(n)), return_inverse=True)[1]
        )
        for n in range(2000)
    )
    met = Counter(
        frozenset(frozenset(np.flatnonzero(np.array(group) == g).tolist()) for g in set(group))
        for group in groupings.elements()
    )
    pairs = [
        frozenset(
            map(frozenset, [*zip((0, 1), pair, strict=True), *zip((4, 5), other, strict=True)])
        )
        for pair in permutations((2, 3))
        for other in permutations((6, 7))
    ]
    assert met.keys() == set(pairs)
    assert chisquare([met[pair] for pair in pairs]).pvalue > 1e-6


@given(st.integers(0, 2**32), st.integers(0, 39), st.integers(0, 4))
def test_another_value_of_one_person_changes_two_counts_by_one_in_each_column(seed, row, value):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 5, 40)
    bands = [rng.integers(0, n, 40) for n in (2, 5, 7)]
    other = codes.copy()
    other[row] = value
    first, second = (
        count_with_noise(bands, values, 5, 0.7, seeded_keys(seed)) for values in (codes, other)
    )
    changed = sum(int(np.abs(a - b).sum()) for a, b in zip(first, second, strict=True))
    assert changed == (0 if codes[row] == value else 2 * len(bands))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_noise_is_two_sided_geometric(epsilon):
    noise = two_sided_geometric(200_000, epsilon, seeded_keys(5))
    alpha = np.exp(-epsilon)
    some = np.arange(-4, 5)
    expected = (1 - alpha) / (1 + alpha) * alpha ** np.abs(some)
    seen = np.array([(noise == x).sum() for x in some])
    rest = len(noise) - seen.sum()
    probability = np.append(expected, 1 - expected.sum())
    assert chisquare(np.append(seen, rest), probability * len(noise)).pvalue > 1e-6


def odds_of_noise(first, other, epsilon):
    """The largest odds of anything that is counted with noise in two worlds: their logarithm.

    By enumeration of what may be counted, from below all counts to above them: beyond, odds stay.
    """
    low, high = min(first.min(), other.min()) - 1, max(first.max(), other.max()) + 2
    counted = np.arange(low, high)
    likely = [-epsilon * np.abs(counted[:, None] - counts.ravel()) for counts in (first, other)]
    cells = [np.unique(odds) for odds in (likely[0] - likely[1]).T]
    return max(sum(exponents) for exponents in product(*(cell[[0, -1]] for cell in cells)))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_two_people_who_swap_values_change_the_odds_by_the_noise_alone(columns, epsilon):
    """All tables of four people, two bands and three values: e^2ε at most, and as much as that."""
    noise, largest = epsilon / (2 * columns), 0.0
    for band in product(range(2), repeat=4):
        bands = [np.array(band), 1 - np.array(band)][:columns]
        counts_by_codes = {
            codes: counted_without_noise(bands, codes, epsilon, noise)
            for codes in product(range(3), repeat=4)
        }
        for codes, (i, j) in product(counts_by_codes, combinations(range(4), 2)):
            other = list(codes)
            other[i], other[j] = other[j], other[i]
            if tuple(other) != codes:
                pairs = zip(counts_by_codes[codes], counts_by_codes[tuple(other)], strict=True)
                largest = max(largest, sum(odds_of_noise(a, b, noise) for a, b in pairs))
    assert largest == pytest.approx(2 * epsilon)


def counted_without_noise(bands, codes, epsilon, codes_expected):
    """Return the counts, and require that the noise that would be added is as large as is said."""

    def none(n, codes, _):
        assert codes == codes_expected
        return np.zeros(n, dtype=np.int64)

    with patch.object(alike, "two_sided_geometric", none):
        return count_with_noise(bands, np.array(codes), 3, epsilon, seeded_keys(1))


@given(st.permutations([0, 0, 1, 1, 2, 2]), st.integers(0, 2**16))
def test_sets_depend_on_counts_with_noise_and_on_nothing_else(codes, seed):
    """Whoever has which value: where the same is counted, groups have the same sets of values."""
    counted = [np.random.default_rng(seed).integers(-2, 5, (2, 3))]
    kinds_of_draws = []
    for values in ([0, 0, 1, 1, 2, 2], codes):
        groups = draw_alike_groups(counted, np.array(values), 2, seeded_keys(seed))
        kinds = [tuple(sorted(np.array(values)[groups == g])) for g in range(max(groups) + 1)]
        kinds_of_draws.append(Counter(kinds))
    assert kinds_of_draws[0] == kinds_of_draws[1]


def test_noise_is_as_large_as_all_columns_need():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 200, 5000)
    bands = [rng.integers(0, 16, 5000) for _ in range(4)]
    noisy_counts = count_with_noise(bands, codes, 200, 0.5, seeded_keys(1))
    exact = [np.bincount(b * 200 + codes, minlength=16 * 200).reshape(16, 200) for b in bands]
    noise = np.concatenate([(a - b).ravel() for a, b in zip(noisy_counts, exact, strict=True)])
    alpha = np.exp(-0.5 / 8)
    assert noise.var() == pytest.approx(2 * alpha / (1 - alpha) ** 2, rel=0.1)


def test_people_of_a_group_are_of_one_kind():
    """Two kinds of people, told by a mark nine times of ten, with two values each."""
    rng, rows = np.random.default_rng(3), 8000
    kind = rng.integers(0, 2, rows)
    mark = np.where(rng.random(rows) < 0.9, kind, 1 - kind)
    columns = (
        encode("mark", "quasi-identifier", pa.array(mark)),
        encode("s", "sensitive", pa.array(2 * kind + rng.integers(0, 2, rows))),
    )
    table, promise = Microdata(columns, rows), DistinctLDiversity(l=2, sensitive="s")

    def of_one_kind(parameters):
        group = anatomy.partition(table, [], [promise], parameters, seeded_keys(1)).group
        kinds = np.bincount(group, kind) / np.bincount(group)
        return float(np.isin(kinds, (0, 1)).mean())

    assert of_one_kind(PLAIN) < 0.5
    assert of_one_kind(ALIKE) > 0.9


def test_bands_are_few_and_about_as_large():
    rng = np.random.default_rng(0)
    numbers = encode("n", "quasi-identifier", pa.array(rng.integers(0, 500, 4000)))
    sizes = np.bincount(bands_of(numbers))
    assert len(sizes) == MOST
    assert sizes.min() > 150
    words = pa.array([f"w{n}" for n in rng.geometric(0.05, 4000)])
    of_words = bands_of(encode("w", "quasi-identifier", words))
    assert len(np.unique(of_words)) == MOST
    few = encode("f", "quasi-identifier", pa.array(["x", None, "y", "x"]))
    assert len(np.unique(bands_of(few))) == 3
    leaves = [f"{a}{n}" for a in "abc" for n in range(9)]
    tree = Microdata((encode("t", "quasi-identifier", pa.array(leaves)),), len(leaves))
    tree = with_hierarchy(tree, "t", [{leaf: leaf[0] for leaf in leaves}])
    assert len(np.unique(bands_of(tree["t"]))) == 3


@pytest.mark.parametrize(
    "wrong",
    [{"alike": {"epsilon": 0}}, {"alike": {}}, {"alike": {"epsilon": 1}, "draw": "round-robin"}],
)
def test_what_is_refused(wrong):
    with pytest.raises(ValidationError):
        AnatomyParameters(method="anatomy", **wrong)
