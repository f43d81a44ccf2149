"""The presence of given vectors, as different adversaries would estimate it.

Source: see `expectations.groups.covering`. Groups are bits, so that a vector's covering groups are
the conjunction of one row of bits for each of its values.
"""

from collections.abc import Sequence
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


def presence_of(shown: Covering, vectors: Sequence[np.ndarray]) -> Readings:
    """The presence of vectors, given as their codes of each quasi-identifier in order.

    Codes are integers, one array per quasi-identifier with one entry per vector; a code below 0
    stands for a value that no group admits.
    """
    p = shown.rounded()
    unsure = np.where(p < 1, p, 0.0)
    surely, odds, misses, expected = _sums(
        shown, vectors, [p >= 1, unsure / (1 - unsure), np.log1p(-unsure), p]
    )
    return of_sums(surely > 0, odds, misses, expected)


def of_sums(
    surely: np.ndarray, odds: np.ndarray, misses: np.ndarray, expected: np.ndarray
) -> Readings:
    """The readings, given sums over the groups that cover each vector (one per vector).

    Args:
        surely: where the presence in one of them is certain (bool).
        odds: Σ p_j / (1 - p_j) over the others (float64).
        misses: Σ ln(1 - p_j) over the others (float64).
        expected: Σ p_j (float64).
    """
    expected = np.minimum(1.0, expected)
    any_record = np.minimum(np.where(surely, 1.0, -np.expm1(misses)), expected)
    one_record = np.minimum(np.where(surely, 1.0, odds / (1 + odds)), any_record)
    return Readings(one_record, any_record, expected)


def _sums(
    shown: Covering, vectors: Sequence[np.ndarray], weights: Sequence[np.ndarray]
) -> np.ndarray:
    """Each weighting of the groups, summed over the groups that cover each vector."""
    groups, length = len(shown.sizes), len(vectors[0])
    octets = -(-groups // 8)
    bits = [_bits(cover, octets) for cover in shown.covers]
    padded = np.zeros((len(weights), octets * 8))
    padded[:, :groups] = weights
    weighted = padded.reshape(len(weights), octets, 8)
    sums = np.zeros((len(weights), length))
    step = max(1, _CELLS // octets)
    for start in range(0, length, step):
        covered = _covered(bits, [codes[start : start + step] for codes in vectors])
        row, octet = np.nonzero(covered)
        shows = np.unpackbits(covered[row, octet][:, None], axis=1, bitorder="little")
        for total, weight in zip(sums, weighted, strict=True):
            added = np.einsum("ij,ij->i", shows, weight[octet])
            total[start : start + step] = np.bincount(row, added, len(covered))
    return sums


def _bits(cover: Cover, octets: int) -> np.ndarray:
    """The groups that admit each value, and last a value that none admits, as bits (uint8)."""
    bits = np.zeros((cover.values + 1, octets), dtype=np.uint8)
    bit = np.left_shift(1, cover.group & 7).astype(np.uint8)
    np.bitwise_or.at(bits, (cover.value, cover.group >> 3), bit)
    return bits


def _covered(bits: Sequence[np.ndarray], vectors: Sequence[np.ndarray]) -> np.ndarray:
    """The groups that cover each vector, as bits (uint8, vectors x octets)."""
    nobody = [len(values) - 1 for values in bits]
    parts = [
        values[np.where((codes >= 0) & (codes < none), codes, none)]
        for values, codes, none in zip(bits, vectors, nobody, strict=True)
    ]
    covered: np.ndarray = np.bitwise_and.reduce(parts)
    return covered
