"""Minimality: that finer groups were not published tells why they could not be.

Source: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing (VLDB 2007).
The attacker knows the partition and everybody's quasi-identifiers, and so which finer groups were
tried; worlds in which these had kept the promises are ruled out.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.tasks.attacks.attack import SURE, AttackedRelease, Score, top_guesses
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.minimal.known import KnownTries, known_tries
from sfumato.tasks.attacks.minimal.weights import weigh
from sfumato.tasks.attacks.minimal.worlds import MOST, Worlds, worlds_of

_ROWS = 2_000_000  # of all worlds of the groups that are looked at
_ALONE = "from the group alone"


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Rule out worlds, and guess each person's likeliest value in those that are left.

    Of many groups some are looked at. Nothing is scored where the partition tries no finer groups
    by promises of this column, where promises compare groups with all rows, or where one node of
    a lattice has too many groups to look at all of them.
    """
    known, groups = known_tries(target), homogeneity.beliefs(target)
    if known is None or groups is None:
        return ()
    rows = int(known.sizes[known.told].sum())
    if known.together and rows * MOST > _ROWS:
        return ()
    alone = np.array([groups.hits(), groups.believed(SURE)])
    learned = alone + _gain(known) * rows / len(known.codes)
    return tuple(
        Score(f"own value {words} by who knows what else was tried", knowing, {_ALONE: without})
        for words, knowing, without in zip(
            ("guessed", f"believed with {SURE:.0%} or more"),
            learned.tolist(),
            alone.tolist(),
            strict=True,
        )
    )


def _gain(known: KnownTries) -> np.ndarray:
    """How many more are guessed, and as good as known, than by groups alone; as shares (float64).

    Of the people in groups of which the tries tell something.
    """
    if not len(known.told):
        return np.zeros(2)
    groups = _some(known)
    some = known.rows(groups)
    more = _learned(known, groups) - np.sum([_alone(known.codes[rows]) for rows in some], axis=0)
    return np.asarray(more / sum(map(len, some)))


def _some(known: KnownTries) -> list[int]:
    """As many of the groups, in a random order that is always the same, as can be looked at."""
    order = np.random.default_rng(len(known.codes)).permutation(known.told)
    rows = np.cumsum(known.sizes[order]) * MOST
    enough = int(np.searchsorted(rows, _ROWS, side="right"))
    return [int(group) for group in order[: max(enough, 1)]]


def _learned(known: KnownTries, groups: Sequence[int]) -> np.ndarray:
    """How many people of some groups are guessed, and how many as good as known (float64)."""
    rows = known.rows(groups)
    draw = np.random.default_rng(len(known.codes))
    kinds = [known.kinds(of) for of in rows]
    worlds = [worlds_of(kind, known.codes[of], draw) for kind, of in zip(kinds, rows, strict=True)]
    kept = known.kept(rows, worlds)
    left = known.left[list(groups)].tolist()
    weights = weigh([of.weight for of in worlds], kept, left, known.together)
    told = zip(rows, kinds, worlds, weights, strict=True)
    hits = [_hit(known.codes[of], kind, world, weight) for of, kind, world, weight in told]
    return np.asarray(np.sum(hits, axis=0))


def _alone(codes: np.ndarray) -> np.ndarray:
    """The same of one group, by who knows nothing but its values (int64, one per row)."""
    kind = np.zeros(len(codes), dtype=np.int64)
    return _hit(codes, kind, Worlds(codes[np.newaxis], np.ones(1, dtype=np.int64)), np.ones(1))


def _hit(codes: np.ndarray, kind: np.ndarray, worlds: Worlds, weight: np.ndarray) -> np.ndarray:
    """The same of one group, whose rows are of these kinds."""
    own = tally(codes[np.newaxis], kind, np.ones(1))
    belief = tally(worlds.values, kind, weight)
    belief /= belief.sum(axis=1, keepdims=True)
    return np.array([(own * top_guesses(belief)).sum(), own[belief >= SURE].sum()])


def tally(values: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How often each kind of row has each value (float64, kinds x different values).

    Args:
        values: of the rows of a group in each world (int64, worlds x rows).
        kind: of each row (int64; 0, 1, …).
        weight: of each world (float64).
    """
    different, number = np.unique(values, return_inverse=True)
    place = kind * len(different) + number.reshape(values.shape)
    shape = int(kind.max()) + 1, len(different)
    times = np.repeat(weight, len(kind)).astype(np.float64)
    return np.bincount(place.ravel(), times, shape[0] * shape[1]).reshape(shape)
