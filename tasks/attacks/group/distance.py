"""Distance attack: the distance between the values of people's groups and those of all people.

Source: Li, Li, Venkatasubramanian, t-closeness (ICDE 2007): an attacker who finds a person's group
learns as much as the two distributions differ. All pairs of values are equally far apart.
"""

from sfumato.expectations.measures.emd import equal_distance
from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Measure the distance t of each person's group from all people: the mean and the largest."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    fractions = equal_distance(counts, counts.sizes)
    distance = (fractions.numerators / fractions.denominators).astype(float)
    mean = float((distance * counts.sizes).sum() / counts.sizes.sum())
    return (
        Score("distance t of the own group from all people, on average", mean),
        Score("distance t of the group that is farthest from all people", float(distance.max())),
    )
