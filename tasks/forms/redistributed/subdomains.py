"""The subdomains that stand for the values of each group, as narrow as its target allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm
from weakref import WeakKeyDictionary

import numpy as np

from sfumato.expectations.errors import SpecError
from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.groups import Target
from sfumato.expectations.sorting import stable_order
from sfumato.tasks.arrays.ranks import places_in
from sfumato.tasks.forms.redistributed.domain import OrderedDomain
from sfumato.tasks.forms.redistributed.parameters import RedistributedParameters
from sfumato.tasks.partitions.partition import TargetDistributions
from sfumato.tasks.targets.annotated import Annotated, annotate
from sfumato.tasks.targets.fakes import with_fakes
from sfumato.tasks.targets.minimum import LeastCopies, minima
from sfumato.tasks.targets.tree import Tree, balanced_tree, median_tree, taxonomy_tree


@dataclass(frozen=True, eq=False)
class Chosen:
    """Subdomains of groups: parallel, `count` copies of the run from `first` to `last`."""

    group: np.ndarray
    first: np.ndarray
    last: np.ndarray
    count: np.ndarray


Trees = list[tuple[Tree, Annotated]]
_found: WeakKeyDictionary[TargetDistributions, tuple[RedistributedParameters, Trees]]
_found = WeakKeyDictionary()


def annotate_trees(
    aims: TargetDistributions, domain: OrderedDomain, parameters: RedistributedParameters
) -> Trees:
    """The tree of each distribution, annotated with it.

    They are made once for the same distributions and parameters: what is published of them is
    measured afterwards.

    Raises:
        SpecError: where there is no such tree, its weights cannot be as small as wanted, or exact
            ones are too large to be published.
    """
    made_with, trees = _found.get(aims, (None, []))
    if made_with != parameters:
        trees = _annotate_trees(aims, domain, parameters)
        _found[aims] = parameters, trees
    return trees


def _annotate_trees(
    aims: TargetDistributions, domain: OrderedDomain, parameters: RedistributedParameters
) -> Trees:
    found = []
    for distribution in aims.distributions:
        weights = _weights(distribution)[np.argsort(domain.place)]
        tree = _tree(aims.name, domain, weights.tolist(), parameters)
        with_weights = annotate(tree, weights, None if aims.exact else parameters.largest)
        if max(with_weights.target.weight.tolist()) > INT64_MAX:
            raise SpecError("form: a target's exact ratios are too large: give a denominator")
        found.append((tree, with_weights))
    return found


def _weights(distribution: Sequence[Fraction]) -> np.ndarray:
    unit = lcm(*(chance.denominator for chance in distribution))
    weights = [chance.numerator * (unit // chance.denominator) for chance in distribution]
    return np.array(weights, dtype=np.int64 if unit < 2**62 else object)


def _tree(
    name: str, domain: OrderedDomain, weights: Sequence[int], parameters: RedistributedParameters
) -> Tree:
    match parameters.tree:
        case "balanced":
            return balanced_tree(len(domain), parameters.arity)
        case "median":
            return median_tree(weights, parameters.arity)
    if domain.ancestors is None:
        raise SpecError(f"form: tree hierarchy: {name!r} has no hierarchy")
    tree, order = taxonomy_tree(domain.ancestors)
    if (np.diff(order) < 0).any():
        raise SpecError(f"form: tree hierarchy: a node of {name!r} is not a run of its values")
    return tree


def choose_subdomains(
    trees: Sequence[tuple[Tree, Target]],
    aim: np.ndarray,
    group: np.ndarray,
    place: np.ndarray,
    domain: OrderedDomain,
    parameters: RedistributedParameters,
) -> Chosen:
    """The subdomains of each group, with as many fakes as are allowed and of use.

    Args:
        trees: the trees with their targets.
        aim: the position among them of each group's (int64, one per group).
        group: 0, 1, … (int64, one per row).
        place: the position of a row's value in the domain (int64, one per row).
        domain: the domain.
        parameters: of the form.
    """
    turn = stable_order(aim)
    rank = places_in(turn)
    pairs, counts = np.unique(rank[group] * len(domain) + place, return_counts=True)
    ranks, places = np.divmod(pairs, len(domain))
    found = []
    for (tree, target), (low, high) in zip(trees, _spans(aim[turn], len(trees)), strict=True):
        start = np.searchsorted(ranks, np.arange(low, high + 1))
        leaf, count = tree.leaf[places[start[0] : start[-1]]], counts[start[0] : start[-1]]
        lengths = domain.lengths(tree.first, tree.last)
        made = _copies(target, start - start[0], leaf, count, lengths, parameters)
        first, last = tree.first[made.node], tree.last[made.node]
        found.append((turn[low + made.group], first, last, made.count))
    return Chosen(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _spans(aims: np.ndarray, trees: int) -> list[tuple[int, int]]:
    """Where the groups that share a tree begin and end, which are sorted by their aims."""
    ends = np.searchsorted(aims, np.arange(trees + 1)).tolist()
    return list(pairwise(ends))


def _copies(
    target: Target,
    start: np.ndarray,
    leaf: np.ndarray,
    count: np.ndarray,
    lengths: np.ndarray,
    parameters: RedistributedParameters,
) -> LeastCopies:
    """The copies of each node for groups whose values stand one after another."""
    sizes = np.add.reduceat(count, start[:-1]) if len(start) > 1 else count
    most = np.array([parameters.most(rows) for rows in sizes.tolist()], dtype=np.int64)
    plain = np.repeat(most == 0, np.diff(start))
    found = minima(target, _kept(start, plain), leaf[plain], count[plain])
    parts = [(found.group, found.node, found.count)]
    for of in np.flatnonzero(most).tolist():
        held = np.zeros(len(target.parent), dtype=np.int64)
        held[leaf[start[of] : start[of + 1]]] = count[start[of] : start[of + 1]]
        faked = with_fakes(target, held, lengths, most[of]).copies
        shown = np.flatnonzero(faked)
        parts.append((np.full(len(shown), of), shown, faked[shown]))
    group, node, copies = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = stable_order(group)
    return LeastCopies(group[order], node[order], copies[order])


def _kept(start: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Where groups start once some of their values are left out."""
    before: np.ndarray = np.append(0, np.cumsum(kept))[start]
    return before
