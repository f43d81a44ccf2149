"""Bayes-optimal privacy: seeing the groups turns no unlikely value into a likely one, nor back.

Source: Evfimievski, Gehrke, Srikant, Limiting privacy breaches in privacy preserving data mining
(PODS 2003), on the beliefs of Machanavajjhala et al., l-diversity (ICDE 2006).
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.beliefs import NEAR, Beliefs, beliefs
from sfumato.expectations.models.model import (
    PrivacyModel,
    ReferencePlace,
    Way,
    Worst,
)
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import are_above, are_below
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain


class _Surprise(NamedTuple):
    """Surprises of each entry: belief in the unlikely, disbelief in the likely.

    `size` is float64, 0 without a surprise.
    """

    unlikely: np.ndarray
    likely: np.ndarray
    size: np.ndarray

    def exact(self, estimates: Beliefs, entry: int) -> Fraction:
        """Return the size of one entry as a fraction."""
        _, posterior = estimates.exact(entry)
        unlikely = posterior if self.unlikely[entry] else Fraction(0)
        return max(unlikely, 1 - posterior) if self.likely[entry] else unlikely


@dataclass(frozen=True, kw_only=True)
class BayesOptimal(PrivacyModel):
    """No (ρ1,ρ2)-breach: what was unlikely does not become likely, nor what was likely unlikely.

    A breach is positive where a prior below ρ1 becomes a belief above ρ2, and negative where a
    prior above 1 - ρ1 becomes a belief below 1 - ρ2. Merging groups can make one: a value may be
    much more common among some of the people of the merged group.
    """

    name: ClassVar[str] = "bayes-optimal"
    title: ClassVar[str] = "(ρ1,ρ2)-privacy"
    meanings: ClassVar[Mapping[str, str]] = {
        "rho2": "what is believed of a value that was thought unlikely, at most",
    }
    monotone: ClassVar[bool] = False
    ways: ClassVar[frozenset[Way]] = frozenset({"labels"})
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"rho2"})
    needs_population: ClassVar[bool] = True
    since: ClassVar[int] = 6
    why_not_over_people: ClassVar[str] = (
        "it is about the one value of a person, and a person with several rows may have several "
        "values; promise beta-likeness or t-closeness"
    )

    model: Literal["bayes-optimal"] = "bayes-optimal"
    rho1: Annotated[
        ExactNumber,
        Field(gt=0, lt=1, description="values that were less probable before count as unlikely"),
    ]
    rho2: Annotated[
        ExactNumber,
        Field(gt=0, lt=1, description="largest probability that an unlikely value may get"),
    ]
    reference: ReferencePlace
    smoothing: Annotated[
        ExactNumber,
        Field(
            ge=0,
            decimal_places=12,
            description="number added to each count of the population (Laplace's smoothing)",
        ),
    ] = Decimal(0)

    @model_validator(mode="after")
    def _thresholds_are_in_order(self) -> Self:
        if self.rho1 >= self.rho2:
            raise ValueError("rho1: must be smaller than rho2")
        return self

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`rho2`: the largest belief of each group that a breach would have to exceed (float64).

        Of values with a prior below ρ1 it is the belief, of those above 1 - ρ1 the disbelief; 0
        where there are none.

        Raises:
            PromiseError: where there is no population, or it contradicts the groups.
        """
        estimates = self._beliefs(groups)
        worst = np.zeros(len(groups))
        np.maximum.at(worst, estimates.group, self._surprise(estimates).size)
        return {"rho2": worst}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with a breach (bool, one per group)."""
        return self._judge(groups)[0]

    def worst(self, groups: Groups) -> Worst:
        """Return the largest surprise; what floats leave open is decided in fractions."""
        failing, worst = self._judge(groups)
        return {"rho2": worst}, int(failing.sum())

    def _judge(self, groups: Groups) -> tuple[np.ndarray, Fraction | None]:
        """Return the groups with a breach, and the largest belief that could be one."""
        try:
            estimates = self._beliefs(groups)
        except PromiseError:
            return np.ones(len(groups), dtype=bool), None
        surprise, limit = self._surprise(estimates), float(self.rho2)
        judged = surprise.unlikely | surprise.likely
        near = abs(surprise.size - limit) <= NEAR
        largest = surprise.size >= surprise.size.max(initial=0.0) - NEAR
        unsure = np.flatnonzero(judged & (near | largest)).tolist()
        exact = {entry: surprise.exact(estimates, entry) for entry in unsure}
        breached = surprise.size > limit
        breached[unsure] = [size > Fraction(self.rho2) for size in exact.values()]
        failing = np.zeros(len(groups), dtype=bool)
        failing[estimates.group[breached]] = True
        return failing, max(exact.values(), default=Fraction(0))

    def feasible(self, coarsest: Groups) -> None:
        """Return None: only trying can tell, as merging may break the promise or mend it."""

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"rho2": Fraction(self.rho2)}

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"whoever knows how {self.sensitive} is distributed in the population, and thinks a "
            f"person's value less likely than {plain(self.rho1)}, does not come to think it "
            f"likelier than {plain(self.rho2)}; nor the other way round"
        )

    def _beliefs(self, groups: Groups) -> Beliefs:
        population, name = groups.population, self.sensitive
        if population is None or not len(groups):
            raise PromiseError(
                "(ρ1,ρ2)-privacy cannot be measured without rows and a table of the population "
                "(reference)"
            )
        if name is None and len(population.joint) == 1:
            name = next(iter(population.joint))
        if name is None or name not in population.joint:
            raise PromiseError(f"the population (reference) has no column {name!r}")
        return beliefs(groups.counts_of(name), population.joint[name], Fraction(self.smoothing))

    def _surprise(self, estimates: Beliefs) -> _Surprise:
        rho1 = Fraction(self.rho1)
        unlikely = are_below(estimates.weight, estimates.total, rho1)
        likely = are_above(estimates.weight, estimates.total, 1 - rho1)
        size = np.maximum(unlikely * estimates.posterior, likely * (1 - estimates.posterior))
        return _Surprise(unlikely, likely, size)
