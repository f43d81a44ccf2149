"""Bayes-optimal privacy: beliefs against every world there is."""

from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sfumato.expectations.groups.counting import merge
from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups, Joint, Population
from sfumato.expectations.measures.beliefs import beliefs
from sfumato.expectations.models.bayes_optimal import BayesOptimal
from sfumato.expectations.models.promises import PROMISE
from sfumato.expectations.shared.errors import PromiseError


def groups_of_population(counts_shown, people):
    """Groups from rows of counts per value, and people as (group, cell, value) -> count."""
    counts_shown = np.array(counts_shown)
    group, value = np.nonzero(counts_shown)
    labels = pa.array([f"s{i}" for i in range(counts_shown.shape[1])])
    counts = Counts(group, value, counts_shown[group, value], counts_shown.shape[1], None, labels)
    keys = np.array(sorted(key for key, n in people.items() if n)).reshape(-1, 3)
    joint = Joint(
        *(keys[:, i].astype(np.int64) for i in range(3)),
        count=np.array([people[tuple(key)] for key in keys.tolist()], dtype=np.int64),
    )
    sizes = np.bincount(joint.group, joint.count, len(counts_shown)).astype(np.int64)
    population = Population(sizes, 0, {"s": joint})
    return Groups(counts_shown.sum(axis=1), {"s": counts}, population=population)


def rho(rho1, rho2, **more):
    return BayesOptimal(rho1=Decimal(rho1), rho2=Decimal(rho2), reference="p", **more)


def beliefs_by_cell(groups, smoothing=0):
    """Return what `beliefs` says, as (cell, value) -> (prior, posterior) in fractions.

    Cells are numbered in all groups together; the floats are compared on the way.
    """
    beliefs_found = beliefs(
        groups.counts_of("s"), groups.population.joint["s"], Fraction(smoothing)
    )
    exact = [beliefs_found.exact(entry) for entry in range(len(beliefs_found.cell))]
    assert np.allclose(beliefs_found.prior, [float(prior) for prior, _ in exact], rtol=1e-12)
    assert np.allclose(beliefs_found.posterior, [float(b) for _, b in exact], rtol=1e-12)
    keys = zip(beliefs_found.cell.tolist(), beliefs_found.value.tolist(), strict=True)
    return dict(zip(keys, exact, strict=True))


APART = {(0, 0, 0): 1, (0, 0, 1): 9, (1, 0, 0): 2, (1, 0, 1): 8}
TOGETHER = {(0, 0, 0): 1, (0, 0, 1): 9, (0, 1, 0): 2, (0, 1, 1): 8}


def test_two_safe_groups_whose_union_is_a_breach():
    model = rho("0.31", "0.58")
    apart = groups_of_population([[1, 1], [1, 1]], APART)
    assert model.check(apart).holds
    assert model.check(apart).observed == {"rho2": Fraction(1, 2)}
    together = groups_of_population([[2, 2]], TOGETHER)
    beliefs_found = beliefs_by_cell(together)
    assert [beliefs_found[cell, 0][1] for cell in (0, 1)] == [Fraction(17, 44), Fraction(17, 29)]
    verdict = model.check(together)
    assert (verdict.holds, verdict.observed["rho2"]) == (False, Fraction(17, 29))
    assert not BayesOptimal.monotone
    assert model.feasible(together) is None
    assert model.check(merge(apart, np.array([0, 0]))) == verdict


def test_without_dependence_the_belief_is_the_share_in_the_group():
    people = {(0, c, v): (c + 1) * (v + 1) for c in range(3) for v in range(3)}
    beliefs_found = beliefs_by_cell(groups_of_population([[4, 2, 1]], people))
    shares = [Fraction(4, 7), Fraction(2, 7), Fraction(1, 7)]
    assert [beliefs_found[c, v][1] for c in range(3) for v in range(3)] == shares * 3


