"""Background knowledge: an attacker who can rule out some values for a person.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006), whose l values
withstand l - 2 values being ruled out. The worst case is taken: for each person the most frequent
other values of the group are ruled out.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs, top_in_group

_RULED_OUT = (1, 2)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Rule out one value for everyone, then two, and count people with one possible value."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    alone = share_certain(counts, 0)
    return tuple(
        Score(
            f"own value certain once {number} other{'s' if number > 1 else ''} can be ruled out",
            share_certain(counts, number),
            {"from the group alone": alone},
        )
        for number in _RULED_OUT
    )


def share_certain(counts: Counts, ruled_out: int) -> float:
    """Return the share of people whose own value is certain once others are ruled out.

    It is that of `rule_out` with a belief of 1: these are the people of groups that have at most
    so many other values.
    """
    is_certain = counts.distinct <= ruled_out + 1
    return int(counts.sizes[is_certain].sum()) / int(counts.sizes.sum())


def beliefs(target: AttackedRelease, ruled_out: int) -> OwnValueBeliefs | None:
    """Return the beliefs once some values are ruled out, or None if no values are shown."""
    counts = target.groups()
    return None if counts is None or not len(counts.sizes) else rule_out(counts, ruled_out)


def rule_out(counts: Counts, ruled_out: int) -> OwnValueBeliefs:
    """Return the beliefs in own values once the group's most frequent others are ruled out.

    Args:
        counts: the values of each group.
        ruled_out: the number of values that are ruled out.
    """
    ranked = _rank(counts)
    is_among = ranked.place < ruled_out
    others = np.where(
        is_among, ranked.sum_of(ruled_out + 1) - counts.count, ranked.sum_of(ruled_out)
    )
    ties = ranked.alike - np.clip(ruled_out - ranked.above, 0, ranked.alike)
    return OwnValueBeliefs(
        people=counts.count,
        belief=counts.count / (counts.sizes[counts.group] - others),
        guessed=np.where(ranked.above > ruled_out, 0.0, 1.0 / (1 + ties)),
        alone=top_in_group(counts),
    )


@dataclass(frozen=True, eq=False)
class _Ranking:
    """Rank of each entry of counts in its group, the most frequent value first.

    `place` is the rank among the values (from 0), `above` the number of more frequent values and
    `alike` the number of other values as frequent (int64, one per entry). `sums` are the counts of
    the first 0, 1, … entries in that order, added up.
    """

    counts: Counts
    place: np.ndarray
    above: np.ndarray
    alike: np.ndarray
    sums: np.ndarray

    def sum_of(self, number: int) -> np.ndarray:
        """Return, per entry, the rows with the group's `number` most frequent values."""
        starts = self.counts.starts
        ends = np.minimum(starts + number, self.counts.ends)
        return np.asarray((self.sums[ends] - self.sums[starts])[self.counts.group])


def _rank(counts: Counts) -> _Ranking:
    order = np.lexsort((-counts.count, counts.group))
    group, count = counts.group[order], counts.count[order]
    run = np.flatnonzero(np.append(True, (np.diff(group) != 0) | (np.diff(count) != 0)))
    of_run = np.repeat(run, np.diff(np.append(run, len(order))))
    length = np.repeat(np.diff(np.append(run, len(order))), np.diff(np.append(run, len(order))))
    place, above, alike = (np.empty(len(order), dtype=np.int64) for _ in range(3))
    begins = counts.starts[group]
    place[order] = np.arange(len(order)) - begins
    above[order] = of_run - begins
    alike[order] = length - 1
    return _Ranking(counts, place, above, alike, np.concatenate([[0], np.cumsum(count)]))
