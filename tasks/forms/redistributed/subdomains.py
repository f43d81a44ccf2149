"""The subdomains that stand for the values of each group, as narrow as its target allows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

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
from sfumato.tasks.targets.minimum import minimum
from sfumato.tasks.targets.tree import Tree, balanced_tree, median_tree, taxonomy_tree

_CELLS = 2**22  # groups times nodes at a time


@dataclass(frozen=True, eq=False)
class Chosen:
    """Subdomains of groups: parallel, `count` copies of the run from `first` to `last`."""

    group: np.ndarray
    first: np.ndarray
    last: np.ndarray
    count: np.ndarray


def annotate_trees(
    aims: TargetDistributions, domain: OrderedDomain, parameters: RedistributedParameters
) -> list[tuple[Tree, Annotated]]:
    """The tree of each distribution, annotated with it.

    Raises:
        SpecError: where there is no such tree, its weights cannot be as small as wanted, or exact
            ones are too large to be published.
    """
    found = []
    for distribution in aims.distributions:
        weights = _weights(distribution)[np.argsort(domain.place)]
        tree = _tree(aims.name, domain, weights.tolist(), parameters)
        with_weights = annotate(tree, weights, parameters.largest)
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
    for tree, target, low, high in _batches(trees, aim[turn]):
        held = np.zeros((high - low, len(tree.parent)), dtype=np.int64)
        start, end = np.searchsorted(ranks, [low, high])
        held[ranks[start:end] - low, tree.leaf[places[start:end]]] = counts[start:end]
        copies = _copies(target, held, domain.lengths(tree.first, tree.last), parameters)
        of, node = np.nonzero(copies)
        found.append((turn[low + of], tree.first[node], tree.last[node], copies[of, node]))
    return Chosen(*(np.concatenate(part) for part in zip(*found, strict=True)))


def _batches(
    trees: Sequence[tuple[Tree, Target]], aims: np.ndarray
) -> Iterator[tuple[Tree, Target, int, int]]:
    """Runs of groups, sorted by their aims, that share one, not too many at a time."""
    for number, (tree, target) in enumerate(trees):
        low, high = np.searchsorted(aims, [number, number + 1]).tolist()
        step = max(_CELLS // len(tree.parent), 1)
        for start in range(low, high, step):
            yield tree, target, start, min(start + step, high)


def _copies(
    target: Target, held: np.ndarray, lengths: np.ndarray, parameters: RedistributedParameters
) -> np.ndarray:
    """The copies of each node (columns) for groups (rows) that hold so many values at leaves."""
    most = [parameters.most(rows) for rows in held.sum(axis=1).tolist()]
    plain = np.flatnonzero(np.array(most) == 0)
    copies = np.zeros_like(held)
    if len(plain):
        copies[plain] = minimum(target, held[plain])
    for at in np.flatnonzero(most).tolist():
        copies[at] = with_fakes(target, held[at], lengths, most[at]).copies
    return copies