def count_worlds(people, counts_shown, cell):
    """Return in how many worlds a person of the cell, known to be there, has each value.

    The person is equally likely any of the cell's; a world says which people of the population are
    in the release, so that each value is shown as often as it is. None where in no world anybody
    of the cell is in it.
    """
    persons = [(c, v) for (c, v), n in people.items() for _ in range(n)]
    having = [
        [i for i, (_, v) in enumerate(persons) if v == value] for value in range(len(counts_shown))
    ]
    worlds = product(*(combinations(who, n) for who, n in zip(having, counts_shown, strict=True)))
    times = [0] * len(counts_shown)
    for world in worlds:
        for i in (i for chosen in world for i in chosen if persons[i][0] == cell):
            times[persons[i][1]] += 1
    return [Fraction(n, sum(times)) for n in times] if any(times) else None


def test_beliefs_are_those_of_all_worlds():
    rng = np.random.default_rng(9)
    compared = absent = 0
    for _ in range(190):
        values, cells = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        people = {(c, v): int(rng.integers(0, 4)) for c in range(cells) for v in range(values)}
        people[0, 0] += 1
        total = [sum(people[c, v] for c in range(cells)) for v in range(values)]
        counts_shown = [int(rng.integers(v == 0, n + 1)) for v, n in enumerate(total)]
        groups = groups_of_population(
            [counts_shown], {(0, c, v): n for (c, v), n in people.items()}
        )
        beliefs_found = beliefs_by_cell(groups)
        alive = [c for c in range(cells) if any(people[c, v] for v in range(values))]
        for place, cell in enumerate(alive):
            expected = count_worlds(people, counts_shown, cell)
            mine = [beliefs_found.get((place, v)) for v in range(values)]
            size = sum(people[cell, v] for v in range(values))
            if expected is None:
                absent += 1
                assert mine == [None] * values
                continue
            compared += 1
            assert [pair[1] if pair else 0 for pair in mine] == expected
            assert [pair[0] if pair else 0 for pair in mine] == [
                Fraction(people[cell, v], size) for v in range(values)
            ]
    assert compared > 300
    assert 5 < absent < 60


def by_hand(counts_shown, people, smoothing):
    """(group, prior, posterior) of each cell and value, from the definition."""
    values = sorted(
        {v for row in counts_shown for v, n in enumerate(row) if n} | {k[2] for k in people}
    )
    for group, row in enumerate(counts_shown):
        cells = sorted({c for g, c, _ in people if g == group})
        size = {c: sum(people.get((group, c, v), 0) for v in values) for c in cells}
        f = {
            (c, v): (people.get((group, c, v), 0) + smoothing)
            / (size[c] + smoothing * len(values) + Fraction(0))
            for c in cells
            for v in values
        }
        mean = {v: sum(size[c] * f[c, v] for c in cells) / sum(size.values()) for v in values}
        for c in cells:
            terms = {v: row[v] * f[c, v] / mean[v] if row[v] else Fraction(0) for v in values}
            if any(terms.values()):
                for v in values:
                    yield group, f[c, v], terms[v] / sum(terms.values())


def judged_by_hand(model, counts_shown, people):
    """The groups with a breach, and the worst belief or disbelief that could have been one."""
    rho1, rho2 = Fraction(model.rho1), Fraction(model.rho2)
    failing, worst = set(), Fraction(0)
    for group, prior, posterior in by_hand(counts_shown, people, Fraction(model.smoothing)):
        if (prior < rho1 and posterior > rho2) or (prior > 1 - rho1 and posterior < 1 - rho2):
            failing.add(group)
        worst = max(worst, posterior if prior < rho1 else 0)
        worst = max(worst, 1 - posterior if prior > 1 - rho1 else 0)
    return len(failing), worst


