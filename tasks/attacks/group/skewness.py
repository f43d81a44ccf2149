"""Skewness: groups that have a value much more often than all people have it.

Source: Li, Li, Venkatasubramanian, t-closeness (ICDE 2007), §3.1: two values, each of half the
group, are diverse, and tell whoever knows that one of them is rare.
"""

from sfumato.tasks.attacks.attack import AttackedRelease, Score

_TIMES = (2, 10)


def attack(target: AttackedRelease) -> tuple[Score, ...]:
    """See whose own value is likelier by the group than by all people, and by how much."""
    counts = target.groups()
    if counts is None or not len(counts.sizes):
        return ()
    people = int(counts.sizes.sum())
    likely = counts.count * people
    before = counts.totals[counts.value] * counts.sizes[counts.group]
    return tuple(
        Score(
            f"own value {times} times as likely as without the release, or more",
            int(counts.count[likely >= times * before].sum()) / people,
        )
        for times in _TIMES
    )
