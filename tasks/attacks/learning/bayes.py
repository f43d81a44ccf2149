"""Naive Bayes with add-one smoothing, of what goes with each value of the sensitive column."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """A classifier, up to a factor that all values have in common.

    Attributes:
        prior: ln P(value) (float64, one per value).
        tables: by column: ln P(column's value | value) (float64, column's values x values).
    """

    prior: np.ndarray
    tables: tuple[np.ndarray, ...]

    def log_likelihood(self, codes: np.ndarray) -> np.ndarray:
        """Ln P(value) + sum over columns of ln P(column's value | value), by vector.

        Args:
            codes: each vector's values (int64, vectors x columns).

        Returns:
            float64, vectors x values.
        """
        found: np.ndarray = np.zeros((len(codes), 1)) + self.prior
        for column, table in zip(codes.T, self.tables, strict=True):
            found += table[column]
        return found


def smooth_counts(totals: np.ndarray, tables: Sequence[np.ndarray]) -> NaiveBayes:
    """The classifier that counts make, one added to each.

    Args:
        totals: expected people with each value (float64).
        tables: by column: expected people with each of its values (float64, column's values x
            values).
    """
    learned = (np.log((table + 1) / (totals + len(table))) for table in tables)
    return NaiveBayes(np.log(totals + 1), tuple(learned))


def train_on_vectors(codes: np.ndarray, sizes: tuple[int, ...], people: np.ndarray) -> NaiveBayes:
    """The classifier that is learned from people whose values are known.

    Args:
        codes: each vector's values (int64, vectors x columns).
        sizes: how many values each column has.
        people: by vector and value (float64, vectors x values).
    """
    tables = []
    for column, size in zip(codes.T, sizes, strict=True):
        at = (column[:, None] * people.shape[1] + np.arange(people.shape[1])).ravel()
        table = np.bincount(at, people.ravel(), size * people.shape[1])
        tables.append(table.reshape(size, -1))
    return smooth_counts(people.sum(axis=0), tables)
