"""A random search of cuts, judged by readers' estimates of private random queries.

A vector is a combination of values that occurs in the table, with its number of rows. A tree cuts
the vectors into parts. Its error is that of the readers' estimates, if its last parts, the leaves,
were published as groups.

Trees are grown from the roots, each with a random preference. Then there are rounds. In each round
random parts of each tree are regrown, one after the other, and a new part is kept if that lowers
the error; after the round the better half of the trees is kept. The effort depends only on the
number of vectors, never on running time.
"""

from collections.abc import Callable, Sequence
from math import exp
from typing import NamedTuple

import numpy as np

from sfumato.tasks.microdata.table import Randomness
from sfumato.tasks.partitions.disjoint_cover.estimates import Desk, desk_for, estimate, fit
from sfumato.tasks.partitions.disjoint_cover.queries import CoverQueries, queries, uniform
from sfumato.tasks.partitions.disjoint_cover.table import (
    CoverRule,
    CutPreference,
    Room,
    Table,
    room_for,
)
from sfumato.tasks.partitions.disjoint_cover.tree import CutTree, grow, join

_DRAWS = 509  # random numbers for growing one part, used in turn
_SAMPLE = 512  # vectors of a larger part in which its cuts are looked for
_QUERIES = 2_000  # at most
_QUERIES_EACH = 4  # for each vector, at most
_TREES = 12  # grown at most
_VECTORS_OF_TREE = 40  # for each tree to grow, at least
_TRIED = 4_000_000  # vectors to cut and judge after growing, at most
_TRIED_EACH = 500  # the same for each vector of the table
_LARGE = 50_000  # vectors; beyond, `_TREES` and `_TRIED` fall with the square of their number
_PART = 4  # a part that is regrown has at most one in this many of the vectors
_RAREST = 1e-9  # share of a value, at least
_JUDGED = 4  # judging a tree takes as long as growing one in this many of its vectors
_LEAST = 1_000  # vectors that a part counts as at least
Prune = Callable[[CutTree], CutTree]  # undoes cuts


class Effort(NamedTuple):
    """The number of trees to grow, and of vectors that may be cut and judged after that."""

    trees: int
    vectors: int


