"""What somebody learns who knows how a table was cut, besides what its groups tell.

Such a person keeps the worlds that are consistent with the groups and would have been cut the same
(the minimality attack; Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data
publishing, VLDB 2007). Here every consistent world is cut the same, so that all of them stay, as
likely as they were. It is tried on the very table: values are exchanged within groups, and it is
cut again by the same chance.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.tasks.microdata.randomness import Randomness

_WORLDS, _ROWS = 1, 20_000  # so many are tried, of tables of at most so many rows


@dataclass
class Replay:
    """Keys that are drawn once, and again in the same order after `rewind`."""

    draw: Randomness
    _drawn: list[np.ndarray] = field(default_factory=list)
    _next: int = 0

    def __call__(self, n: int) -> np.ndarray:
        """Keys (uint64, n of them)."""
        if self._next == len(self._drawn):
            self._drawn.append(self.draw(n))
        keys = self._drawn[self._next]
        self._next += 1
        return keys if len(keys) == n else self.draw(n)

    def rewind(self) -> None:
        """Draw the same keys again."""
        self._next = 0


def what_cuts_tell(
    codes: np.ndarray,
    group: np.ndarray,
    part: np.ndarray,
    cut: Callable[[np.ndarray], np.ndarray],
    randomness: Randomness,
) -> dict[str, Any]:
    """The largest belief in somebody's value, of those who know the groups, and how they were made.

    Args:
        codes: the sensitive value of each row (integers).
        group: the group of each row (int64).
        part: the part of each row (int64) that its group is in.
        cut: cuts the table with other values, by the same chance, into parts of rows.
        randomness: by which values are exchanged.
    """
    plain = _largest_share(codes, group)
    tried = _WORLDS if len(codes) <= _ROWS else 0
    same = 0
    for _ in range(tried):
        into = np.argsort(group, kind="stable")
        source = np.lexsort((randomness(len(group)), group))
        world = np.empty_like(codes)
        world[into] = codes[source]
        same += bool(np.array_equal(cut(world), part))
    found: dict[str, Any] = {"by_groups": plain, "worlds_tried": tried, "cut_the_same": same}
    return {**found, "knowing_the_cuts": plain} if same == tried else found


def _largest_share(codes: np.ndarray, group: np.ndarray) -> float:
    sizes = np.bincount(group)
    pairs, times = np.unique(
        group * (int(codes.max(initial=0)) + 2) + codes + 1, return_counts=True
    )
    of = pairs // (int(codes.max(initial=0)) + 2)
    return float((times / sizes[of]).max(initial=0))
