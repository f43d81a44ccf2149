"""Minimality attack: finer groups were not published because they broke a promise.

A *try* is a division of groups into finer ones that the partition considered. A *world* of a group
is one way in which its people can have its values (see `worlds`). The attacker knows the partition
and everyone's quasi-identifiers, and so the tries. A try that had kept the promises would have been
published, so the worlds in which it keeps them are ruled out.

If the tries are unknown, the partition is run again on worlds instead (see `retraced`).

Source: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing (VLDB 2007).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Protocol

import numpy as np

from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.expectations.shared.errors import InputError
from sfumato.expectations.shared.sorting import starts
from sfumato.tasks.attacks.group import homogeneity
from sfumato.tasks.attacks.linking.join_back import guessed_values
from sfumato.tasks.attacks.minimal.known import KnownTries, known_tries
from sfumato.tasks.attacks.minimal.rerun import OTHERWISE, NotRetracedError
from sfumato.tasks.attacks.minimal.retraced import retrace
from sfumato.tasks.attacks.minimal.worlds import MOST, ROUNDED, WeighedGroup, Worlds, worlds_of
from sfumato.tasks.attacks.shared.attack import (
    SURE,
    AttackedRelease,
    Score,
    right_guesses,
    skipped_attack,
)
from sfumato.tasks.attacks.shared.beliefs import LimitedFigures, OwnValueBeliefs, join_beliefs
from sfumato.tasks.attacks.shared.margins import Margin, SampledGroups

_ROWS = 2_000_000  # most rows, over all worlds of the groups of a sample
_ROWS_JUDGED = 100_000_000  # most rows, over all worlds of all groups, to judge a bar
_JOINED = "by who joins people back"
_WORDS = "own value {} by who knows what else was tried"
_FOUND = "guessed", f"believed with {SURE:.0%} or more"  # the two scores, in this order everywhere
_TOO_MANY = "one node of the lattice has too many rows to weigh all their possible worlds together"


def weigh(
    weights: Sequence[np.ndarray],
    keeps: Sequence[np.ndarray],
    chances: Sequence[float],
    together: bool,
) -> list[np.ndarray]:
    """Return the weight of each world of each group, given the tries.

    Args:
        weights: the weights of the worlds of each group, before (int64, one per world).
        keeps: whether tries keep the promises in the worlds of each group (bool, worlds x tries).
        chances: the chance that each group was left by chance, and not tried.
        together: whether a try is of all groups at once, and breaks a promise in at least one of
            them; otherwise it breaks a promise in each group.

    Returns:
        The weights of the worlds of each group (float64, one per world); unchanged if no world of
        the group would remain.
    """
    if not together:
        groups = zip(weights, keeps, chances, strict=True)
        weighed = [w * np.where(tries.any(axis=1), chance, 1.0) for w, tries, chance in groups]
    else:
        weighed = _weigh_together(weights, keeps)
    return [
        np.asarray(new if new.sum() > 0 else old, dtype=np.float64)
        for old, new in zip(weights, weighed, strict=True)
    ]


def _weigh_together(weights: Sequence[np.ndarray], keeps: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Weigh worlds by inclusion and exclusion over the tries that would be kept in all groups.

    Arguments are those of `weigh`. The weight of a world is multiplied by the probability that each
    try breaks a promise in some group, given the world.
    """
    weighed = [w.astype(np.float64) for w in weights]
    tries = keeps[0].shape[1] if keeps else 0
    for some in chain.from_iterable(combinations(range(tries), n + 1) for n in range(tries)):
        # worlds of each group in which all of these tries keep the promises, and their share
        here = [group_keeps[:, some].all(axis=1) for group_keeps in keeps]
        share = np.array(
            [(w * mask).sum() / w.sum() for w, mask in zip(weights, here, strict=True)]
        )
        sign = (-1) ** len(some)
        # `elsewhere` is the probability that these tries keep the promises in all other groups
        for number, elsewhere in enumerate(_without_each(share)):
            weighed[number] += sign * elsewhere * weights[number] * here[number]
    return [np.maximum(weight, 0.0) for weight in weighed]


def _without_each(share: np.ndarray) -> np.ndarray:
    """Return, for each share, the product of all other shares (float64)."""
    before = np.cumprod(np.append(1.0, share[:-1]))
    after = np.cumprod(np.append(1.0, share[:0:-1]))[::-1]
    return np.asarray(before * after)


