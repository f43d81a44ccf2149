"""Earth mover's distances between the distributions that groups are declared to have, exact.

Source: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity (ICDE
2007). Where a group's values are spread as a target says, the distribution of all rows is the
mixture of the targets, each as heavy as the rows of its groups.
"""

from math import lcm

import numpy as np

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.groups.groups import Subdomains
from sfumato.expectations.groups.subdomains import leaves, ratios
from sfumato.expectations.measures.emd import Distances


def declared_equal_distance(shown: Subdomains, sizes: np.ndarray) -> Distances:
    """Half the sum of the differences of chances: all values are equally far apart.

    Args:
        shown: the groups' targets.
        sizes: the rows of each group (int64, one per group).

    Raises:
        PromiseError: where a target is no distribution, or targets do not have the same values.
    """
    apart, whole = _apart(shown, sizes)
    return _of_groups(shown, np.abs(apart).sum(axis=1), 2 * int(whole.sum()))


def declared_ordered_distance(shown: Subdomains, sizes: np.ndarray) -> Distances:
    """Values are as far apart as their ranks among the m that some group can have: 1/(m - 1) each.

    Arguments are as for `declared_equal_distance`.

    Raises:
        PromiseError: where the attribute has no order, or for the reasons of the equal distance.
    """
    if not shown.ordered:
        raise PromiseError("the ordered distance needs ordered values without nulls")
    apart, whole = _apart(shown, sizes)
    possible = apart[:, whole > 0]
    moved = np.abs(np.cumsum(possible, axis=1)).sum(axis=1)
    return _of_groups(shown, moved, max(possible.shape[1] - 1, 1) * int(whole.sum()))


def declared_hierarchical_distance(shown: Subdomains, sizes: np.ndarray) -> Distances:
    """Values are as far apart as the level of their lowest common ancestor, over the height.

    The mean of the equal distances of the values generalized to the levels below the root.
    Arguments are as for `declared_equal_distance`.

    Raises:
        PromiseError: where there is no hierarchy of them, or for the reasons of the equal distance.
    """
    if shown.ancestors is None:
        raise PromiseError("the hierarchical distance needs a hierarchy")
    apart, whole = _apart(shown, sizes)
    if shown.ancestors.shape[1] != apart.shape[1]:
        raise PromiseError("the hierarchy lacks values of the targets")
    moved = np.zeros(len(apart), dtype=object)
    for nodes in shown.ancestors[:-1]:
        above = np.zeros((int(nodes.max()) + 1, len(apart)), dtype=object)
        np.add.at(above, nodes, apart.T)
        moved += np.abs(above).sum(axis=0)
    return _of_groups(shown, moved, 2 * (len(shown.ancestors) - 1) * int(whole.sum()))


def declared_shares(shown: Subdomains, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The chances of values in each target, and those of all rows (both Python integers).

    The first are targets x values, in parts of a common unit that each of them adds up to; the
    second, one per value, in parts of that unit times the number of rows.

    Raises:
        PromiseError: where a target is no distribution, or targets do not have the same values.
    """
    chances = _chances(shown)
    rows = np.zeros(len(shown.targets), dtype=np.int64)
    np.add.at(rows, shown.target, sizes)
    return chances, (chances * rows.astype(object)[:, None]).sum(axis=0)


def _apart(shown: Subdomains, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The difference of each target's chances from those of all rows, and the latter.

    Both are Python integers in a common unit: targets x values, and one per value.
    """
    chances, whole = declared_shares(shown, sizes)
    return chances * int(sizes.sum()) - whole, whole


def _chances(shown: Subdomains) -> np.ndarray:
    """The probabilities of values in parts of a common unit (Python integers, targets x values)."""
    found = [(*ratios(target), leaves(target)) for target in shown.targets]
    if len({len(ends) for _, _, ends in found}) != 1:
        raise PromiseError("the targets do not have the same values")
    unit = lcm(*(parts[leaf] for _, parts, ends in found for leaf in ends))
    shares = [[of[leaf] * (unit // parts[leaf]) for leaf in ends] for of, parts, ends in found]
    return np.array(shares, dtype=object)


def _of_groups(shown: Subdomains, moved: np.ndarray, parts: int) -> Distances:
    """The distances of the targets as those of the groups that have them."""
    return Distances(moved[shown.target], np.full(len(shown.target), parts, dtype=object))