def random_release(rng):
    """Rows shown of each group, and people, who have at least one of every value that is shown."""
    groups, values = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    people = {
        (g, c, v): int(rng.integers(0, 6))
        for g in range(groups)
        for c in range(int(rng.integers(1, 4)))
        for v in range(values)
    }
    people |= {(g, 0, 0): people[g, 0, 0] + 1 for g in range(groups)}
    people = {key: n for key, n in people.items() if n}
    total = np.zeros((groups, values), dtype=int)
    for (g, _, v), n in people.items():
        total[g, v] += n
    counts_shown = rng.integers(0, total + 1)
    counts_shown[:, 0] = np.maximum(counts_shown[:, 0], 1)
    return counts_shown.tolist(), people


PAIRS = [("0.2", "0.5"), ("0.25", "0.5"), ("0.3", "0.75"), ("0.5", "0.6"), ("0.6", "0.9")]


@pytest.mark.parametrize("smoothing", ["0", "1", "0.1"])
def test_verdicts_are_those_of_brute_force(smoothing):
    rng = np.random.default_rng(12)
    passes = met = 0
    for _ in range(400):
        counts_shown, people = random_release(rng)
        model = rho(*PAIRS[rng.integers(len(PAIRS))], smoothing=Decimal(smoothing))
        groups = groups_of_population(counts_shown, people)
        verdict = model.check(groups)
        failing, worst = judged_by_hand(model, counts_shown, people)
        assert (verdict.failing, verdict.observed["rho2"]) == (failing, worst)
        assert verdict.holds == (failing == 0) == (worst <= Fraction(model.rho2))
        assert verdict.groups == len(counts_shown)
        assert model.measure(groups)["rho2"].max() == pytest.approx(float(worst))
        passes += verdict.holds
        met += worst == Fraction(model.rho2)
    assert 80 < passes < 380
    assert met > (3 if smoothing == "0" else 0)


def test_some_merges_break_it_and_some_mend_it():
    rng = np.random.default_rng(3)
    model = rho("0.3", "0.6")
    broken = mended = same = 0
    for _ in range(2000):
        counts_shown, people = random_release(rng)
        groups = groups_of_population(counts_shown, people)
        union = merge(groups, np.zeros(len(groups), dtype=np.int64))
        before, after = model.check(groups).holds, model.check(union).holds
        broken += before and not after
        mended += after and not before
        same += before == after
    assert broken > 0
    assert mended > 5
    assert broken + mended + same == 2000


@given(st.integers(0, 10**6), st.sampled_from(["0", "0.5"]), st.randoms(use_true_random=False))
def test_names_of_groups_cells_and_values_are_free(seed, smoothing, random):
    counts_shown, people = random_release(np.random.default_rng(seed))
    groups, cells, values = (
        random.sample(range(n), n) for n in (len(counts_shown), 3, len(counts_shown[0]))
    )
    renamed = {(groups[g], cells[c], values[v]): n for (g, c, v), n in people.items()}
    moved = np.zeros_like(counts_shown)
    moved[np.ix_(groups, values)] = counts_shown
    model = rho("0.3", "0.6", smoothing=Decimal(smoothing))
    assert model.check(groups_of_population(moved, renamed)) == model.check(
        groups_of_population(counts_shown, people)
    )


def test_negative_disclosure():
    groups = groups_of_population([[1, 9]], {(0, 0, 0): 90, (0, 0, 1): 10})
    verdict = rho("0.2", "0.8").check(groups)
    assert not verdict.holds
    assert verdict.observed["rho2"] == Fraction(9, 10)


def test_a_likely_value_that_is_not_shown_is_a_negative_disclosure():
    groups = groups_of_population([[0, 1]], {(0, 0, 0): 9, (0, 0, 1): 1})
    assert rho("0.05", "0.9").check(groups).observed == {"rho2": 0}
    assert rho("0.2", "0.9").check(groups).observed == {"rho2": 1}


