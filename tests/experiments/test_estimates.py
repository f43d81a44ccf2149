"""Estimates from codes are those of the engines, on candidates of every way to show a table."""

import numpy as np
import pyarrow.compute as pc
import pytest

from sfumato.expectations.measures.occurrences import FEW_ROUNDS, ROUNDS
from sfumato.tasks.experiments.ambiguity.setting import WAYS, cover, methods
from sfumato.tasks.experiments.shared import estimates
from sfumato.tasks.experiments.shared.candidates import partition_by, try_method
from sfumato.tasks.experiments.shared.census import KNOWN, census_people
from sfumato.tasks.experiments.shared.estimates import CountedGroups
from sfumato.tasks.experiments.shared.questions import (
    Ranges,
    bounds_of,
    draw_cells,
    draw_counts,
)
from sfumato.tasks.forms.ambiguous import table_of
from sfumato.tasks.query.help_tables.columns import chosen_rounds, tables_of_columns
from sfumato.tasks.query.help_tables.rows import expected_name
from tests.experiments.made import inputs
from tests.papers.test_ambiguity import people


@pytest.mark.parametrize("series", WAYS)
def test_estimates_are_the_engines(series, tmp_path, monkeypatch):
    """Tables that no release has state no rounds, so that their frequencies are fitted fully."""
    monkeypatch.setattr(estimates, "choose_rounds", lambda *_: ROUNDS)
    census = census_people(400, 3, KNOWN[:5])
    method, estimate = methods(census, "0.5")[series]
    partition = partition_by(census, method, 3)
    trial = try_method(census, method, inputs(tmp_path), 3, partition).require_kept()
    rng = np.random.default_rng(3)
    questions = [
        *draw_counts(census, 3, 0.05, 10, rng),
        *draw_cells(census, (1, 2, 3), 10, rng),
        Ranges({"age": (30, 50)}),
        Ranges({}, ("occupation", census["occupation"].values[0].as_py())),
    ]
    estimator = "weighted" if series == "disjoint cover" else "uniform"
    groups = CountedGroups(census, partition.group)
    for question, bounds in zip(
        questions, bounds_of(trial, "count", None, questions, estimator), strict=True
    ):
        assert estimate(groups, question) == pytest.approx(float(bounds.estimate), abs=1e-9)


def test_expected_rows_are_those_of_a_release(tmp_path):
    """A release fits each column for as many rounds as its published tables say."""
    census = census_people(400, 3, KNOWN[:5])
    method = cover(census, "0.1", "0.5")
    partition = partition_by(census, method, 3)
    release = try_method(census, method, inputs(tmp_path), 3, partition).release
    names = [*map(table_of, KNOWN[:5]), "st"]
    tables = {name: release.table(name) for name in names}
    rounds = chosen_rounds(tables, release.declared)
    assert set(rounds.values()) == {0, FEW_ROUNDS}
    stated = release.declared.model_copy(update={"rounds": rounds})
    groups = CountedGroups(census, partition.group)
    for name, table in tables_of_columns(tables, stated).items():
        column = name.removeprefix("help_")
        (term,) = groups._selections(Ranges({column: (0, 20)}))
        rows = pc.sum(table.filter(pc.less_equal(table[column], 20))[expected_name(column)]).as_py()
        assert term.expected.sum() == pytest.approx(rows or 0)


def test_the_counter_example_to_the_proof_of_theorem_6_1():
    """Leukemia at 45 or older in the paper's table: the truth is 1, ambiguity 4/3, boxes .78."""
    table = people()
    of_age = table.keep(c for c in table.columns if c.name in ("age", "disease"))
    groups = CountedGroups(of_age, np.repeat([0, 1], 4))
    question = Ranges({"age": (45, 200)}, ("disease", "leukemia"))
    assert int(question.rows(of_age).sum()) == 1
    assert groups.by_product(question) == pytest.approx(4 / 3)
    assert groups.by_boxes(question) == pytest.approx(2 * 16 / 41)


def test_estimates_stay_within_what_groups_allow():
    """Example 6.1 multiplies shares; the engine knows that each value occurs."""
    table = people()
    of_numbers = table.keep(c for c in table.columns if c.name != "gender")
    groups = CountedGroups(of_numbers, np.repeat([0, 1], 4))
    question = Ranges({"age": (50, 60), "zip": (23000, 23000)}, ("disease", "diabetes"))
    assert groups.by_product(question) == pytest.approx(7 / 18)
    assert groups.by_values(question) == pytest.approx(7 / 18)
    everyone = Ranges({"age": (0, 99)}, ("disease", "leukemia"))
    assert groups.by_values(everyone) == groups.by_expected_rows(everyone) == 2
