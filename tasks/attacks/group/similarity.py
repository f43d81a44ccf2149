"""Similarity attack: values that differ but mean nearly the same.

Source: Li, Li, Venkatasubramanian, t-closeness (ICDE 2007), §3.2: an attacker who learns that all
values of a group are diseases of the stomach has learned that it is the stomach. Values are of one
kind if the column's hierarchy has one node above them.
"""

from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.sorting import starts
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score, best_in_group, most_frequent
from sfumato.tasks.attacks.shared.beliefs import TrueBeliefs


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess the kind of each person's value, at each level of the hierarchy below its root."""
    counts = target.groups()
    if counts is None or counts.ancestors is None or not len(counts.sizes):
        return ()
    return tuple(
        score
        for level in range(1, len(counts.ancestors) - 1)
        for score in _scores_of_kinds(at_level(counts, level), level)
    )


def beliefs(target: AttackedRelease, level: int) -> TrueBeliefs | None:
    """Return the beliefs in the kind of each person's value, or None if the level has no kinds."""
    counts = target.groups()
    if counts is None or counts.ancestors is None or level >= len(counts.ancestors) - 1:
        return None
    kinds = at_level(counts, level)
    return TrueBeliefs(kinds.count, kinds.count / kinds.sizes[kinds.group])


def at_level(counts: Counts, level: int) -> Counts:
    """Return the counts of the nodes above the values.

    Args:
        counts: the counts of values that have a hierarchy.
        level: the level of the nodes, from the values themselves (0) to the root.

    Raises:
        ValueError: the values have no hierarchy.
    """
    if counts.ancestors is None:
        raise ValueError("the values have no hierarchy")
    above = np.asarray(counts.ancestors[level])
    nodes = int(above.max(initial=-1)) + 1
    place = counts.group * nodes + above[counts.value]
    order = np.argsort(place, kind="stable")
    first = starts(place[order])
    group, value = np.divmod(place[order][first], max(nodes, 1))
    count = np.add.reduceat(counts.count[order], first)
    return replace(
        counts,
        group=group,
        value=value,
        count=count,
        values=nodes,
        numbers=None,
        labels=None,
        ancestors=None,
    )


def _scores_of_kinds(kinds: Counts, level: int) -> tuple[Score, Score]:
    alike = int(kinds.sizes[kinds.largest == kinds.sizes].sum())
    return (
        Score(
            f"kind of the own value (level {level}) guessed from the group alone",
            best_in_group(kinds),
            {"without the release": most_frequent(kinds)},
        ),
        Score(
            f"in a group in which all values are of one kind (level {level})",
            alike / int(kinds.sizes.sum()),
        ),
    )
