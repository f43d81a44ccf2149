"""How likely worlds of groups are, once it is known that every try broke a promise somewhere."""

from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np


def weigh(
    weights: Sequence[np.ndarray],
    kept: Sequence[np.ndarray],
    left: Sequence[float],
    together: bool,
) -> list[np.ndarray]:
    """The weight of each world of each group, by what its tries tell.

    Args:
        weights: of the worlds of each group, before (int64, one per world).
        kept: in which worlds which tries keep the promises there (bool, worlds x tries).
        left: how likely each group was left by chance, and not tried.
        together: whether a try is of all groups at once, and breaks a promise in one of them at
            least; else in each group.

    Returns:
        float64, one per world; as before where no world of a group would be left.
    """
    if not together:
        told = zip(weights, kept, left, strict=True)
        found = [w * np.where(of.any(axis=1), chance, 1.0) for w, of, chance in told]
    else:
        found = _of_all_groups(weights, kept)
    return [
        np.asarray(new if new.sum() > 0 else old, dtype=np.float64)
        for old, new in zip(weights, found, strict=True)
    ]


def _of_all_groups(weights: Sequence[np.ndarray], kept: Sequence[np.ndarray]) -> list[np.ndarray]:
    """By inclusion and exclusion over the tries that would be kept everywhere."""
    found = [w.astype(np.float64) for w in weights]
    tries = kept[0].shape[1] if kept else 0
    for some in chain.from_iterable(combinations(range(tries), n + 1) for n in range(tries)):
        here = [of[:, some].all(axis=1) for of in kept]
        share = np.array([(w * of).sum() / w.sum() for w, of in zip(weights, here, strict=True)])
        sign = (-1) ** len(some)
        for number, elsewhere in enumerate(_without_each(share)):
            found[number] += sign * elsewhere * weights[number] * here[number]
    return [np.maximum(of, 0.0) for of in found]


def _without_each(share: np.ndarray) -> np.ndarray:
    """The product of all others, for each (float64)."""
    before = np.cumprod(np.append(1.0, share[:-1]))
    after = np.cumprod(np.append(1.0, share[:0:-1]))[::-1]
    return np.asarray(before * after)
