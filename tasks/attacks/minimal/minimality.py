"""Minimality: that finer groups were not published tells why they could not be.

Source: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing (VLDB 2007).
The attacker knows the partition and everybody's quasi-identifiers, and so which finer groups were
tried; worlds in which these had kept the promises are ruled out.
"""

from collections.abc import Sequence

import numpy as np

from sfumato.expectations.sorting import starts
from sfumato.tasks.attacks.attack import SURE, AttackedRelease, Score, top_guesses
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs, join_beliefs
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.minimal.known import KnownTries, known_tries
from sfumato.tasks.attacks.minimal.weights import weigh
from sfumato.tasks.attacks.minimal.worlds import MOST, Worlds, worlds_of

_ROWS = 2_000_000  # of all worlds of the groups that are looked at
_ROWS_JUDGED = 100_000_000  # where a bar is judged, of everybody
_NAME, _ALONE = "minimality", "from the group alone"


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
    learned = alone + _gain(known, target.drawing(_NAME)) * rows / len(known.codes)
    return tuple(
        Score(f"own value {words} by who knows what else was tried", knowing, {_ALONE: without})
        for words, knowing, without in zip(
            ("guessed", f"believed with {SURE:.0%} or more"),
            learned.tolist(),
            alone.tolist(),
            strict=True,
        )
    )


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """What is believed of everybody; None where nothing is scored, or not all can be looked at."""
    known = known_tries(target)
    if known is None:
        return None
    rows = int(known.sizes[known.told].sum()) * MOST
    if rows > (_ROWS if known.together else _ROWS_JUDGED):
        return None
    draw = target.drawing(_NAME)
    told = (one for part in _in_parts(known) for one in _by_kinds(known, part.tolist(), draw))
    return join_beliefs([_without_tries(known), *told])


def _gain(known: KnownTries, draw: np.random.Generator) -> np.ndarray:
    """How many more are guessed, and as good as known, than by groups alone; as shares (float64).

    Of the people in groups of which the tries tell something.
    """
    if not len(known.told):
        return np.zeros(2)
    groups = _some(known, draw)
    some = known.rows(groups)
    more = _learned(known, groups, draw) - np.sum(
        [_alone(known.codes[rows]) for rows in some], axis=0
    )
    return np.asarray(more / sum(map(len, some)))


def _some(known: KnownTries, draw: np.random.Generator) -> list[int]:
    """As many of the groups, in a random order, as can be looked at."""
    order = draw.permutation(known.told)
    rows = np.cumsum(known.sizes[order]) * MOST
    enough = int(np.searchsorted(rows, _ROWS, side="right"))
    return [int(group) for group in order[: max(enough, 1)]]


def _learned(known: KnownTries, groups: Sequence[int], draw: np.random.Generator) -> np.ndarray:
    """How many people of some groups are guessed, and how many as good as known (float64)."""
    return np.asarray(np.sum([_hit(one) for one in _by_kinds(known, groups, draw)], axis=0))


def _by_kinds(
    known: KnownTries, groups: Sequence[int], draw: np.random.Generator
) -> list[OwnValueBeliefs]:
    """What is believed in the groups, each by itself."""
    rows = known.rows(groups)
    kinds = [known.kinds(of) for of in rows]
    worlds = [worlds_of(kind, known.codes[of], draw) for kind, of in zip(kinds, rows, strict=True)]
    kept = known.kept(rows, worlds)
    left = known.left[list(groups)].tolist()
    weights = weigh([of.weight for of in worlds], kept, left, known.together)
    told = zip(rows, kinds, worlds, weights, strict=True)
    return [_of_group(known.codes[of], kind, world, weight) for of, kind, world, weight in told]


def _alone(codes: np.ndarray) -> np.ndarray:
    """The same of one group, by who knows nothing but its values (int64, one per row)."""
    kind = np.zeros(len(codes), dtype=np.int64)
    one = Worlds(codes[np.newaxis], np.ones(1, dtype=np.int64))
    return _hit(_of_group(codes, kind, one, np.ones(1)))


def _of_group(
    codes: np.ndarray, kind: np.ndarray, worlds: Worlds, weight: np.ndarray
) -> OwnValueBeliefs:
    """What is believed of the rows of a group, which are of these kinds."""
    own = tally(codes[np.newaxis], kind, np.ones(1)).astype(np.int64)
    belief = tally(worlds.values, kind, weight)
    belief /= belief.sum(axis=1, keepdims=True)
    alone = np.broadcast_to(top_guesses(own.sum(axis=0, keepdims=True)), own.shape)
    there = own > 0
    return OwnValueBeliefs(own[there], belief[there], top_guesses(belief)[there], alone[there])


def _hit(found: OwnValueBeliefs) -> np.ndarray:
    """How many people are guessed, and how many as good as known (float64)."""
    sure = found.people[found.belief >= SURE].sum()
    return np.array([(found.people * found.guessed).sum(), sure])


def _without_tries(known: KnownTries) -> OwnValueBeliefs:
    """What is believed in groups of which the tries tell nothing."""
    values = int(known.codes.max()) + 1
    place, people = np.unique(known.group * values + known.codes, return_counts=True)
    group = place // values
    largest = np.maximum.reduceat(people, starts(group))[group]
    top = people == largest
    guessed = top / np.add.reduceat(top, starts(group), dtype=np.int64)[group]
    open_ = np.isin(group, known.told, invert=True)
    belief = people / known.sizes[group]
    return OwnValueBeliefs(*(of[open_] for of in (people, belief, guessed, guessed)))


def _in_parts(known: KnownTries) -> list[np.ndarray]:
    """The groups of which the tries tell something, so many at once as memory is meant for."""
    if not len(known.told):
        return []
    if known.together:
        return [known.told]
    part = np.cumsum(known.sizes[known.told]) * MOST // _ROWS
    return np.split(known.told, starts(part)[1:])


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
