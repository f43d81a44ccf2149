"""Homogeneous groups in k-anonymous tables: everyone in them has the same sensitive value."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from sfumato.tasks.experiments.diversity.setting import (
    FIVE,
    K_ANONYMITY,
    PeopleScale,
    full_domain,
)
from sfumato.tasks.experiments.shared import generated_tables
from sfumato.tasks.experiments.shared.adult import complete_people, hierarchies_of
from sfumato.tasks.experiments.shared.candidates import partition_by
from sfumato.tasks.experiments.shared.claim_tests import Mostly, Trend
from sfumato.tasks.experiments.shared.experiment import Claim, Experiment, Figure, Inputs, Point
from sfumato.tasks.microdata.hierarchies import with_hierarchies
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule

_NEARLY = 0.95  # share of a group with one value, at least
_SAME, _NEAR = "all of them", "95 % of them"
_GROUPS, _PEOPLE = "affected groups", "affected people"
_AFFECTED, _TABLES = "affected tables", "minimal tables"
_SOME, _RISES, _MOST = "some at the largest k", "more at some larger k", "most tables at every k"
_Tables = Callable[[int, Inputs, int], tuple[Microdata, Mapping[str, HierarchyRule]]]


class _Affected(NamedTuple):
    """The groups of a table with one value, and those people in them who have it."""

    groups: int
    people: int


def adults(rows: int, inputs: Inputs, seed: int) -> tuple[Microdata, Mapping[str, HierarchyRule]]:
    """Return people drawn from Adult, with their hierarchies."""
    people = complete_people(inputs, FIVE, "salary-class", rows, seed)
    return people, hierarchies_of(inputs, FIVE)


def orders(rows: int, _inputs: Inputs, seed: int) -> tuple[Microdata, Mapping[str, HierarchyRule]]:
    """Return orders of the substitute for Lands End, with their hierarchies."""
    table = generated_tables.orders(rows, seed, generated_tables.FIVE)
    return table, generated_tables.HIERARCHIES


def measure(
    data: str, tables: _Tables, scale: PeopleScale, inputs: Inputs, seed: int
) -> Iterator[Point]:
    """Yield the affected groups and people, averaged over all minimal tables, and the tables.

    Levels are k. At level 0 is whether some people are affected at the largest k, whether a larger
    k has more of them anywhere, and whether most tables are affected at every k.
    """
    microdata, hierarchies = tables(scale.rows, inputs, seed)
    with_levels = with_hierarchies(microdata, hierarchies)
    affected: dict[str, list[list[_Affected]]] = {_SAME: [], _NEAR: []}
    for k in scale.levels:
        method = full_domain(microdata, K_ANONYMITY, k, hierarchies)
        nodes = partition_by(microdata, method, seed).facts["minimal_nodes"]
        counts = [_group_counts(with_levels, node["levels"]) for node in nodes]
        for series, share in ((_SAME, 1.0), (_NEAR, _NEARLY)):
            affected[series].append([_count_affected(table, share) for table in counts])
            yield from _at_k(data, series, k, affected[series][-1])
    for series, by_k in affected.items():
        yield from _summary(data, series, by_k)


def _at_k(data: str, series: str, k: int, tables: list[_Affected]) -> Iterator[Point]:
    groups, people = np.mean(tables, axis=0)
    yield Point(data, series, k, _GROUPS, float(groups))
    yield Point(data, series, k, _PEOPLE, float(people))
    yield Point(data, series, k, _AFFECTED, sum(table.groups > 0 for table in tables))
    yield Point(data, series, k, _TABLES, len(tables))


def _summary(data: str, series: str, by_k: list[list[_Affected]]) -> Iterator[Point]:
    people = [float(np.mean([table.people for table in tables])) for tables in by_k]
    most = all(np.mean([table.groups > 0 for table in tables]) > 0.5 for tables in by_k)
    yield Point(data, series, 0, _SOME, float(people[-1] > 0))
    yield Point(data, series, 0, _RISES, float(np.any(np.diff(people) > 0)))
    yield Point(data, series, 0, _MOST, float(most))


def _count_affected(counts: np.ndarray, share: float) -> _Affected:
    """Return the groups in which one value has a share, and the people in them who have it."""
    most = counts.max(axis=1)
    is_affected = most >= share * counts.sum(axis=1)
    return _Affected(int(is_affected.sum()), int(most[is_affected].sum()))


def _group_counts(people: Microdata, levels: list[int]) -> np.ndarray:
    """Return the counts of values in the groups of a node of the lattice (groups x values)."""
    # one number per row, which is that of its vector of generalized values
    key = np.zeros(people.rows, dtype=np.int64)
    for column, level in zip(people.with_roles("quasi-identifier"), levels, strict=True):
        nodes = column.levels()[level]
        key = key * (int(nodes.max()) + 1) + nodes[column.category()[0]]
        key = np.unique(key, return_inverse=True)[1]
    (sensitive,) = people.with_roles("sensitive")
    counts = np.zeros((key.max() + 1, len(sensitive.values)), dtype=np.int64)
    np.add.at(counts, (key, sensitive.codes), 1)
    return counts


def _claims(data: str) -> tuple[Claim, ...]:
    return tuple(
        claim
        for series, words in ((_SAME, ""), (_NEAR, "nearly "))
        for claim in (
            Claim(
                f"Fewer people are in {words}homogeneous groups as k grows",
                data,
                Trend(_PEOPLE, series, rises=False),
            ),
            Claim(
                f"Some people still are in {words}homogeneous groups at k = 50",
                data,
                Mostly(_SOME, series),
            ),
            Claim(
                f"The decrease is not strict: a larger k can leave more people in {words}"
                "homogeneous groups",
                data,
                Mostly(_RISES, series),
            ),
        )
    )


def _most_tables(data: str) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"Most minimal tables have {words}homogeneous groups, at every k",
            data,
            Mostly(_MOST, series),
            by="project",
        )
        for series, words in ((_SAME, ""), (_NEAR, "nearly "))
    )


EXPERIMENT = Experiment(
    name="homogeneity",
    paper="diversity",
    shows="Tables: affected and total tables, affected groups and tuples by k, also at 95 %",
    title="Homogeneous groups in k-anonymous tables",
    setting=(
        "All minimal k-anonymous tables that full-domain generalization of age, education, "
        "marital status, race and sex gives for people drawn from Adult. A group is affected if "
        "all its people, or 95 % of them, have the same salary class. The affected people of such "
        "a group are those who have that class. Numbers are averages over the minimal tables."
    ),
    ours="the eight k, 24,000 people, and averages over all minimal tables, not the affected ones",
    data=("salaries",),
    full=PeopleScale(24_000, (2, 5, 10, 15, 20, 30, 40, 50)),
    quick=PeopleScale(2_000, (2, 10, 50)),
    measure=partial(measure, "salaries", adults),
    figures=(
        Figure(_GROUPS, "k", "groups affected, in a table"),
        Figure(_PEOPLE, "k", "people affected, in a table"),
        Figure(_AFFECTED, "k", "tables affected"),
        Figure(_TABLES, "k", "minimal tables"),
    ),
    claims=(*_claims("salaries"), *_most_tables("salaries")),
)
LANDS_END = Experiment(
    name="homogeneity-lands-end",
    paper="diversity",
    shows="Tables: the same of Lands End",
    title="Homogeneous groups in k-anonymous tables of orders",
    setting=(
        "The same for orders of the substitute for Lands End. Their cost is sensitive; zip code, "
        "date, gender, style and price are known."
    ),
    ours="the eight k, 24,000 orders, the five known columns, and all frequencies",
    data=("lands-end",),
    full=EXPERIMENT.full,
    quick=EXPERIMENT.quick,
    measure=partial(measure, "lands-end", orders),
    figures=EXPERIMENT.figures,
    claims=_claims("lands-end"),
)
