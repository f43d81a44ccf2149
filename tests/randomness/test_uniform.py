"""Who gets whose value, and who is grouped with whom, is uniform: chi-squared over many draws.

A table of ten thousand groups of a few rows is ten thousand draws in one call. The keys are seeded,
so the verdicts are the same in every run.
"""

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pyarrow as pa
from scipy.stats import chisquare

from sfumato.expectations.models.k_anonymity import KAnonymity
from sfumato.expectations.models.ke_anonymity import KEAnonymity
from sfumato.tasks.forms import permuted
from sfumato.tasks.forms.form_parameters import PermutedParameters
from sfumato.tasks.microdata.table import Microdata, encode, seeded_keys
from sfumato.tasks.partitions.anatomy.anatomy import draw_groups
from sfumato.tasks.partitions.ke import ke
from sfumato.tasks.partitions.ke.parameters import KEParameters
from sfumato.tasks.partitions.ke.runs import at_random
from sfumato.tasks.partitions.mondrian import mondrian
from sfumato.tasks.partitions.mondrian.parameters import MondrianParameters
from sfumato.tasks.partitions.partition import Partition

DRAWS = 10_000
LEAST = 1e-6  # the smallest p at which draws still count as uniform


def require_uniform(outcomes_drawn, outcomes):
    """Every possible outcome is drawn equally often, and nothing else is."""
    seen, possible = Counter(outcomes_drawn), list(outcomes)
    assert seen.keys() <= set(possible)
    assert sum(seen.values()) == DRAWS
    assert chisquare([seen[outcome] for outcome in possible]).pvalue > LEAST, seen


def table(**columns):
    """People with a quasi-identifier `person`, `age` or `stratum`, and sensitive columns."""
    quasi = ("person", "age", "stratum")
    encoded = [
        encode(name, "quasi-identifier" if name in quasi else "sensitive", pa.array(values))
        for name, values in columns.items()
    ]
    return Microdata(tuple(encoded), len(encoded[0].codes))


def pairings(group):
    """For each row of draws (draws x rows of group numbers): which rows are together."""
    for row in group.tolist():
        together = {number: frozenset(np.flatnonzero(np.array(row) == number)) for number in row}
        yield frozenset(together.values())


def shuffle_groups(sensitive, size):
    """Ten thousand groups of `size` rows, permuted: where the values of each row's group went."""
    rows = np.arange(DRAWS * size)
    microdata = table(person=rows, wage=rows, debt=rows)
    partition = Partition(rows // size)
    parameters = PermutedParameters(method="permuted", sensitive=sensitive)
    permuted_table = permuted.publish(microdata, partition, parameters, seeded_keys(1))["microdata"]
    order = np.argsort(permuted_table["person"].to_numpy())
    for name in ("wage", "debt"):
        values = permuted_table[name].to_numpy()[order]
        assert np.array_equal(values // size, rows // size)  # nobody leaves the group
        yield [tuple(row) for row in (values % size).reshape(DRAWS, size).tolist()]


def test_permuted_values_go_to_every_row_of_the_group_alike():
    wage, debt = shuffle_groups("independent", 4)
    require_uniform(wage, permutations(range(4)))
    require_uniform(debt, permutations(range(4)))


def test_sensitive_columns_are_permuted_apart_or_together():
    wage, debt = shuffle_groups("independent", 3)
    ways = list(permutations(range(3)))
    require_uniform(zip(wage, debt, strict=True), product(ways, ways))
    wage, debt = shuffle_groups("together", 3)
    assert wage == debt
    require_uniform(wage, ways)


def test_ke_draws_which_of_equal_values_goes_where():
    """Blocks of the wages 0, 1, 1, 1, 1, 2: one group below and one above part the four 1s."""
    wages = (1000 * np.arange(DRAWS)[:, None] + [0, 1, 1, 1, 1, 2]).ravel()
    group = ke.partition(
        table(person=np.arange(len(wages)), wage=wages),
        [],
        [KEAnonymity(k=2, e=1, sensitive="wage")],
        KEParameters(method="ke", objective="sum"),
        seeded_keys(2),
    ).group.reshape(DRAWS, 6)
    below = [tuple(np.flatnonzero(row)) for row in group[:, 1:5] == group[:, :1]]
    (parted,) = {len(rows) for rows in below}
    assert 0 < parted < 4
    require_uniform(below, combinations(range(4), parted))


def test_random_ke_groups_are_of_any_rows_alike():
    keys, codes, units = seeded_keys(3), np.arange(4), np.arange(4)
    group = np.array([at_random(codes, units, 2, 1, keys) for _ in range(DRAWS)])
    ways = [{(0, 1), (2, 3)}, {(0, 2), (1, 3)}, {(0, 3), (1, 2)}]
    require_uniform(pairings(group), [frozenset(map(frozenset, way)) for way in ways])


def test_relaxed_mondrian_draws_which_rows_with_the_median_go_where():
    """Strata of the ages 0, 1, 1, 1, 1, 2: two of the 1s stay below the cut, two go above it."""
    stratum, age = np.repeat(np.arange(DRAWS), 6), np.tile([0, 1, 1, 1, 1, 2], DRAWS)
    group = mondrian.partition(
        table(stratum=stratum, age=age),
        ["stratum"],
        [KAnonymity(k=3)],
        MondrianParameters(method="mondrian", mode="relaxed"),
        seeded_keys(4),
    ).group.reshape(DRAWS, 6)
    below = [tuple(np.flatnonzero(row)) for row in group[:, 1:5] == group[:, :1]]
    require_uniform(below, combinations(range(4), 2))


def anatomize(codes, l, seed):
    keys, codes = seeded_keys(seed), np.array(codes)
    return pairings(np.array([draw_groups(codes, l, keys) for _ in range(DRAWS)]))


def test_anatomy_draws_which_of_equal_values_are_together():
    ways = [{(0, 2), (1, 3)}, {(0, 3), (1, 2)}]
    groupings = anatomize([0, 0, 1, 1], 2, 5)
    require_uniform(groupings, [frozenset(map(frozenset, way)) for way in ways])


def test_anatomy_draws_which_equally_frequent_values_are_together():
    ways = [{(0, 1), (2, 3)}, {(0, 2), (1, 3)}, {(0, 3), (1, 2)}]
    groupings = anatomize([0, 1, 2, 3], 2, 6)
    require_uniform(groupings, [frozenset(map(frozenset, way)) for way in ways])


def test_anatomy_draws_which_group_a_leftover_row_joins():
    """Of five values one is left: it joins either pair, so all groups of three are alike."""
    large = (max(groups, key=len) for groups in anatomize([0, 1, 2, 3, 4], 2, 7))
    require_uniform(large, map(frozenset, combinations(range(5), 3)))