_NAME, _ALONE = "minimality", "from the group alone"


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Rule out worlds and guess each person's likeliest value in the remaining ones.

    A sample of the groups is used if there are many, and a sample of worlds in large groups, with a
    margin.
    """
    if target.declared.form.shows == "subdomains":
        return _of_subdomains(target).attack(target)
    groups = homogeneity.beliefs(target)
    if groups is None:
        return ()
    tries = known_tries(target)
    return _score_rerun(target) if tries is None else _score_tries(target, tries, groups)


class _OfSubdomains(Protocol):
    """Module of an attack on subdomains."""

    def attack(self, target: AttackedRelease) -> tuple[Score, ...]:
        """Return the scores of the attack."""
        ...

    def figures(self, target: AttackedRelease) -> LimitedFigures | None:
        """Return the figures that bars limit; None if they cannot be computed."""
        ...


def _of_subdomains(target: AttackedRelease) -> _OfSubdomains:
    """Return the attack on subdomains: on targets of groups' own, too, if there are any."""
    from sfumato.tasks.attacks.minimal import chosen_targets, least_ranges

    own = any(isinstance(p, PPrivacy) and p.of_groups for p in target.declared.promises)
    return chosen_targets if own else least_ranges


def _score_rerun(target: AttackedRelease) -> tuple[Score, ...]:
    """Score by running the partition on all worlds, or on some, if its tries are unknown."""
    try:
        rerun = retrace(target)
        words, without = _by_groups(target) if rerun.are_known else _by_joining(target)
    except NotRetracedError as error:
        return skipped_attack(_NAME, str(error))
    gained = Gain(*rerun.hits(), rerun.method).of_people(1.0, np.zeros(2))
    return tuple(
        Score(_WORDS.format(word), share, {words: alone}, margin)
        for word, (share, margin), alone in zip(_FOUND, gained, without, strict=True)
    )


def _by_groups(target: AttackedRelease) -> tuple[str, tuple[float, float]]:
    """Return the name and shares (guessed, believed) of an attacker who knows only groups."""
    groups = homogeneity.beliefs(target)
    return _ALONE, (0.0, 0.0) if groups is None else (groups.hits(), groups.share_above(SURE))


def _by_joining(target: AttackedRelease) -> tuple[str, tuple[float, float]]:
    """Return the name and shares of an attacker who knows which groups can contain each person.

    Raises:
        NotRetracedError: groups cover too many people to join them back.
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


def _score_tries(
    target: AttackedRelease, tries: KnownTries, groups: OwnValueBeliefs
) -> tuple[Score, ...]:
    """Score by ruling out the worlds of groups in which a try would have kept the promises."""
    rows = int(tries.sizes[tries.informative_groups].sum())
    if tries.together and rows * MOST > _ROWS:
        return skipped_attack(_NAME, _TOO_MANY)
    alone = np.array([groups.hits(), groups.share_above(SURE)])
    gained = _gain(tries, target.drawing(_NAME)).of_people(rows / len(tries.codes), alone)
    return tuple(
        Score(_WORDS.format(words), share, {_ALONE: without}, margin)
        for words, (share, margin), without in zip(_FOUND, gained, alone.tolist(), strict=True)
    )


def figures(target: AttackedRelease) -> LimitedFigures | None:
    """Return the figures that bars limit; None if they cannot be computed."""
    if target.declared.form.shows == "subdomains":
        return _of_subdomains(target).figures(target)
    return beliefs(target)


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """Return the beliefs about everyone; None if tries are unknown or there are too many rows."""
    tries = known_tries(target)
    if tries is None:
        return None
    rows = int(tries.sizes[tries.informative_groups].sum()) * MOST
    if rows > (_ROWS if tries.together else _ROWS_JUDGED):
        return None
    draw = target.drawing(_NAME)
    parts = (_weigh_groups(tries, part.tolist(), draw) for part in _groups_in_parts(tries))
    by_group = (group.beliefs() for part in parts for group in part)
    return join_beliefs([_beliefs_without_tries(tries), *by_group])


@dataclass(frozen=True, eq=False)
class Gain:
    """Gain of an attacker over one who knows only the group's values.

    Each array has two shares of people (float64): how many more are guessed, and how many more are
    believed with `SURE` or more.

    Attributes:
        estimate: the gain in the sample of groups and worlds.
        low: the lower limit of the gain.
        high: the upper limit of the gain.
        method: the sample and its limits, in words; empty if all groups and worlds were used.
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    method: str

    def of_people(self, share: float, alone: np.ndarray) -> Iterator[tuple[float, Margin | None]]:
        """Yield the two shares of all people, each with its margin (None without a sample).

        Args:
            share: the share of people whose group the gain is about.
            alone: the two shares without the attacker's further knowledge (float64).
        """
        shares = [(alone + gain * share).tolist() for gain in (self.estimate, self.low, self.high)]
        for estimate, low, high in zip(*shares, strict=True):
            margin = Margin(max(low, 0.0), min(high, 1.0), self.method) if self.method else None
            yield estimate, margin


