"""The presence of given vectors as adversaries estimate it.

Source: see `expectations.groups.covering`. Groups are bits, so that a vector's covering groups are
the conjunction of one row of bits for each of its values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.expectations.groups.covering import Covering
from sfumato.expectations.groups.groups import Cover

_CELLS = 1_000_000  # of a dense matrix


@dataclass(frozen=True)
class Readings:
    """The presence of given vectors by three readings, ascending (float64, one per vector).

    `one_record`: a person has at most one record; `any_record`: 1 - Π (1 - p_j); `expected`:
    min(1, Σ p_j).
    """

    one_record: np.ndarray
    any_record: np.ndarray
    expected: np.ndarray


def presence_of(
    coverage: Covering, vectors: Sequence[np.ndarray], chance: np.ndarray | None = None
) -> Readings:
    """Return the presence of vectors, given as their codes of each quasi-identifier in order.

    Args:
        coverage: the groups.
        vectors: integers, one array per quasi-identifier with one entry per vector; a code below 0
            is for a value that no group admits.
        chance: the probability that a vector covered by a group is in the group (float64, one per
            group); None for p_j, by which all combinations that a group covers are equally likely.
    """
    p = coverage.rounded_presences() if chance is None else chance
    unsure = np.where(p < 1, p, 0.0)
    surely, odds, misses, expected = sums_over_covering(
        coverage, vectors, [p >= 1, unsure / (1 - unsure), np.log1p(-unsure), p]
    )
    return of_sums(surely > 0, odds, misses, expected)


def of_sums(
    surely: np.ndarray, odds: np.ndarray, misses: np.ndarray, expected: np.ndarray
) -> Readings:
    """Return the readings, given sums over the groups that cover each vector (one per vector).

    Args:
        surely: True if the presence in one of the groups is certain (bool).
        odds: Σ p_j / (1 - p_j) over the groups with p_j < 1 (float64).
        misses: Σ ln(1 - p_j) over the groups with p_j < 1 (float64).
        expected: Σ p_j (float64).
    """
    expected = np.minimum(1.0, expected)
    any_record = np.minimum(np.where(surely, 1.0, -np.expm1(misses)), expected)
    one_record = np.minimum(np.where(surely, 1.0, odds / (1 + odds)), any_record)
    return Readings(one_record, any_record, expected)


def people_covered(
    coverage: Covering, vectors: Sequence[np.ndarray], people: np.ndarray
) -> np.ndarray:
    """Return how many people each group covers (int64), given how many have each vector (int64)."""
    totals = np.zeros(-(-len(coverage.sizes) // 8) * 8)
    for some, row, octet, shows in _shown_bits(coverage, vectors):
        times = np.repeat(people[some][row], 8) * shows.ravel()
        place = (octet[:, None] * 8 + np.arange(8)).ravel()
        totals += np.bincount(place, times, len(totals))
    return totals[: len(coverage.sizes)].astype(np.int64)


def covering_pairs(
    coverage: Covering, vectors: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return each vector with each group that covers it, by their numbers (int64), vectors first.

    Args:
        coverage: the groups.
        vectors: as in `presence_of`.
    """
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for some, row, octet, shows in _shown_bits(coverage, vectors):
        place, bit = np.nonzero(shows)
        pairs.append(np.stack([some.start + row[place], octet[place] * 8 + bit]))
    vector, group = np.concatenate(pairs, axis=1)
    return vector, group


def sums_over_covering(
    coverage: Covering, vectors: Sequence[np.ndarray], weights: Sequence[np.ndarray]
) -> np.ndarray:
    """Return each weighting of the groups, summed over the groups that cover each vector.

    Args:
        coverage: the groups.
        vectors: as in `presence_of`.
        weights: the weights of the groups (float64, one array per weighting).

    Returns:
        float64, weightings x vectors.
    """
    groups, length = len(coverage.sizes), len(vectors[0])
    octets = -(-groups // 8)
    padded = np.zeros((len(weights), octets * 8))
    padded[:, :groups] = weights
    weighted = padded.reshape(len(weights), octets, 8)
    sums = np.zeros((len(weights), length))
    for some, row, octet, shows in _shown_bits(coverage, vectors):
        for total, weight in zip(sums, weighted, strict=True):
            added = np.einsum("ij,ij->i", shows, weight[octet])
            total[some] = np.bincount(row, added, len(total[some]))
    return sums


def _shown_bits(
    coverage: Covering, vectors: Sequence[np.ndarray]
) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield, for some vectors at a time, the octets of groups in which one covers a vector.

    Yields:
        The slice of the vectors. For each octet, the place of its vector in that slice and the
        place of the octet itself (both int64). For each of the octet's groups, 1 if it covers the
        vector, otherwise 0 (uint8, octets x 8).
    """
    octets = -(-len(coverage.sizes) // 8)
    bits = [_bits(cover, octets) for cover in coverage.covers]
    step = max(1, _CELLS // octets)
    for start in range(0, len(vectors[0]), step):
        some = slice(start, start + step)
        covered = _cover_vectors(bits, [codes[some] for codes in vectors])
        row, octet = np.nonzero(covered)
        yield (
            some,
            row,
            octet,
            np.unpackbits(covered[row, octet][:, None], axis=1, bitorder="little"),
        )


def _bits(cover: Cover, octets: int) -> np.ndarray:
    """Return the groups that admit each value, and last those of no value, as bits (uint8)."""
    bits = np.zeros((cover.values + 1, octets), dtype=np.uint8)
    bit = np.left_shift(1, cover.group & 7).astype(np.uint8)
    np.bitwise_or.at(bits, (cover.value, cover.group >> 3), bit)
    return bits


def _cover_vectors(bits: Sequence[np.ndarray], vectors: Sequence[np.ndarray]) -> np.ndarray:
    """Return the groups that cover each vector, as bits (uint8, vectors x octets)."""
    nobody = [len(values) - 1 for values in bits]
    parts = [
        values[np.where((codes >= 0) & (codes < none), codes, none)]
        for values, codes, none in zip(bits, vectors, nobody, strict=True)
    ]
    covered: np.ndarray = np.bitwise_and.reduce(parts)
    return covered