def test_nothing_is_believed_of_those_who_cannot_be_in_the_release():
    groups = groups_of_population([[2, 0]], {(0, 0, 0): 5, (0, 1, 1): 5})
    assert beliefs_by_cell(groups) == {(0, 0): (1, 1)}
    verdict = rho("0.2", "0.8").check(groups)
    assert (verdict.holds, verdict.observed) == (True, {"rho2": 0})


def test_a_prior_of_exactly_rho1_hides_no_other():
    people = {(0, 0, 0): 25, (0, 0, 1): 75, (1, 0, 0): 10, (1, 0, 1): 90}
    verdict = rho("0.25", "0.9").check(groups_of_population([[6, 4], [2, 18]], people))
    assert (verdict.holds, verdict.observed) == (True, {"rho2": Fraction(1, 10)})


def test_smoothing_adds_to_every_count():
    groups = groups_of_population([[1, 1, 0]], {(0, 0, 0): 1, (0, 0, 1): 3, (0, 1, 2): 1})
    beliefs_found = beliefs_by_cell(groups, 1)
    assert [beliefs_found[0, v][0] for v in range(3)] == [
        Fraction(2, 7),
        Fraction(4, 7),
        Fraction(1, 7),
    ]
    assert [beliefs_found[1, v][0] for v in range(3)] == [
        Fraction(1, 4),
        Fraction(1, 4),
        Fraction(2, 4),
    ]


def test_smoothing_gives_someone_to_values_that_nobody_has():
    groups = groups_of_population([[1, 1]], {(0, 0, 0): 4})
    assert rho("0.2", "0.8").check(groups).observed == {"rho2": None}
    beliefs_found = beliefs_by_cell(groups, Fraction(1, 2))
    assert beliefs_found == {
        (0, 0): (Fraction(9, 10), Fraction(1, 2)),
        (0, 1): (Fraction(1, 10), Fraction(1, 2)),
    }


def test_smoothing_beyond_int64_stays_exact():
    smoothing = Decimal("0.123456789012")
    people = {(0, 0, 0): 10**9, (0, 0, 1): 3 * 10**9, (0, 1, 0): 7, (0, 1, 1): 10**9}
    model = rho("0.3", "0.6", smoothing=smoothing)
    verdict = model.check(groups_of_population([[50, 50]], people))
    assert (verdict.failing, verdict.observed["rho2"]) == judged_by_hand(model, [[50, 50]], people)


def test_a_value_that_nobody_has_and_groups_of_nobody_are_not_measured():
    impossible = groups_of_population([[1, 0], [1, 1]], {(0, 0, 0): 4, (1, 0, 0): 4})
    with pytest.raises(PromiseError, match="group 1: has a sensitive value that no such person"):
        beliefs(impossible.counts_of("s"), impossible.population.joint["s"])
    nobody = groups_of_population([[1, 0], [0, 1]], {(0, 0, 0): 4})
    for smoothing in (0, 1):
        with pytest.raises(PromiseError, match="has no person with its quasi-identifiers"):
            beliefs(nobody.counts_of("s"), nobody.population.joint["s"], Fraction(smoothing))
    without = Groups(nobody.sizes, nobody.sensitive)
    silent = Groups(nobody.sizes, nobody.sensitive, population=Population(nobody.sizes, 0))
    for groups in (impossible, nobody, without, silent):
        verdict = rho("0.2", "0.8").check(groups)
        assert (verdict.holds, verdict.observed) == (False, {"rho2": None})
        with pytest.raises(PromiseError):
            rho("0.2", "0.8").measure(groups)


def test_no_groups_keep_no_promise():
    none = np.array([], dtype=np.int64)
    counts, joint = Counts(none, none, none, 0, None), Joint(none, none, none, none)
    groups = Groups(none, {"s": counts}, population=Population(none, 0, {"s": joint}))
    assert not rho("0.2", "0.8").check(groups).holds
    assert not len(beliefs(counts, joint).prior)