def effort(vectors: int) -> Effort:
    """Return the effort that pays: most for medium tables, because large ones leave no time."""
    share = min(1.0, (_LARGE / max(vectors, 1)) ** 2)
    trees = max(round(min(_TREES * share, vectors / _VECTORS_OF_TREE)), 1)
    tried = int(min(_TRIED_EACH * vectors, _TRIED * share))
    return Effort(trees, tried if tried > vectors // 2 else 0)


class SearchResult(NamedTuple):
    """The best tree that was found.

    Attributes:
        tree: the tree.
        trees: the number of trees that were grown.
        queries: the number of queries that they were judged by.
        median: the median relative error of the tree's estimates; None without queries.
        mean: their mean relative error; None without queries.
    """

    tree: CutTree
    trees: int
    queries: int
    median: float | None
    mean: float | None


class _JudgedTree(NamedTuple):
    """A tree with its error.

    Attributes:
        tree: the tree.
        weights: the weight with which readers expect each value to occur (float64).
        estimates: the estimate of each query (float64).
        error: the sum of the median and the mean error of the estimates.
    """

    tree: CutTree
    weights: np.ndarray
    estimates: np.ndarray
    error: float


def _error(judged: _JudgedTree) -> float:
    return judged.error


class Search(NamedTuple):
    """A search of trees for one table.

    Attributes:
        table: the vectors.
        rule: the α and β that every part keeps.
        prune: undoes the cuts of a tree that break other promises.
        randomness: the source of random numbers.
        queries: the queries by which trees are judged.
        frequent: the share of each value in all rows (float64, one per value).
        room: room for growing trees.
        desk: room for judging them.
        fast: whether to run compiled; it makes no other difference.
    """

    table: Table
    rule: CoverRule
    prune: Prune
    randomness: Randomness
    queries: CoverQueries
    frequent: np.ndarray
    room: Room
    desk: Desk
    fast: bool

    @classmethod
    def from_table(
        cls, table: Table, rule: CoverRule, prune: Prune, randomness: Randomness, fast: bool
    ) -> "Search":
        """Return a search that draws its own queries; arguments are those attributes of it."""
        cover_queries = queries(
            table, randomness, fast, min(_QUERIES, _QUERIES_EACH * len(table.rows))
        )
        rows = np.repeat(table.rows, table.codes.shape[1])
        shares = np.bincount(table.codes.ravel(), rows, int(table.begins[-1])) / table.rows.sum()
        frequent = np.maximum(shares, _RAREST)
        room, desk = room_for(table, np.zeros(_DRAWS)), desk_for(table)
        return cls(table, rule, prune, randomness, cover_queries, frequent, room, desk, fast)

    def run(self, roots: Sequence[np.ndarray], effort: Effort) -> SearchResult:
        """Return the best tree found.

        Args:
            roots: the parts to start from: for each its vectors (int64), which keep the rule.
            effort: the number of trees, and of vectors to spend on regrowing parts.
        """
        has_queries = len(self.queries.truth) > 0
        trees = effort.trees if has_queries else 1
        # lines are trees that are improved; the first one is grown by the usual preference, the
        # others by random ones
        usual = CutPreference(self.frequent, 1.0, 0.25, 0.25, 0.1, _SAMPLE)
        lines = [self._judge(join([self._cut_by(root, usual) for root in roots]))]
        while len(lines) < trees:
            lines.append(self._judge(join([self._grow(root) for root in roots])))
        rounds = trees.bit_length()  # enough to halve the trees until one is left
        for _ in range(rounds if has_queries else 0):
            share = effort.vectors // (rounds * len(lines))
            lines = sorted((self._improve(line, share) for line in lines), key=_error)
            lines = lines[: (len(lines) + 1) // 2]
        errors = self.queries.errors(lines[0].estimates) if has_queries else None
        middle = None if errors is None else round(float(np.median(errors)), 4)
        mean = None if errors is None else round(float(errors.mean()), 4)
        return SearchResult(lines[0].tree, trees, len(self.queries.truth), middle, mean)

    def _improve(self, best: _JudgedTree, vectors: int) -> _JudgedTree:
        """Return a tree after random parts of it were regrown, until so many vectors are spent."""
        while vectors > 0:
            node = self._node(best.tree)
            first, last = best.tree.nodes[node].tolist()
            better = self._otherwise(best, node)
            vectors -= max(last - first, _LEAST)
            if better is not None:
                vectors -= len(self.table.rows) // _JUDGED
                best = min(best, better, key=_error)
        return best

    def _node(self, tree: CutTree) -> int:
        """Return a random part among those that contain a random vector and are not too large."""
        vectors = len(tree.order)
        position, which = uniform(self.randomness, 2).tolist()
        first, last = tree.nodes.T
        around = np.flatnonzero(
            (first <= int(position * vectors)) & (int(position * vectors) < last)
        )
        small = around[(last - first)[around] <= vectors // _PART]
        return int(small[int(which * len(small))]) if len(small) else int(around[-1])

    def _otherwise(self, judged: _JudgedTree, node: int) -> _JudgedTree | None:
        """Return the tree with a part regrown; None if it is not better by the present weights.

        Only the estimates of the part are computed for that. A better tree gets its own weights,
        and is judged anew.
        """
        before = judged.tree.subtree(node)
        after = self._grow(before.order)
        estimates = judged.estimates - self._estimate(before, judged.weights)
        if self._error_of(estimates + self._estimate(after, judged.weights)) >= judged.error:
            return None
        return self._judge(judged.tree.with_subtree(node, after))

    def _judge(self, tree: CutTree) -> _JudgedTree:
        """Return a tree with its weights, estimates and error."""
        weights = fit(self.table, tree.order, tree.leaves, self.desk, self.fast)
        estimates = self._estimate(tree, weights)
        return _JudgedTree(tree, weights, estimates, self._error_of(estimates))

    def _estimate(self, tree: CutTree, weights: np.ndarray) -> np.ndarray:
        return estimate(
            self.table, self.queries, tree.order, tree.leaves, weights, self.desk, self.fast
        )

    def _error_of(self, estimates: np.ndarray) -> float:
        """Return the sum of the median and the mean error."""
        if not len(estimates):
            return 0.0
        errors = self.queries.errors(estimates)
        return float(np.median(errors) + errors.mean())

    def _grow(self, order: np.ndarray) -> CutTree:
        """Return a tree of some vectors, cut by a random preference."""
        # a value weighs between its share and 1, the sensitive attribute between 0.5 and 2.7; 0,
        # 0.25 or 0.5 of the tries are by scores, 0 or 0.25 by single values
        mass, sensitive, scored, single, noise = uniform(self.randomness, 5).tolist()
        preference = CutPreference(
            self.frequent**mass,
            exp(1.7 * sensitive - 0.7),
            0.25 * int(3 * scored),
            0.25 * int(2 * single),
            (0.1, 0.3, 1.0)[int(3 * noise)],
            _SAMPLE,
        )
        return self._cut_by(order, preference)

    def _cut_by(self, order: np.ndarray, preference: CutPreference) -> CutTree:
        """Return a pruned tree of some vectors, cut by a preference and by new random numbers."""
        room = self.room._replace(draws=uniform(self.randomness, _DRAWS))
        return self.prune(grow(self.table, self.rule, preference, order, room, self.fast))
