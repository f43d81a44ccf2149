"""The groups from which the laws of random queries are computed, until these are enough.

All queries are asked of the first sample of groups. A query that cuts few of them is asked of all
groups that matter to it as soon as this takes less time than a larger sample.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from sfumato.expectations.shared.sorting import distinct
from sfumato.tasks.query.intervals.calibration.block import block_size
from sfumato.tasks.query.intervals.calibration.blocks_of_groups import BlockOfRows, RowsOfGroups
from sfumato.tasks.query.intervals.calibration.blocks_of_rows import RowsBlocks
from sfumato.tasks.query.intervals.calibration.profiles import CodesOfProfiles, spans
from sfumato.tasks.query.intervals.shapes import Selection

_OWN = 4  # times as long as a row of a sample takes one of the groups that matter to a query
_DOUBT = 2  # an estimate that is so many times as large is trusted
_TOGETHER, _ROWS_TOGETHER = 16, 1 << 15  # queries, and rows of groups that matter to any of them
Settled = tuple[np.ndarray, np.ndarray]
"""Scores (float64, targets x queries), and whether they come from enough groups (bool, queries)."""
Evaluate = Callable[[BlockOfRows], Settled]
"""Returns the scores of the queries of a block."""


class GroupsThatMatter(Protocol):
    """The groups that a query has to be asked of."""

    def may_be_few(self, rows: int) -> np.ndarray:
        """Decide for which queries the groups may have no more than some rows (bool)."""
        ...

    def groups(self, query: int) -> np.ndarray:
        """Return the groups (integers; some may occur several times)."""
        ...


class SelectedProfiles:
    """The rows that queries select, by profile."""

    def __init__(self, rows: RowsBlocks, selections: Sequence[Sequence[Selection]]) -> None:
        """Select the profiles, and count the selected rows."""
        self._rows = rows
        chosen = rows.profiles.select(selections)
        self.chosen = chosen.astype(np.float64)
        self._is_chosen = np.ascontiguousarray(chosen.T).view(np.uint8)
        self.number = self.chosen @ rows.profiles.rows
        # more rows than any group has are of two groups at least
        self.least_groups = 1 + (self.number > rows.lengths.max(initial=0))
        self._sums: dict[CodesOfProfiles, np.ndarray] = {}

    def groups(self, query: int) -> np.ndarray:
        """Return the groups of which a query selects some rows but not all (int64)."""
        profiles, lengths = np.flatnonzero(self.chosen[query]), self._rows.lengths
        order, first = self._rows.by_profile
        group = self._rows.group[order[spans(first[profiles], first[profiles + 1])]]
        hits = np.bincount(group, minlength=len(lengths))
        touched = np.flatnonzero(hits)
        self.least_groups[query] = len(touched)
        return np.asarray(touched[hits[touched] < lengths[touched]])

    def may_be_few(self, rows: int) -> np.ndarray:
        """Decide for which queries the groups may have no more than some rows (bool).

        It is not likely if the first sample has many cut groups for its share of all groups.
        """
        return self._about_cut <= _DOUBT * rows

    @cached_property
    def _about_cut(self) -> np.ndarray:
        """The rows of the groups that each query cuts, as the first sample has it (float64)."""
        return np.concatenate(
            [
                block.rows.scale * ((block.mixed_pairs > 0) @ block.rows.lengths)
                for block in self._first_blocks
            ]
        )

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """Return sums over selected rows from those of profiles (float64, queries x numbers).

        Args:
            numbers: the sums over each profile (float64, profiles x numbers).
        """
        sums: np.ndarray = self.chosen @ numbers
        return sums

    def sums_of(self, codes: CodesOfProfiles) -> np.ndarray:
        """Return the numbers of values in selected rows, by code (float64, queries x codes)."""
        if codes not in self._sums:
            self._sums[codes] = codes.sums(self.chosen)
        return self._sums[codes]

    def best(self, of_profiles: np.ndarray) -> np.ndarray:
        """Return the greatest number of the profiles that each query selects (int64, per query).

        The number of a query that selects no rows is that of any profile.
        """
        order = np.argsort(-of_profiles, kind="stable")
        first = (self.chosen.take(order, axis=1) > 0).argmax(axis=1)
        return np.asarray(of_profiles[order[first]])

    def settle(self, evaluate: Evaluate, matter: GroupsThatMatter | None = None) -> np.ndarray:
        """Return the scores of all queries, each from enough groups (float64, targets x queries).

        Args:
            evaluate: returns the scores of the queries of a block, and whether they are settled.
            matter: the groups that matter; None for those of selected rows.
        """
        parts: list[tuple[np.ndarray, np.ndarray]] = []
        waiting = _ask(self._first_blocks, evaluate, parts)
        own = _GroupsOfQueries(matter or self, self._rows.lengths)
        for place in range(1, self._rows.number_of_samples):
            sample = self._rows.sample(place)
            few = own.are_few(waiting, len(sample.profile) // _OWN)
            _ask(self._blocks_of_few(waiting[few], own), evaluate, parts)
            waiting = _ask(self._in_blocks(sample, waiting[~few]), evaluate, parts)
        queries, scores = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
        return np.asarray(scores[:, np.argsort(queries)])

    @cached_property
    def _first_blocks(self) -> Sequence[BlockOfRows]:
        """All queries with the first sample of groups."""
        return list(self._in_blocks(self._rows.sample(0), np.arange(len(self.chosen))))

    def _in_blocks(self, rows: RowsOfGroups, queries: np.ndarray) -> Iterator[BlockOfRows]:
        size = block_size(len(rows.profile))
        for begin in range(0, len(queries), size):
            yield self._block(rows, queries[begin : begin + size])

    def _blocks_of_few(self, queries: np.ndarray, own: "_GroupsOfQueries") -> Iterator[BlockOfRows]:
        """Yield blocks of queries (positions, int64) with all groups that matter (`own`)."""
        rows = np.array([own.rows(query) for query in queries.tolist()])
        fewest_first = np.argsort(rows, kind="stable")
        for part in _parts(queries[fewest_first], rows[fewest_first]):
            groups = distinct(np.concatenate([own.groups(query) for query in part.tolist()]))
            yield self._block(self._rows.rows_of(groups, 1.0), part)

    def _block(self, rows: RowsOfGroups, queries: np.ndarray) -> BlockOfRows:
        number, least_groups = self.number[queries], self.least_groups[queries]
        is_chosen = self._is_chosen[rows.profiles[:, None], queries]
        return BlockOfRows(rows, is_chosen, queries, number, least_groups)


class _GroupsOfQueries:
    """The groups that matter to queries, each once."""

    def __init__(self, matter: GroupsThatMatter, lengths: np.ndarray) -> None:
        """Take the groups, some several times, and the number of rows of each of all groups."""
        self._matter, self._lengths = matter, lengths
        self._groups: dict[int, np.ndarray] = {}
        self._rows: dict[int, int] = {}

    def are_few(self, queries: np.ndarray, most: int) -> np.ndarray:
        """Decide which queries' groups have no more than some rows (bool).

        Args:
            queries: the queries (positions, int64).
            most: the number of rows.
        """
        few: np.ndarray = self._matter.may_be_few(most)[queries]
        few[few] = [self.rows(query) <= most for query in queries[few].tolist()]
        return few

    def rows(self, query: int) -> int:
        """Return the number of rows of the groups of a query."""
        if query not in self._rows:
            self._rows[query] = int(self._lengths[self.groups(query)].sum())
        return self._rows[query]

    def groups(self, query: int) -> np.ndarray:
        """Return the groups of a query (int64, ascending)."""
        if query not in self._groups:
            present = np.zeros(len(self._lengths), dtype=bool)
            present[self._matter.groups(query)] = True
            self._groups[query] = np.flatnonzero(present)
        return self._groups[query]


def _ask(
    blocks: Iterator[BlockOfRows] | Sequence[BlockOfRows],
    evaluate: Evaluate,
    parts: list[tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Ask queries in blocks, and return those that are not settled (int64, ascending).

    Args:
        blocks: the blocks.
        evaluate: returns the scores of the queries of a block, and whether they are settled.
        parts: gets the settled queries and their scores.
    """
    waiting = [np.empty(0, dtype=np.int64)]
    for block in blocks:
        scores, settled = evaluate(block)
        parts.append((block.queries[settled], scores[:, settled]))
        waiting.append(block.queries[~settled])
    return np.sort(np.concatenate(waiting))


def _parts(queries: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a few queries (positions) at a time, with few rows (int64, one per query)."""
    part = np.maximum(np.cumsum(rows) // _ROWS_TOGETHER, np.arange(len(rows)) // _TOGETHER)
    for number in distinct(part.astype(np.int64)).tolist():
        yield queries[part == number]
