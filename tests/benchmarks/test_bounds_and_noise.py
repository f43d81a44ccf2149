"""The arithmetic of the comparison of bounds and noise, on tables that are counted by hand."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.benchmarks import noise
from tests.benchmarks.bounds_and_noise import (
    KNOWN,
    TABLES,
    Answers,
    Questions,
    Score,
    Table,
    bounds_and_estimates,
    cell_of,
    methods_of,
    print_tables,
    publish_release,
    quantile,
    scores_of,
    write_csv,
)
from tests.benchmarks.disclosure import Disclosure, disclosure, read_values
from tests.benchmarks.label_readings import READINGS, read_labels
from tests.benchmarks.selections import (
    CELLS,
    MEASURES,
    Limits,
    Selection,
    draw_selections,
    people_of,
    true_answers,
)

LIMITS = Limits(1, 99, 45)
SIX = pa.table(
    {
        "age": [20, 30, 30, 40, 50, 60],
        "education-num": [9, 9, 13, 13, 10, 16],
        "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "hours": [40, 20, 60, 50, 99, 1],
    }
)
MEN = Selection(sexes=("Male",))
THIRTIES_UP = Selection(ages=(30, 50), schooling=(9, 13))
LATE = Selection(ages=(40, 60))


@pytest.fixture
def six():
    return people_of(SIX, "hours", LIMITS)


def test_true_answers(six):
    assert true_answers(six, MEN) == {
        "rows": 4,
        "above": 2,
        "total": 151,
        "mean": Fraction(151, 4),
    }
    assert true_answers(six, THIRTIES_UP)["total"] == 229
    assert true_answers(six, LATE)["above"] == 2


def test_a_condition_names_only_the_columns_that_it_restricts():
    assert MEN.condition == "sex = 'Male'"
    assert THIRTIES_UP.condition == '"age" BETWEEN 30 AND 50 AND "education-num" BETWEEN 9 AND 13'


def test_every_size_has_different_selections_of_so_many_people():
    rng = np.random.default_rng(3)
    table = random_people(400)
    people = people_of(table, "hours", LIMITS)
    small, large = draw_selections(people, ((20, 99), (100, 400)), 5, rng)
    assert len(set(small)) == len(set(large)) == 5
    assert all(20 <= true_answers(people, selection)["rows"] <= 99 for selection in small)
    assert all(true_answers(people, selection)["rows"] >= 100 for selection in large)
    assert all(true_answers(people, selection)["above"] >= 5 for selection in small + large)
    assert all(selection.condition for selection in small + large)


def test_a_size_that_no_selection_has_is_refused(six, monkeypatch):
    monkeypatch.setattr("tests.benchmarks.selections._ATTEMPTS", 100)
    with pytest.raises(ValueError, match="fewer than 1 different selections"):
        draw_selections(six, ((7, 9),), 1, np.random.default_rng(0))


def test_parts_without_noise_give_the_truth(six):
    parts = [
        [[rows, above, total, rows, total - LIMITS.middle * rows]] * 2
        for rows, above, total, _ in true_numbers(six)
    ]
    assert_truth(noise.separate_answers(np.array(parts), LIMITS), six, draws=2)


def test_a_histogram_without_noise_gives_the_truth(six):
    counts = np.stack([six.rows - six.rows_above, six.rows_above], axis=1).ravel()
    deviations = six.total - LIMITS.middle * six.rows
    assert_truth(noise.plan_answers(counts, deviations, SELECTIONS, LIMITS), six, draws=None)


SELECTIONS = (MEN, THIRTIES_UP, LATE)


def true_numbers(people):
    return [tuple(map(float, true_answers(people, s).values())) for s in SELECTIONS]


def assert_truth(answers, people, draws):
    for measure, numbers in zip(MEASURES, zip(*true_numbers(people), strict=True), strict=True):
        expected = np.array(numbers)
        if draws is not None:
            expected = np.tile(expected[:, np.newaxis], draws)
        np.testing.assert_allclose(answers[measure], expected, rtol=1e-12)


def test_means_stay_within_the_public_range_and_need_no_rows():
    rows, deviations = np.array([2.0, -3.0, 0.0]), np.array([900.0, -7.0, -400.0])
    means = noise.mean_of_deviations(rows, deviations, LIMITS)
    assert means.tolist() == [99, 43, 1]


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        # 20 to 29 of 30: a third of the first label; half of the second row's sex is hidden
        ("shares", {"rows": 1 / 3 + 1 / 2, "above": 1 / 2, "total": 10 / 3 + 25, "mean": 34}),
        # the first label's middle, 34.5, is not selected
        ("midpoints", {"rows": 1 / 2, "above": 1 / 2, "total": 25, "mean": 50}),
    ],
)
def test_labels_read_by_hand(reading, expected):
    labels = pa.table(
        {
            "age": ["[20, 49]", "25", "[60, 69]"],
            "education-num": ["9", "[9, 12]", "*"],
            "sex": ["Female", "*", "Female"],
            "hours": [10, 50, 70],
        }
    )
    selections = [Selection(ages=(20, 29), sexes=("Female",))]
    answers = read_labels(labels, "hours", selections, LIMITS, READINGS[reading])
    assert {name: numbers.item() for name, numbers in answers.items()} == pytest.approx(expected)


def test_labels_that_no_selection_has_give_the_middle():
    labels = pa.table({"age": ["20"], "education-num": ["9"], "sex": ["Male"], "hours": [10]})
    answers = read_labels(labels, "hours", [LATE], LIMITS, READINGS["shares"])
    assert answers["mean"].tolist() == [50]


@pytest.mark.parametrize(
    "table",
    [
        {"group_id": [0, 0, 1], "hours": [40, 50, 7], "count": [3, 1, 2]},
        {"group_id": [0, 0, 0, 0, 1, 1], "hours": [40, 40, 50, 40, 7, 7]},
        {"age": ["*"] * 4 + ["9"] * 2, "sex": ["*"] * 6, "hours": [40, 40, 50, 40, 7, 7]},
    ],
)
def test_the_disclosure_of_groups(table):
    """Two groups: 40, 40, 40, 50 and 7, 7."""
    facts = disclosure(pa.table(table), "hours", ("age", "sex"))
    assert facts == Disclosure(groups=2, span=10, guessed=pytest.approx(5 / 6))


@pytest.mark.parametrize("form", ["permuted", "split", "generalized"])
def test_groups_of_releases_keep_their_promises(releases, form):
    values = read_values(releases[form].directory)
    facts = disclosure(values, "hours", KNOWN)
    assert 1 <= facts.groups <= 40
    assert facts.span >= 30 if form == "permuted" else facts.span > 0
    assert facts.guessed <= 1 / 3


def test_nineteen_of_twenty_errors_are_within_the_quantile():
    assert quantile(np.arange(20, 0, -1)) == 19
    assert quantile(np.arange(21)) == 19
    assert quantile(np.array([[7.0]])) == 7


def test_scores_are_shares_of_the_truth_by_size():
    questions = Questions(((1, 9), (10, 99)), (MEN, LATE), {"rows": (Fraction(5), Fraction(50))})
    answers = questions.errors_of("noise", {"rows": np.array([[4.0, 7.0], [50.0, 49.0]])})
    small, large = scores_of(table_of_hours(()), questions, answers)
    assert (small.percent, small.error, small.outside) == (pytest.approx(40), 2, None)
    assert (large.percent, large.error, large.least) == (pytest.approx(2), 1, 10)
    bounds = Answers("bounds", answers.error, {"rows": np.array([[True, False], [True, True]])})
    assert [score.outside for score in scores_of(table_of_hours(()), questions, bounds)] == [1, 2]


def table_of_hours(sizes):
    return Table("hours", "hours", 1, LIMITS, (10, 30), "mondrian", sizes)


def random_people(rows):
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "age": rng.integers(17, 91, rows),
            "education-num": rng.integers(1, 17, rows),
            "sex": rng.choice(["Female", "Male"], rows),
            "workclass": rng.choice(["Private", "State-gov"], rows),
            "marital-status": rng.choice(["Divorced", "Widowed"], rows),
            "race": rng.choice(["Black", "White"], rows),
            "native-country": rng.choice(["Cuba", "Japan"], rows),
            "hours": rng.integers(1, 100, rows),
        }
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    table, rows = table_of_hours(((20, 200),)), random_people(200)
    folder = tmp_path_factory.mktemp("compared")
    return {
        method.form: publish_release(rows, table, method, 0, folder / method.words)
        for method in methods_of(table)
    }


@pytest.mark.parametrize("form", ["permuted", "split", "generalized"])
def test_bounds_of_releases_contain_the_truth(releases, form):
    people = people_of(random_people(200), "hours", LIMITS)
    selections = draw_selections(people, ((20, 200),), 8, np.random.default_rng(1))[0]
    questions = questions_about(people, selections)
    bounds, estimates = bounds_and_estimates(
        form, [releases[form]], table_of_hours(((20, 200),)), questions
    )
    assert bounds.way == f"{form}: bounds"
    assert not any(missed.any() for missed in bounds.outside.values())
    assert all(half.shape == (8, 1) for half in bounds.error.values())
    exact = form != "generalized"
    assert (bounds.error["rows"] == 0).all() == exact
    assert (estimates.error["rows"] == 0).all() == exact
    assert (bounds.error["total"] > 0).any()  # whole groups are exact
    for name, errors in estimates.error.items():
        assert (errors <= 2 * bounds.error[name] + 1e-9).all()


def questions_about(people, selections):
    answers = [true_answers(people, selection) for selection in selections]
    truths = {name: [answer[name] for answer in answers] for name in MEASURES}
    return Questions(((20, 200),), tuple(selections), truths)


def test_a_truth_outside_of_the_bounds_is_counted(releases):
    people = people_of(random_people(200), "hours", LIMITS)
    questions = questions_about(people, [MEN])
    shifted = {
        name: [truth + 1000 for truth in truths] for name, truths in questions.truths.items()
    }
    wrong = Questions(questions.sizes, questions.selections, shifted)
    bounds, _ = bounds_and_estimates(
        "split", [releases["split"]], table_of_hours(((20, 200),)), wrong
    )
    assert {name: missed.tolist() for name, missed in bounds.outside.items()} == {
        name: [[True]] for name in MEASURES
    }


def test_without_opendp_the_reason_is_given(six, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENDP", raising=False)
    answers = noise.ask_with_noise(six, [MEN], 100, 2, tmp_path)
    assert answers.by_way == {}
    assert answers.reason == "OpenDP has no environment here (OPENDP)"


needs_opendp = pytest.mark.skipif(
    not Path(os.environ.get("OPENDP", "/nowhere")).exists(), reason="OPENDP names no interpreter"
)


@needs_opendp
def test_opendp_answers_almost_exactly_with_a_large_epsilon(six, tmp_path, monkeypatch):
    monkeypatch.setattr(noise, "EPSILON", 1e5)
    answers = noise.ask_with_noise(six, SELECTIONS, 10, 2, tmp_path)
    assert answers.reason == ""
    assert set(answers.by_way) == {"alone", "together", "gaussian", "planned"}
    for way in ("alone", "together", "planned"):
        assert_truth(answers.by_way[way], six, draws=2)


@needs_opendp
def test_the_noise_of_counts_has_the_spread_of_its_budget(six, tmp_path):
    """Laplace noise of scale b has standard deviation b √2; Gaussian noise is known by its ρ."""
    answers = noise.ask_with_noise(six, [MEN], 10, 300, tmp_path).by_way
    spread = {way: float(np.std(numbers["rows"])) for way, numbers in answers.items()}
    cells = 2 * MEN.cells.sum()
    assert spread["alone"] == pytest.approx(2**0.5, rel=0.25)
    assert spread["together"] == pytest.approx(10 * 2**0.5, rel=0.25)
    assert spread["gaussian"] == pytest.approx(4.56 * 10**0.5, rel=0.25)
    assert spread["planned"] == pytest.approx(2 * (2 * cells) ** 0.5, rel=0.25)


@pytest.mark.parametrize(
    ("percent", "words"),
    [
        (0, "exact"),
        (0.04, "below ±0.1 %"),
        (0.06, "±0.1 %"),
        (100, "±100.0 %"),
        (101, "over ±100 %"),
    ],
)
def test_accuracy_in_words(percent, words):
    assert cell_of(percent) == words


def test_printed_tables_and_csv(tmp_path, capsys):
    table = table_of_hours(((20, 99),))
    scores = [
        Score("hours", way, measure, 20, 99, 3, 12.34, 2.5, outside)
        for measure in ("COUNT", "COUNT above", "SUM", "AVG")
        for way, outside in (("labels: bounds", 0), ("noise", None))
    ]
    print_tables(table, scores)
    printed = capsys.readouterr().out
    assert "| labels: bounds | ±12.3 % |" in printed
    assert "hours: COUNT above 45\n" in printed
    assert "hours: the truth lies outside 0 of 12 bounds" in printed
    write_csv(scores, tmp_path / "below" / "figures.csv")
    head, first, *_ = (tmp_path / "below" / "figures.csv").read_text(encoding="utf-8").split("\n")
    assert head == "table,way,measure,least,most,answers,percent,error,outside"
    assert first == "hours,labels: bounds,COUNT,20,99,3,12.34,2.5,0"


def test_the_tables_of_adult_have_public_limits():
    assert CELLS == 74 * 16 * 2
    assert [(table.limits.middle, table.limits.radius) for table in TABLES] == [
        (50, 49),
        (2500, 2500),
    ]
