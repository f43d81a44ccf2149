"""The questions of experiments: bounds are those of all worlds, and all get the same questions."""

from itertools import permutations, product

import numpy as np
import pyarrow as pa
import pytest

from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.tasks.experiments.shared.candidates import Method, partition_by, scope, try_method
from sfumato.tasks.experiments.shared.generated_tables import (
    HIERARCHIES,
    correlated_losses,
    normal_losses,
    orders,
    uniform_losses,
    zipf_losses,
)
from sfumato.tasks.experiments.shared.questions import (
    GroupedValues,
    Ranges,
    draw_counts,
    draw_windows,
    error_of_averages,
    numbers_of,
    pick_rows,
    truths,
)
from sfumato.tasks.microdata.table import Microdata, encode
from tests.experiments.made import inputs


@pytest.mark.parametrize("seed", range(10))
def test_errors_of_selections_are_those_of_all_worlds(seed):
    rng = np.random.default_rng(seed)
    group = np.array([0, 0, 0, 1, 1, 2, 2])
    values = rng.integers(1, 20, 7)
    picked = rng.random(7) < 0.5
    picked[rng.integers(7)] = True
    groups = GroupedValues(group, values)
    size, truth = int(picked.sum()), values[picked].mean()
    sums = [
        sum(
            values[group == g][list(order)][picked[group == g]].sum() for g, order in enumerate(way)
        )
        for way in product(*(permutations(range((group == g).sum())) for g in range(3)))
    ]
    exact = (max(sums) - min(sums)) / size / truth
    assert groups.error_where_rows_are_shown(picked) == pytest.approx(exact)
    assert groups.error_where_labels_are_shown(picked) == pytest.approx(
        by_labels(group, values, picked) / truth
    )


def by_labels(group, values, picked):
    """The width of an average where groups picked in part may be meant by any of their rows."""
    whole = [g for g in range(3) if picked[group == g].all()]
    partly = [row for row in range(7) if picked[group == group[row]].any()]
    partly = [row for row in partly if group[row] not in whole]
    sure = values[np.isin(group, whole)].tolist()
    worlds = product((False, True), repeat=len(partly))
    chosen = [sure + [values[r] for r, i in zip(partly, w, strict=True) if i] for w in worlds]
    means = [float(np.mean(answers)) for answers in chosen if answers]
    return max(means) - min(means)


def people(rows=60, seed=1):
    rng = np.random.default_rng(seed)
    return Microdata(
        (
            encode("age", "quasi-identifier", pa.array(rng.integers(20, 40, rows))),
            encode("job", "sensitive", pa.array(rng.choice(["a", "b", "c"], rows))),
        ),
        rows,
    )


def test_questions_mean_the_rows_that_they_say():
    table = people()
    ages, jobs = numbers_of(table, "age"), np.array(table["job"].array().to_pylist())
    questions = draw_counts(table, 1, 0.3, 20, np.random.default_rng(2))
    for question, truth in zip(questions, truths(questions, table), strict=True):
        (low, high), (_, job) = question.within["age"], question.value
        assert truth == ((ages >= low) & (ages <= high) & (jobs == job)).sum() > 0
    for window in draw_windows(table, "age", 5, 10, np.random.default_rng(2)):
        low, high = window.within["age"]
        assert (high - low, low in ages) == (5, True)


def test_an_average_is_asked_of_a_candidate_on_given_groups(tmp_path):
    table = normal_losses(80, 1)
    promise = KEAnonymity(k=2, e=1, **scope(table))
    method = Method((promise,), {"method": "ke"}, {"method": "permuted"})
    groups = partition_by(table, method, 5)
    trial = try_method(table, method, inputs(tmp_path), 5, groups).require_kept()
    assert trial.represented.rows == 80
    everybody = [Ranges({"age": (0, 100)})]
    assert error_of_averages(trial, "capital-loss", everybody) == 0
    some = [Ranges({"age": (20, 30)})]
    assert 0 < error_of_averages(trial, "capital-loss", some) < 2
    assert np.isnan(error_of_averages(trial, "capital-loss", [Ranges({"age": (1, 2)})]))


def test_selections_have_their_size():
    for picked in pick_rows(30, 7, 5, np.random.default_rng(1)):
        assert (picked.sum(), len(picked)) == (7, 30)


@pytest.mark.parametrize("make", [correlated_losses, normal_losses, uniform_losses])
def test_generated_losses_are_drawn_from_their_seed(make):
    first, again, other = make(50, 1), make(50, 1), make(50, 2)
    assert first.table() == again.table() != other.table()
    assert numbers_of(first, "age").min() >= 17
    assert (numbers_of(first, "capital-loss") > 0).all()


def test_losses_follow_what_they_are_called_after():
    rising = correlated_losses(2000, 1, spread=50.0)
    age, loss = (numbers_of(rising, name) for name in ("age", "capital-loss"))
    assert np.corrcoef(age, loss)[0, 1] > 0.9
    age, loss = (numbers_of(normal_losses(2000, 1), name) for name in ("age", "capital-loss"))
    assert abs(np.corrcoef(age, loss)[0, 1]) < 0.1
    steep, flat = (numbers_of(zipf_losses(4000, 1, s), "capital-loss").mean() for s in (1.2, 0.1))
    assert steep < flat


def test_orders_have_the_columns_that_were_asked_for():
    table = orders(200, 1, ("zipcode", "price"))
    assert [column.name for column in table.columns] == ["zipcode", "price", "cost"]
    assert table["zipcode"].levels().shape[0] == 2
    assert set(HIERARCHIES) <= {column.name for column in orders(50, 1).columns}
