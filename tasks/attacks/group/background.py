"""Background knowledge: an attacker who can rule out some values for a person.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006), whose l values
withstand l - 2 that are ruled out. The worst case is taken: of each person those other values are
ruled out that most of the group have.
"""

from dataclasses import dataclass

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.attack import AttackedRelease, Score
from sfumato.tasks.attacks.beliefs import OwnValueBeliefs, top_in_group

_RULED_OUT = (1, 2)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Rule out one value for everybody, and two, and see who is left with one alone."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    alone = rule_out(counts, 0).believed(1.0)
    return tuple(
        Score(
            f"own value certain once {known} other{'s' if known > 1 else ''} can be ruled out",
            rule_out(counts, known).believed(1.0),
            {"from the group alone": alone},
        )
        for known in _RULED_OUT
    )


def beliefs(target: AttackedRelease, known: int) -> OwnValueBeliefs | None:
    """What is believed once so many values are ruled out; None where no values are shown."""
    counts = target.groups()
    return None if counts is None or not len(counts.sizes) else rule_out(counts, known)


def rule_out(counts: Counts, known: int) -> OwnValueBeliefs:
    """Beliefs in own values where the most frequent others of each person's group are ruled out.

    Args:
        counts: the values of each group.
        known: how many values are ruled out.
    """
    ranked = _ranked(counts)
    is_among = ranked.place < known
    others = np.where(is_among, ranked.sum_of(known + 1) - counts.count, ranked.sum_of(known))
    left = ranked.alike - np.clip(known - ranked.above, 0, ranked.alike)
    return OwnValueBeliefs(
        people=counts.count,
        belief=counts.count / (counts.sizes[counts.group] - others),
        guessed=np.where(ranked.above > known, 0.0, 1.0 / (1 + left)),
        alone=top_in_group(counts),
    )


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Where each entry of counts stands in its group, the most frequent value first.

    `place` among the values (from 0), `above` how many are more frequent, `alike` how many others
    are as frequent (int64, one per entry); `sums` of the first 0, 1, … entries in that order.
    """

    counts: Counts
    place: np.ndarray
    above: np.ndarray
    alike: np.ndarray
    sums: np.ndarray

    def sum_of(self, number: int) -> np.ndarray:
        """How many rows have one of the so many most frequent values of the group, per entry."""
        starts = self.counts.starts
        ends = np.minimum(starts + number, self.counts.ends)
        return np.asarray((self.sums[ends] - self.sums[starts])[self.counts.group])


def _ranked(counts: Counts) -> _Ranked:
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
    return _Ranked(counts, place, above, alike, np.concatenate([[0], np.cumsum(count)]))
