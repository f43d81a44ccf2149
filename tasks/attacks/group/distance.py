"""Distance: how far the values of people's groups are from those of all people.

Source: Li, Li, Venkatasubramanian, t-closeness (ICDE 2007): whoever finds a person's group learns
as much as the two distributions differ, and each value counts as much as another.
"""

from sfumato.expectations.measures.emd import equal_distance
from sfumato.tasks.attacks.attack import AttackedRelease, Score


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Measure the distance t of each person's group: its mean, and the largest."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    told = equal_distance(counts, counts.sizes)
    distance = (told.numerators / told.denominators).astype(float)
    mean = float((distance * counts.sizes).sum() / counts.sizes.sum())
    return (
        Score("distance t of the own group from all people, on average", mean),
        Score("distance t of the group that is farthest from all people", float(distance.max())),
    )
