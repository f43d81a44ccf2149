"""How often values occur in more rows than are grouped: those of all parts of a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class CountsOfAllRows:
    """Counts of the values of a sensitive attribute, where a table is a part of another one.

    Attributes:
        values: of each value, in all rows (int64).
        piece: that each grouped row is of: a stratum, or a piece of one (int64).
        strata: of each value, in all rows of the stratum that a piece was cut from, by pieces;
            those that are whole lack.
    """

    values: np.ndarray
    piece: np.ndarray
    strata: Mapping[int, np.ndarray]

    def of_strata(self, own: Sequence[np.ndarray], stratum: np.ndarray) -> list[np.ndarray]:
        """The counts of strata (int64, one array per stratum), all their rows among them.

        Args:
            own: those in the grouped rows.
            stratum: of each grouped row (int64; 0, 1, …).
        """
        first = np.unique(stratum, return_index=True)[1]
        pieces = self.piece[first].tolist()
        return [self.strata.get(piece, of) for piece, of in zip(pieces, own, strict=True)]
