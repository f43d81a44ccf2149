"""Estimates of counts from codes: those of a release's engine, without writing its files.

An experiment asks thousands of counts of hundreds of groupings. Each needs only which rows are in
which group, and no candidate on a disk. A test compares with the engines' answers on candidates.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss, Algorithm 1 with shares multiplied, as in its worked example.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.expectations.groups.groups import Cover
from sfumato.expectations.measures.occurrences import choose_rounds
from sfumato.tasks.experiments.shared.questions import Ranges, numbers_of
from sfumato.tasks.forms.ambiguous import expected_occurrences
from sfumato.tasks.microdata.table import Microdata


@dataclass(frozen=True, eq=False)
class CountedGroups:
    """Rows in groups, about which counts are estimated.

    Attributes:
        people: the rows; their quasi-identifiers are whole numbers.
        group: the group of each row (int64), -1 for none.
    """

    people: Microdata
    group: np.ndarray

    def by_values(self, question: Ranges) -> float:
        """Return the estimate if the values of each quasi-identifier are shown by themselves.

        Each group adds its rows with the sensitive value, times the selected share of the values
        that it admits, for each quasi-identifier. The estimate is no less than the least count that
        the groups allow and no more than the greatest, as the engine has it.
        """
        return self._within_bounds(question, lambda term: term.selected / term.admitted)

    def by_expected_rows(self, question: Ranges) -> float:
        """Return the same estimate with the expected share of the selected values."""
        return self._within_bounds(question, lambda term: term.expected / self._sizes)

    def _within_bounds(
        self, question: Ranges, share: "Callable[[_Selection], np.ndarray]"
    ) -> float:
        counts, terms = self._rows_with_value(question), self._selections(question)
        expected, low, high = counts.astype(np.float64), counts, counts
        for term in terms:
            expected = expected * share(term)
            missing = term.admitted - term.selected
            low = low + np.where(missing == 0, self._sizes, term.selected)
            high = np.minimum(
                high, np.where(term.selected == 0, 0, np.maximum(self._sizes - missing, 0))
            )
        low = np.maximum(low - len(terms) * self._sizes, 0)
        return float(np.clip(expected.sum(), low.sum(), high.sum()))

    def by_product(self, question: Ranges) -> float:
        """Return the estimate of the paper's worked example, which knows no limits."""
        expected = self._rows_with_value(question).astype(np.float64)
        for term in self._selections(question):
            expected = expected * (term.selected / term.admitted)
        return float(expected.sum())

    def by_boxes(self, question: Ranges) -> float:
        """Return the estimate if each group is shown as a box from least to greatest values."""
        expected = self._rows_with_value(question).astype(np.float64)
        for name, (low, high) in question.within.items():
            least, most = self._boxes[name]
            inside = np.minimum(most, high) - np.maximum(least, low) + 1
            expected = expected * (np.maximum(inside, 0) / (most - least + 1))
        return float(expected.sum())

    def errors(
        self,
        estimate: "Callable[[CountedGroups, Ranges], float]",
        questions: Sequence[Ranges],
        true_counts: Sequence[int],
    ) -> np.ndarray:
        """Return the distance of each estimate from the truth, relative to the truth."""
        estimates = np.array([estimate(self, question) for question in questions])
        truth = np.array(true_counts)
        distances: np.ndarray = np.abs(estimates - truth) / truth
        return distances

    def error(
        self,
        estimate: "Callable[[CountedGroups, Ranges], float]",
        questions: Sequence[Ranges],
        true_counts: Sequence[int],
    ) -> float:
        """Return the mean of these distances."""
        return float(self.errors(estimate, questions, true_counts).mean())

    def _selections(self, question: Ranges) -> list["_Selection"]:
        terms, groups = [], len(self._sizes)
        for name, (low, high) in question.within.items():
            admitted = self._covers[name]
            values = self._rows_in_groups[name].values.to_numpy(zero_copy_only=False)[
                admitted.value
            ]
            inside = (values >= low) & (values <= high)
            group = admitted.group[inside]
            selected = np.bincount(group, minlength=groups)
            expected = np.bincount(group, self._occurrences[name][inside], minlength=groups)
            terms.append(_Selection(selected, admitted.sizes(groups), expected))
        return terms

    def _rows_with_value(self, question: Ranges) -> np.ndarray:
        """Return the number of rows of each group with the sensitive value of a question."""
        if question.value is None:
            return self._sizes
        name, value = question.value
        column = self._rows_in_groups[name]
        has_value = column.codes == column.values.to_pylist().index(value)
        counts: np.ndarray = np.bincount(self._groups[has_value], minlength=len(self._sizes))
        return counts

    @cached_property
    def _rows_in_groups(self) -> Microdata:
        return self.people.take(np.flatnonzero(self.group >= 0))

    @cached_property
    def _groups(self) -> np.ndarray:
        return self.group[self.group >= 0]

    @cached_property
    def _sizes(self) -> np.ndarray:
        return np.bincount(self._groups)

    @cached_property
    def _covers(self) -> dict[str, Cover]:
        """The values that each group admits, for each quasi-identifier."""
        admitted = {}
        for column in self._rows_in_groups.with_roles("quasi-identifier"):
            values = len(column.values)
            pairs = np.unique(self._groups * values + column.codes)
            admitted[column.name] = Cover(*np.divmod(pairs, values), values)
        return admitted

    @cached_property
    def _occurrences(self) -> dict[str, np.ndarray]:
        """The expected number of rows of each group with each value that it admits."""
        sizes, expected = self._sizes, {}
        for name, admitted in self._covers.items():
            fitted = expected_occurrences(sizes, admitted)
            rounds = choose_rounds(sizes, admitted, fitted)
            expected[name] = expected_occurrences(sizes, admitted, rounds)
        return expected

    @cached_property
    def _boxes(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The least and the greatest value of each group, for each quasi-identifier."""
        boxes = {}
        for column in self._rows_in_groups.with_roles("quasi-identifier"):
            numbers = numbers_of(self._rows_in_groups, column.name)
            ends = np.iinfo(np.int64)
            least = np.full(len(self._sizes), ends.max)
            most = np.full(len(self._sizes), ends.min)
            np.minimum.at(least, self._groups, numbers)
            np.maximum.at(most, self._groups, numbers)
            boxes[column.name] = least, most
        return boxes


@dataclass(frozen=True, eq=False)
class _Selection:
    """A condition on a quasi-identifier, with a number for each group.

    Attributes:
        selected: the number of admitted values that meet it.
        admitted: the number of admitted values.
        expected: the expected number of rows that meet it.
    """

    selected: np.ndarray
    admitted: np.ndarray
    expected: np.ndarray
