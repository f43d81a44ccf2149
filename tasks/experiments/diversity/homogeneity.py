"""Homogeneous groups in k-anonymous tables: everyone in them has the same sensitive value."""

from collections.abc import Iterator

import numpy as np

from sfumato.tasks.experiments.diversity.setting import (
    FIVE,
    K_ANONYMITY,
    PeopleScale,
    full_domain,
)
from sfumato.tasks.experiments.shared.adult import complete_people, hierarchies_of
from sfumato.tasks.experiments.shared.candidates import partition_by
from sfumato.tasks.experiments.shared.claim_tests import Mostly, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata

_NEARLY = 0.95  # share of a group with one value, at least
_SAME, _NEAR = "all of them", "95 % of them"
_GROUPS, _PEOPLE = "% of groups", "% of people"
_SOME, _RISES = "some at the largest k", "more at some larger k"


def measure(scale: PeopleScale, inputs: Inputs, seed: int) -> Iterator[Point]:
    """Yield the shares of homogeneous groups and their people, averaged over all minimal tables.

    Levels are k. At level 0 is whether some people are in such groups at the largest k, and whether
    a larger k has more of them anywhere.
    """
    hierarchies = hierarchies_of(inputs, FIVE)
    people = complete_people(inputs, FIVE, "salary-class", scale.rows, seed)
    people_with_levels = with_hierarchies(people, hierarchies)
    shares = []
    for k in scale.levels:
        facts = partition_by(people, full_domain(people, K_ANONYMITY, k, hierarchies), seed).facts
        node_shares = [
            _homogeneous(people_with_levels, node["levels"]) for node in facts["minimal_nodes"]
        ]
        groups, rows, near_groups, near_rows = np.mean(node_shares, axis=0)
        yield Point("salaries", _SAME, k, _GROUPS, 100 * groups)
        yield Point("salaries", _NEAR, k, _GROUPS, 100 * near_groups)
        yield Point("salaries", _SAME, k, _PEOPLE, 100 * rows)
        yield Point("salaries", _NEAR, k, _PEOPLE, 100 * near_rows)
        shares.append(rows)
    yield Point("salaries", _SAME, 0, _SOME, float(shares[-1] > 0))
    yield Point("salaries", _SAME, 0, _RISES, float(np.any(np.diff(shares) > 0)))


def _homogeneous(people: Microdata, levels: list[int]) -> tuple[float, float, float, float]:
    """Return how homogeneous groups are if each quasi-identifier is generalized to a level.

    Returns:
        The share of homogeneous groups, of people in them, of nearly homogeneous groups, and of
        people in those.
    """
    # one number per row, which is that of its vector of generalized values
    key = np.zeros(people.rows, dtype=np.int64)
    for column, level in zip(people.with_roles("quasi-identifier"), levels, strict=True):
        nodes = column.levels()[level]
        key = key * (int(nodes.max()) + 1) + nodes[column.category()[0]]
    _, group = np.unique(key, return_inverse=True)
    (sensitive,) = people.with_roles("sensitive")
    counts = np.zeros((group.max() + 1, len(sensitive.values)), dtype=np.int64)
    np.add.at(counts, (group, sensitive.codes), 1)
    size, most = counts.sum(axis=1), counts.max(axis=1)
    same, near = most == size, most >= _NEARLY * size
    total = size.sum()
    return (
        float(same.mean()),
        float(size[same].sum() / total),
        float(near.mean()),
        float(size[near].sum() / total),
    )


EXPERIMENT = Experiment(
    name="homogeneity",
    paper="diversity",
    shows="Figures: homogeneous groups and tuples by k",
    title="Homogeneous groups in k-anonymous tables",
    setting=(
        "All minimal k-anonymous tables that full-domain generalization of age, education, "
        "marital status, race and sex gives for people drawn from Adult. The plot shows the "
        "average share of groups in which all people, or 95 % of them, have the same salary class."
    ),
    data=("salaries",),
    full=PeopleScale(24_000, (2, 5, 10, 15, 20, 30, 40, 50)),
    quick=PeopleScale(2_000, (2, 10, 50)),
    measure=measure,
    figures=(
        Figure(_GROUPS, "k", "% of groups that are homogeneous"),
        Figure(_PEOPLE, "k", "% of people in homogeneous groups"),
    ),
    claims=(
        Claim(
            "Fewer people are in homogeneous groups as k grows",
            "salaries",
            Trend(_PEOPLE, _SAME, rises=False),
        ),
        Claim("Some people still are at k = 50", "salaries", Mostly(_SOME, _SAME)),
        Claim(
            "The decrease is not strict: a larger k can leave more people exposed",
            "salaries",
            Mostly(_RISES, _SAME),
        ),
    ),
)
