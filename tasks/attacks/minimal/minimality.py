"""Minimality: that finer groups were not published tells why they could not be.

Source: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing (VLDB 2007).
The attacker knows the partition and everybody's quasi-identifiers, and so which finer groups were
tried; worlds in which these had kept the promises are ruled out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from sfumato.expectations.errors import InputError
from sfumato.expectations.sorting import starts
from sfumato.tasks.attacks.attack import (
    SURE,
    AttackedRelease,
    Score,
    right_guesses,
    skipped_attack,
)
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs, join_beliefs
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.linking.join_back import guessed_values
from sfumato.tasks.attacks.margins import Margin, SampledGroups
from sfumato.tasks.attacks.minimal import least_ranges
from sfumato.tasks.attacks.minimal.known import KnownTries, known_tries
from sfumato.tasks.attacks.minimal.rerun import OTHERWISE, NotRetracedError
from sfumato.tasks.attacks.minimal.retraced import retrace
from sfumato.tasks.attacks.minimal.worlds import MOST, ROUNDED, WeighedGroup, Worlds, worlds_of

_ROWS = 2_000_000  # of all worlds of the groups that are looked at
_ROWS_JUDGED = 100_000_000  # where a bar is judged, of everybody
_JOINED = "by who joins people back"
_WORDS = "own value {} by who knows what else was tried"
_FOUND = "guessed", f"believed with {SURE:.0%} or more"
_TOO_MANY = "the node of the lattice has too many rows to weigh worlds of all of them together"


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


_NAME, _ALONE = "minimality", "from the group alone"


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Rule out worlds, and guess each person's likeliest value in those that are left.

    Of many groups some are looked at, and of large ones some worlds, with a margin.
    """
    if target.declared.form.shows == "subdomains":
        return least_ranges.attack(target)
    groups = homogeneity.beliefs(target)
    if groups is None:
        return ()
    known = known_tries(target)
    return _of_retraced(target) if known is None else _of_tries(target, known, groups)


def _of_retraced(target: AttackedRelease) -> tuple[Score, ...]:
    """Run the partition on all worlds, or some, where nothing is known of what it tried."""
    try:
        found = retrace(target)
        words, without = _by_groups(target) if found.are_known else _by_joining(target)
    except NotRetracedError as error:
        return skipped_attack(_NAME, str(error))
    gained = Gain(*found.hits(), found.by).of_people(1.0, np.zeros(2))
    return tuple(
        Score(_WORDS.format(of), share, {words: alone}, margin)
        for of, (share, margin), alone in zip(_FOUND, gained, without, strict=True)
    )


def _by_groups(target: AttackedRelease) -> tuple[str, tuple[float, float]]:
    """What is guessed, and believed, without the partition, by who knows everybody's group."""
    groups = homogeneity.beliefs(target)
    return _ALONE, (0.0, 0.0) if groups is None else (groups.hits(), groups.believed(SURE))


def _by_joining(target: AttackedRelease) -> tuple[str, tuple[float, float]]:
    """The same by who knows who can be in which group.

    Raises:
        NotRetracedError: where groups cover too many people to join them back.
    """
    try:
        joined = guessed_values(target)
    except InputError as error:
        raise NotRetracedError(str(error)) from None
    if joined is None:
        raise NotRetracedError(OTHERWISE)
    own, belief = joined
    sure = float((own * (belief >= SURE * ROUNDED)).sum() / own.sum())
    return _JOINED, (right_guesses(belief, own), sure)


