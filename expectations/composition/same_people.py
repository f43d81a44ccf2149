"""A test for two tables about the same people, which needs only their rows and no model.

Of all combinations of values, take those that exactly two rows have, of both tables together: one
row of each, or two of one. Where rows are independent, such a pair of rows with a certain
combination has both of its rows in the first table with probability p², one in each with 2p(1 - p)
and both in the second with (1 - p)², whatever the combination: p is the share of rows with it that
are the first table's. So

- one in each has at most probability ½: of n pairs, at most as many as of n tosses of a coin;
- given how many of the 2n rows are in the first table, pairs with one row in each are at most as
  many as Hardy-Weinberg's distribution has them, which is that of equal p: the ratio of the two
  likelihoods is a mean of products of r² and r, with r = p / (1 - p), over the ways to choose the
  pairs, and by Muirhead's inequality such means fall with the number that are one in each.

Tables about the same people have more of them. Rows of two samples without replacement of few
people, such as the halves of one table, stay below both limits up to 1 / (4n) of a pair.

Sources: S. W. Guo, E. A. Thompson, "Performing the exact test of Hardy-Weinberg proportion for
multiple alleles" (1992), for the conditional distribution of two alleles.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

LEVEL = Fraction(1, 10**6)
"""The probability with which unrelated tables may be taken for related ones."""
_FEWEST = 20  # rows, at least, of equal tables that are related for this alone
_SHARE = 5  # one in so many of the smaller table's people in common is to be found


@dataclass(frozen=True)
class RowsOfTwo:
    """Combinations of values that two rows of two tables have, and those that one has.

    Attributes:
        both: in one row of each table.
        first: in two rows of the first table, and in no row of the second.
        second: in two rows of the second table, and in no row of the first.
        alone: in one row of the first table only, and in one row of the second only.
        equal: the rows of each table if both have the same rows with more than one value; 0
            otherwise.
        rows: of the first table, and of the second.
    """

    both: int
    first: int
    second: int
    alone: tuple[int, int] = (0, 0)
    equal: int = 0
    rows: tuple[int, int] = (0, 0)

    @property
    def chance(self) -> float:
        """The probability (0 to 1) that unrelated tables have so many in both, or more.

        It is the smaller of two upper limits: of coins, and of Hardy-Weinberg's distribution.
        """
        pairs = self.both + self.first + self.second
        return min(
            _chance_of_coins(pairs, self.both),
            _chance_of_equal_shares(pairs, self.both, self.first),
        )

    @property
    def are_related(self) -> bool:
        """Decide whether these are rows of the same people."""
        return self.equal >= _FEWEST or self.is_beyond_chance()

    def is_beyond_chance(self, tests: int = 1) -> bool:
        """Decide whether so many in both are less probable than `LEVEL` in unrelated tables.

        Args:
            tests: the number of tests, of which this is one, that share the level.
        """
        return self.chance * tests <= LEVEL

    @property
    def are_few(self) -> bool:
        """Decide whether the smaller table has too few rows for the test, whatever the columns."""
        return min(self.rows) < _SHARE * _FEWEST

    @property
    def can_tell(self) -> bool:
        """Decide whether a fifth of the smaller table's people in the other one would be found."""
        more = self.both + min(self.alone) // _SHARE
        return RowsOfTwo(more, self.first, self.second).chance <= LEVEL


def rows_of_two(hashes: np.ndarray, other_hashes: np.ndarray) -> RowsOfTwo:
    """Count combinations of values of two tables.

    Args:
        hashes: a hash of each row's values (uint64); its last bit is not looked at.
        other_hashes: the same of the other table.
    """
    side = np.uint64(1)
    rows = np.concatenate([hashes | side, other_hashes & ~side])
    rows.sort()
    begins = np.concatenate([[True], (rows[1:] | side) != (rows[:-1] | side), [True]])
    first = np.flatnonzero(begins[:-1])  # of each combination
    times = np.diff(np.append(first, len(rows)))
    of_one = (rows & side).astype(np.int64)
    pairs = first[times == 2]
    in_one = np.bincount(of_one[pairs] + of_one[pairs + 1], minlength=3) if len(pairs) else (0,) * 3
    alone = np.bincount(of_one[first[times == 1]], minlength=2)
    return RowsOfTwo(
        both=int(in_one[1]),
        first=int(in_one[2]),
        second=int(in_one[0]),
        alone=(int(alone[1]), int(alone[0])),
        equal=len(hashes) if len(first) > 1 and _have_the_same(rows, of_one) else 0,
        rows=(len(hashes), len(other_hashes)),
    )


def _have_the_same(rows: np.ndarray, of_one: np.ndarray) -> bool:
    """Return True if both tables have the same multiset of rows; `of_one` is 1 for the first's."""
    sides = [rows[of_one == side] | np.uint64(1) for side in (0, 1)]
    return np.array_equal(*sides)


def _chance_of_coins(pairs: int, both: int) -> float:
    """Return the probability of at least `both` heads of `pairs` coins."""
    # SciPy takes time to import, and most commands compare nobody.
    from scipy.special import bdtrc

    return 1.0 if both == 0 else float(bdtrc(both - 1, pairs, 0.5))


def _chance_of_equal_shares(pairs: int, both: int, first: int) -> float:
    """Return the probability of at least `both` pairs with one row in each table.

    Given are the number of pairs and the number of their rows in the first table, which is twice
    `first`, the number of pairs with both rows there, plus `both`.
    """
    from scipy.special import gammaln, logsumexp

    if both == 0:
        return 1.0
    of_one = 2 * first + both
    of_other = 2 * pairs - of_one
    # numbers of mixed pairs that leave an even number of rows to each table, with the logarithms of
    # the numbers of ways, but for a constant
    possible = np.arange(of_one % 2, min(of_one, of_other) + 1, 2)
    weights = possible * np.log(2) - sum(
        gammaln(number + 1)
        for number in (possible, (of_one - possible) / 2, (of_other - possible) / 2)
    )
    return float(min(1.0, np.exp(logsumexp(weights[possible >= both]) - logsumexp(weights))))
