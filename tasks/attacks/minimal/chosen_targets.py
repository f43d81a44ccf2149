"""Chosen-targets attack: a target of a group's own is a function of the group's values.

A group whose values keep the promises has their distribution as its target, any other group the
nearest one that keeps them, or that of the least sum of ranges (see
`tasks.partitions.distribution.own_targets`). The attacker knows this rule, the values of all rows
together, and that before the release each value is as likely as any other. All multisets of values
that can be behind a group's subdomains are enumerated; those that would have had another target, or
other subdomains, are ruled out (minimality: Wong, Fu, Wang, Pei, VLDB 2007). If few enough remain,
their mean is the attacker's belief, and the promises are judged again by it.

To choose a target takes long. So a multiset is first compared by the targets that are known to keep
the promises: those of the release, those a step from the published one, and those that were chosen
for other multisets. It is ruled out if the rule prefers one of them to the published target.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import factorial, gcd, lcm, prod

import numpy as np

from sfumato.expectations.groups.groups import Target
from sfumato.expectations.groups.subdomains import Multiset, leaves, probabilities
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.models.p_privacy import PPrivacy
from sfumato.tasks.attacks.group.subdomains import are_few, beliefs_of_groups, beliefs_of_people
from sfumato.tasks.attacks.minimal.least_ranges import (
    ALONE,
    FOUND,
    NAME,
    TOO_MANY,
    NotEnumeratedError,
    multisets_behind,
    multisets_shown,
    own_value_beliefs,
    shares_believed,
    with_subdomains,
)
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Proportion, Score, skipped_attack
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs
from sfumato.tasks.forms.redistributed import range_tree
from sfumato.tasks.forms.redistributed_parameters import RedistributedParameters
from sfumato.tasks.forms.targets import ShownGroups, shown_groups
from sfumato.tasks.partitions.distribution.choices import (
    BESIDE_ALL,
    LeastChoice,
    NearestChoice,
    at_smaller_limits,
    targets_that_keep,
)
from sfumato.tasks.partitions.targets.least import RangeTree
from sfumato.tasks.schema.stated import KeptBar

_MULTISETS = 20_000  # behind the subdomains of a group, at most
_OPEN = 64  # multisets of a group for which targets are chosen, at most
_CHOICES = 400  # of all groups of four values with a denominator of 16, at most; else fewer
_SMALL = 4 * 16**2  # values and pairs of weights of these
_WORDS = "own value {} by who knows how targets are chosen"
_FAILING = "groups in which a promise fails by who knows how targets are chosen"
_ENUMERATED = "groups with few enough possible values to enumerate"
_CHANCES = 1 << 40  # parts of a chance
Shares = list[Fraction]


@dataclass(frozen=True, eq=False)
class TargetRule:
    """The rule by which groups get targets of their own; values are in the order of the domain.

    Attributes:
        promises: those that targets have to keep, at the limits that groups were held to.
        denominator: the sum of a target's weights, or the largest one.
        tree: the tree of subdomains.
        totals: how often all rows have each value (int64).
        is_least: whether the target with the least sum of ranges is chosen.
    """

    promises: Sequence[PrivacyModel]
    denominator: int
    tree: RangeTree
    totals: np.ndarray
    is_least: bool

    def keep(self, weights: np.ndarray) -> np.ndarray:
        """Mark the distributions that keep the promises (bool), by their weights (int64)."""
        return targets_that_keep(self.promises, weights, self.totals)

    def can_choose(self, weights: np.ndarray) -> bool:
        """Return True if a target may be chosen for other values than its own."""
        total = int(weights.sum())
        return total <= self.denominator and (self.is_least or self.denominator % total == 0)

    def neighbours(self, weights: np.ndarray) -> np.ndarray:
        """Return targets that keep the promises, a step from a target (int64, targets x values).

        Each has one part more of one value, and one part less of another.
        """
        total = int(weights.sum())
        scaled = weights * (self.denominator // total)
        more = np.eye(len(weights), dtype=np.int64)
        near = (scaled + more[:, None] - more).reshape(-1, len(weights))
        near = near[(near >= 0).all(axis=1)]
        able: np.ndarray = near[self.keep(near)]
        return able

    def choose(self, own: np.ndarray) -> np.ndarray:
        """Return the reduced weights of the target for values that break a promise (int64)."""
        weights = self._solve(own)
        return np.zeros_like(own) if weights is None else weights // max(gcd(*weights.tolist()), 1)

    @cached_property
    def _solve(self) -> Callable[[np.ndarray], np.ndarray | None]:
        kind = LeastChoice(self.denominator, self.tree) if self.is_least else None
        choice = kind or NearestChoice(self.denominator)
        if type(self.promises[0]) in BESIDE_ALL:
            return choice.beside_all(self.promises[0], self.totals)
        return choice.by_ranks(self.promises, self.totals)

    def prefers(self, weights: np.ndarray, other: np.ndarray, multisets: np.ndarray) -> np.ndarray:
        """Mark the multisets for which a target is surely preferred to another one (bool).

        Args:
            weights: of a target that keeps the promises.
            other: of another one.
            multisets: int64, ways x values.
        """
        better = np.zeros(len(multisets), dtype=bool)
        undecided = np.ones(len(multisets), dtype=bool)
        if self.is_least:
            costs = [self.tree.sums_of_ranges(multisets, w) for w in (weights, other)]
            better, undecided = costs[0] < costs[1], costs[0] == costs[1]
        here = _distances(weights, multisets) * int(other.sum())
        there = _distances(other, multisets) * int(weights.sum())
        return np.asarray(better | (undecided & (here < there)))


def _distances(weights: np.ndarray, multisets: np.ndarray) -> np.ndarray:
    """Return the total variation of each multiset from a target (int64).

    It is a share of twice the number of values times the sum of the weights.
    """
    rows = multisets.sum(axis=1, keepdims=True)
    return np.asarray(np.abs(int(weights.sum()) * multisets - rows * weights).sum(axis=1))


@dataclass(eq=False)
class Inversion:
    """The rule, inverted for one group after another.

    Attributes:
        rule: the rule.
        pool: the targets that are known to keep the promises, and may be chosen.
        choices_left: how many more targets may be chosen for multisets.
    """

    rule: TargetRule
    pool: list[np.ndarray]
    choices_left: int
    _chosen: dict[bytes, np.ndarray] = field(default_factory=dict)

    def shares(self, target: Target, multiset: Multiset) -> Shares:
        """Return the chance of each value for a person of a group.

        Raises:
            NotEnumeratedError: too many values can be behind the subdomains, or none.
        """
        ways = self._possible(target, multiset)
        if not len(ways):
            raise NotEnumeratedError("the rule explains no values behind these subdomains")
        rows = int(ways[0].sum())
        weight = [factorial(rows) // prod(map(factorial, way)) for way in ways.tolist()]
        total = sum(weight) * rows
        sums = (
            sum(w * n for w, n in zip(weight, numbers, strict=True)) for numbers in ways.T.tolist()
        )
        return [Fraction(part, total) for part in sums]

    def _possible(self, target: Target, multiset: Multiset) -> np.ndarray:
        """Return the multisets of values with this target and these subdomains (ways x values)."""
        weights = _weights_of(target)
        every = multisets_behind(target, multiset, _MULTISETS, also_impossible=True)
        ways = with_subdomains(target, multiset, every)
        rows = ways.sum(axis=1, keepdims=True)
        is_own = (ways * int(weights.sum()) == rows * weights).all(axis=1)
        open_ = ~is_own & ~self.rule.keep(ways) & self.rule.can_choose(weights)
        for able in [*self.pool, *self.rule.neighbours(weights)]:
            if open_.any():
                open_[open_] = ~self.rule.prefers(able, weights, ways[open_])
        if np.count_nonzero(open_) > _OPEN:
            raise NotEnumeratedError("targets of too many possible values have to be found")
        for place in np.flatnonzero(open_).tolist():
            if open_[place]:
                chosen = self._choose(ways[place])
                if (chosen != weights).any():
                    open_[open_] = ~self.rule.prefers(chosen, weights, ways[open_])
                    open_[place] = False
        possible: np.ndarray = ways[is_own | open_]
        return possible

    def _choose(self, own: np.ndarray) -> np.ndarray:
        content = own.tobytes()
        if content not in self._chosen:
            if not self.choices_left:
                raise NotEnumeratedError("targets of too many possible values have to be found")
            self.choices_left -= 1
            self._chosen[content] = self.rule.choose(own)
            self.pool.append(self._chosen[content])
        return self._chosen[content]


def invert(rule: TargetRule, weights: Sequence[np.ndarray], choices: int) -> Inversion:
    """Return the inversion of a rule.

    Args:
        rule: the rule.
        weights: targets that keep the promises (int64, one per value each).
        choices: how many targets may be chosen for multisets.
    """
    return Inversion(rule, [w for w in weights if rule.can_choose(w)], choices)


def _weights_of(target: Target) -> np.ndarray:
    """Return a target's weights without a common divisor, in the order of the domain (int64)."""
    chance = probabilities(target)
    shares = [chance[leaf] for leaf in leaves(target)]
    unit = lcm(*(share.denominator for share in shares))
    return np.array([int(share * unit) for share in shares], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Learned:
    """The beliefs of an attacker who knows the rule.

    Attributes:
        seen: the groups.
        belief: about each person of a group (float64, groups x values); from the subdomains alone
            where values were not enumerated.
        enumerated: whether the values of each group were enumerated (bool).
        fails: whether a promise fails by the belief (bool, one per group).
    """

    seen: ShownGroups
    belief: np.ndarray
    enumerated: np.ndarray
    fails: np.ndarray


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess each person's likeliest value, and count the groups in which a promise fails."""
    learned = _learn_once(target)
    if learned is None or not learned.enumerated.any():
        return skipped_attack(NAME, TOO_MANY)
    seen = learned.seen
    own, *by_attacker = beliefs_of_people(
        target, seen, [learned.belief, beliefs_of_groups(seen)[0]]
    )
    scores = [
        Score(_WORDS.format(words), share, {ALONE: alone})
        for words, (share, alone) in zip(FOUND, shares_believed(own, by_attacker), strict=True)
    ]
    tally = Proportion(int(learned.fails.sum()), int(learned.enumerated.sum()))
    enumerated = {_ENUMERATED: float(learned.enumerated.mean())}
    return (*scores, Score(_FAILING, tally.number / tally.all_, enumerated, tally=tally))


@dataclass(frozen=True, eq=False)
class LearnedFigures:
    """The figures of the attack that bars limit.

    Attributes:
        number: the number of people.
        beliefs: the beliefs about everyone, None unless the values of all groups were enumerated.
        failing: the share of groups in which a promise fails, or whose values were not enumerated.
    """

    number: int
    beliefs: OwnValueBeliefs | None
    failing: float

    def figure_for(self, limit: KeptBar) -> float | None:
        """See `LimitedFigures`."""
        if limit.limit == "max-share":
            return self.failing
        return None if self.beliefs is None else self.beliefs.figure_for(limit)


def figures(target: AttackedRelease) -> LearnedFigures | None:
    """Return the figures that bars limit; None if some values are made up, or groups are large."""
    learned = _learn_once(target)
    if learned is None:
        return None
    whole = learned.enumerated.all()
    everyone = own_value_beliefs(target, learned.seen, learned.belief) if whole else None
    failing = float((learned.fails | ~learned.enumerated).mean())
    return LearnedFigures(target.people.rows, everyone, failing)


def _learn_once(target: AttackedRelease) -> _Learned | None:
    """Return what is learned, None if there are made-up values or too many people; once."""
    if NAME not in target.learned:
        target.learned[NAME] = None if target.declared.rows.fakes else _learn(target)
    learned: _Learned | None = target.learned[NAME]
    return learned


def _learn(target: AttackedRelease) -> _Learned | None:
    seen, form = shown_groups(target.tables, target.declared.columns), target.declared.form
    if not are_few(target, seen) or not isinstance(form, RedistributedParameters):
        return None
    weights = [_weights_of(t) for t in seen.subdomains.targets]
    rule = _rule_of(target, form, weights)
    work = len(rule.totals) * rule.denominator**2
    inversion = invert(rule, weights, max(_CHOICES * _SMALL // work, 1))
    belief, groups = beliefs_of_groups(seen)[0].copy(), len(seen.sizes)
    enumerated, fails = np.zeros(groups, dtype=bool), np.zeros(groups, dtype=bool)
    limits = [p for p in target.declared.promises if not isinstance(p, PPrivacy)]
    for group, multiset in enumerate(multisets_shown(seen)):
        try:
            shares = inversion.shares(
                seen.subdomains.targets[seen.subdomains.target[group]], multiset
            )
        except NotEnumeratedError:
            continue
        belief[group], enumerated[group] = [float(share) for share in shares], True
        parts = np.array([[-int(-share * _CHANCES // 1) for share in shares]], dtype=np.int64)
        fails[group] = not targets_that_keep(limits, parts, rule.totals)[0]
    return _Learned(seen, belief, enumerated, fails)


def _rule_of(
    target: AttackedRelease,
    form: RedistributedParameters,
    weights: Sequence[np.ndarray],
) -> TargetRule:
    """Return the rule of a release: its promises at the largest limits that its targets keep."""
    column = target.people[target.sensitive]
    tree = range_tree(column, form)
    totals = np.bincount(column.codes, minlength=len(column.values))[tree.order]
    promises: list[PrivacyModel] = []
    is_least = False
    for promise in target.declared.promises:
        if isinstance(promise, PPrivacy):
            is_least = promise.with_least_ranges
        else:
            promises.append(promise)
    if type(promises[0]) in BESIDE_ALL:
        promises = [_held_to(promises[0], weights, totals)]
    in_order = RangeTree(tree.tree, tree.lengths, np.arange(len(totals)))
    return TargetRule(promises, int(form.largest or 1), in_order, totals, is_least)


def _held_to(
    promise: PrivacyModel, weights: Sequence[np.ndarray], totals: np.ndarray
) -> PrivacyModel:
    """Return the promise with the smallest limit that groups may have been held to."""
    closest = promise
    for held_to in at_smaller_limits(promise):
        if not all(targets_that_keep([held_to], w[None], totals)[0] for w in weights):
            break
        closest = held_to
    return closest
