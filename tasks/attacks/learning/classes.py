"""Who is told apart by a release that shows quasi-identifiers, learnt by naive Bayes.

People of one group and one vector are one class. Pairs are of a class and a value that its group
shows, by class and then by value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.tasks.attacks.learning.fitting import fit_weights
from sfumato.tasks.attacks.learning.matching import match_small_groups

_SCALINGS = 20


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


@dataclass(frozen=True, eq=False)
class Classes:
    """People who are told apart by a release.

    Attributes:
        group: of each class (int64).
        people: in each class (int64).
        vector: of each class, as its number among all vectors (int64).
        codes: each vector's values (int64, vectors x columns).
        sizes: how many values each column has.
        of: the class of each pair (int64).
        value: of each pair (int64).
        entry: of each pair, the entry of its group and value in `counts` (int64).
        counts: the values of each group.
    """

    group: np.ndarray
    people: np.ndarray
    vector: np.ndarray
    codes: np.ndarray
    sizes: tuple[int, ...]
    of: np.ndarray
    value: np.ndarray
    entry: np.ndarray
    counts: Counts

    @cached_property
    def classes(self) -> np.ndarray:
        """How many classes each group has (int64)."""
        return np.bincount(self.group, minlength=len(self.counts.sizes))

    def beliefs(self, weight: np.ndarray) -> np.ndarray:
        """What is believed of a person with each vector (float64, vectors x values).

        Nothing of vectors that nobody has, which only forged tables show.

        Args:
            weight: expected people of each pair (float64).
        """
        shape = len(self.codes), self.counts.values
        at = self.vector[self.of] * shape[1] + self.value
        found = np.bincount(at, weight, shape[0] * shape[1]).reshape(shape)
        total = found.sum(axis=1, keepdims=True)
        shares: np.ndarray = np.divide(found, total, out=np.zeros(shape), where=total > 0)
        return shares

    def spread(self) -> np.ndarray:
        """Expected people of each pair where all of a group are alike (float64)."""
        sizes = self.counts.sizes[self.group[self.of]]
        return np.asarray(self.people[self.of] * self.counts.count[self.entry] / sizes)

    def group_alone(self) -> np.ndarray:
        """The beliefs of who learns nothing from other groups (float64, vectors x values)."""
        return self.beliefs(self.spread())

    def pairs(self, groups: np.ndarray | None = None) -> "ClassPairs":
        """The pairs of some groups (bool, one per group), or of all."""
        told = np.ones(len(self.counts.sizes), dtype=bool) if groups is None else groups
        of_class = told[self.group]
        kept = of_class[self.of]
        vector = self.vector[self.of[kept]]
        return ClassPairs(
            places=tuple(
                (codes[vector] * self.counts.values + self.value[kept])
                for codes in np.ascontiguousarray(self.codes.T)
            ),
            value=self.value[kept],
            sizes=(*self.sizes, self.counts.values),
            first=np.flatnonzero(np.diff(self.of[kept], prepend=-1)),
            spread=self.spread()[kept],
            people=self.people[of_class],
            count=self.counts.count[told[self.counts.group]],
            shape=(self.classes[told], self.counts.distinct[told]),
        )


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """Pairs of a class and a value, as a classifier is trained on them and they are fitted.

    Attributes:
        places: by column: the value of the column times the number of values, plus the value
            (int64, one per pair).
        value: of each pair (int64).
        sizes: how many values each column has, the sensitive one last.
        first: the first pair of each class (int64).
        spread: expected people of each pair where all of a group are alike (float64).
        people: in each class (int64).
        count: of each value in its group, by group (int64).
        shape: how many classes and how many values each group has (int64, int64).
    """

    places: tuple[np.ndarray, ...]
    value: np.ndarray
    sizes: tuple[int, ...]
    first: np.ndarray
    spread: np.ndarray
    people: np.ndarray
    count: np.ndarray
    shape: tuple[np.ndarray, np.ndarray]

    def train(self, weight: np.ndarray) -> NaiveBayes:
        """The classifier that is learned from expected people of each pair (float64)."""
        *sizes, values = self.sizes
        tables = [
            np.bincount(place, weight, size * values).reshape(size, values)
            for place, size in zip(self.places, sizes, strict=True)
        ]
        return smooth_counts(np.bincount(self.value, weight, values), tables)

    def fit(self, model: NaiveBayes, *, exactly: bool = False) -> np.ndarray:
        """Expected people of each pair by a classifier, fitted to what groups show (float64).

        Args:
            model: the classifier.
            exactly: whether all ways are weighed in small groups.
        """
        logs = model.prior[self.value]
        for table, place in zip(model.tables, self.places, strict=True):
            logs += table.ravel()[place]
        lengths = np.diff(np.append(self.first, len(logs)))
        logs -= np.repeat(np.maximum.reduceat(logs, self.first), lengths)
        likelihood = np.exp(logs, out=logs)
        told = self.people, self.count, self.shape
        fitted = fit_weights(likelihood, *told, _SCALINGS)
        return match_small_groups(fitted, likelihood, *told) if exactly else fitted
