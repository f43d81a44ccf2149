"""Classes of people that a release with quasi-identifiers distinguishes, learned by naive Bayes.

People of one group and one vector are one class. A pair is a class and a value that its group
shows; pairs are ordered by class and then by value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.shared.sorting import positions, starts
from sfumato.tasks.attacks.learning.fitting import fit_weights
from sfumato.tasks.attacks.learning.matching import match_small_groups

_SCALINGS = 20


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """A naive Bayes classifier, up to a factor that all values have in common.

    Attributes:
        prior: ln P(value) (float64, one per value).
        tables: by column: ln P(column's value | value) (float64, column's values x values).
    """

    prior: np.ndarray
    tables: tuple[np.ndarray, ...]

    def log_likelihood(self, codes: np.ndarray) -> np.ndarray:
        """Return ln P(value) + sum over columns of ln P(column's value | value), by vector.

        Args:
            codes: each vector's values (int64, vectors x columns).

        Returns:
            float64, vectors x values.
        """
        likelihood: np.ndarray = np.zeros((len(codes), 1)) + self.prior
        for column, table in zip(codes.T, self.tables, strict=True):
            likelihood += table[column]
        return likelihood


def smooth_counts(totals: np.ndarray, tables: Sequence[np.ndarray]) -> NaiveBayes:
    """Return the classifier of some counts, with 1 added to each count.

    Args:
        totals: expected people with each value (float64).
        tables: by column: expected people with each of its values (float64, column's values x
            values).
    """
    learned = (np.log((table + 1) / (totals + len(table))) for table in tables)
    return NaiveBayes(np.log(totals + 1), tuple(learned))


def train_on_vectors(codes: np.ndarray, sizes: tuple[int, ...], own: "OwnValues") -> NaiveBayes:
    """Return the classifier trained on people whose values are known.

    Args:
        codes: each vector's values (int64, vectors x columns).
        sizes: the number of values of each column.
        own: the people.
    """
    vector, value = np.divmod(own.cells, own.values)
    tables = [
        np.bincount(column[vector] * own.values + value, own.people, size * own.values)
        for column, size in zip(codes.T, sizes, strict=True)
    ]
    totals = np.bincount(value, own.people, own.values)
    return smooth_counts(totals, [table.reshape(-1, own.values) for table in tables])


@dataclass(frozen=True, eq=False)
class OwnValues:
    """The people of each vector by their own value, for those pairs that people have.

    Attributes:
        cells: the vector times the number of values, plus the value (int64, ascending).
        people: the number of people (int64).
        values: the number of values.
    """

    cells: np.ndarray
    people: np.ndarray
    values: int

    def share(self, hits: np.ndarray) -> float:
        """Return the mean over people of what is computed for each pair."""
        return float((self.people * hits).sum() / self.people.sum())


@dataclass(frozen=True, eq=False)
class VectorBeliefs:
    """Beliefs about a person with each vector, in values that are believed at all.

    Attributes:
        cells: the vector times the number of values, plus the value (int64, ascending).
        belief: the belief in the value (float64).
        guessed: the chance that it is the top guess; ties are shared equally (float64).
    """

    cells: np.ndarray
    belief: np.ndarray
    guessed: np.ndarray

    @classmethod
    def of_expected(cls, cells: np.ndarray, expected: np.ndarray, values: int) -> Self:
        """Return the beliefs from the expected people of each pair (float64)."""
        vector = cells // values
        first = starts(vector)
        lengths = np.diff(first, append=len(vector))
        total = np.add.reduceat(expected, first)
        belief = expected / np.repeat(np.where(total == 0, 1.0, total), lengths)
        is_top = belief == np.repeat(np.maximum.reduceat(belief, first), lengths)
        ties = np.add.reduceat(is_top.astype(np.int64), first)
        return cls(cells, belief, is_top / np.repeat(ties, lengths))

    def in_values(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the beliefs in some pairs, and the chances that they are guessed (float64)."""
        place = np.minimum(positions(self.cells, cells), len(self.cells) - 1)
        is_there = self.cells[place] == cells
        return np.where(is_there, self.belief[place], 0), np.where(is_there, self.guessed[place], 0)


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of people whom a release distinguishes.

    Attributes:
        group: the group of each class (int64).
        people: the number of people in each class (int64).
        vector: the vector of each class, as its number among all vectors (int64).
        codes: each vector's values (int64, vectors x columns).
        sizes: the number of values of each column.
        pair_class: the class of each pair (int64).
        value: the value of each pair (int64).
        entry: the entry in `counts` of the group and value of each pair (int64).
        counts: the values of each group.
    """

    group: np.ndarray
    people: np.ndarray
    vector: np.ndarray
    codes: np.ndarray
    sizes: tuple[int, ...]
    pair_class: np.ndarray
    value: np.ndarray
    entry: np.ndarray
    counts: Counts

    @cached_property
    def classes(self) -> np.ndarray:
        """The number of classes in each group (int64)."""
        return np.bincount(self.group, minlength=len(self.counts.sizes))

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray]:
        """The vectors times the number of values, plus the values; and each pair's place there."""
        place = self.vector[self.pair_class] * self.counts.values + self.value
        cells, of_pair = np.unique(place, return_inverse=True)
        return cells, of_pair

    def beliefs(self, weight: np.ndarray) -> VectorBeliefs:
        """Return the beliefs about a person with each vector that a class has.

        Args:
            weight: the expected people of each pair (float64).
        """
        cells, of_pair = self._cells
        expected = np.bincount(of_pair, weight, len(cells))
        return VectorBeliefs.of_expected(cells, expected, self.counts.values)

    def spread(self) -> np.ndarray:
        """Return the expected people of each pair if all people of a group are alike (float64)."""
        sizes = self.counts.sizes[self.group[self.pair_class]]
        return np.asarray(self.people[self.pair_class] * self.counts.count[self.entry] / sizes)

    def group_alone(self) -> VectorBeliefs:
        """Return the beliefs without learning from other groups."""
        return self.beliefs(self.spread())

    def pairs(self, groups: np.ndarray | None = None) -> "ClassPairs":
        """Return the pairs of some groups (bool, one per group), or of all groups."""
        chosen = np.ones(len(self.counts.sizes), dtype=bool) if groups is None else groups
        of_class = chosen[self.group]
        selected = of_class[self.pair_class]
        vector = self.vector[self.pair_class[selected]]
        return ClassPairs(
            places=tuple(
                (codes[vector] * self.counts.values + self.value[selected])
                for codes in np.ascontiguousarray(self.codes.T)
            ),
            value=self.value[selected],
            sizes=(*self.sizes, self.counts.values),
            first=np.flatnonzero(np.diff(self.pair_class[selected], prepend=-1)),
            spread=self.spread()[selected],
            people=self.people[of_class],
            count=self.counts.count[chosen[self.counts.group]],
            shape=(self.classes[chosen], self.counts.distinct[chosen]),
        )


@dataclass(frozen=True, eq=False)
class ClassPairs:
    """Pairs of a class and a value, in the layout for training a classifier and for fitting.

    Attributes:
        places: by column: the value of the column times the number of values, plus the value
            (int64, one per pair).
        value: the value of each pair (int64).
        sizes: the number of values of each column, the sensitive column last.
        first: the first pair of each class (int64).
        spread: the expected people of each pair if all people of a group are alike (float64).
        people: the number of people in each class (int64).
        count: the count of each value in its group, by group (int64).
        shape: the numbers of classes and of values of each group (int64, int64).
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
        """Return the classifier trained on the expected people of each pair (float64)."""
        *sizes, values = self.sizes
        tables = [
            np.bincount(place, weight, size * values).reshape(size, values)
            for place, size in zip(self.places, sizes, strict=True)
        ]
        return smooth_counts(np.bincount(self.value, weight, values), tables)

    def fit(self, model: NaiveBayes, *, exactly: bool = False) -> np.ndarray:
        """Return the expected people of each pair by a classifier, fitted to the groups (float64).

        Args:
            model: the classifier.
            exactly: whether all assignments of values are weighed in small groups.
        """
        logs = model.prior[self.value]
        for table, place in zip(model.tables, self.places, strict=True):
            logs += table.ravel()[place]
        lengths = np.diff(np.append(self.first, len(logs)))
        logs -= np.repeat(np.maximum.reduceat(logs, self.first), lengths)
        likelihood = np.exp(logs, out=logs)
        margins = self.people, self.count, self.shape
        fitted = fit_weights(likelihood, *margins, _SCALINGS)
        return match_small_groups(fitted, likelihood, *margins) if exactly else fitted
