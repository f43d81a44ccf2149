"""Homogeneity: groups in which all rows, or nearly all, have one value.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006).
"""

from fractions import Fraction

from sfumato.tasks.attacks.shared.attack import AttackedRelease, Score, best_in_group, most_frequent
from sfumato.tasks.attacks.shared.beliefs import OwnValueBeliefs, top_in_group

_SHARES = (Fraction(1, 2), Fraction(95, 100), Fraction(1))


def beliefs(target: AttackedRelease) -> OwnValueBeliefs | None:
    """Return the beliefs of an attacker who knows the group, or None if no values are shown."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return None
    top = top_in_group(counts)
    return OwnValueBeliefs(counts.count, counts.count / counts.sizes[counts.group], top, top)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """Guess the most frequent value of each person's group.

    Forms that show no values have no score.
    """
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    base = {"without the release": most_frequent(counts)}
    scores = [Score("own value guessed from the group alone", best_in_group(counts), base)]
    people = int(counts.sizes.sum())
    for share in _SHARES:
        alike = counts.largest * share.denominator >= counts.sizes * share.numerator
        words = "all" if share == 1 else f"{float(share):.0%} or more"
        members = int(counts.sizes[alike].sum())
        scores.append(Score(f"in a group in which {words} have one value", members / people))
    return tuple(scores)
