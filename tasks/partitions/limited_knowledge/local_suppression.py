"""Local suppression: single cells are hidden until every combination of labels keeps the promises.

In each round every row that shows a broken combination hides one more cell: of the column in most
of its broken combinations. A hidden cell is a label, too, so that hiding goes on until the
combinations with hidden cells are shown often enough. Where only hidden cells are left in what is
broken, its rows are suppressed if the budget allows it; otherwise as many cells again are hidden of
the column with the fewest, in rows that hide another column of what is broken, or with rare values.
So it ends, at the latest with everything hidden.

Source: de Waal, Willenborg, Optimal local suppression in microdata (Journal of Official Statistics
14, 1998), for the problem on combinations of a few keys; the search is our own.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np

from sfumato.expectations.groups.counting import dense, pack
from sfumato.expectations.groups.groups import Groups, People
from sfumato.expectations.measures.combinations import combinations
from sfumato.expectations.models.limited_knowledge import LimitedKnowledge
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.tasks.microdata.table import Microdata, Randomness
from sfumato.tasks.partitions.limited_knowledge.labels import (
    LabelAxis,
    RowsWithLabels,
    require_kept,
)
from sfumato.tasks.partitions.limited_knowledge.parameters import LocalSuppressionParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.shared.thresholds import needed_promises

_HIDDEN = -1  # the label of a hidden cell


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: LocalSuppressionParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows that show the same once enough cells are hidden.

    A stratum that is a quasi-identifier is shown as it is. Rows that are suppressed belong to no
    group (-1).

    Raises:
        PromiseError: if the promises are broken even with every cell hidden.
    """
    axes = [LabelAxis.from_column(c) for c in microdata.with_roles("quasi-identifier")]
    combined = needed_promises(LimitedKnowledge, promises, parameters)
    state = RowsWithLabels.hide_all(microdata, axes, strata, promises)
    require_kept(combined, state.groups, parameters.method)
    every = np.arange(microdata.rows)
    for axis in axes:
        state = state.with_label(every, axis.name, axis.label(0, axis.codes))
    search = _CellSearch(state.groups, combined, [axis.name in strata for axis in axes])
    search.run(floor(Fraction(parameters.suppression) * microdata.rows))
    alike, levels = _alike(state, search)
    tops = {axis.name: axis.top for axis in axes}
    recoding = {name: np.where(hidden, tops[name], 0) for name, hidden in levels.items()}
    return Partition(alike[state.group], recoding, search.facts)


