"""Greedy top-down recoding: every quasi-identifier begins hidden, and is shown ever more finely.

To *specialize* a node of a hierarchy is to show its children in its place, in all rows. A node is
specialized if every promise is kept after it. Finer labels can keep no promise that coarser ones
break, so that a node that was refused once stays refused: each is tried once, those first that
lose the most certainty penalty (NCP). It takes any number of columns, whose lattice would have
more nodes than could be searched, but finds no optimum.

Source: Fung, Wang, Yu, Top-down specialization for information and privacy preservation (ICDE
2005), as Mohammed, Fung, Hung, Lee (KDD 2009) use it for LKC-privacy. They choose the next node by
what it tells of a class per what it costs; here it is the gain alone.
"""

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from sfumato.expectations.groups.counting import dense
from sfumato.expectations.models.limited_knowledge import LimitedKnowledge
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.microdata.table import Column, Microdata, Randomness
from sfumato.tasks.partitions.full_domain.problem import domain_of
from sfumato.tasks.partitions.limited_knowledge.labels import (
    LabelAxis,
    RowsWithLabels,
    require_kept,
)
from sfumato.tasks.partitions.limited_knowledge.parameters import TopDownParameters
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.partitions.shared.judging import PartJudge


def partition(
    microdata: Microdata,
    strata: Sequence[str],
    promises: Sequence[PrivacyModel],
    parameters: TopDownParameters,
    randomness: Randomness,
) -> Partition:
    """Group the rows whose labels are equal once no further node can be specialized.

    A stratum that is a quasi-identifier is shown as it is.

    Raises:
        PromiseError: if the promises are broken even with everything hidden, or if one cannot be
            judged by what groups show.
    """
    axes = [LabelAxis.from_column(c) for c in microdata.with_roles("quasi-identifier")]
    judge = _NodeJudge(microdata, promises)
    state = RowsWithLabels.hide_all(microdata, axes, strata, promises)
    judge.require(state)
    search = _NodeSearch(
        [axis for axis in axes if axis.name not in strata], microdata, state, judge
    )
    state = search.run()
    levels = {a.name: state.labels[a.name] // a.levels.shape[1] for a in axes}
    return Partition(state.group, levels, search.facts)


class _NodeToTry(NamedTuple):
    """A node that may be specialized; the least is tried first.

    Attributes:
        loss: minus the share of all certainty that is gained.
        axis: the place of its quasi-identifier.
        level: its level, from the values up.
        node: its number in that level.
    """

    loss: Fraction
    axis: int
    level: int
    node: int


class _NodeSearch:
    """The nodes that are still to be tried, and the labels so far."""

    def __init__(
        self,
        axes: Sequence[LabelAxis],
        microdata: Microdata,
        state: RowsWithLabels,
        judge: "_NodeJudge",
    ) -> None:
        self._axes, self._state, self._judge = axes, state, judge
        self._gains = [_gains(microdata[axis.name], axis) for axis in axes]
        self._waiting = [
            self._candidate(place, axis.top, 0) for place, axis in enumerate(axes) if axis.top
        ]
        heapify(self._waiting)
        self._tried = self._specialized = 0

    @property
    def facts(self) -> dict[str, int]:
        """The outcome of the search, for the data steward."""
        return {"nodes_tried": self._tried, "nodes_specialized": self._specialized}

    def run(self) -> RowsWithLabels:
        """Return the labels once every node was specialized or refused."""
        while self._waiting:
            self._try(heappop(self._waiting))
        return self._state

    def _try(self, candidate: _NodeToTry) -> None:
        axis, level = self._axes[candidate.axis], candidate.level - 1
        label = candidate.level * axis.levels.shape[1] + candidate.node
        rows = self._state.rows_showing(axis.name, label)
        children = axis.label(level, axis.codes[rows])
        self._tried += 1
        if not self._judge.keeps(self._state, rows, axis.name, children):
            return
        self._state = self._state.with_label(rows, axis.name, children)
        self._specialized += 1
        if level:
            for node in distinct(axis.levels[level, axis.codes[rows]]).tolist():
                heappush(self._waiting, self._candidate(candidate.axis, level, node))

    def _candidate(self, axis: int, level: int, node: int) -> _NodeToTry:
        return _NodeToTry(-self._gains[axis][level][node], axis, level, node)


def _gains(column: Column, axis: LabelAxis) -> list[list[Fraction]]:
    """Return what specializing each node gains, in parts of all certainty of the column.

    The result is by level and node; nothing is gained at the values.
    """
    ones, present = np.ones(len(axis.codes), dtype=np.int64), distinct(axis.codes)
    measured = domain_of(ones, column, axis.levels)
    lost = [(level.rows * level.penalty).tolist() for level in measured.levels]
    gains, whole = [[Fraction(0)] * len(lost[0])], max(measured.whole, 1)
    for level in range(1, len(lost)):
        rest = [0] * len(lost[level])
        below, above = axis.levels[level - 1, present], axis.levels[level, present]
        for child, node in {*zip(below.tolist(), above.tolist(), strict=True)}:
            rest[node] += lost[level - 1][child]
        of_nodes = zip(lost[level], rest, strict=True)
        gains.append([Fraction(int(whole_) - int(part), int(whole)) for whole_, part in of_nodes])
    return gains


class _NodeJudge:
    """The promises: those on combinations of labels, and those that each group keeps by itself."""

    def __init__(self, microdata: Microdata, promises: Sequence[PrivacyModel]) -> None:
        self._combined = [p for p in promises if isinstance(p, LimitedKnowledge)]
        others = [p for p in promises if not isinstance(p, LimitedKnowledge)]
        self._each = PartJudge.from_microdata(microdata, others)

    def require(self, state: RowsWithLabels) -> None:
        """Make sure that the promises are kept before any node is specialized.

        Raises:
            PromiseError: if one is broken.
        """
        self._each.require(state.group, len(state.stratum))
        require_kept(self._combined, state.groups, "top-down")

    def keeps(self, state: RowsWithLabels, rows: np.ndarray, name: str, label: np.ndarray) -> bool:
        """Return True if all promises hold once some rows have other labels of a column.

        Arguments are as for `RowsWithLabels.relabel`; the promises hold before.
        """
        groups = state.relabel(rows, name, label)
        for promise in self._combined:
            if name in (promise.quasi_identifiers or groups.labels) and promise.breaks_with(
                name, groups
            ):
                return False
        if not self._each.promises:
            return True
        part, parts = dense(state.group[rows] * (int(label.max(initial=0)) + 1) + label)
        return not self._each.broken(rows, part, parts).any()
