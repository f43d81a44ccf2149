"""Laws of every aggregate: its value in any world is within its bounds."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache
from math import ceil, floor

import numpy as np
import pytest

from sfumato.expectations.shared.errors import QueryError
from sfumato.tasks.query.aggregates.registry import AGGREGATES
from sfumato.tasks.query.ask import answer_on
from tests.query.test_matched import declare, in_form, random_rows, worlds
from tests.query.test_recoded import PETS, TIGHT, random_table
from tests.query.test_subdomains import SMALL, outcomes, small
from tests.query.worlds import aggregate, answers_on


def squared_deviation(values):
    """The sample variance, None of fewer than two values."""
    if len(values) < 2:
        return None
    mean = Fraction(sum(values), len(values))
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _aggregate_of(function):
    return lambda values: aggregate(function, values)


ORACLES = {name: _aggregate_of(name) for name in ("count", "sum", "avg", "min", "max")}
ORACLES["stddev"] = ORACLES["var_samp"] = squared_deviation


def squared_deviation_of_all(values):
    """The variance of a population, None of no values."""
    mean = Fraction(sum(values), len(values)) if values else 0
    return sum((value - mean) ** 2 for value in values) / len(values) if values else None


ORACLES["stddev_pop"] = ORACLES["var_pop"] = squared_deviation_of_all
"""What an aggregate is of some values; of STDDEV its square, which is rational."""

SHARE = Fraction(3, 10)


def quantile_between(values):
    """The value at a share of the way from the least to the greatest, None of no values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = SHARE * (len(ordered) - 1)
    first, second = ordered[floor(place)], ordered[ceil(place)]
    return first + (place - floor(place)) * (second - first)


def quantile_among(values):
    """The least value that a share of all is not above, None of no values."""
    return sorted(values)[max(ceil(SHARE * len(values)), 1) - 1] if values else None


ORACLES["percentile_cont"] = quantile_between
ORACLES["percentile_disc"] = quantile_among


def call(name):
    """The aggregate of losses in SQL."""
    if AGGREGATES[name].of_share is None:
        return f"{name}(loss)"
    return f"{name}({float(SHARE)}) WITHIN GROUP (ORDER BY loss)"


def assert_within(name, bounds, truths):
    """Hold bounds against the answers of all worlds; the ends of those that are not null."""
    truths_known = [truth for truth in truths if truth is not None]
    assert bounds.may_be_empty or None not in truths or bounds.lower is None
    if not truths_known:
        return None
    squared = name.startswith("stddev")
    low, high = (end**2 if squared else end for end in (bounds.lower, bounds.upper))
    assert low <= min(truths_known), (name, bounds, min(truths_known))
    assert max(truths_known) <= high, (name, bounds, max(truths_known))
    return min(truths_known), low


CONDITIONS = [
    ("TRUE", lambda r: True),
    ("age < 2", lambda r: r["age"] < 2),
    ("loss > 0", lambda r: r["loss"] > 0),
    ("loss <> 0 AND age < 2", lambda r: r["loss"] != 0 and r["age"] < 2),
    ("gain > 0", lambda r: r["gain"] > 0),
]
OF_SUBDOMAINS = {
    "": lambda _: True,
    " WHERE loss > 0": lambda v: v > 0,
    " WHERE age < 2 AND loss <> 1": lambda v: v != 1,
}


@cache
def tables_of_rows():
    """Tables, and for each condition the losses that it means in every world."""
    generator, releases = np.random.default_rng(5), []
    for _ in range(6):
        table = random_rows(generator, generator.integers(1, 4, 2))
        every_world = list(worlds(table, together=False))
        outcomes_of_conditions = [
            {tuple(sorted(row["loss"] for row in world if holds(row))) for world in every_world}
            for _, holds in CONDITIONS
        ]
        releases.append((table, outcomes_of_conditions))
    return releases


@cache
def tables_of_subdomains():
    """Releases, and for each condition the losses that it means in every world."""
    releases = []
    for seed in range(25):
        tables, _, copies = small(seed)
        rows, outcomes_of_conditions = tables["qit"].to_pylist(), {}
        for where, is_selected in OF_SUBDOMAINS.items():
            chosen = [row for row in rows if "age" not in where or row["age"] < 2]
            hits = Counter(row["group_id"] for row in chosen)
            outcomes_of_conditions[where] = outcomes(copies, hits, is_selected)
        releases.append((tables, outcomes_of_conditions))
    return releases


@cache
def tables_of_labels():
    """A table and a condition each, and the losses that it means in every world."""
    generator, releases = np.random.default_rng(3), []
    for where, holds in TIGHT:
        table, hidden = random_table(generator, 5)
        statuses = [sorted({bool(holds(row)) for row in rows}) for rows in hidden]
        losses = [rows[0][4] for rows in hidden]
        outcomes_found = {
            tuple(sorted(loss for loss, is_meant in zip(losses, world, strict=True) if is_meant))
            for world in itertools.product(*statuses)
        }
        releases.append((where, table, outcomes_found))
    return releases


class AggregateLaws:
    """The laws, of the aggregate `name`, whose truth is in `ORACLES`."""

    @pytest.mark.parametrize("form", ["permuted", "split"])
    def test_the_truth_of_every_world_is_within_the_bounds(self, name, form):
        declared = declare(form)
        queries = [
            f"SELECT {call(name)} AS x FROM microdata WHERE {condition}"
            for condition, _ in CONDITIONS
        ]
        for table, outcomes_of_conditions in tables_of_rows():
            answers = answers_on(in_form(table, declared), declared, queries)
            for chosen, answer in zip(outcomes_of_conditions, answers, strict=True):
                assert_within(
                    name, answer.rows[0]["x"], [ORACLES[name](values) for values in chosen]
                )

    def test_the_truth_is_within_the_bounds_where_subdomains_stand_for_values(self, name):
        checked = Counter()
        queries = [f"SELECT {call(name)} AS x FROM microdata{where}" for where in OF_SUBDOMAINS]
        if AGGREGATES[name].of_cells is None:
            refused = f"{AGGREGATES[name].sql_name} has no bounds in a release that shows ranges"
            with pytest.raises(QueryError, match=refused):
                answers_on(small(0)[0], SMALL, queries)
            return
        for tables, outcomes_of_conditions in tables_of_subdomains():
            answers = answers_on(tables, SMALL, queries)
            for (where, chosen), answer in zip(
                outcomes_of_conditions.items(), answers, strict=True
            ):
                truths = [ORACLES[name](values) for values in chosen]
                checked[where] += assert_within(name, answer.rows[0]["x"], truths) is not None
        assert min(checked[where] for where in OF_SUBDOMAINS) > 5

    def test_the_truth_is_within_the_bounds_where_labels_stand_for_values(self, name):
        checked = 0
        for where, table, selections in tables_of_labels():
            query = f"SELECT {call(name)} AS x FROM microdata WHERE {where}"
            (row,) = answer_on({"microdata": table}, PETS, query).rows
            truths = [ORACLES[name](values) for values in selections]
            checked += assert_within(name, row["x"], truths) is not None
        assert checked > 5
