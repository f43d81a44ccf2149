"""Likely intervals over columns some of whose values are missing, which aggregates pass over."""

from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.publication.check import check
from sfumato.tasks.query.ask import answer
from sfumato.tasks.query.intervals import shapes
from sfumato.tasks.query.intervals.covariates import (
    Binned,
    Covariates,
    Deviations,
    GroupedNumbers,
    SelectedOfGroups,
)
from sfumato.tasks.query.intervals.exact_rows import NumbersOfRows
from sfumato.tasks.query.intervals.laws_of_column import numbers_with_missing
from sfumato.tasks.query.intervals.shapes import ALIKE, family_of, shape_of
from sfumato.tasks.query.intervals.spread import Z95
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.sql.single import read_question
from sfumato.tasks.terms.opened import open_release
from tests.intervals.releases import factors_of, measure, wages
from tests.query.worlds import answers_on, column, declare
from tests.release.small import SPEC, people

LEAST, FRESH = 0.93, 1_000
DECLARED = declare(
    age=column("quasi-identifier", "integer"),
    town=column("quasi-identifier", "string"),
    wage=column("sensitive", "integer", nulls=True),
)


def release(rows=1_000, k=5, seed=1):
    """A permuted release in chance groups; who is older is likelier not to tell the wage."""
    age, town, wage = wages(rows)
    rng = np.random.default_rng(seed)
    missing = rng.random(rows) < age / 150
    group = rng.permutation(rows) // k
    wage_column = np.arange(rows)
    for number in range(rows // k):
        members = np.flatnonzero(group == number)
        wage_column[members] = rng.permutation(members)
    order = np.lexsort((age, town, group))
    table = pa.table(
        {
            "age": age[order],
            "town": town[order],
            "wage": pa.array(wage[wage_column][order], mask=missing[wage_column][order]),
            "group_id": group[order],
        }
    )
    own = {"age": pa.array(age), "town": pa.array(town), "wage": pa.array(wage, mask=missing)}
    roles = {name: DECLARED.columns[name].role for name in own}
    columns = tuple(encode(name, roles[name], values) for name, values in own.items())
    return {"microdata": table}, Microdata(columns, rows)


@pytest.fixture(scope="module")
def release_with_nulls():
    return release()


@pytest.fixture(scope="module")
def factors(release_with_nulls):
    return factors_of(*release_with_nulls, randomness=seeded_keys(1), declared=DECLARED)


@pytest.fixture(scope="module")
def fresh(release_with_nulls):
    return measure(*release_with_nulls, number=FRESH, randomness=seeded_keys(2), declared=DECLARED)


def test_fresh_queries_of_every_family_meet_their_intervals(factors, fresh):
    met = {
        family: np.mean([query.score <= factors.factor_of(family) for query in queries])
        for family, queries in fresh.items()
    }
    assert met.keys() == {
        (f"{aggregate}-by-{columns}", "wage")
        for aggregate in ALIKE
        for columns in ("one", "several")
    }
    assert {len(queries) for queries in fresh.values()} == {FRESH}
    assert min(met.values()) >= LEAST, met


ASKED = {
    "SELECT SUM(wage) x": "sum-by-one",
    "SELECT AVG(wage) x": "avg-by-one",
    "SELECT COUNT(wage) x": "count-by-one",
    "SELECT COUNT(*) x": "count-by-one",
    "SELECT MIN(wage) x": "min-by-one",
    "SELECT VAR_POP(wage) x": "spread-by-one",
    "SELECT MEDIAN(wage) x": "median-by-one",
    "SELECT QUANTILE_DISC(wage, 0.001) x": None,
}


def test_whose_nulls_are_passed_over_has_an_interval_or_says_why_not(release_with_nulls, factors):
    tables, original = release_with_nulls
    declared = DECLARED.model_copy(update={"intervals": factors})
    wage, age = (original[name].array().to_pandas().to_numpy() for name in ("wage", "age"))
    here = wage[(age >= 25) & (age <= 44)]
    here = here[~np.isnan(here)]
    truths = {
        "sum-by-one": here.sum(),
        "avg-by-one": here.mean(),
        "count-by-one": len(here),
        "min-by-one": here.min(),
        "spread-by-one": here.var(),
        "median-by-one": np.median(here),
    }
    for selection, family in ASKED.items():
        more = " AND wage IS NOT NULL" if "*" in selection else ""
        sql = f"{selection} FROM microdata WHERE age BETWEEN 25 AND 44{more}"
        [answer] = answers_on(tables, declared, [sql])
        [row] = answer.rows
        likely = row["x"].likely
        if family is None:
            assert likely.interval is None, selection
            assert likely.reason == shapes.OUTSIDE, selection
        else:
            low, high = likely.interval
            assert row["x"].lower <= low <= row["x"].estimate <= high <= row["x"].upper, selection
            assert low <= truths[family] <= high, selection


def test_what_is_said_of_two_sensitive_columns_is_of_no_family():
    declared = declare(
        age=column("quasi-identifier", "integer"),
        wage=column("sensitive", "integer", nulls=True),
        rent=column("sensitive", "integer", nulls=True),
    )
    selection = "SELECT SUM(wage) x FROM microdata WHERE age > 30 AND rent IS NOT NULL"
    question = read_question(selection, declared)
    assert shape_of(question, declared) is None
    total = read_question(selection.replace(" AND rent IS NOT NULL", ""), declared)
    (aggregate,) = total.aggregates
    shape = shape_of(total, declared)
    assert family_of(shape, aggregate) == ("sum-by-one", "wage")
    different = Aggregate("count", "wage", "x", distinct=True)
    assert family_of(shape, different) is None


GROUPS = st.lists(
    st.lists(st.one_of(st.none(), st.integers(-5, 9)), min_size=2, max_size=5),
    min_size=2,
    max_size=3,
).filter(lambda groups: any(value is not None for group in groups for value in group))


def law_of(groups, hits, *, per_row):
    """The law where nothing is told by covariates, and rows lean in no direction."""
    values = [value for group in groups for value in group]
    group = np.repeat(np.arange(len(groups)), list(map(len, groups)))

    def spread(numbers, _lean):
        size = np.bincount(group).astype(float)
        mean = np.bincount(group, numbers) / size
        variance = np.bincount(group, (numbers - mean[group]) ** 2) / size
        grouped = GroupedNumbers(size, mean, variance, np.zeros(len(size)))
        covariates = Covariates(group, len(size), [Binned(np.zeros(len(group), dtype=np.int64), 1)])
        still = Deviations(np.zeros(1), np.zeros(len(size)), None, covariates)
        return NumbersOfRows(grouped, still, 0.0)

    there = np.array([value is not None for value in values])
    numbers = np.array([value or 0 for value in values], dtype=float)
    law = numbers_with_missing(numbers, there, np.ones(len(values)), spread)
    hit = np.flatnonzero(hits)
    selected = SelectedOfGroups(hit, np.array(hits)[hit], np.arange(sum(hits)))
    return law.spread_over(selected, per_row=per_row)


@given(GROUPS, st.data())
@settings(max_examples=40)
def test_the_law_of_a_sum_is_that_of_all_selections(groups, data):
    hits = [data.draw(st.integers(0, len(group))) for group in groups]
    law = law_of(groups, hits, per_row=False)
    sums = [
        sum(value for part in chosen for value in part if value is not None)
        for chosen in product(*(combinations(g, h) for g, h in zip(groups, hits, strict=True)))
    ]
    assert law.estimate == pytest.approx(np.mean(sums))
    assert law.above == pytest.approx(Z95 * np.std(sums), abs=1e-6)


def test_the_law_of_a_mean_is_nearly_that_of_all_selections():
    rng = np.random.default_rng(3)
    groups = [
        [None if rng.random() < 0.3 else int(value) for value in rng.integers(0, 100, 6) + 40 * g]
        for g in range(60)
    ]
    hits = [int(rng.integers(0, 7)) for _ in groups]
    law = law_of(groups, hits, per_row=True)
    means = []
    for _ in range(4_000):
        chosen = [
            value
            for group, h in zip(groups, hits, strict=True)
            for value in rng.permutation(np.array(group, dtype=float))[:h]
        ]
        means.append(np.nanmean(chosen))
    assert law.estimate == pytest.approx(np.mean(means), abs=0.05 * np.std(means))
    assert law.above == pytest.approx(Z95 * np.std(means), rel=0.05)


DIVERSE = {"model": "l-diversity", "variant": "distinct", "l": 3}
AMBIGUOUS = {"model": "alpha-beta", "alpha": 1, "beta": "0.5"}
VALUES = {"sum-by-one", "avg-by-one", "count-by-one", "spread-by-one", "median-by-one"}


@pytest.mark.parametrize(
    ("form", "partition", "promise", "families_expected"),
    [
        ("permuted", "anatomy", DIVERSE, VALUES),
        ("split", "anatomy", DIVERSE, VALUES),
        ("ambiguous", "disjoint-cover", AMBIGUOUS, {"count-by-one"}),
    ],
)
def test_a_release_states_factors_of_columns_with_nulls(
    form, partition, promise, families_expected, small, few_queries
):
    rows = [
        row | ({"wage": ""} if number % 5 == 0 else {})
        for number, row in enumerate(people(rows=240))
    ]
    wage = {"role": "sensitive", "type": "decimal", "nulls": "category"}
    small.write(
        rows,
        columns={**SPEC["columns"], "wage": wage},
        promises=[promise],
        partition={"method": partition},
        form={"method": form},
        evaluate={"intervals": 95},
    )
    directory = small.publish("one").directory
    assert check(directory).derived == "equal"
    release = open_release(directory)
    assert release.manifest["sfumato"]["format"] == (11 if form == "ambiguous" else 8)
    families_stated = {family.family for family in release.declared.intervals.families}
    assert families_stated >= families_expected
    for name, function in (("count-by-one", "COUNT"), ("avg-by-one", "AVG")):
        if name in families_expected:
            sql = f"SELECT {function}(wage) x FROM microdata WHERE age > 30"
            [row] = answer(release, sql).rows
            assert row["x"].likely.interval is not None, function
