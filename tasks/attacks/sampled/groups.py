"""What some groups, drawn at random, tell of all: how many more of their people are guessed.

Groups are drawn without replacement, and a ratio to their rows is told of (Cochran, Sampling
techniques, 1977, chapter 6), with Student's limits. Where few of the groups tell anything, the
spread says too little: then the limit is what it would be if so many more of the others did as
Clopper and Pearson's limits leave open.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from sfumato.tasks.attacks.sampled.margins import margin_of_people

_EACH = 0.02  # outside of a margin, at either end; the rest is for beliefs that are farther off
_SOME, _FEW = 5, 30  # groups that tell something


@dataclass(frozen=True, eq=False)
class SampledGroups:
    """Some groups of all.

    Attributes:
        sizes: the rows of each (int64).
        of: the rows of each of all groups (int64).
    """

    sizes: np.ndarray
    of: np.ndarray

    def ratio(self, found: np.ndarray) -> float:
        """What is found in groups (float64, one each), as a share of their rows."""
        return float(found.sum() / self.sizes.sum())

    def error(self, found: np.ndarray) -> float:
        """How far the ratio is from that of all groups, with 96 %, at most."""
        drawn, number = len(self.sizes), len(self.of)
        if drawn == number:
            return 0.0
        if drawn < 2:
            return 1.0
        is_few = np.count_nonzero(found) < _FEW
        return max(self._spread(found), self._few(found) if is_few else 0.0)

    def _spread(self, found: np.ndarray) -> float:
        from scipy.stats import t  # imported where it is used: it takes long

        drawn, number = len(self.sizes), len(self.of)
        apart = found - self.ratio(found) * self.sizes
        variance = (1 - drawn / number) * float((apart**2).sum()) / (drawn - 1) / drawn
        return float(t.ppf(1 - _EACH, drawn - 1)) * sqrt(variance) / float(self.sizes.mean())

    def _few(self, found: np.ndarray) -> float:
        """By how many more of all groups may tell something, as much as the one that tells most."""
        telling, shares = int(np.count_nonzero(found)), np.abs(found) / self.sizes
        most = margin_of_people(telling, len(self.sizes), len(self.of))
        more = 0.0 if most is None else most.high - telling / len(self.sizes)
        each = float(shares.max()) if telling >= _SOME else 1.0
        return more * each * float(self.of.max() / self.of.mean())
