"""Attacks: what is guessed from the tables alone, and how well, beside what is guessed without."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.models.l_diversity import DistinctLDiversity
from sfumato.tasks.attacks.group import homogeneity, similarity, skewness, small_range
from sfumato.tasks.attacks.learning import definetti, fitting
from sfumato.tasks.attacks.shared.attack import AttackedRelease, right_guesses
from sfumato.tasks.choose.trial import run_trial
from sfumato.tasks.forms.form_parameters import PermutedParameters, SplitParameters
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.anatomy.parameters import AnatomyParameters
from sfumato.tasks.schema.published import DeclaredColumn
from sfumato.tasks.terms.terms import Terms

QUASI = ("a", "b", "c")
SCHEMA = {
    **{name: DeclaredColumn(role="quasi-identifier", type="integer") for name in QUASI},
    "s": DeclaredColumn(role="sensitive", type="integer"),
}
FORMS = {
    "permuted": PermutedParameters(method="permuted"),
    "split": SplitParameters(method="split"),
}


def draw_correlated(rng, people, strength):
    """People whose quasi-identifiers are near their value with some probability."""
    value = rng.integers(0, 4, people)
    columns = {}
    for name in QUASI:
        near, anywhere = value * 25 + rng.integers(0, 25, people), rng.integers(0, 100, people)
        columns[name] = np.where(rng.random(people) < strength, near, anywhere)
    return {**columns, "s": value}


def make_release(folder, arrays, form="split", l=2, seed=1):
    columns = [encode(n, SCHEMA[n].role, pa.array(values)) for n, values in arrays.items()]
    people = Microdata(tuple(columns), len(arrays["s"]))
    promise = DistinctLDiversity(variant="distinct", l=l, sensitive="s", quasi_identifiers=QUASI)
    terms = Terms(
        name="attacked",
        title="Attacked",
        unit="row",
        versions="disjoint",
        columns=SCHEMA,
        strata=(),
        promises=(promise,),
        partition=AnatomyParameters(method="anatomy"),
        form=FORMS[form],
        formats=("parquet",),
    )
    trial = run_trial(people, terms, folder, seeded_keys(seed)).require_kept()
    declared, tables = trial.assessment.declared, trial.assessment.tables
    return AttackedRelease(declared, tables, trial.represented, "s")


@pytest.mark.parametrize("form", FORMS)
def test_classes_are_learned_as_people_one_by_one_would_be(form, tmp_path):
    """Against the attack as it is told, with a row and a column for every person and value."""
    rng = np.random.default_rng(7)
    release = make_release(tmp_path, draw_correlated(rng, 60, 0.7), form)
    classes = definetti._classes(release, release.groups())
    beliefs = definetti.learn(classes)
    table = release.tables["qit" if form == "split" else "microdata"]
    vectors = [tuple(row) for row in zip(*(table[n].to_pylist() for n in QUASI), strict=True)]
    expected = person_by_person(vectors, table["group_id"].to_pylist(), release.groups())
    ordered = sorted(set(vectors))
    mean = [
        np.mean([expected[i] for i, other in enumerate(vectors) if other == vector], axis=0)
        for vector in ordered
    ]
    cells = np.arange(len(ordered) * classes.counts.values)
    believed, guessed = beliefs.in_values(cells)
    np.testing.assert_allclose(believed, np.ravel(mean), atol=1e-9)
    np.testing.assert_allclose(guessed.reshape(len(ordered), -1).sum(axis=1), 1)
    (expects,) = definetti.expect_hits(release)
    assert expects.share == pytest.approx(np.mean([max(belief) for belief in expected]), abs=1e-9)


def person_by_person(vectors, groups, counts):
    sizes = [len({vector[i] for vector in vectors}) for i in range(len(QUASI))]
    estimate = np.zeros((max(groups) + 1, counts.values))
    estimate[counts.group, counts.value] = counts.count
    weight = np.array([estimate[g] / estimate[g].sum() for g in groups])
    for number in range(15):
        total = weight.sum(axis=0)
        belief = np.tile(total + 1, (len(vectors), 1))
        for i, size in enumerate(sizes):
            for person, vector in enumerate(vectors):
                alike = [p for p, other in enumerate(vectors) if other[i] == vector[i]]
                belief[person] *= (weight[alike].sum(axis=0) + 1) / (total + size)
        weight = np.zeros_like(weight)
        for g in range(len(estimate)):
            members = [p for p, member_group in enumerate(groups) if member_group == g]
            part = belief[members] * (estimate[g] > 0)
            if number == 14:
                weight[members] = by_all_orders(estimate[g], part)
                continue
            part = part / part.sum(axis=1, keepdims=True)
            for _ in range(20):
                remainder = part.sum(axis=0)
                part = part * np.divide(
                    estimate[g], remainder, where=remainder > 0, out=np.zeros_like(remainder)
                )
                part = part / part.sum(axis=1, keepdims=True)
            weight[members] = part
    return weight


@given(
    groups=st.lists(
        st.tuples(
            st.lists(st.integers(1, 3), min_size=1, max_size=4),
            st.lists(st.integers(1, 3), min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=5,
    ),
    seed=st.integers(0, 99),
)
def test_few_pairs_are_fitted_as_many_are(groups, seed):
    """Group by group, and in steps over all pairs; the people of a group are as many as values."""
    whole = [(people, values) for people, values in groups if sum(people) == sum(values)]
    whole = whole or [([2, 1], [1, 2])]
    sizes = tuple(np.array([len(part[side]) for part in whole]) for side in (0, 1))
    people, count = (np.concatenate([part[side] for part in whole]) for side in (0, 1))
    weight = np.random.default_rng(seed).random(int((sizes[0] * sizes[1]).sum())) + 0.01
    weights = []
    for large in (0, len(weight) + 1):
        with patch.object(fitting, "_LARGE", large):
            weights.append(fitting.fit_weights(weight, people, count, sizes, 20))
    few, many = weights
    np.testing.assert_allclose(few, many, rtol=1e-7)


def test_many_people_are_learned_from_some_groups(tmp_path):
    release = make_release(tmp_path, draw_correlated(np.random.default_rng(5), 4000, 0.4))
    everybody, _ = definetti.attack(release)
    with patch.object(definetti, "_ENOUGH", 2000):
        some, _ = definetti.attack(release)
        assert definetti.beliefs(release).hits() == pytest.approx(everybody.share, abs=0.01)
        again, _ = definetti.attack(release)
    assert some.measure.endswith(", learned from the groups of 2,000 people")
    assert some.share == pytest.approx(everybody.share, abs=0.03)
    assert again.measure == everybody.measure, "bars have all teach"


def by_all_orders(count, belief):
    """Return the belief about each person, over all ways to give a group its values."""
    values = np.repeat(np.arange(len(count)), count.astype(int))
    people, total = np.arange(len(values)), np.zeros_like(belief)
    for order in {*permutations(values.tolist())}:
        total[people, order] += belief[people, order].prod()
    return total / total.sum(axis=1, keepdims=True)


def test_half_of_people_are_guessed_by_a_coin_between_two_values():
    belief = np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    assert right_guesses(belief, np.array([[1, 1, 0], [0, 1, 1]])) == 0.5


@given(groups=st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=7), min_size=1, max_size=5))
def test_the_densest_window_is_that_of_every_pair_of_values(groups_of, groups):
    counts = of_numbers(groups_of, groups)
    units = np.array(counts.numbers.units)
    for width in (0, 1, 3, 9):
        expected = [
            max(sum(low <= v <= low + width for v in members) for low in members)
            for members in groups
        ]
        assert small_range.densest(counts, units, width).tolist() == expected
    everybody = [value for members in groups for value in members]
    expected = max(sum(low <= v <= low + 2 for v in everybody) for low in everybody)
    assert small_range._densest_of_all(units, counts.totals, 2) == expected


@given(groups=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=5))
def test_homogeneity_counts_people_of_groups(groups_of, groups):
    counts = of_numbers(groups_of, groups)
    people = sum(map(len, groups))

    class Shown:
        groups = staticmethod(lambda: counts)

    scores = {score.measure: score for score in homogeneity.attack(Shown())}
    best = sum(Counter(members).most_common(1)[0][1] for members in groups)
    assert scores["own value guessed from the group alone"].share == pytest.approx(best / people)
    alike = sum(len(members) for members in groups if len(set(members)) == 1)
    assert scores["in a group in which all have one value"].share == pytest.approx(alike / people)


def of_numbers(groups_of, members):
    rows = [(group, value) for group, values in enumerate(members) for value in values]
    return groups_of(rows).sensitive["s"]


KINDS = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
MEMBERS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=5)


def test_the_vector_of_similarity(groups_of):
    """Gastritis and an ulcer are of the stomach; whoever has either is known to be ill there."""
    counts = replace(of_numbers(groups_of, [[0, 1, 0], [2, 3, 0]]), ancestors=KINDS)
    guessed, alike = similarity.attack(release_showing(counts))
    assert (guessed.share, alike.share) == (5 / 6, 1 / 2)
    assert guessed.references == {"without the release": 4 / 6}


@given(members=MEMBERS)
def test_kinds_are_counted_as_values_are(groups_of, members):
    members = [[0, 1, 2, 3], *members]  # each value is there
    counts = replace(of_numbers(groups_of, members), ancestors=KINDS)
    scores = similarity.at_level(counts, 1)
    expected = of_numbers(groups_of, [[value // 2 for value in group] for group in members])
    for name in ("group", "value", "count"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(expected, name))
    assert similarity.attack(release_showing(of_numbers(groups_of, members))) == ()


def test_the_vector_of_skewness(groups_of):
    """One of a hundred has it; in a group of two, half."""
    counts = of_numbers(groups_of, [[0, 1], [0] * 98])
    double, tenfold = skewness.attack(release_showing(counts))
    assert (double.share, tenfold.share) == (0.01, 0.01)


@given(members=MEMBERS)
def test_skewness_compares_shares(groups_of, members):
    everybody = [value for group in members for value in group]
    expected = [0, 0]
    for group in members:
        for value in group:
            before = Fraction(everybody.count(value), len(everybody))
            likely = Fraction(group.count(value), len(group))
            expected = [
                n + (likely >= times * before) for n, times in zip(expected, (2, 10), strict=True)
            ]
    scores = skewness.attack(release_showing(of_numbers(groups_of, members)))
    assert [score.share for score in scores] == [n / len(everybody) for n in expected]


def release_showing(counts):
    """A release of which these counts are seen."""

    class Shown:
        groups = staticmethod(lambda: counts)

    return Shown()