def _of_tries(
    target: AttackedRelease, known: KnownTries, groups: OwnValueBeliefs
) -> tuple[Score, ...]:
    """Rule out the worlds of groups in which what was tried had kept the promises."""
    rows = int(known.sizes[known.told].sum())
    if known.together and rows * MOST > _ROWS:
        return skipped_attack(_NAME, _TOO_MANY)
    alone = np.array([groups.hits(), groups.believed(SURE)])
    gained = _gain(known, target.drawing(_NAME)).of_people(rows / len(known.codes), alone)
    return tuple(
        Score(_WORDS.format(words), share, {_ALONE: without}, margin)
        for words, (share, margin), without in zip(_FOUND, gained, alone.tolist(), strict=True)
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
    parts = (_weighed(known, part.tolist(), draw) for part in _in_parts(known))
    told = (one.beliefs() for part in parts for one in part)
    return join_beliefs([_without_tries(known), *told])


@dataclass(frozen=True, eq=False)
class Gain:
    """How many more are guessed, and as good as known, than by groups alone (float64, shares).

    Attributes:
        found: by the groups and worlds that were looked at.
        low: at least.
        high: at most.
        by: what was looked at; empty where that is everything.
    """

    found: np.ndarray
    low: np.ndarray
    high: np.ndarray
    by: str

    def of_people(self, share: float, alone: np.ndarray) -> Iterator[tuple[float, Margin | None]]:
        """The shares of everybody, and their margins, where the gain is that of some people."""
        told = [(alone + of * share).tolist() for of in (self.found, self.low, self.high)]
        for found, low, high in zip(*told, strict=True):
            margin = Margin(max(low, 0.0), min(high, 1.0), self.by) if self.by else None
            yield found, margin


def _gain(known: KnownTries, draw: np.random.Generator) -> Gain:
    """How many more are guessed in groups of which the tries tell something."""
    if not len(known.told):
        return Gain(np.zeros(2), np.zeros(2), np.zeros(2), by="")
    groups = _some(known, draw)
    weighed = list(_weighed(known, groups, draw))
    sampled = SampledGroups(known.sizes[groups], known.sizes[known.told])
    alone = np.array([_alone(known.codes[rows]) for rows in known.rows(groups)])
    found, low, high = (
        np.array(of) - alone
        for of in (
            [one.hits() for one in weighed],
            [one.hits_at_least() for one in weighed],
            [one.hits_at_most() for one in weighed],
        )
    )
    drawn = sum(one.error > 0 for one in weighed)
    return Gain(
        np.array([sampled.ratio(of) for of in found.T]),
        np.array([sampled.ratio(of) - sampled.error(of) for of in low.T]),
        np.array([sampled.ratio(of) + sampled.error(of) for of in high.T]),
        _looked_at(len(groups), len(known.told), drawn),
    )


def _looked_at(groups: int, of: int, drawn: int) -> str:
    """What of all was looked at, and how it bounds figures; empty where it was everything."""
    words = []
    if groups < of:
        words.append(f"Student's limits, {groups:,} of {of:,} groups")
    if drawn:
        words.append(f"Hoeffding's limits, {MOST} worlds of each of {drawn:,} groups")
    return " and ".join(words)


def _some(known: KnownTries, draw: np.random.Generator) -> list[int]:
    """As many of the groups, in a random order, as can be looked at."""
    order = draw.permutation(known.told)
    rows = np.cumsum(known.sizes[order]) * MOST
    enough = int(np.searchsorted(rows, _ROWS, side="right"))
    return [int(group) for group in order[: max(enough, 1)]]


def _weighed(
    known: KnownTries, groups: Sequence[int], draw: np.random.Generator
) -> Iterator[WeighedGroup]:
    """What is believed in the groups, each by itself."""
    rows = known.rows(groups)
    kinds = [known.kinds(of) for of in rows]
    worlds = [worlds_of(kind, known.codes[of], draw) for kind, of in zip(kinds, rows, strict=True)]
    kept = known.kept(rows, worlds)
    left = known.left[list(groups)].tolist()
    weights = weigh([of.weight for of in worlds], kept, left, known.together)
    is_open = _are_open(known, worlds, kept, left)
    for of, kind, world, weight, open_ in zip(rows, kinds, worlds, weights, is_open, strict=True):
        yield WeighedGroup.of(known.codes[of], kind, world, weight, len(groups), is_open=open_)


def _are_open(
    known: KnownTries, worlds: Sequence[Worlds], kept: Sequence[np.ndarray], left: Sequence[float]
) -> list[bool]:
    """Of which groups drawn worlds leave open what is believed.

    Those none of whose drawn worlds is possible; and all, where a try of all groups at once is
    weighed by worlds that were drawn.
    """
    drawn = [not of.are_all for of in worlds]
    if known.together:
        return [any(drawn)] * len(worlds)
    ruled_out = [bool(of.any(axis=1).all()) and not by for of, by in zip(kept, left, strict=True)]
    return [one and other for one, other in zip(drawn, ruled_out, strict=True)]


def _alone(codes: np.ndarray) -> np.ndarray:
    """How many of a group are guessed, and known, by who knows nothing but its values (float64)."""
    kind = np.zeros(len(codes), dtype=np.int64)
    one = Worlds(codes[np.newaxis], np.ones(1, dtype=np.int64))
    return WeighedGroup.of(codes, kind, one, np.ones(1)).hits()


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
