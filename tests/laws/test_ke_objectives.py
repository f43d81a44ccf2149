"""Every objective of the (k,e) partition is optimal where it claims to be, and valid everywhere."""

import itertools
import random
from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.expectations.groups.counting import count
from sfumato.expectations.models.delta_presence import DeltaPresence
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.expectations.models.l_diversity import DistinctLDiversity, EntropyLDiversity
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke import largest as ke_max
from sfumato.tasks.partitions.ke import overlapping as ke_chain
from sfumato.tasks.partitions.ke import overlapping as ke_overlapping
from sfumato.tasks.partitions.ke import runs as ke_random
from sfumato.tasks.partitions.ke import runs as ke_runs
from sfumato.tasks.partitions.ke import weighted as ke_weighted
from sfumato.tasks.partitions.ke.parameters import KEParameters

OBJECTIVES = ("sum", "weighted", "max", "max-overlapping", "random")
CUTS = {
    "weighted": ke_weighted.minimum_weighted,
    "max": ke_max.minimum_max,
    "max-overlapping": ke_overlapping.minimum_max_overlapping,
}


def call_cut(objective, values, k, e, dtype=np.int64):
    distinct, counts = np.unique(np.array(values, dtype=object), return_counts=True)
    return CUTS[objective](distinct.astype(dtype), counts, k, e)


def groups_of(values, cut_found):
    """The values of each group, and what the objective came to."""
    bounds, group = cut_found[0], np.arange(len(cut_found[0]) - 1)
    if isinstance(cut_found, ke_overlapping.Overlapping):
        group = cut_found.group
    ordered, members = sorted(values), {}
    for piece, (start, end) in enumerate(itertools.pairwise(bounds.tolist())):
        members.setdefault(int(group[piece]), []).extend(ordered[start:end])
    assert sorted(members) == list(range(len(members)))
    assert sorted(itertools.chain(*members.values())) == ordered
    return [members[number] for number in sorted(members)]


def valid(group, k, e):
    return len(set(group)) >= k and max(group) - min(group) >= e


def range_of(group):
    return max(group) - min(group)


def all_set_partitions(items):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in all_set_partitions(rest):
        for place in range(len(partition)):
            yield [*partition[:place], [first, *partition[place]], *partition[place + 1 :]]
        yield [[first], *partition]


def all_runs(ordered):
    for cuts in itertools.product((False, True), repeat=len(ordered) - 1):
        groups = [[ordered[0]]]
        for value, cut in zip(ordered[1:], cuts, strict=True):
            if cut:
                groups.append([])
            groups[-1].append(value)
        yield groups


def best_of(partitions, k, e, cost):
    costs = [cost(p) for p in partitions if all(valid(group, k, e) for group in p)]
    return min(costs, default=None)


def largest(groups):
    return max(map(range_of, groups))


def weighted_sum(groups):
    return sum(len(group) * range_of(group) for group in groups)


def narrow(groups):
    """Return what `max` minimises, in this order."""
    return largest(groups), sum(map(range_of, groups)), -len(groups)


def least_over_all_set_partitions(values, k, e):
    """The least largest range over all set partitions, each subset weighed once."""
    full = (1 << len(values)) - 1
    ranges = {}
    for mask in range(1, full + 1):
        members = [v for i, v in enumerate(values) if mask >> i & 1]
        if valid(members, k, e):
            ranges[mask] = range_of(members)
    best = {0: 0}
    for mask in range(1, full + 1):
        lowest = mask & -mask
        rest = sub = mask ^ lowest
        while True:
            group = sub | lowest
            if group in ranges and (mask ^ group) in best:
                largest = max(best[mask ^ group], ranges[group])
                best[mask] = min(largest, best.get(mask, largest))
            if not sub:
                break
            sub = (sub - 1) & rest
    return best.get(full)


