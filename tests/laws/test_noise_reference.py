"""The reference line of differential privacy, against its definitions."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from sfumato.tasks.query.accuracy.noise import DELTA, EPSILON, largest_rho, noise_reference

CLAMPS = {"pay": (Fraction(-10), Fraction(30))}


def by_words(reference):
    return {line.measured: line for line in reference.lines}


def test_measurements_share_the_budget():
    questions = {("count", None): 60, ("sum", "pay"): 10, ("avg", "pay"): 15, ("median", "pay"): 5}
    reference = noise_reference(questions, CLAMPS, 1)
    lines = by_words(reference)
    assert reference.without == ["MEDIAN(pay)"]
    assert [line.measurements for line in reference.lines] == [60, 10, 15, 15]
    assert sum(line.measurements for line in reference.lines) == 100
    assert lines["COUNT(*)"].laplace == 100 / EPSILON  # each has a hundredth of ε
    assert lines["SUM(pay)"].sensitivity == 30
    assert lines["AVG(pay), its sum of deviations from the middle"].sensitivity == 20
    assert lines["SUM(pay)"].laplace == 30 * lines["COUNT(*)"].laplace


def test_several_rows_of_a_person_multiply_the_noise():
    single, three = (noise_reference({("count", None): 7}, {}, rows).lines[0] for rows in (1, 3))
    assert three.laplace == pytest.approx(3 * single.laplace)
    assert three.gaussian == pytest.approx(3 * single.gaussian)


def test_without_clamps_only_counts_have_noise():
    reference = noise_reference({("count", None): 1, ("sum", "pay"): 1}, {}, 1)
    assert ([line.measured for line in reference.lines], reference.without) == (
        ["COUNT(*)"],
        ["SUM(pay)"],
    )


def test_widths_contain_95_percent_of_the_noise():
    (line,) = noise_reference({("count", None): 20}, {}, 1).lines
    assert 1 - math.exp(-line.laplace_width / line.laplace) == pytest.approx(0.95)
    inside = 2 * NormalDist(0, line.gaussian).cdf(line.gaussian_width) - 1
    assert inside == pytest.approx(0.95)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-3, DELTA, 1e-9])
def test_a_rho_is_the_largest_that_keeps_epsilon_and_delta(epsilon, delta):
    """Over a fine grid of orders, by the theorem of Canonne, Kamath and Steinke."""

    def least(rho):
        order = 1 + np.geomspace(1e-3, 1e4, 200_001)
        exponent = (order - 1) * (order * rho - epsilon) + order * np.log1p(-1 / order)
        return np.exp((exponent - np.log(order - 1)).min())

    rho = largest_rho(epsilon, delta)
    assert least(rho * 0.999) <= delta < least(rho * 1.001)
    simple = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    assert rho > simple  # the bound of Bun and Steinke is not tight


def test_the_figures_are_those_of_opendp():
    """Of OpenDP 0.16.0: 100 counts that share ε = 1, and δ = 1e-6."""
    (line,) = noise_reference({("count", None): 100}, {}, 1).lines
    assert line.laplace == pytest.approx(100)
    assert line.laplace_width == pytest.approx(299.57322735539907)
    assert line.gaussian == pytest.approx(45.30877117036445, rel=1e-6)
