"""The minimum-sum partition against every set partition, and with ties broken as promised."""

import random

import numpy as np
import pytest

from sfumato.tasks.partitions.ke import ke


def cut(values, k, e, dtype=np.int64):
    distinct, counts = np.unique(values, return_counts=True)
    return ke.minimum_sum(distinct.astype(dtype), counts, k, e)


def best_of_all_set_partitions(values, k, e):
    """Least (cost, -groups) over all set partitions, each subset weighed once."""
    full = (1 << len(values)) - 1
    range_of: dict[int, int] = {}
    for mask in range(1, full + 1):
        members = [v for i, v in enumerate(values) if mask >> i & 1]
        if len(set(members)) >= k and max(members) - min(members) >= e:
            range_of[mask] = max(members) - min(members)
    best = {0: (0, 0)}
    for mask in range(1, full + 1):
        lowest = mask & -mask
        rest = sub = mask ^ lowest
        costs = []
        while True:
            group = sub | lowest
            if group in range_of and (best_rest := best.get(mask ^ group)) is not None:
                costs.append((best_rest[0] + range_of[group], best_rest[1] - 1))
            if not sub:
                break
            sub = (sub - 1) & rest
        if costs:
            best[mask] = min(costs)
    return best.get(full)


def summary(cut_found):
    return None if cut_found is None else (int(cut_found[1]), 1 - len(cut_found[0]))


def test_cost_and_number_of_groups_over_all_set_partitions():
    rng, feasible = random.Random(7), 0
    for _ in range(4000):
        top = rng.choice([2, 4, 6, 12])
        values = [rng.randint(0, top) for _ in range(rng.randint(1, 7))]
        k, e = rng.randint(1, 4), rng.randint(0, 5)
        best = best_of_all_set_partitions(values, k, e)
        assert summary(cut(values, k, e)) == best, (values, k, e)
        feasible += best is not None
    assert feasible > 1000


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_compiled_equals_interpreted(monkeypatch, dtype):
    rng = np.random.default_rng(3)
    cases = [
        (rng.integers(-top, top, rng.integers(1, 70)), int(k), int(e))
        for top in (3, 20, 1000)
        for k in (1, 2, 5)
        for e in (0, 1, 9)
        for _ in range(5)
    ]
    interpreted = [cut(values, k, e, dtype) for values, k, e in cases]
    monkeypatch.setattr(ke, "_WORTH_COMPILING", 0)
    for (values, k, e), expected in zip(cases, interpreted, strict=True):
        cut_found = cut(values, k, e)
        assert summary(cut_found) == summary(expected)
        if cut_found is not None:
            assert cut_found[0].tolist() == expected[0].tolist()
