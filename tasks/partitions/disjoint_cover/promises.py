"""The promises that parts of a tree of cuts keep: α and β, and others judged by their models."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import NamedTuple

import numpy as np

from sfumato.expectations.models.alpha_beta import AlphaBeta, AlphaBetaBesideMarginals
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.errors import PromiseError
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.disjoint_cover.table import CoverRule
from sfumato.tasks.partitions.disjoint_cover.tree import CutTree
from sfumato.tasks.partitions.shared.judging import PartJudge
from sfumato.tasks.partitions.shared.thresholds import smallest_alpha, smallest_beta

_MOST = 2**62  # of rows times a denominator


class CoverGoal(NamedTuple):
    """One (α,β)-promise that implies all others of its kind, and the promises of other kinds."""

    promise: AlphaBeta
    others: tuple[PrivacyModel, ...]

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that may be cut, on which presence is judged."""
        return self.promise.quasi_identifiers or ()

    def rule(self, rows: int) -> CoverRule:
        """Return α and β for compiled code, rounded down if so many rows would overflow."""
        alpha, beta = (
            _fitting(Fraction(n), _MOST // rows) for n in (self.promise.alpha, self.promise.beta)
        )
        per_alpha = 0 if alpha == 1 else alpha.denominator
        nothing = np.zeros(len(self.quasi_identifiers), dtype=np.int64)
        return CoverRule(alpha.numerator, per_alpha, beta.numerator, beta.denominator, nothing)

    def rule_for(self, microdata: Microdata) -> CoverRule:
        """Return α and β for the rows of a table, with what its marginals will count."""
        rule = self.rule(microdata.rows)
        for place, name in enumerate(self.quasi_identifiers):
            if name in self.promise.marginals:
                rule.counted[place] = np.bincount(microdata[name].category()[0]).max()
        return rule


def _fitting(number: Fraction, most: int) -> Fraction:
    if number.denominator <= most:
        return number
    return Fraction(floor(number * most), most)


def strictest_cover(
    microdata: Microdata, strata: Sequence[str], promises: Sequence[PrivacyModel]
) -> CoverGoal:
    """Return the strictest α and β, on the quasi-identifiers that all (α,β)-promises name.

    A promise about another sensitive attribute than the first one's becomes (α,k)-anonymity.

    Raises:
        PromiseError: if groups of different strata could admit the same values, or if
            another promise cannot be judged part by part.
    """
    alpha_betas = [promise for promise in promises if isinstance(promise, AlphaBeta)]
    names = _scope(microdata, strata, alpha_betas)
    sensitive = [_sensitive(microdata, promise) for promise in alpha_betas]
    strictest = AlphaBetaBesideMarginals(
        counted=tuple(name for name in names if name in alpha_betas[0].marginals),
        alpha=smallest_alpha(alpha_betas),
        beta=smallest_beta(
            p for p, name in zip(alpha_betas, sensitive, strict=True) if name == sensitive[0]
        ),
        quasi_identifiers=tuple(names),
        sensitive=sensitive[0],
    )
    others = [
        AlphaK(alpha=promise.beta, k=1, sensitive=name)
        for promise, name in zip(alpha_betas, sensitive, strict=True)
        if name != sensitive[0]
    ]
    rest = [promise for promise in promises if not isinstance(promise, AlphaBeta)]
    return CoverGoal(strictest, tuple(others + _judgeable(rest)))


def _scope(microdata: Microdata, strata: Sequence[str], promises: Sequence[AlphaBeta]) -> list[str]:
    """Return the quasi-identifiers that all promises are about.

    Raises:
        PromiseError: if there are none, or if strata are formed by other columns and a promise is
            about the presence in all groups together.
    """
    names = [column.name for column in microdata.with_roles("quasi-identifier")]
    for promise in promises:
        names = [name for name in names if name in (promise.quasi_identifiers or names)]
    outside = [name for name in strata if name not in names]
    if not names or (outside and any(promise.presence == "combined" for promise in promises)):
        raise PromiseError(
            "disjoint-cover needs quasi-identifiers that all (α,β)-privacy promises name (there "
            f"are {len(names)}), and all strata among them ({outside} are not)"
        )
    return names


def _sensitive(microdata: Microdata, promise: AlphaBeta) -> str:
    if promise.sensitive is not None:
        return promise.sensitive
    names = [column.name for column in microdata.with_roles("sensitive")]
    if len(names) != 1:
        number = len(names)
        raise PromiseError(f"(α,β)-privacy must name one of {number} sensitive columns (sensitive)")
    return names[0]


def _judgeable(promises: Sequence[PrivacyModel]) -> list[PrivacyModel]:
    for promise in promises:
        if not promise.monotone or promise.reference_uri is not None or promise.needs_covers:
            raise PromiseError(
                f"{promise.name} cannot be kept by cutting groups; leave it out, or use another "
                "partition"
            )
    return list(promises)


@dataclass(frozen=True, eq=False)
class OtherPromises:
    """Promises other than (α,β)-privacy, and the `rows` of each vector from `starts` on (int64)."""

    judge: PartJudge
    rows: np.ndarray
    starts: np.ndarray

    @classmethod
    def for_vectors(
        cls, microdata: Microdata, promises: Sequence[PrivacyModel], vector: np.ndarray
    ) -> "OtherPromises":
        """Return the promises, given the vector of each row (int64)."""
        rows = np.argsort(vector, kind="stable")
        counts = np.bincount(vector)
        return cls(
            PartJudge.from_microdata(microdata, promises),
            rows,
            np.concatenate([[0], np.cumsum(counts)]),
        )

    def require(self, roots: Sequence[np.ndarray]) -> None:
        """Make sure that whole strata keep the promises; a root has one stratum's vectors (int64).

        Raises:
            PromiseError: if one does not.
        """
        rows = [self._rows_of_vectors(root) for root in roots]
        part = np.repeat(np.arange(len(roots)), [len(some) for some in rows])
        broken = int(self.judge.broken(np.concatenate(rows), part, len(roots)).sum())
        if broken:
            names = ", ".join(promise.name for promise in self.judge.promises)
            raise PromiseError(
                f"{names} cannot be kept: {broken} of {len(roots)} strata break it even as one "
                "group. Promise less, or use fewer strata"
            )

    def prune(self, tree: CutTree) -> CutTree:
        """Undo cuts with a side that breaks a promise."""
        while len(tree.nodes) > 1:
            leaves = np.flatnonzero(tree.uncut)
            rows = [
                self._rows_of_vectors(tree.order[slice(*node)])
                for node in tree.nodes[leaves].tolist()
            ]
            part = np.repeat(np.arange(len(leaves)), [len(some) for some in rows])
            broken = self.judge.broken(np.concatenate(rows), part, len(leaves))
            if not broken.any():
                break
            tree = tree.without_cuts(leaves[broken])
        return tree

    def _rows_of_vectors(self, vectors: np.ndarray) -> np.ndarray:
        first, counts = self.starts[vectors], self.starts[vectors + 1] - self.starts[vectors]
        skipped = np.repeat(first - np.cumsum(counts) + counts, counts)
        rows: np.ndarray = self.rows[skipped + np.arange(len(skipped))]
        return rows
