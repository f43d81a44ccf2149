"""Laws of every aggregate: what it answers in any world is within its bounds."""

import itertools
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.ask import answer_on
from sfumato.tasks.query.bounds.spread import Choices, root_above, root_below, variance
from sfumato.tasks.query.rewrite import rewrite
from tests.query.aggregate_laws import ORACLES, AggregateLaws, squared_deviation
from tests.query.test_matched import declare, in_form, random_rows
from tests.query.test_subdomains import SMALL


@pytest.mark.parametrize("seed", range(40))
def test_the_variance_of_any_choice_is_within_its_bounds(seed):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 4, int(generator.integers(1, 3)))
    group = np.repeat(np.arange(len(sizes)), sizes)
    low = generator.integers(-4, 6, len(group))
    high = low + generator.integers(0, 3, len(group)) * int(seed % 2)
    most = generator.integers(0, sizes + 1)
    least = generator.integers(0, most + 1) if seed % 4 > 1 else most
    bounds_found = variance(Choices(group, low, high, least, most, 0))
    seen = [squared_deviation(v) for v in _choices(group, low, high, least, most)]
    spreads = [spread for spread in seen if spread is not None]
    if bounds_found is None:
        assert not spreads
        return
    assert bounds_found[0] <= min(spreads)
    assert max(spreads) <= bounds_found[1]
    if seed % 2 == 0 and seed % 4 < 2:
        assert bounds_found[0] == min(spreads)  # known numbers, and how many count: attained
    assert bounds_found[1] <= 9 * max(max(spreads), 1)


def _choices(group, low, high, least, most):
    parts = []
    for number in range(len(least)):
        members = np.flatnonzero(group == number)
        parts.append(
            [
                values
                for size in range(least[number], most[number] + 1)
                for chosen in itertools.combinations(members, size)
                for values in itertools.product(*(range(low[i], high[i] + 1) for i in chosen))
            ]
        )
    for chosen in itertools.product(*parts):
        yield [int(value) for values in chosen for value in values]


def test_all_rows_have_one_standard_deviation():
    declared = declare("permuted")
    table = random_rows(np.random.default_rng(1), [3, 4])
    (row,) = answer_on(
        in_form(table, declared), declared, "SELECT STDDEV(loss) AS x FROM microdata"
    ).rows
    losses = table["loss"].to_pylist()
    assert root_below(squared_deviation(losses)) == row["x"].lower
    assert root_above(squared_deviation(losses)) == row["x"].upper
    assert float(row["x"].lower) == pytest.approx(float(np.std(losses, ddof=1)))


def test_roots_are_rounded_outward():
    for number in (Fraction(2), Fraction(1, 3), Fraction(10**40 + 1), Fraction(3, 10**40)):
        assert root_below(number) ** 2 < number < root_above(number) ** 2
        assert float(root_below(number)) == pytest.approx(sqrt(number))
    assert root_below(Fraction(9, 4)) == root_above(Fraction(9, 4)) == Fraction(3, 2)


@pytest.mark.parametrize(
    "declared", [declare("permuted"), declare("split"), SMALL], ids=lambda d: d.form.method
)
@pytest.mark.parametrize("where", ["", " WHERE loss > 0"])
def test_the_standard_deviation_is_not_rewritten(declared, where):
    with pytest.raises(QueryError, match=r"STDDEV .*cannot be written in SQL"):
        rewrite(f"SELECT STDDEV(loss) FROM microdata{where}", declared)


@pytest.mark.parametrize("name", AGGREGATES)
class TestAggregates(AggregateLaws):
    """All of them."""


def test_every_aggregate_has_an_oracle():
    assert set(AGGREGATES) <= set(ORACLES)