def draw_values(rng, most):
    top = rng.choice([2, 5, 9, 20])
    values = [rng.randint(-top // 2, top) for _ in range(rng.randint(1, most))]
    return values, rng.randint(1, 4), rng.randint(0, 6)


def test_weighted_and_max_over_all_runs():
    rng, feasible = random.Random(1), 0
    for _ in range(1200):
        values, k, e = draw_values(rng, 9)
        runs = list(all_runs(sorted(values)))
        weighted_cut, narrowest = call_cut("weighted", values, k, e), call_cut("max", values, k, e)
        best = best_of(runs, k, e, weighted_sum)
        assert (None if weighted_cut is None else weighted_cut[1]) == best, (values, k, e)
        if weighted_cut is None:
            assert narrowest is None
            continue
        feasible += 1
        assert weighted_sum(groups_of(values, weighted_cut)) == best
        groups = groups_of(values, narrowest)
        assert largest(groups) == narrowest[1]
        assert narrow(groups) == best_of(runs, k, e, narrow), (values, k, e)
        assert all(valid(group, k, e) for group in groups + groups_of(values, weighted_cut))
    assert feasible > 500


def test_largest_range_over_all_set_partitions():
    rng, feasible, overlap = random.Random(2), 0, 0
    for _ in range(2500):
        values, k, e = draw_values(rng, 8)
        cut_found = call_cut("max-overlapping", values, k, e)
        best = least_over_all_set_partitions(values, k, e)
        assert (None if cut_found is None else cut_found.largest) == best, (values, k, e)
        if cut_found is None:
            continue
        feasible += 1
        overlap += cut_found.largest < cut_found.apart
        groups = groups_of(values, cut_found)
        assert all(valid(group, k, e) for group in groups)
        assert largest(groups) == cut_found.largest == cut_found.bound
        assert cut_found.apart == call_cut("max", values, k, e)[1]
        assert cut_found.largest <= cut_found.apart <= 2 * cut_found.largest
    assert feasible > 1000
    assert overlap > 100


def test_the_enumerations_agree():
    rng, feasible = random.Random(3), 0
    for _ in range(60):
        values, k, e = draw_values(rng, 6)
        everything = list(all_set_partitions(values))
        best = best_of(everything, k, e, largest)
        assert least_over_all_set_partitions(values, k, e) == best
        feasible += best is not None
        if best is not None:
            assert call_cut("weighted", values, k, e)[1] >= best_of(everything, k, e, weighted_sum)
    assert feasible > 20


def least_weighted_by_recurrence(values, k, e):
    """In O(n²), vectorised over the starts of the last run."""
    x = np.sort(np.array(values))
    rank = np.unique(x, return_inverse=True)[1]
    cost = np.full(len(x) + 1, np.iinfo(np.int64).max // 2)
    cost[0] = 0
    for end in range(1, len(x) + 1):
        starts = np.arange(end)
        fits = (rank[end - 1] - rank[:end] + 1 >= k) & (x[end - 1] - x[:end] >= e)
        offered = cost[:end] + (end - starts) * (x[end - 1] - x[:end])
        cost[end] = np.where(fits, offered, cost[end]).min(initial=cost[end])
    return int(cost[-1])


@pytest.mark.parametrize("compiled", [False, True])
def test_weighted_equals_the_recurrence_on_larger_cases(monkeypatch, compiled):
    monkeypatch.setattr(ke_weighted, "WORTH_COMPILING", 0 if compiled else 10**9)
    rng = np.random.default_rng(4)
    for top in (30, 1000, 10**9):
        for k, e in ((2, 0), (5, 3), (20, top // 40), (3, top // 10)):
            values = rng.integers(0, top, int(rng.integers(300, 900)))
            if top == 1000:
                values = values**2 // 700  # denser below
            cut_found = call_cut("weighted", values.tolist(), k, e)
            assert cut_found[1] == least_weighted_by_recurrence(values, k, e)
            groups = groups_of(values.tolist(), cut_found)
            assert weighted_sum(groups) == cut_found[1]
            assert all(valid(group, k, e) for group in groups)


@given(
    st.lists(st.integers(-20, 40), min_size=1, max_size=40), st.integers(1, 5), st.integers(0, 12)
)
def test_overlapping_groups_are_never_wider_and_at_most_twice_as_narrow(values, k, e):
    cut_found = call_cut("max-overlapping", values, k, e)
    apart = call_cut("max", values, k, e)
    if cut_found is None:
        assert apart is None
        return
    assert all(valid(group, k, e) for group in groups_of(values, cut_found))
    assert (
        largest(groups_of(values, cut_found))
        == cut_found.largest
        <= apart[1]
        <= 2 * cut_found.largest
    )


def decides(values, k, e, limit):
    """Tell if some cut has no range above a limit, by counting what reaches each end."""
    x = sorted(values)
    reach = [True] + [False] * len(x)
    for end in range(1, len(x) + 1):
        reach[end] = any(
            reach[start] and valid(x[start:end], k, e) and x[end - 1] - x[start] <= limit
            for start in range(end)
        )
    return reach[-1]


@given(st.lists(st.integers(0, 60), min_size=5, max_size=25), st.integers(1, 4), st.integers(0, 12))
def test_max_is_the_least_limit_that_can_be_kept(values, k, e):
    cut_found = call_cut("max", values, k, e)
    if cut_found is None:
        assert not decides(values, k, e, 10**9)
        return
    assert decides(values, k, e, cut_found[1])
    assert not decides(values, k, e, cut_found[1] - 1)


@pytest.mark.parametrize("objective", sorted(CUTS))
def test_compiled_interpreted_and_big_integers_agree(monkeypatch, objective):
    rng = np.random.default_rng(5)
    cases = [
        ((rng.integers(-top, top, int(rng.integers(2, 90)))).tolist(), k, e)
        for top in (4, 25, 1000)
        for k in (1, 2, 5)
        for e in (0, 1, 9)
        for _ in range(4)
    ]
    interpreted = [call_cut(objective, *case) for case in cases]
    for module in (ke_runs, ke_weighted, ke_max, ke_overlapping):
        monkeypatch.setattr(module, "WORTH_COMPILING", 0)
    monkeypatch.setattr(ke_chain, "_STEPS_WORTH_COMPILING", 0)
    scale, found_any = 2**50, 0
    for (values, k, e), expected in zip(cases, interpreted, strict=True):
        compiled = call_cut(objective, values, k, e)
        stretched = call_cut(objective, [v * scale for v in values], k, e * scale)
        big = call_cut(objective, [v * scale**2 for v in values], k, e * scale**2, object)
        if expected is None:
            assert compiled is stretched is big is None
            continue
        found_any += 1
        cost_place = 2 if objective == "max-overlapping" else 1
        for cut_found, times in ((compiled, 1), (stretched, scale), (big, scale**2)):
            assert cut_found[cost_place] == expected[cost_place] * times
            assert groups_of(range(len(values)), cut_found) == groups_of(
                range(len(values)), expected
            )
    assert found_any > 60


def test_where_the_search_would_take_too_long_the_answer_is_at_most_twice_the_optimum(monkeypatch):
    rng, successes = random.Random(6), 0
    for _ in range(300):
        values, k, e = draw_values(rng, 14)
        exact = call_cut("max-overlapping", values, k, e)
        monkeypatch.setattr(ke_overlapping, "_STEPS", 0)
        quick = call_cut("max-overlapping", values, k, e)
        monkeypatch.undo()
        if exact is None:
            assert quick is None
            continue
        assert quick.largest == quick.apart == exact.apart
        assert quick.bound <= exact.largest <= quick.largest <= 2 * quick.bound
        successes += quick.bound < quick.largest
    assert successes > 20


def table(rows):
    values, strata = zip(*rows, strict=True)
    columns = (
        encode("region", "quasi-identifier", pa.array(strata)),
        encode("loss", "sensitive", pa.array(values)),
    )
    return Microdata(columns, len(rows))


def make_partition(microdata, promises, objective, seed=0, strata=("region",)):
    parameters = KEParameters.model_construct(method="ke", objective=objective)
    return ke.partition(microdata, list(strata), promises, parameters, seeded_keys(seed))


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(
    rows=st.lists(st.tuples(st.integers(-9, 30), st.sampled_from("ab")), min_size=12, max_size=60),
    seed=st.integers(0, 99),
)
def test_every_group_keeps_the_promise_within_its_stratum(objective, rows, seed):
    microdata = table(rows)
    promise = KEAnonymity(k=3, e=Decimal(5), sensitive="loss")
    parts = [[v for v, s in rows if s == name] for name in {s for _, s in rows}]
    if not all(valid(part, 3, 5) for part in parts):
        with pytest.raises(PromiseError, match="cannot be kept"):
            make_partition(microdata, [promise], objective, seed)
        return
    partition = make_partition(microdata, [promise], objective, seed)
    groups = count(partition.group, len(rows), {"loss": microdata["loss"].counted_codes()})
    assert groups.rows == len(rows)
    assert sorted(set(partition.group.tolist())) == list(range(len(groups)))
    assert promise.check(groups).holds
    assert len({(g, s) for g, (_, s) in zip(partition.group, rows, strict=True)}) == len(groups)
    assert partition.facts["merged_for_other_promises"] == 0
    assert partition.facts["groups"] == len(groups)
    assert_facts(partition, [v for v, _ in rows])


def assert_facts(partition, values):
    members = [
        [values[row] for row in np.flatnonzero(partition.group == g)]
        for g in range(partition.facts["groups"])
    ]
    assert partition.facts["sum_of_ranges"] == str(sum(map(range_of, members)))
    assert partition.facts["weighted_sum_of_ranges"] == str(weighted_sum(members))
    assert partition.facts["largest_range"] == str(largest(members))
    proven = {
        "sum": ("least_sum_of_ranges", "sum_of_ranges"),
        "weighted": ("least_weighted_sum_of_ranges_of_runs", "weighted_sum_of_ranges"),
        "max": ("least_largest_range_of_runs", "largest_range"),
        "max-overlapping": ("largest_range_is_at_least", "largest_range"),
    }
    if partition.facts["objective"] in proven:
        bound, reached = proven[partition.facts["objective"]]
        assert partition.facts[bound] == partition.facts[reached]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_other_promises_are_kept_by_merging(objective):
    rng, merged = np.random.default_rng(7), 0
    for seed in range(12):
        rows = [
            (int(v), "ab"[s]) for v, s in zip(*rng.integers(0, (25, 2), (120, 2)).T, strict=True)
        ]
        promises = [
            KEAnonymity(k=2, e=Decimal(2), sensitive="loss"),
            EntropyLDiversity(l=Decimal(5), sensitive="loss"),
            DistinctLDiversity(l=6, sensitive="loss"),
        ]
        microdata = table(rows)
        partition = make_partition(microdata, promises, objective, seed)
        groups = count(partition.group, len(rows), {"loss": microdata["loss"].counted_codes()})
        assert all(promise.check(groups).holds for promise in promises)
        assert len({(g, s) for g, (_, s) in zip(partition.group, rows, strict=True)}) == len(groups)
        merged += partition.facts["merged_for_other_promises"] > 0
    assert merged == 12


def test_a_promise_that_a_whole_stratum_breaks_is_refused():
    rows = [(value, "a") for value in range(8)]
    promises = [
        KEAnonymity(k=2, e=Decimal(1), sensitive="loss"),
        DistinctLDiversity(l=9, sensitive="loss"),
    ]
    with pytest.raises(PromiseError, match="a stratum breaks it even as one group"):
        make_partition(table(rows), promises, "max")
    with pytest.raises(PromiseError, match="to read k and e from"):
        make_partition(table(rows), promises[1:], "max")


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_promises_about_other_attributes_and_about_who_knows_them_are_kept(objective):
    """Who knows somebody's job still faces two losses, and a group does not give the job away."""
    rng, merged = np.random.default_rng(10), 0
    for seed in range(12):
        loss, job = rng.integers(0, 25, 90), rng.choice(["cook", "nun"], 90, p=[0.8, 0.2])
        columns = (
            encode("age", "quasi-identifier", pa.array(rng.integers(0, 9, 90))),
            encode("loss", "sensitive", pa.array(loss)),
            encode("job", "sensitive", pa.array(job)),
        )
        promises = [
            KEAnonymity(k=2, e=Decimal(2), sensitive="loss"),
            DistinctLDiversity(l=2, sensitive="job"),
            DistinctLDiversity(l=2, sensitive="loss", known=("job",)),
        ]
        partition = make_partition(Microdata(columns, 90), promises, objective, seed, ())
        for group in range(partition.facts["groups"]):
            inside = partition.group == group
            assert set(job[inside]) == {"cook", "nun"}
            assert all(len(set(loss[inside & (job == job_)])) >= 2 for job_ in ("cook", "nun"))
        merged += partition.facts["merged_for_other_promises"] > 0
        assert partition.facts["groups"] > 1
    assert merged == 12


def test_a_promise_about_a_population_is_refused():
    promises = [
        KEAnonymity(k=2, e=Decimal(1), sensitive="loss"),
        DeltaPresence(min=Decimal(0), max=Decimal(1), reference="people.csv"),
    ]
    with pytest.raises(PromiseError, match="delta-presence cannot be kept by merging groups"):
        make_partition(table([(value, "a") for value in range(8)]), promises, "sum")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("values", "e", "largest_range"),
    [
        ([Decimal(n) / 10 for n in range(1, 7)], Decimal("0.1"), "0.1"),
        ([n / 10 for n in range(1, 7)], Decimal("0.1"), "0.1"),
        ([date(1969, 12, 29) + timedelta(n) for n in range(6)], Decimal(1), "1"),
        ([-n for n in range(6)], Decimal(1), "1"),
    ],
)
def test_units_are_exact(objective, values, e, largest_range):
    microdata = table([(value, "a") for value in values])
    promise = KEAnonymity(k=2, e=e, sensitive="loss")
    partition = make_partition(microdata, [promise], objective)
    groups = count(partition.group, 6, {"loss": microdata["loss"].counted_codes()})
    assert promise.check(groups).holds
    if objective != "random":
        assert partition.facts["largest_range"] == largest_range
        assert partition.facts["sum_of_ranges"] == str(3 * Decimal(largest_range))


@pytest.mark.parametrize("objective", ["sum", "weighted", "max", "max-overlapping"])
def test_who_of_several_with_equal_values_goes_where_is_drawn(objective):
    """Four rows of the middle value, of which two groups must share at least two."""
    microdata = table([(value, "a") for value in (0, 0, 5, 5, 5, 5, 10, 10)])
    promise = KEAnonymity(k=2, e=Decimal(5), sensitive="loss")
    seen = Counter()
    for seed in range(400):
        group = make_partition(microdata, [promise], objective, seed, ()).group
        assert group.max() == 1
        first = tuple(np.flatnonzero(group[2:6] == 0).tolist())
        seen[first] += 1
    assert len({len(first) for first in seen}) == 1
    times = Counter(place for first in seen.elements() for place in first)
    expected = Fraction(400 * len(next(iter(seen))), 4)
    assert all(abs(times[place] - expected) < 60 for place in range(4))


def groups_at_random(values, k, e, seed):
    distinct, codes = np.unique(np.array(values), return_inverse=True)
    return ke_random.at_random(codes, distinct, k, e, seeded_keys(seed))


def test_random_groups_close_as_soon_as_they_are_valid(monkeypatch):
    rng, closed = np.random.default_rng(8), 0
    for case in range(200):
        values = rng.integers(0, 12, int(rng.integers(1, 60))).tolist()
        group = groups_at_random(values, 3, 4, case)
        expected = closing(values, 3, 4, case)
        assert (group is None) == (expected is None)
        monkeypatch.setattr(ke_random, "WORTH_COMPILING", 0)
        again = groups_at_random(values, 3, 4, case)
        monkeypatch.undo()
        if group is None:
            assert again is None
            continue
        assert again.tolist() == group.tolist()
        assert {tuple(np.flatnonzero(group == g)) for g in range(group.max() + 1)} == expected
        least = [min(np.array(values)[group == g]) for g in range(group.max() + 1)]
        assert least == sorted(least)
        closed += len(expected) > 1
    assert closed > 100


def closing(values, k, e, seed):
    """Row by row, in the same random order."""
    done, now = [], []
    for row in np.argsort(seeded_keys(seed)(len(values))):
        now.append(int(row))
        if valid([values[r] for r in now], k, e):
            done.append(now)
            now = []
    if not done:
        return None
    done[-1].extend(now)
    return {tuple(sorted(group)) for group in done}


def test_all_objectives_on_many_values_where_compiled():
    rng = np.random.default_rng(9)
    values = rng.geometric(0.001, 30_000) * 7 + rng.integers(0, 3, 30_000)
    assert len(values) >= ke_runs.WORTH_COMPILING
    microdata = table([(int(v), "a") for v in values])
    promise = KEAnonymity(k=4, e=Decimal(40), sensitive="loss")
    facts = {name: make_partition(microdata, [promise], name).facts for name in OBJECTIVES}
    for objective in OBJECTIVES:
        assert facts[objective]["merged_for_other_promises"] == 0
        for name, measured in (
            ("sum", "sum_of_ranges"),
            ("max-overlapping", "largest_range"),
        ):
            assert int(facts[name][measured]) <= int(facts[objective][measured])
    assert int(facts["max"]["sum_of_ranges"]) < int(facts["random"]["sum_of_ranges"]) / 10


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_strata_that_share_compiled_loops_are_cut_as_without(objective, monkeypatch):
    rng = np.random.default_rng(10)
    values, strata = rng.integers(0, 900, 400), rng.integers(0, 8, 400)
    microdata = table([(int(v), "abcdefgh"[s]) for v, s in zip(values, strata, strict=True)])
    promise = KEAnonymity(k=3, e=Decimal(9), sensitive="loss")
    interpreted = make_partition(microdata, [promise], objective)
    monkeypatch.setattr(ke, "_WORTH_COMPILING", 400)
    monkeypatch.setattr(ke, "WORTH_COMPILING", 400)
    compiled = make_partition(microdata, [promise], objective)
    assert compiled.group.tolist() == interpreted.group.tolist()
    assert compiled.facts == interpreted.facts
