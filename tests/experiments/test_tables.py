"""The tables that experiments draw, generate and ask for, beside their names."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from sfumato.tasks.experiments.cell_suppression.optimum import optimum
from sfumato.tasks.experiments.distribution.owner_groups import uniform_over_ranges
from sfumato.tasks.experiments.diversity import seconds, utility
from sfumato.tasks.experiments.diversity.setting import EIGHT, FIVE
from sfumato.tasks.experiments.registry import EXPERIMENTS
from sfumato.tasks.experiments.shared import generated_tables
from sfumato.tasks.experiments.shared.adult import complete_people, hierarchies_of
from sfumato.tasks.experiments.shared.census import census_people
from sfumato.tasks.experiments.shared.generated_tables import (
    normal_losses,
    slide_table,
    uniform_losses,
    with_losses_by_age,
)
from sfumato.tasks.experiments.shared.questions import draw_cells, numbers_of, truths
from sfumato.tasks.microdata.table import Microdata, encode
from sfumato.tasks.schema.hierarchy_rules import Bands
from tests.experiments.made import inputs
from tests.papers.test_suppression import OPTIMA, codes

LOSS, ORDERS = "capital-loss", "lands-end"


def test_the_slide_table_is_the_papers_with_its_fewest_cells():
    assert slide_table().tolist() == codes().tolist()
    assert {k: optimum(slide_table(), k) for k in OPTIMA} == {
        k: optimum[0] for k, optimum in OPTIMA.items()
    }


def test_losses_that_are_given_out_anew_rise_with_age_and_are_the_same():
    plain = uniform_losses(3000, 1)
    rising = with_losses_by_age(plain, 1)
    ages, losses = (
        [numbers_of(table, name) for table in (plain, rising)] for name in ("age", LOSS)
    )
    assert (ages[0] == ages[1]).all()
    assert sorted(losses[0].tolist()) == sorted(losses[1].tolist())
    apart, together = (np.corrcoef(ages[0], loss)[0, 1] for loss in losses)
    assert abs(apart) < 0.1
    assert together > 0.8


def people(ages, losses):
    return Microdata(
        (
            encode("age", "quasi-identifier", pa.array(ages)),
            encode(LOSS, "sensitive", pa.array(losses)),
        ),
        len(ages),
    )


def test_a_band_is_spread_over_the_losses_between_its_least_and_its_largest():
    table = people([20, 21, 22, 40, 41], [1, 5, 9, 5, 20])
    bands = (Bands(column="age", bands=(30,)),)
    header, *lines = uniform_over_ranges(table, bands)["given"]
    assert header == ("age in bands from 30", "value", "probability")
    shares = {(band, value): Fraction(share).limit_denominator(100) for band, value, share in lines}
    third = Fraction(1, 3)
    assert shares == {
        **{("0", value): third for value in ("1", "5", "9")},
        **{("1", value): third for value in ("5", "9", "20")},
    }


def test_without_bands_all_losses_are_as_likely():
    header, *lines = uniform_over_ranges(people([20, 40], [3, 8]), ())["given"]
    assert header == ("value", "probability")
    assert [(value, float(share)) for value, share in lines] == [("3", 0.5), ("8", 0.5)]


@pytest.mark.parametrize("attributes", [1, 2])
def test_cells_are_those_of_group_by_that_are_not_empty(attributes):
    """Of so few people that most cells are."""
    rng = np.random.default_rng(3)
    columns = [pa.array(rng.integers(0, 12, 25)) for _ in range(3)]
    jobs = pa.array(rng.choice(["a", "b"], 25))
    columns_encoded = [
        encode(f"q{place}", "quasi-identifier", column) for place, column in enumerate(columns)
    ]
    table = Microdata((*columns_encoded, encode("job", "sensitive", jobs)), 25)
    questions = draw_cells(table, (attributes,), 60, np.random.default_rng(1))
    for question, truth in zip(questions, truths(questions, table), strict=True):
        assert len(question.within) == attributes
        rows = zip(*(numbers_of(table, name).tolist() for name in question.within), strict=True)
        cell = tuple(low for low, _ in question.within.values())
        assert all(low == high for low, high in question.within.values())
        pairs = zip(rows, jobs.to_pylist(), strict=True)
        assert truth == sum(row == cell and job == question.value[1] for row, job in pairs) > 0
    met = {
        tuple((name, ends[0]) for name, ends in question.within.items()) for question in questions
    }
    assert len(met) > 15, "cells of all columns are drawn, not one again and again"


def test_cells_of_a_selective_query_are_of_rows_in_ranges_of_other_columns():
    table = census_people(500, 1)
    questions = draw_cells(table, (1,), 40, np.random.default_rng(1), 0.1)
    for question, truth in zip(questions, truths(questions, table), strict=True):
        assert truth > 0
        cells = [low for low, high in question.within.values() if low == high]
        assert len(question.within) == 3
        assert len(cells) >= 1


def test_a_sub_sample_with_even_ages_has_no_band_above_the_median(tmp_path):
    """Each person is drawn independently: a band has its expected number of people by chance."""
    everybody = complete_people(inputs(tmp_path), FIVE, "occupation", 10_000, 1)
    drawn_tables = [utility.even_out_ages(everybody, seed) for seed in range(30)]
    before, *after = (
        np.bincount(numbers_of(table, "age") // 5, minlength=20)
        for table in (everybody, *drawn_tables)
    )
    median = int(np.median(before[before > 0]))
    expected = np.minimum(before, median)
    chance = np.divide(expected, before, out=np.ones(20), where=before > 0)
    deviation = np.sqrt(before * chance * (1 - chance) / len(after))
    assert (np.abs(np.mean(after, axis=0) - expected) <= 4 * deviation).all()
    assert len({int(numbers.sum()) for numbers in after}) > 5, "sizes differ, as by Bernoulli"


def test_time_is_measured_with_up_to_eight_known_and_seven_of_orders(tmp_path):
    assert max(EXPERIMENTS["diversity-time"].full.known) == len(EIGHT) == 8
    points = list(seconds.measure(seconds.KnownScale(400, (7, 8)), inputs(tmp_path), 0))
    levels = {data: {p.level for p in points if p.data == data} for data in ("occupations", ORDERS)}
    assert levels == {"occupations": {7, 8}, ORDERS: {7}}
    assert len(generated_tables.KNOWN) == 7


def test_the_salary_class_is_known_without_a_hierarchy(tmp_path):
    assert set(hierarchies_of(inputs(tmp_path), EIGHT)) == set(EIGHT) - {"salary-class"}


def test_normal_losses_are_spread_over_their_range_exactly():
    """The shares of each band add up to one, as a target's must."""
    bands = (Bands(column="age", bands=(30, 60)),)
    _, *lines = uniform_over_ranges(normal_losses(500, 1), bands)["given"]
    sums = {
        band: sum(float(p) for band_number, _, p in lines if band_number == band) for band in "012"
    }
    assert sums == pytest.approx(dict.fromkeys("012", 1.0), abs=1e-9)