def test_thresholds_that_are_met_exactly():
    """Beliefs of exactly ρ2 and priors of exactly ρ1 are no breaches."""
    groups = groups_of_population([[1, 2]], {(0, 0, 0): 1, (0, 0, 1): 2})
    third = Decimal(1) / Decimal(3)
    above, below = third + Decimal("1e-27"), third - Decimal("1e-27")
    assert rho(below, "0.5").check(groups).observed["rho2"] == 0
    assert rho(above, "0.5").check(groups).observed["rho2"] == Fraction(1, 3)
    two_thirds = groups_of_population([[2, 1]], {(0, 0, 0): 1, (0, 0, 1): 3})
    exactly = Decimal("0.66666666666666666666666667")
    assert rho("0.3", exactly).check(two_thirds).holds
    assert not rho("0.3", exactly - Decimal("1e-26")).check(two_thirds).holds


def test_beliefs_that_floats_cannot_tell_apart():
    n = 10**9
    people = {(g, 0, v): (1, 3)[v] * 2 * n for g in range(2) for v in range(2)}
    groups = groups_of_population([[n + 2, n + 1], [n + 1, n]], people)
    verdict = rho("0.3", "0.5").check(groups)
    assert verdict.observed["rho2"] == Fraction(n + 1, 2 * n + 1) > Fraction(n + 2, 2 * n + 3)
    assert verdict.failing == 2
    even = groups_of_population([[n, n], [n, n + 1]], people)
    assert rho("0.3", "0.5").check(even).holds


def test_many_values_take_no_more_than_the_people_do():
    """A table of all cells and all values would have 800 million entries."""
    number = np.arange(40_000)
    cells, ones = number // 2, np.ones(len(number), dtype=np.int64)
    group = cells // 50
    counts = Counts(group, number, ones, len(number), None)
    joint = Joint(group, cells % 50, number, ones)
    population = Population(np.full(400, 100), 0, {"s": joint})
    groups = Groups(np.full(400, 100), {"s": counts}, population=population)
    verdict = rho("0.6", "0.7").check(groups)
    assert (verdict.holds, verdict.observed) == (True, {"rho2": Fraction(1, 2)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rho1": "0.8"}, "rho1: must be smaller than rho2"),
        ({"rho1": "0.9"}, "rho1: must be smaller than rho2"),
        ({"rho1": 0}, "greater than 0"),
        ({"rho2": 1}, "less than 1"),
        ({"population": ""}, "at least 1 character"),
        ({"smoothing": -1}, "greater than or equal to 0"),
        ({"smoothing": "1e-13"}, "no more than 12 decimal places"),
    ],
)
def test_a_promise_that_means_nothing_is_refused(change, message):
    document = {"model": "bayes-optimal", "rho1": "0.2", "rho2": "0.8", "population": "p.csv"}
    assert PROMISE.validate_python(document).smoothing == 0
    with pytest.raises(ValidationError, match=message):
        PROMISE.validate_python(document | change)


def test_a_promise_is_its_own_configuration():
    model = rho("0.2", "0.8", smoothing=Decimal("0.5"), sensitive="s")
    assert PROMISE.validate_python(model.parameters()) == model
    assert "0.2" in model.sentence()
    assert model.reference_uri == "p"


def test_positive_and_negative_disclosures_at_exactly_the_limit():
    groups = groups_of_population([[9, 1]], {(0, 0, 0): 95, (0, 0, 1): 5})
    beliefs_found = beliefs(groups.counts_of("s"), groups.population.joint["s"])
    assert [beliefs_found.exact(entry)[1] for entry in (0, 1)] == [Fraction(9, 10), Fraction(1, 10)]
    assert beliefs_found.positive(Fraction(1, 10)).tolist() == [False, False]
    assert beliefs_found.positive(Fraction(1001, 10000)).tolist() == [True, False]
    assert beliefs_found.negative(Fraction(1, 10)).tolist() == [False, False]
    assert beliefs_found.negative(Fraction(1001, 10000)).tolist() == [False, True]
