"""Sets of items of some kinds as a sparse matrix, by which sums over all items are computed.

A number of an item that is a product, of a number of its set and one of its kind, is never made:
its sums over sets and kinds come from those numbers.
"""

import numpy as np
from scipy.sparse import csr_array


class Incidence:
    """How many items of each kind each set has, or the weight of these."""

    def __init__(
        self, kind: np.ndarray, first: np.ndarray, kinds: int, weight: np.ndarray | None = None
    ) -> None:
        """Take the items.

        Args:
            kind: the kind of each item (int64), set by set.
            first: where the items of each set begin, and behind the last one (int64).
            kinds: the number of kinds.
            weight: the weight of each item (float64); None for 1.
        """
        self.weight = np.ones(len(kind)) if weight is None else weight
        self._items = csr_array((self.weight, kind, first), shape=(len(first) - 1, kinds))

    def over_sets(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums of numbers of items' kinds over each set.

        Args:
            numbers: some numbers of each kind (float64, kinds x numbers).

        Returns:
            Float64, sets x numbers.
        """
        sums: np.ndarray = self._items @ numbers
        return sums

    def over_kinds(self, numbers: np.ndarray) -> np.ndarray:
        """Return the sums of numbers of items' sets over each kind.

        Args:
            numbers: some numbers of each set (float64, sets x numbers).

        Returns:
            Float64, kinds x numbers.
        """
        sums: np.ndarray = self._items.T @ numbers
        return sums

    def pairs_with(self, other: "Incidence") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs of a kind of this and one of another that some set has.

        Args:
            other: other items of the same sets.

        Returns:
            The kinds of each pair (both integers), and the sum over sets of the products of both
            weights (float64).
        """
        pairs = (self._items.T @ other._items).tocoo()
        return pairs.coords[0], pairs.coords[1], pairs.data
