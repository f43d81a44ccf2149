"""Disjoint covers: groups no two of which cover the same combination of quasi-identifiers.

The construction is this project's own, for (α,β)-privacy as in Wang, Ambiguity: hide the presence
of individuals and their privacy with low information loss. A group that shows only which values it
admits covers a box of combinations. If boxes overlap, an attacker who joins the tables adds
presences up. Here the table is cut by values, one quasi-identifier at a time, so that boxes are
disjoint and the presence by all groups is the presence in one. If A and B admit different values of
an attribute, the union of their rows covers at least as many combinations as both, and its presence
is at most the larger of theirs. So a cut with a side that exceeds α never leads to parts that keep
α, and the same holds for β. Beside published marginals presence is that of cells (see
`expectations.groups.marginals`): a side is only cut off if it keeps α by itself, however its rows
have the values of these columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.groups.counting import Coded, count, cover, dense
from sfumato.expectations.groups.covering import covering, single
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.microdata.table import Microdata, Randomness, key
from sfumato.tasks.partitions.disjoint_cover.parameters import DisjointCoverParameters
from sfumato.tasks.partitions.disjoint_cover.promises import (
    CoverGoal,
    OtherPromises,
    strictest_cover,
)
from sfumato.tasks.partitions.disjoint_cover.search import Prune, Search, SearchResult, effort
from sfumato.tasks.partitions.disjoint_cover.table import by_part, distinct
from sfumato.tasks.partitions.disjoint_cover.tree import CutTree
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.thresholds import needed_promises

_SLACK = Fraction(9, 10)  # of β, for the values that exceed it
_WORTH_COMPILING = 64  # vectors


def within_beta(
    values: np.ndarray, strata: Iterable[np.ndarray], beta: Fraction, randomness: Randomness
) -> np.ndarray:
    """Return the rows to keep (int64, ascending), so that no value exceeds a share β of a stratum.

    A stratum in which a value exceeds it keeps a little less of that value, if possible, because a
    part in which some value has the share β can hardly be cut. Which rows are left out is random.

    Args:
        values: the code of each row's sensitive value (integers).
        strata: the rows of each stratum (int64).
        beta: the largest share of a value.
        randomness: where every choice comes from.
    """
    keeps = np.ones(len(values), dtype=bool)
    for rows in strata:
        counts = np.bincount(values[rows])
        most = len(rows)
        if int(counts.max(initial=0)) > beta * len(rows):
            most = _most(counts, beta * _SLACK) or _most(counts, beta)
        order = rows[np.argsort(randomness(len(rows)), kind="stable")]
        order = order[np.argsort(values[order], kind="stable")]
        place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        keeps[order[place >= most]] = False
    return np.flatnonzero(keeps)


def _most(counts: np.ndarray, beta: Fraction) -> int:
    """Return the largest number of rows of one value to keep: at most β of all rows kept."""
    total = int(counts.sum())
    while True:
        most = beta.numerator * total // beta.denominator
        remaining = int(np.minimum(counts, most).sum())
        if remaining == total:
            return most
        total = remaining


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: DisjointCoverParameters,
    randomness: Randomness,
) -> Partition:
    """Cut each stratum by values into groups that keep α and β and answer counts with small errors.

    α and β are the least that any (α,β)-promise asks for. A cut whose sides break another promise
    is not made. Cuts are searched at random and judged by random counting queries. Rows of values
    that are too frequent for β are left out if the residue may be suppressed.

    Raises:
        PromiseError: if there is no (α,β)-promise, if a whole stratum breaks a promise, or
            if parts cannot be judged by one.
    """
    needed_promises(AlphaBeta, promises, parameters)
    goal = strictest_cover(microdata, strata, promises)
    if parameters.residue == "refuse":
        return _cut(microdata, strata, goal, randomness)
    values, _ = microdata[str(goal.promise.sensitive)].category()
    beta = Fraction(goal.promise.beta)
    kept_rows = within_beta(values, by_stratum(microdata, strata), beta, randomness)
    if not len(kept_rows):
        raise PromiseError("disjoint-cover: beta would leave out all rows; raise beta")
    cut = _cut(microdata.take(kept_rows), strata, goal, randomness)
    group = np.full(microdata.rows, -1, dtype=np.int64)
    group[kept_rows] = cut.group
    return Partition(group, facts={**cut.facts, "suppressed": microdata.rows - len(kept_rows)})


def _cut(
    microdata: Microdata, strata: Sequence[str], goal: CoverGoal, randomness: Randomness
) -> Partition:
    """Return groups of all rows."""
    if not microdata.rows:
        return Partition(np.empty(0, dtype=np.int64), facts={"groups": 0})
    stratum, _ = dense(key([microdata[name] for name in strata], microdata.rows)[0])
    _require(microdata, goal, stratum)
    names = (*goal.quasi_identifiers, str(goal.promise.sensitive))
    table, vector = distinct([microdata[name] for name in names], stratum)
    roots = by_part(stratum, vector)
    prune = _choose_pruning(microdata, goal, vector, roots)
    fast = len(table.rows) >= _WORTH_COMPILING
    rule = goal.rule_for(microdata)
    search = Search.from_table(table, rule, prune, randomness, fast)
    result = search.run(roots, effort(len(table.rows)))
    group = result.tree.part()[vector]
    return Partition(group, facts=_facts(microdata, goal, group, result))


def _judged_groups(microdata: Microdata, goal: CoverGoal, group: np.ndarray) -> Groups:
    """Return groups in the shape in which α and β judge them."""
    name = str(goal.promise.sensitive)
    counted = count(group, int(group.max()) + 1, {name: Coded(*microdata[name].category())})
    covers = {name: cover(group, *microdata[name].category()) for name in goal.quasi_identifiers}
    for name in (name for name in covers if name in goal.promise.marginals):
        codes, values = microdata[name].category()
        covers[name] = replace(covers[name], totals=np.bincount(codes, minlength=values))
    return Groups(counted.sizes, counted.sensitive, covers)


def _require(microdata: Microdata, goal: CoverGoal, stratum: np.ndarray) -> None:
    broken = goal.promise.failing(_judged_groups(microdata, goal, stratum))
    if broken.any():
        raise PromiseError(
            f"alpha-beta cannot be kept: {int(broken.sum())} of {len(broken)} strata break "
            f"α = {plain(goal.promise.alpha)} or β = {plain(goal.promise.beta)} even as one group. "
            "Raise alpha or beta, or use fewer strata"
        )


def _choose_pruning(
    microdata: Microdata, goal: CoverGoal, vector: np.ndarray, roots: Sequence[np.ndarray]
) -> Prune:
    """Return the function that undoes cuts that break other promises, if there are any."""
    if not goal.others:
        return _keep_all
    others = OtherPromises.for_vectors(microdata, goal.others, vector)
    others.require(roots)
    return others.prune


def _keep_all(tree: CutTree) -> CutTree:
    return tree


def _facts(
    microdata: Microdata, goal: CoverGoal, group: np.ndarray, result: SearchResult
) -> Mapping[str, Any]:
    """Return the results reached, after checking that the groups keep α and β."""
    groups = _judged_groups(microdata, goal, group)
    coverage = covering(groups, goal.quasi_identifiers)
    keeps = bool(goal.promise.marginals) or not goal.promise.failing(groups).any()
    if coverage is None or not keeps:  # beside marginals a group depends on others: the gate judges
        raise Fault("disjoint-cover broke (α,β)-privacy")
    return {
        "groups": len(groups),
        "largest_presence": str(plain(single(coverage).largest)),
        "trees": result.trees,
        "queries": result.queries,
        "median_error_of_queries": result.median,
        "mean_error_of_queries": result.mean,
    }