def _gain(tries: KnownTries, draw: np.random.Generator) -> Gain:
    """Measure the gain in groups about which the tries are informative."""
    if not len(tries.informative_groups):
        return Gain(np.zeros(2), np.zeros(2), np.zeros(2), method="")
    groups = _sample_groups(tries, draw)
    weighed = list(_weigh_groups(tries, groups, draw))
    sampled = SampledGroups(tries.sizes[groups], tries.sizes[tries.informative_groups])
    alone = np.array([_hits_by_values(tries.codes[rows]) for rows in tries.rows(groups)])
    estimate, low, high = (
        np.array(hits) - alone
        for hits in (
            [group.hits() for group in weighed],
            [group.hits_at_least() for group in weighed],
            [group.hits_at_most() for group in weighed],
        )
    )
    drawn_groups = sum(group.error > 0 for group in weighed)
    return Gain(
        np.array([sampled.ratio(counts) for counts in estimate.T]),
        np.array([sampled.ratio(counts) - sampled.error(counts) for counts in low.T]),
        np.array([sampled.ratio(counts) + sampled.error(counts) for counts in high.T]),
        _describe_sample(len(groups), len(tries.informative_groups), drawn_groups),
    )


def _describe_sample(groups: int, all_groups: int, drawn_groups: int) -> str:
    """Describe the sample and its limits; empty if everything was looked at."""
    words = []
    if groups < all_groups:
        words.append(f"Student's limits, {groups:,} of {all_groups:,} groups")
    if drawn_groups:
        words.append(f"Hoeffding's limits, {MOST} worlds of each of {drawn_groups:,} groups")
    return " and ".join(words)


def _sample_groups(tries: KnownTries, draw: np.random.Generator) -> list[int]:
    """Return as many informative groups, in a random order, as `_ROWS` allows; one at least."""
    order = draw.permutation(tries.informative_groups)
    rows = np.cumsum(tries.sizes[order]) * MOST
    enough = int(np.searchsorted(rows, _ROWS, side="right"))
    return [int(group) for group in order[: max(enough, 1)]]


def _weigh_groups(
    tries: KnownTries, groups: Sequence[int], draw: np.random.Generator
) -> Iterator[WeighedGroup]:
    """Yield the beliefs in each of the groups."""
    rows = tries.rows(groups)
    kinds = [tries.kinds(members) for members in rows]
    worlds = [
        worlds_of(kind, tries.codes[members], draw)
        for kind, members in zip(kinds, rows, strict=True)
    ]
    keeps = tries.promises_kept(rows, worlds)
    chances = tries.left[list(groups)].tolist()
    weights = weigh(
        [group_worlds.weight for group_worlds in worlds], keeps, chances, tries.together
    )
    is_open = _are_open(tries, worlds, keeps, chances)
    groups_of_rows = zip(rows, kinds, worlds, weights, is_open, strict=True)
    for members, kind, world, weight, open_ in groups_of_rows:
        yield WeighedGroup.from_worlds(
            tries.codes[members], kind, world, weight, len(groups), is_open=open_
        )


def _are_open(
    tries: KnownTries,
    worlds: Sequence[Worlds],
    keeps: Sequence[np.ndarray],
    chances: Sequence[float],
) -> list[bool]:
    """Decide for which groups drawn worlds leave the beliefs open.

    These are groups whose drawn worlds are all ruled out. If tries are of all groups at once, and
    the worlds of some group are drawn, they are all groups.
    """
    are_drawn = [not group_worlds.are_all for group_worlds in worlds]
    if tries.together:
        return [any(are_drawn)] * len(worlds)
    ruled_out = [
        bool(group_keeps.any(axis=1).all()) and not chance
        for group_keeps, chance in zip(keeps, chances, strict=True)
    ]
    return [is_drawn and other for is_drawn, other in zip(are_drawn, ruled_out, strict=True)]


def _hits_by_values(codes: np.ndarray) -> np.ndarray:
    """Return how many people of a group are guessed, and believed, from its values (float64)."""
    kind = np.zeros(len(codes), dtype=np.int64)
    world = Worlds(codes[np.newaxis], np.ones(1, dtype=np.int64))
    return WeighedGroup.from_worlds(codes, kind, world, np.ones(1)).hits()


def _beliefs_without_tries(tries: KnownTries) -> OwnValueBeliefs:
    """Return the beliefs in groups about which the tries are not informative."""
    values = int(tries.codes.max()) + 1
    place, people = np.unique(tries.group * values + tries.codes, return_counts=True)
    group = place // values
    largest = np.maximum.reduceat(people, starts(group))[group]
    top = people == largest
    guessed = top / np.add.reduceat(top, starts(group), dtype=np.int64)[group]
    open_ = np.isin(group, tries.informative_groups, invert=True)
    belief = people / tries.sizes[group]
    return OwnValueBeliefs(*(array[open_] for array in (people, belief, guessed, guessed)))


def _groups_in_parts(tries: KnownTries) -> list[np.ndarray]:
    """Return the informative groups of the tries, in parts that fit in memory."""
    if not len(tries.informative_groups):
        return []
    if tries.together:
        return [tries.informative_groups]
    part = np.cumsum(tries.sizes[tries.informative_groups]) * MOST // _ROWS
    return np.split(tries.informative_groups, starts(part)[1:])
