"""Questions of experiments: drawn once, asked of every candidate, scored by the truth.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
Where quasi-identifiers are shown unchanged, the number of picked rows of each group is known. Where
labels are shown, a group surely counts only if all its rows are picked; if some are, any number of
its rows may count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlglot import exp

from sfumato.tasks.choose.trial import Trial
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.query.ask import ask, engine, files_of_tables
from sfumato.tasks.query.bounds.bounds import Bounds
from sfumato.tasks.query.bounds.extremes import Counting, mean
from sfumato.tasks.query.engines.truth import as_fraction
from sfumato.tasks.query.question.conditions import question_of
from sfumato.tasks.query.question.question import Aggregate
from sfumato.tasks.query.sql.marginal_counts import Estimator
from sfumato.tasks.sql.parse import literal


@dataclass(frozen=True)
class Ranges:
    """Rows with values in these ranges, ends included, and one sensitive value if it is given."""

    within: Mapping[str, tuple[int, int]]
    value: tuple[str, str] | None = None

    def condition(self) -> exp.Expr:
        """Return the condition of a query."""
        tests: list[exp.Expr] = [
            exp.Between(this=_column(name), low=literal(low), high=literal(high))
            for name, (low, high) in self.within.items()
        ]
        if self.value is not None:
            name, value = self.value
            tests.append(exp.EQ(this=_column(name), expression=literal(value)))
        return exp.and_(*tests)

    def rows(self, microdata: Microdata) -> np.ndarray:
        """Return whether each row has values in the ranges (bool)."""
        selected = np.ones(microdata.rows, dtype=bool)
        for name, (low, high) in self.within.items():
            numbers = numbers_of(microdata, name)
            selected &= (numbers >= low) & (numbers <= high)
        if self.value is not None:
            column = microdata[self.value[0]]
            selected &= column.codes == column.values.to_pylist().index(self.value[1])
        return selected


def draw_windows(
    microdata: Microdata, over: str, span: int, number: int, rng: np.random.Generator
) -> list[Ranges]:
    """Draw windows [x, x + span] of a column, with x among its values."""
    starts = microdata[over].values.to_numpy(zero_copy_only=False)
    return [Ranges({over: (int(x), int(x) + span)}) for x in rng.choice(starts, number)]


def draw_counts(
    microdata: Microdata,
    attributes: int,
    selectivity: float,
    number: int,
    rng: np.random.Generator,
) -> list[Ranges]:
    """Draw ranges of random quasi-identifiers that together have a share of all combinations.

    The sensitive value is that of a random row; no question that no row answers is asked.
    """
    columns = microdata.with_roles("quasi-identifier")
    (sensitive,) = microdata.with_roles("sensitive")
    questions: list[Ranges] = []
    while len(questions) < number:
        chosen = sorted(rng.choice(len(columns), min(attributes, len(columns)), replace=False))
        within = _draw_ranges([columns[position] for position in chosen], selectivity, rng)
        value = sensitive.values[int(sensitive.codes[rng.integers(microdata.rows)])].as_py()
        question = Ranges(within, (sensitive.name, value))
        if question.rows(microdata).any():
            questions.append(question)
    return questions


def _draw_ranges(
    columns: Sequence[Column], selectivity: float, rng: np.random.Generator
) -> dict[str, tuple[int, int]]:
    """Draw a range of each column; together they have a share of all combinations, or more."""
    within = {}
    for column in columns:
        values = column.values.to_numpy(zero_copy_only=False)
        many = int(np.ceil(selectivity ** (1 / len(columns)) * len(values)))
        first = int(rng.integers(0, len(values) - many + 1))
        within[column.name] = int(values[first]), int(values[first + many - 1])
    return within


def draw_cells(
    microdata: Microdata,
    attributes: Sequence[int],
    number: int,
    rng: np.random.Generator,
    selectivity: float | None = None,
) -> list[Ranges]:
    """Draw one random cell that is not empty of each of so many queries with GROUP BY.

    A query groups those who share a random row's sensitive value by random quasi-identifiers, whose
    number is one of `attributes`. With a selectivity it asks only for those in random ranges of two
    other quasi-identifiers.
    """
    questions: list[Ranges] = []
    while len(questions) < number:
        question = _draw_cell(microdata, int(rng.choice(attributes)), selectivity, rng)
        if question is not None:
            questions.append(question)
    return questions


def _draw_cell(
    microdata: Microdata, attributes: int, selectivity: float | None, rng: np.random.Generator
) -> Ranges | None:
    """Draw a query with GROUP BY and a cell of it; None if all its cells are empty."""
    columns = microdata.with_roles("quasi-identifier")
    (sensitive,) = microdata.with_roles("sensitive")
    order = rng.permutation(len(columns))
    names = [columns[position].name for position in sorted(order[:attributes])]
    others = [columns[position] for position in order[attributes : attributes + 2]]
    code = int(sensitive.codes[rng.integers(microdata.rows)])
    value = (sensitive.name, sensitive.values[code].as_py())
    within = {} if selectivity is None else _draw_ranges(others, selectivity, rng)
    members = np.flatnonzero(Ranges(within, value).rows(microdata))
    if not len(members):
        return None
    rows = np.stack([numbers_of(microdata, name)[members] for name in names], axis=1)
    cell = rng.choice(np.unique(rows, axis=0)).tolist()
    return Ranges(
        {**within, **{name: (end, end) for name, end in zip(names, cell, strict=True)}}, value
    )


def bounds_of(
    trial: Trial,
    aggregate: str,
    column: str | None,
    questions: Sequence[Ranges],
    estimator: Estimator = "weighted",
) -> Iterator[Bounds]:
    """Yield the bounds that a candidate gives to an aggregate of each question."""
    selected = Aggregate(aggregate, column, "asked")
    release = trial.release
    sensitive = release.declared.names_with_roles("sensitive")
    with engine(files_of_tables(release, sensitive), release.declared, estimator) as opened:
        for ranges in questions:
            question = question_of(selected, ranges.condition(), release.declared)
            yield ask(opened, release.declared, question).rows[0]["asked"]


def error_of_averages(trial: Trial, column: str, questions: Sequence[Ranges]) -> float:
    """Return the mean width of the bounds of AVG, by the truth over the represented rows."""
    numbers, errors = numbers_of(trial.represented, column), []
    answers = bounds_of(trial, "avg", column, questions)
    for question, bounds in zip(questions, answers, strict=True):
        is_selected = question.rows(trial.represented)
        low, high = as_fraction(bounds.lower), as_fraction(bounds.upper)
        if is_selected.any() and low is not None and high is not None:
            errors.append(float(high - low) / float(numbers[is_selected].mean()))
    return float(np.mean(errors)) if errors else float("nan")


def error_of_counts(
    trial: Trial, questions: Sequence[Ranges], original: Microdata, estimator: Estimator
) -> float:
    """Return the mean distance of the estimate of COUNT from the truth, relative to the truth."""
    answers = bounds_of(trial, "count", None, questions, estimator)
    estimates = [float(as_fraction(bounds.estimate) or 0) for bounds in answers]
    true_counts = np.array(truths(questions, original))
    return float(np.mean(np.abs(np.array(estimates) - true_counts) / true_counts))


def truths(questions: Sequence[Ranges], original: Microdata) -> list[int]:
    """Return the number of rows that each question selects."""
    return [int(question.rows(original).sum()) for question in questions]


def numbers_of(microdata: Microdata, name: str) -> np.ndarray:
    """Return the values of a column of whole numbers, one per row (int64)."""
    column = microdata[name]
    values: np.ndarray = column.values.to_numpy(zero_copy_only=False)[column.codes]
    return values


def _column(name: str) -> exp.Expr:
    return exp.column(name, quoted=True)


class GroupedValues:
    """The sensitive values of groups, to be picked from.

    Args:
        group: the group of each row (int64), never below 0.
        values: the sensitive value of each row (int64).
    """

    def __init__(self, group: np.ndarray, values: np.ndarray) -> None:
        """Order the values within their groups."""
        self._group, self._values = group, values
        order = np.lexsort((values, group))
        self._sums = np.concatenate([[0], np.cumsum(values[order])])
        self._size = np.bincount(group)
        self._start = np.cumsum(self._size) - self._size
        self._distinct, self._code = np.unique(values, return_inverse=True)

    def error_where_rows_are_shown(self, picked: np.ndarray) -> float:
        """Return the width of the bounds by the truth, where each picked row's group is known.

        Args:
            picked: whether each row is picked (bool), at least one.
        """
        hits = np.bincount(self._group[picked], minlength=len(self._size))
        ends = self._start + self._size
        low = (self._sums[self._start + hits] - self._sums[self._start]).sum()
        high = (self._sums[ends] - self._sums[ends - hits]).sum()
        return float((high - low) / self._values[picked].sum())

    def error_where_labels_are_shown(self, picked: np.ndarray) -> float:
        """Return the width of the bounds by the truth, where labels are shown.

        A group counts as a whole if all its rows are picked; otherwise any number of its rows may
        count.
        """
        hits = np.bincount(self._group[picked], minlength=len(self._size))
        whole, partly = (hits == self._size)[self._group], (hits > 0)[self._group]
        sure = np.bincount(self._code[whole], minlength=len(self._distinct))
        maybe = np.bincount(self._code[partly & ~whole], minlength=len(self._distinct))
        counting = Counting(sure, maybe)
        low, high = mean(self._distinct, counting, counting)
        return float(high - low) / float(self._values[picked].mean())


def pick_rows(rows: int, selected: int, number: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Draw so many random sets of so many rows (bool, one per row)."""
    selections = []
    for _ in range(number):
        picked = np.zeros(rows, dtype=bool)
        picked[rng.choice(rows, min(selected, rows), replace=False)] = True
        selections.append(picked)
    return selections
