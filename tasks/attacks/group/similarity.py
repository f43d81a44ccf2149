"""Similarity: values that differ, and mean nearly the same.

Source: Li, Li, Venkatasubramanian, t-closeness (ICDE 2007), §3.2: who learns that each value of a
group is one of the stomach has learned of the stomach. Values are alike that have one node of the
column's hierarchy above them.
"""

from dataclasses import replace

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.sorting import starts
from sfumato.tasks.attacks.attack import AttackedRelease, Score, best_in_group, most_frequent
from sfumato.tasks.attacks.beliefs import TrueBeliefs


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess what kind of value a person has, at each level of the hierarchy below its root."""
    counts = target.groups()
    if counts is None or counts.ancestors is None or not len(counts.sizes):
        return ()
    return tuple(
        score
        for level in range(1, len(counts.ancestors) - 1)
        for score in _of_kinds(at_level(counts, level), level)
    )


def beliefs(target: AttackedRelease, level: int) -> TrueBeliefs | None:
    """What is believed of the kind of everybody's value; None where there are no such kinds."""
    counts = target.groups()
    if counts is None or counts.ancestors is None or level >= len(counts.ancestors) - 1:
        return None
    kinds = at_level(counts, level)
    return TrueBeliefs(kinds.count, kinds.count / kinds.sizes[kinds.group])


def at_level(counts: Counts, level: int) -> Counts:
    """The counts of the nodes above the values.

    Args:
        counts: of values that have a hierarchy.
        level: of the nodes, from the values themselves (0) to the root.

    Raises:
        ValueError: where there is no hierarchy.
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


def _of_kinds(kinds: Counts, level: int) -> tuple[Score, Score]:
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
