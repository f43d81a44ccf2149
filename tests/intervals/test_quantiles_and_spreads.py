"""Likely intervals of variances, standard deviations, medians and other quantiles."""

import itertools
import math
import statistics
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.engines.registry import ENGINES
from sfumato.tasks.query.intervals.calibration.drawn_queries import draw_some
from sfumato.tasks.query.intervals.calibration.factors import TruthOfColumn
from sfumato.tasks.query.intervals.covariates import Binned, Covariates, SelectedOfGroups
from sfumato.tasks.query.intervals.quantiles import QuantilePlace, QuantileSpread, expected_places
from sfumato.tasks.query.intervals.registry import LIKELY
from sfumato.tasks.query.intervals.shapes import ALIKE, FAMILIES, name_of
from sfumato.tasks.query.intervals.spread import SelectedSize
from sfumato.tasks.query.intervals.spreads_of_rows import spreads_of_rows
from sfumato.tasks.query.intervals.sums import squares_spread
from sfumato.tasks.query.question.question import Aggregate
from tests.intervals.releases import DECLARED, measure, publish_permuted, wages, with_factors
from tests.query.worlds import answers_on

SIZE = SelectedSize(100, 10)
ASKED = {
    "STDDEV(wage)": "spread",
    "STDDEV_POP(wage)": "spread",
    "VARIANCE(wage)": "spread",
    "VAR_POP(wage)": "spread",
    "MEDIAN(wage)": "median",
    "QUANTILE_DISC(wage, 0.5)": "median",
    "QUANTILE_CONT(wage, 0.9)": "quantile",
    "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY wage)": "quantile",
}
SPREADS = {
    "stddev": statistics.stdev,
    "stddev_pop": statistics.pstdev,
    "var_samp": statistics.variance,
    "var_pop": statistics.pvariance,
}
ALL = [(f"{name}-by-{number}", "wage") for name in ALIKE for number in ("one", "several")]


def aggregate(function, share=None):
    return Aggregate(function, "wage", function, share=share)


def only(sql, declared, tables):
    (answer,) = answers_on(tables, declared, [sql])
    (row,) = answer.rows
    return row["x"]


@pytest.mark.parametrize("expression", ASKED)
@pytest.mark.parametrize("factor", ["1", "7.5", "7500"])
def test_intervals_and_estimates_lie_within_the_bounds(expression, factor):
    tables, _ = publish_permuted(wages(400), boxes=False)
    declared = with_factors(factor, ALL)
    for where in ("age BETWEEN 21 AND 33", "age > 27 AND town IN ('A', 'C')"):
        cell = only(f"SELECT {expression} x FROM microdata WHERE {where}", declared, tables)
        low, high = cell.likely.interval
        assert cell.lower <= low <= cell.estimate <= high <= cell.upper


@pytest.mark.parametrize(("expression", "name"), ASKED.items())
def test_each_has_the_factor_of_its_own_family(expression, name):
    tables, _ = publish_permuted(wages(400), boxes=False)
    sql = f"SELECT {expression} x FROM microdata WHERE age BETWEEN 21 AND 33"
    others = [family for family in ALL if not family[0].startswith(name)]
    assert only(sql, with_factors("1", others), tables).likely.interval is None
    own = with_factors("1", [(f"{name}-by-one", "wage")])
    assert only(sql, own, tables).likely.interval is not None


@pytest.mark.parametrize("share", ["0", "0.001", "0.995", "1"])
def test_the_farthest_quantiles_are_of_no_family(share):
    tables, _ = publish_permuted(wages(400), boxes=False)
    sql = f"SELECT QUANTILE_DISC(wage, {share}) x FROM microdata WHERE age BETWEEN 21 AND 33"
    assert only(sql, with_factors("1", ALL), tables).likely.interval is None


def test_the_original_beside_the_files_changes_nothing():
    """The middle and the width follow from what is published: whose values are whose does not."""
    age, town, wage = wages(300)
    tables, _ = publish_permuted((age, town, wage), boxes=False)
    columns_shown = {
        name: tables["microdata"][name].combine_chunks() for name in ("age", "town", "wage")
    }
    roles = {"age": "quasi-identifier", "town": "quasi-identifier", "wage": "sensitive"}
    rows = tables["microdata"].num_rows
    turned = dict(columns_shown, wage=pa.array(columns_shown["wage"].to_numpy()[::-1]))
    laws_found = []
    for columns_used in (columns_shown, turned):
        original = Microdata(tuple(encode(n, roles[n], columns_used[n]) for n in roles), rows)
        fresh = measure(tables, original, 20, seeded_keys(4))
        laws = [query.law for queries in fresh.values() for query in queries]
        laws_found.append([(law.estimate, law.interval(1.5)) for law in laws])
    assert laws_found[0]
    assert laws_found[0] == laws_found[1]