def _alike(
    state: RowsWithLabels, search: "_CellSearch"
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return which distinct rows look alike, and where those are hidden.

    Returns:
        The group of each distinct row (int64; -1 if it is left out), and by quasi-identifier
        whether each group hides it (bool, one per group).
    """
    labels = [dense(label)[0] for label in search.labels.values()]
    columns = [state.stratum, *labels]
    keys, _ = pack(columns, [int(column.max(initial=0)) + 1 for column in columns])
    remaining = np.flatnonzero(~search.left_out)
    group, groups = dense(keys[remaining])
    alike = np.full(len(keys), -1, dtype=np.int64)
    alike[remaining] = group
    member = np.empty(groups, dtype=np.int64)
    member[group] = remaining
    hidden = {n: column[member] for n, column in zip(search.labels, search.hidden.T, strict=True)}
    return alike, hidden


class _CellSearch:
    """The distinct rows, and which of their cells are hidden so far.

    Attributes:
        hidden: which cells are hidden (bool, distinct rows x quasi-identifiers).
        left_out: which distinct rows are suppressed (bool).
    """

    def __init__(
        self, groups: Groups, promises: Sequence[LimitedKnowledge], fixed: Sequence[bool]
    ) -> None:
        """Begin with nothing hidden; columns that are `fixed` are never hidden."""
        self._groups, self._promises, self._fixed = groups, promises, np.array(fixed, dtype=bool)
        self.hidden = np.zeros((len(groups), len(groups.labels)), dtype=bool)
        self.left_out = np.zeros(len(groups), dtype=bool)
        self._rounds = 0

    @property
    def labels(self) -> dict[str, np.ndarray]:
        """The label that each distinct row shows (integers), by quasi-identifier."""
        columns = zip(self._groups.labels.items(), self.hidden.T, strict=True)
        return {name: np.where(hidden, _HIDDEN, label) for (name, label), hidden in columns}

    @property
    def facts(self) -> dict[str, int]:
        """The outcome of the search, for the data steward."""
        sizes = self._groups.sizes
        return {
            "rounds": self._rounds,
            "cells_hidden": int(sizes[~self.left_out] @ self.hidden[~self.left_out].sum(axis=1)),
            "rows_suppressed": int(sizes[self.left_out].sum()),
        }

    def run(self, budget: int) -> None:
        """Hide cells, and suppress at most `budget` rows, until no combination is broken."""
        while (score := self._score()).any():
            self._rounds += 1
            may_hide = (score > 0) & ~self.hidden & ~self._fixed
            if may_hide.any():
                self._hide_cells(np.where(may_hide, score, 0))
            else:
                budget -= self._hide_more(score, budget)

    def _score(self) -> np.ndarray:
        """Return in how many broken combinations each cell is (int32, as `hidden` is)."""
        score = np.zeros(self.hidden.shape, dtype=np.int32)
        state = replace(_leave_out(self._groups, self.left_out), labels=self.labels)
        place = {name: column for column, name in enumerate(state.labels)}
        for promise in self._promises:
            names = promise.quasi_identifiers or tuple(place)
            for seen in combinations(promise.labels_of(state), promise.knowledge):
                broken = promise.broken(seen, state)
                if broken.any():
                    shows = np.flatnonzero(broken[seen.key] & ~self.left_out)
                    for column in seen.columns:
                        score[shows, place[names[column]]] += 1
        return score

    def _hide_cells(self, score: np.ndarray) -> None:
        """Hide one more cell of each row that has a score: the highest.

        Of several the one of the column whose cells have the most in all rows.
        """
        columns = np.argsort(-(self._groups.sizes @ score), kind="stable")
        best = columns[score[:, columns].argmax(axis=1)]
        rows = np.flatnonzero(score.any(axis=1))
        self.hidden[rows, best[rows]] = True

    def _hide_more(self, score: np.ndarray, budget: int) -> int:
        """Suppress the rows whose hidden cells are too few, or hide further values of a column.

        Returns:
            The rows that were suppressed.

        Raises:
            PromiseError: if every column is hidden already.
        """
        sizes, rows = self._groups.sizes, score.any(axis=1)
        if int(sizes[rows].sum()) <= budget:
            self.left_out |= rows
            return int(sizes[rows].sum())
        some = ~self._fixed & ~self.hidden.all(axis=0)
        if not some.any():
            names = ", ".join(dict.fromkeys(promise.name for promise in self._promises))
            raise PromiseError(
                f"{names} cannot be kept by local-suppression: too few rows are left once "
                f"{int(sizes[self.left_out].sum())} are suppressed. Lower suppression"
            )
        broken = np.asarray(score.any(axis=0))
        chosen = np.asarray(some & broken)
        cells = np.where(chosen if chosen.any() else some, self._cells, INT64_MAX)
        self._hide_about_as_many(int(cells.argmin()), broken)
        return 0

    @property
    def _cells(self) -> np.ndarray:
        """The hidden cells of each column (int64, one per quasi-identifier)."""
        return np.asarray(self._groups.sizes @ self.hidden)

    def _hide_about_as_many(self, column: int, broken: np.ndarray) -> None:
        """Hide about as many further cells of a column as are hidden there.

        Args:
            column: its place.
            broken: the columns of broken combinations (bool, one per quasi-identifier). Rows that
                hide another of these go first; where there is none, those of the rarest values.
        """
        shows = ~self.hidden[:, column]
        others = broken.copy()
        others[column] = False
        first = np.flatnonzero(shows & self.hidden[:, others].any(axis=1))
        if not len(first):
            label, labels = dense(list(self._groups.labels.values())[column])
            rows = np.bincount(label[shows], self._groups.sizes[shows], labels)
            cells = np.flatnonzero(shows)
            first = cells[np.lexsort((label[cells], rows[label[cells]]))]
        hidden = max(int(self._cells[column]), 1)
        enough = int(np.searchsorted(np.cumsum(self._groups.sizes[first]), hidden))
        self.hidden[first[: enough + 1], column] = True


def _leave_out(groups: Groups, left_out: np.ndarray) -> Groups:
    """Return the same groups, some of them (bool, one per group) without any rows."""
    if not left_out.any():
        return groups
    counted = {
        name: replace(counts, count=np.where(left_out[counts.group], 0, counts.count))
        for name, counts in groups.sensitive.items()
    }
    people = None if groups.people is None else _people_without(groups.people, left_out)
    return replace(
        groups, sizes=np.where(left_out, 0, groups.sizes), sensitive=counted, people=people
    )


def _people_without(people: People, left_out: np.ndarray) -> People:
    stay = ~left_out[people.group]
    return replace(
        people, group=people.group[stay], person=people.person[stay], rows=people.rows[stay]
    )
