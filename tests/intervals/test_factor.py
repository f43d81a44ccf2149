"""Factors: the conformal quantile, the grid, and what a line has stated before."""

import json
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.private.people.frozen import FACTORS, freeze_factors, read_factors
from sfumato.tasks.query.intervals.calibration.factors import (
    FEWEST,
    QUERIES,
    calibrate,
    conformal_quantile,
    factor_of,
)
from sfumato.tasks.schema.formats import lowest_format
from sfumato.tasks.schema.stated import (
    FIRST_GRID,
    GRID,
    CalibratedFamily,
    CalibratedIntervals,
    rounded_up,
)

FAMILY = ("avg-by-one", "wage")


@given(st.lists(st.floats(0, 100), min_size=1, max_size=400))
def test_the_quantile_is_that_of_the_definition(scores):
    rank = ceil((len(scores) + 1) * Fraction(95, 100))
    expected = sorted(scores)[rank - 1] if rank <= len(scores) else inf
    assert conformal_quantile(scores) == expected


@given(st.floats(0, 9100))
def test_factors_are_rounded_up_to_the_next_of_the_grid(score):
    factor = rounded_up(score)
    assert factor in GRID
    assert factor >= score
    assert all(step < score for step in GRID if step < factor)


def test_the_grid_is_the_fixed_one():
    first = [str(step) for step in FIRST_GRID[:9]]
    assert first == ["1", "1.25", "1.5", "2", "3", "5", "7.5", "10", "12.50"]
    assert [str(step) for step in GRID[:4]] == ["0.1", "0.11", "0.12", "0.13"]
    assert (len(GRID), max(GRID)) == (128, 9100)
    assert list(GRID) == sorted(set(GRID) | set(FIRST_GRID))
    assert max(float(b / a) for a, b in pairwise(GRID)) < 1.16


def test_factors_that_were_not_there_at_first_are_of_a_later_format():
    for factor in GRID:
        families = (CalibratedFamily(family="avg-by-one", of="wage", factor=factor),)
        assert lowest_format(CalibratedIntervals(grid="fine", families=families)) == 6
        if factor in FIRST_GRID:
            intervals = CalibratedIntervals(families=families)
            assert lowest_format(intervals) == 0, "the key that holds it is of format 5"
            assert "grid" not in intervals.model_dump(mode="json")
        else:
            with pytest.raises(ValidationError, match="not a factor of the fixed grid"):
                CalibratedIntervals(families=families)


def test_a_line_keeps_finer_factors_in_a_later_format_of_its_own(tmp_path):
    freeze_factors(tmp_path, intervals_stating("3"))
    assert json.loads((tmp_path / FACTORS).read_bytes())["format"] == 1
    freeze_factors(tmp_path, intervals_stating("3.3"))
    assert json.loads((tmp_path / FACTORS).read_bytes())["format"] == 2
    assert read_factors(tmp_path).intervals == intervals_stating("3.3")
    with pytest.raises(PromiseError, match="published a larger factor of avg-by-one"):
        freeze_factors(tmp_path, intervals_stating("3"))


def test_no_factor_is_off_the_grid():
    with pytest.raises(ValidationError, match="not a factor of the fixed grid"):
        CalibratedFamily(family="avg-by-one", of="wage", factor=Decimal("1.15"))


def test_a_factor_is_written_in_one_way():
    family = CalibratedFamily(family="avg-by-one", of="wage", factor=Decimal("1.50"))
    assert family.model_dump(mode="json")["factor"] == "1.5"


def test_no_fewer_queries_than_a_thousand_calibrate():
    assert FEWEST == 1_000 <= QUERIES
    assert factor_of([0.5] * 999) is None
    assert factor_of([0.5] * 1000) == Decimal("0.51")


def measured_scores(score, number=1_000):
    return {FAMILY: np.full(number, score)}


def intervals_stating(factor):
    return CalibratedIntervals(
        grid="fine",
        families=(CalibratedFamily(family=FAMILY[0], of=FAMILY[1], factor=Decimal(factor)),),
    )


def test_a_factor_of_the_line_only_rises():
    assert calibrate(measured_scores(1.14), None).factor_of(FAMILY) == Decimal("1.2")
    assert calibrate(measured_scores(1.14), intervals_stating("3")).factor_of(FAMILY) == 3
    assert calibrate(measured_scores(4.0), intervals_stating("3")).factor_of(FAMILY) == Decimal(
        "4.3"
    )


def test_nothing_is_told_of_what_was_measured_but_the_factor():
    first, other = (calibrate(measured_scores(score), None) for score in (1.31, 1.49))
    assert first == other
    assert first.model_dump(mode="json") == {
        "coverage": "at least 95 % asked, met",
        "standing": "stated by the publisher, not verifiable",
        "grid": "fine",
        "families": [{"family": "avg-by-one", "of": "wage", "factor": "1.5"}],
    }


def test_what_was_not_measured_often_enough_has_no_factor():
    assert calibrate(measured_scores(1.0, 999), intervals_stating("3")).families == ()