@st.composite
def groups(draw, least=2):
    """Values of groups, and how many rows of each are selected."""
    groups_drawn = []
    for _ in range(draw(st.integers(1, 3))):
        values = draw(st.lists(st.integers(-3, 9), min_size=2, max_size=4))
        groups_drawn.append((values, draw(st.integers(0, len(values)))))
    assume(sum(hits for _, hits in groups_drawn) >= least)
    return groups_drawn


def worlds(groups_drawn):
    """The values of the selected rows, in every world."""
    shares = [
        [world[:hits] for world in itertools.permutations(values)] for values, hits in groups_drawn
    ]
    for chosen in itertools.product(*shares):
        yield [value for part in chosen for value in part]


def rows_of(groups_drawn):
    """The group of each row, and the rows that are selected."""
    group = np.repeat(np.arange(len(groups_drawn)), [len(values) for values, _ in groups_drawn])
    rows = [np.flatnonzero(group == number)[:hits] for number, (_, hits) in enumerate(groups_drawn)]
    hit = np.array([number for number, (_, hits) in enumerate(groups_drawn) if hits])
    hits = np.array([hits for _, hits in groups_drawn if hits])
    return group, SelectedOfGroups(hit, hits, np.concatenate(rows))


@given(groups())
def test_the_middle_of_a_spread_is_that_of_the_mean_moments_of_all_worlds(groups_drawn):
    group, selected = rows_of(groups_drawn)
    numbers = np.array([value for values, _ in groups_drawn for value in values], dtype=float)
    above = numbers - numbers.mean()
    alike = Covariates(group, len(groups_drawn), [Binned(np.zeros(len(group), dtype=np.int64), 1)])
    ones = np.ones(len(group))
    spreads = spreads_of_rows(group, (above, above**2, ones), ones, alike)
    law = spreads.spread_over(AGGREGATES["var_pop"], selected, SIZE)
    some = list(worlds(groups_drawn))
    mean = statistics.fmean(value for world in some for value in world)
    square = statistics.fmean(value**2 for world in some for value in world) - mean**2
    assert law.estimate == pytest.approx(square, abs=1e-9)


@given(groups())
def test_the_width_of_a_spread_is_that_of_its_linear_part_in_all_worlds(groups_drawn):
    group, selected = rows_of(groups_drawn)
    numbers = np.array([value for values, _ in groups_drawn for value in values], dtype=float)
    alike = Covariates(group, len(groups_drawn), [Binned(np.zeros(len(group), dtype=np.int64), 1)])
    ones = np.ones(len(group))
    above = numbers - numbers.mean()
    spread_sums = spreads_of_rows(group, (above, above**2, ones), ones, alike).numbers.sums_over(
        selected
    )
    total, squares, rows = spread_sums.middles
    mean, square = total / rows, squares / rows - (total / rows) ** 2
    likely = spread_sums.weighted_sum((-2 * mean, 1.0, mean**2 - square))
    centre = mean + numbers.mean()
    sums = [
        sum((value - centre) ** 2 - square for value in world) for world in worlds(groups_drawn)
    ]
    assert likely.middle == pytest.approx(0, abs=1e-7)
    assert likely.variance == pytest.approx(float(np.var(sums)), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("function", SPREADS)
@given(st.floats(0.5, 50), st.integers(2, 400), st.floats(0.1, 20), st.floats(0.1, 10))
def test_a_score_of_a_spread_is_the_factor_whose_interval_ends_there(
    function, mean_square, rows, width, factor
):
    law = squares_spread(AGGREGATES[function])(SIZE, float(rows), mean_square, width)
    low, high = law.interval(factor)
    assert 0 <= low <= law.estimate <= high
    assert law.score(high) == pytest.approx(factor)
    if low > 0:
        assert law.score(low) == pytest.approx(factor)
    assert law.score(law.estimate) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("function", SPREADS)
def test_the_four_spreads_miss_together(function):
    numbers = [1.0, 4.0, 4.0, 9.0, 12.0, 13.0]
    law = squares_spread(AGGREGATES[function])(SIZE, 6.0, 15.0, 2.0)
    of_variance = squares_spread(AGGREGATES["var_pop"])(SIZE, 6.0, 15.0, 2.0)
    truth = SPREADS[function](numbers)
    assert law.score(truth) == pytest.approx(of_variance.score(statistics.pvariance(numbers)))


SHARES = st.integers(1, 99).map(lambda part: Fraction(part, 100))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), SHARES, st.booleans())
def test_the_place_that_is_asked_for_is_the_quantiles_own(values, share, between):
    times = np.bincount(values).astype(float)
    places = expected_places(times)
    expected = QuantilePlace(share, between).place_among(len(values))
    ordered = sorted(values)
    if between:
        place = float(share) * (len(values) - 1)
        about = {ordered[math.floor(place + 1e-9)], ordered[math.ceil(place - 1e-9)]}
    else:
        about = {ordered[max(math.ceil(share * len(values)), 1) - 1]}
    assert int(places.codes[places.first(expected)]) in about


