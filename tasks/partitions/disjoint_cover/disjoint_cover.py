"""Disjoint covers: groups no two of which cover the same combination of quasi-identifiers.

The construction is this project's own, for (α,β)-privacy as in Wang, Ambiguity: hide the presence
of individuals and their privacy with low information loss. Groups that show only which values they
admit cover boxes of combinations; where boxes overlap, whoever joins the tables adds presences up.
Here the table is cut by values, one quasi-identifier at a time, so that boxes are disjoint and the
presence by all groups is that in one. If A and B admit different values of an attribute, the union
of their rows covers at least as many combinations as both, so that its presence is at most the
larger of theirs: a cut with a side that exceeds α leads to none that does not, and likewise for β.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.errors import Fault, PromiseError
from sfumato.expectations.groups.counting import Coded, count, cover, dense
from sfumato.expectations.groups.covering import covering, single
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.alpha_beta import AlphaBeta
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.numbers import plain
from sfumato.tasks.microdata.table import Microdata, Randomness, key
from sfumato.tasks.partitions.disjoint_cover.parameters import DisjointCoverParameters
from sfumato.tasks.partitions.disjoint_cover.promises import Others, Wanted, strictest_cover
from sfumato.tasks.partitions.disjoint_cover.search import Found, Prune, Search, effort
from sfumato.tasks.partitions.disjoint_cover.table import by_part, distinct
from sfumato.tasks.partitions.disjoint_cover.tree import CutTree
from sfumato.tasks.partitions.partition import Partition, by_stratum
from sfumato.tasks.partitions.shared.thresholds import needed_promises

_SLACK = Fraction(9, 10)  # of β, for the values that exceed it
_WORTH_COMPILING = 64  # vectors


def within_beta(
    values: np.ndarray, strata: Iterable[np.ndarray], beta: Fraction, randomness: Randomness
) -> np.ndarray:
    """The rows to keep (int64, ascending), so that no value exceeds β of a stratum.

    A stratum in which a value does keeps a little less of it, where possible: a part in which some
    value has a share of β can hardly be cut. Which rows are left out is random.

    Args:
        values: the code of each row's sensitive value (integers).
        strata: the rows of each stratum (int64).
        beta: the largest share of a value.
        randomness: where every choice comes from.
    """
    kept = np.ones(len(values), dtype=bool)
    for rows in strata:
        counts = np.bincount(values[rows])
        most = len(rows)
        if int(counts.max(initial=0)) > beta * len(rows):
            most = _most(counts, beta * _SLACK) or _most(counts, beta)
        order = rows[np.argsort(randomness(len(rows)), kind="stable")]
        order = order[np.argsort(values[order], kind="stable")]
        place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept[order[place >= most]] = False
    return np.flatnonzero(kept)


def _most(counts: np.ndarray, beta: Fraction) -> int:
    """The largest number of rows of one value to keep: at most β of all rows kept."""
    total = int(counts.sum())
    while True:
        most = beta.numerator * total // beta.denominator
        left = int(np.minimum(counts, most).sum())
        if left == total:
            return most
        total = left


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: DisjointCoverParameters,
    randomness: Randomness,
) -> Partition:
    """Cut each stratum by values into groups that keep α and β and answer counts with small errors.

    α and β are the least that any (α,β)-promise asks for. A cut whose sides break another promise
    is not made. Which cuts are made is searched at random, judged by random counting queries. Rows
    of values that are too frequent for β are left out where the residue may be suppressed.

    Raises:
        PromiseError: where there is no (α,β)-promise, where a whole stratum breaks a promise, or
            where parts cannot be judged by one.
    """
    needed_promises(AlphaBeta, promises, parameters)
    asked = strictest_cover(microdata, strata, promises)
    if parameters.residue == "refuse":
        return _cut(microdata, strata, asked, randomness)
    values, _ = microdata[str(asked.promise.sensitive)].category()
    beta = Fraction(asked.promise.beta)
    kept = within_beta(values, by_stratum(microdata, strata), beta, randomness)
    if not len(kept):
        raise PromiseError("disjoint-cover: every row would be left out for β")
    cut = _cut(microdata.take(kept), strata, asked, randomness)
    group = np.full(microdata.rows, -1, dtype=np.int64)
    group[kept] = cut.group
    return Partition(group, facts={**cut.facts, "suppressed": microdata.rows - len(kept)})


def _cut(
    microdata: Microdata, strata: Sequence[str], asked: Wanted, randomness: Randomness
) -> Partition:
    """Groups of all rows."""
    if not microdata.rows:
        return Partition(np.empty(0, dtype=np.int64), facts={"groups": 0})
    stratum, _ = dense(key([microdata[name] for name in strata], microdata.rows)[0])
    _require(microdata, asked, stratum)
    names = (*asked.quasi_identifiers, str(asked.promise.sensitive))
    table, vector = distinct([microdata[name] for name in names], stratum)
    roots = by_part(stratum, vector)
    prune = _pruning(microdata, asked, vector, roots)
    fast = len(table.rows) >= _WORTH_COMPILING
    rule = asked.rule(microdata.rows)
    search = Search.of(table, rule, prune, randomness, fast)
    found = search.run(roots, effort(len(table.rows)))
    group = found.tree.part()[vector]
    return Partition(group, facts=_facts(microdata, asked, group, found))


def _seen(microdata: Microdata, asked: Wanted, group: np.ndarray) -> Groups:
    """Groups as they are judged by α and β."""
    name = str(asked.promise.sensitive)
    counted = count(group, int(group.max()) + 1, {name: Coded(*microdata[name].category())})
    covers = {name: cover(group, *microdata[name].category()) for name in asked.quasi_identifiers}
    return Groups(counted.sizes, counted.sensitive, covers)


def _require(microdata: Microdata, asked: Wanted, stratum: np.ndarray) -> None:
    broken = asked.promise.failing(_seen(microdata, asked, stratum))
    if broken.any():
        raise PromiseError(
            f"alpha-beta cannot be kept: {int(broken.sum())} of {len(broken)} strata break "
            f"α = {plain(asked.promise.alpha)} or β = {plain(asked.promise.beta)} as a whole"
        )


def _pruning(
    microdata: Microdata, asked: Wanted, vector: np.ndarray, roots: Sequence[np.ndarray]
) -> Prune:
    """The function that undoes cuts that break other promises, if there are any."""
    if not asked.others:
        return _as_it_is
    others = Others.of(microdata, asked.others, vector)
    others.require(roots)
    return others.prune


def _as_it_is(tree: CutTree) -> CutTree:
    return tree


def _facts(
    microdata: Microdata, asked: Wanted, group: np.ndarray, found: Found
) -> Mapping[str, Any]:
    """The results reached, once the groups are known to keep α and β."""
    seen = _seen(microdata, asked, group)
    shown = covering(seen, asked.quasi_identifiers)
    if shown is None or asked.promise.failing(seen).any():
        raise Fault("disjoint-cover broke (α,β)-privacy")
    return {
        "groups": len(seen),
        "largest_presence": str(plain(single(shown).largest)),
        "trees": found.trees,
        "queries": found.queries,
        "median_error_of_queries": found.median,
        "mean_error_of_queries": found.mean,
    }
