"""(α,β)-privacy: neither the presence of a person nor the person's sensitive value is likely.

Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
loss. Presence is |G| / Π m_i with |G| the rows of a group (Theorem 5.1), not with its number of
distinct sensitive values. Several groups may cover a person: `combined` adds their presences up,
for every vector of quasi-identifiers that the tables admit; `per-group` is the paper's reading.

If the rows with each value of a column are published for all groups together, a group is judged as
its cells, see `expectations.groups.marginals`: presence is then an upper bound. β does not change:
in whichever way rows have the values of quasi-identifiers, sensitive values are exchangeable
within a group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.covering import Covering, Presence, covering, single
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.marginals import MarginalCells, cells_of
from sfumato.expectations.measures.joined_presence import joint_presence
from sfumato.expectations.models.alpha_k import AlphaK
from sfumato.expectations.models.model import PrivacyModel, Verdict, Way, Worst
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import are_above, largest
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain


@dataclass(frozen=True, kw_only=True)
class AlphaBeta(PrivacyModel):
    """No vector of quasi-identifiers is more present than α, no value more associated than β.

    Merging groups that admit the same values doubles the rows and not the vectors: α-presence is
    not monotone.
    """

    name: ClassVar[str] = "alpha-beta"
    title: ClassVar[str] = "(α,β)-privacy"
    meanings: ClassVar[Mapping[str, str]] = {
        "alpha": "probability that any one combination is there, at most",
        "beta": "share of a group for any one value, at most",
    }
    monotone: ClassVar[bool] = False
    ways: ClassVar[frozenset[Way]] = frozenset({"columns"})
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"alpha", "beta"})
    needs_covers: ClassVar[bool] = True
    why_not_over_people: ClassVar[str] = (
        "it bounds the probability that one row is in a group, and a person with several rows may "
        "be there by any of them; promise k-anonymity and alpha-k"
    )

    model: Literal["alpha-beta"] = "alpha-beta"
    alpha: Annotated[
        ExactNumber,
        Field(
            gt=0,
            le=1,
            description="largest probability that any combination of quasi-identifiers is there",
        ),
    ]
    beta: Annotated[
        ExactNumber, Field(gt=0, le=1, description="largest share of one value in a group")
    ]
    presence: Literal["combined", "per-group"] = "combined"

    @property
    def marginals(self) -> tuple[str, ...]:
        """The quasi-identifiers whose marginals will be published."""
        return ()

    @property
    def judged_jointly(self) -> bool:
        """True if presence is that of all groups that cover a vector."""
        return self.presence == "combined"

    @property
    def over_versions(self) -> AlphaK:
        """The bound on association: presence is judged over all groups ever published."""
        return AlphaK(alpha=self.beta, k=1, sensitive=self.sensitive)

    @property
    def most_present(self) -> Fraction:
        """The bound on the presence of anybody: α."""
        return Fraction(self.alpha)

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`alpha`: the presence in each group by itself, `beta`: its largest share (float64).

        Raises:
            PromiseError: where the values that groups admit are not shown.
        """
        cells = self._cells(groups)
        if cells is None:
            raise PromiseError(
                "(α,β)-privacy cannot be measured, because the table does not show which values "
                "each group admits; use form ambiguous"
            )
        return {
            "alpha": cells.largest_by_group(cells.coverage.rounded_presences()),
            "beta": groups.counts_of(self.sensitive).largest / groups.sizes,
        }

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that exceed α or β by themselves (bool, one per group)."""
        cells = self._cells(groups)
        if cells is None:
            return np.ones(len(groups), dtype=bool)
        over = are_above(
            groups.counts_of(self.sensitive).largest, groups.sizes, Fraction(self.beta)
        )
        above = cells.coverage.are_above(Fraction(self.alpha))
        return np.asarray(over | cells.largest_by_group(above))

    def worst(self, groups: Groups) -> Worst:
        """Return the largest presence and association over all groups, exactly.

        Groups fail that exceed β, that exceed α by themselves, or that together cover the vector of
        largest presence where that is more than α.
        """
        cells = self._cells(groups)
        presence = None if cells is None else self._largest_presence(cells.coverage)
        counts = groups.counts_of(self.sensitive)
        failing = self.failing(groups)
        if cells is None or presence is None:
            failing[:] = True
        elif presence.largest > Fraction(self.alpha):
            failing[cells.group[list(presence.groups)]] = True
        alpha = None if presence is None else presence.largest
        beta = largest(counts.largest, groups.sizes)
        return {"alpha": alpha, "beta": beta}, int(failing.sum())

    def feasible(self, coarsest: Groups) -> Verdict | None:
        """Return the least presence and association that any grouping can have at worst.

        No grouping's β is below its stratum's, by the mediant. The combined presence, averaged over
        the vectors of a stratum, is that of the stratum as one group. For the other reading, a
        group of g rows has a presence of at least g / Π min(g, m_i).
        """
        coverage = covering(coarsest, self.quasi_identifiers)
        if coverage is None:
            return self.check(coarsest)
        least = coverage.presence if self.presence == "combined" else coverage.least_presence
        presences = [least(group) for group in range(len(coarsest))]
        most = coarsest.counts_of(self.sensitive).largest
        over = are_above(most, coarsest.sizes, Fraction(self.beta))
        over |= np.array([presence > Fraction(self.alpha) for presence in presences])
        return Verdict(
            required=self.required(),
            observed={"alpha": max(presences), "beta": largest(most, coarsest.sizes)},
            groups=len(coarsest),
            failing=int(over.sum()),
        )

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"alpha": Fraction(self.alpha), "beta": Fraction(self.beta)}

    def sentence(self) -> str:
        """Return the promise in words."""
        across = "all tables together" if self.presence == "combined" else "any one group"
        return (
            f"by {across}, no combination of quasi-identifiers is there with a probability of more "
            f"than {plain(self.alpha)}, all combinations that a group admits being equally likely; "
            f"and no value of {self.sensitive} is more than a share {plain(self.beta)} of a group"
        )

    def _cells(self, groups: Groups) -> MarginalCells | None:
        """Return the cells of the groups; None if a quasi-identifier is not shown."""
        coverage = covering(groups, self.quasi_identifiers)
        if coverage is None:
            return None
        names = groups.covers if self.quasi_identifiers is None else self.quasi_identifiers
        counted = [place for place, name in enumerate(names) if name in self.marginals]
        return cells_of(coverage, counted)

    def _largest_presence(self, coverage: Covering) -> Presence | None:
        return joint_presence(coverage) if self.presence == "combined" else single(coverage)


@dataclass(frozen=True, kw_only=True)
class AlphaBetaBesideMarginals(AlphaBeta):
    """The same promise while groups are made whose marginals will be published with them.

    Whatever the marginals are then, groups that keep it by themselves keep it beside them.
    """

    counted: tuple[str, ...] = ()

    @classmethod
    def from_promise(cls, promise: AlphaBeta, counted: Sequence[str]) -> "AlphaBetaBesideMarginals":
        """Return a promise about groups beside the marginals of these columns."""
        own = {field.name: getattr(promise, field.name) for field in fields(promise)}
        return cls(**own, counted=tuple(counted))

    @property
    def marginals(self) -> tuple[str, ...]:
        """The quasi-identifiers whose marginals will be published."""
        return self.counted