@given(
    st.lists(st.floats(0, 3), min_size=2, max_size=8),
    st.floats(0, 1),
    st.floats(0.1, 4),
    st.floats(0.1, 6),
)
def test_an_interval_of_a_quantile_has_what_needs_no_greater_factor(times, part, width, factor):
    assume(sum(times) > 0.1)
    places = expected_places(np.array(times))
    numbers = np.arange(len(times)) * 10.0
    law = QuantileSpread(
        SIZE, places, part * places.rows, width, numbers, lambda code: float(numbers[code])
    )
    low, high = law.interval(factor)
    assert low <= law.estimate <= high
    for truth in np.arange(-5.0, numbers[-1] + 10, 5.0):
        needed = law.score(truth)
        if abs(needed - factor) > 1e-6 and not (low == high and truth != low):
            assert (low <= truth <= high) == (needed <= factor)


@given(groups(least=1), SHARES, st.booleans())
def test_a_quantile_is_known_where_it_is_the_same_in_every_world(groups_drawn, share, between):
    group, selected = rows_of(groups_drawn)
    values = [value for group_values, _ in groups_drawn for value in group_values]
    selectable = {value for group_values, hits in groups_drawn if hits for value in group_values}
    function = "percentile_cont" if between else "percentile_disc"
    truths = {quantile(world, share, between) for world in worlds(groups_drawn)}
    column = encode("wage", "sensitive", pa.array(values))
    table = pa.table(
        {"age": range(len(values)), "town": ["A"] * len(values), "wage": values, "group_id": group}
    )
    tables = {"microdata": table}
    with ENGINES["rows"](tables, DECLARED, "weighted") as engine:
        laws = LIKELY["rows"](engine).laws_of("wage").over_rows(selected)
        law = laws.law(aggregate(function, share))
    is_known_exactly = len(truths) == 1 and truths <= selectable
    assert law.is_exact == is_known_exactly
    if is_known_exactly:
        assert {law.estimate} == truths
    assert column.values[0].as_py() == min(values)


def quantile(values, share, between):
    ordered = sorted(values)
    if not between:
        return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (place - math.floor(place)) * (high - low)


@given(st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1, max_size=12), SHARES)
def test_truths_are_those_of_the_values_that_are_there(values, share):
    column = encode("wage", "sensitive", pa.array(values, pa.int64()))
    truth = TruthOfColumn(column)
    codes = truth.codes_in(np.ones(len(values), dtype=bool))
    present = [value for value in values if value is not None]
    for function, fewest_and_kinds in SPREADS.items():
        fewest = AGGREGATES[function].fewest
        answer = truth.answer(aggregate(function), codes)
        assert answer == (
            pytest.approx(fewest_and_kinds(present)) if len(present) >= fewest else None
        )
    for between, function in ((True, "percentile_cont"), (False, "percentile_disc")):
        answer = truth.answer(aggregate(function, share), codes)
        expected = float(quantile(present, share, between)) if present else None
        assert answer == (None if expected is None else pytest.approx(expected))


def test_drawn_aggregates_are_of_the_family_that_they_are_drawn_for():
    for name, alike in ALIKE.items():
        target = None if name == "count" else "wage"
        aggregates = draw_some(alike.choices(target), 60, seeded_keys(1))
        assert {name_of(aggregate) for aggregate in aggregates} == {name}
        assert {aggregate.function for aggregate in aggregates} == set(alike.functions)
    assert {family.aggregates for family in FAMILIES.values()} == ALIKE.keys()
