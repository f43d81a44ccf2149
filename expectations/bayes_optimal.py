"""Bayes-optimal privacy: what an adversary who knows the population's distribution believes.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006), Theorem 3.1,
and Evfimievski, Gehrke, Srikant, Limiting privacy breaches in privacy preserving data mining (PODS
2003), for (ρ1,ρ2)-breaches.

A person with exact quasi-identifiers q is known to be in the group q*, of which the release shows
n(q*,s) rows with each value s. Given that the person has s, being one of these rows has the chance
n(q*,s) / (N(q*) f(s|q*)): so many of the people with s in the population are in the release. Times
the prior f(s|q), and N(q*) cancels:

    β(q,s) = n(q*,s) f(s|q)/f(s|q*) / Σ_s' n(q*,s') f(s'|q)/f(s'|q*)

f(s|q*) is the mean of f(s|q) over the population's people in q*.
"""

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from expectations.counting import pack
from expectations.errors import PromiseError
from expectations.groups import Counts, Groups, Joint
from expectations.model import RECODED, ExactNumber, Number, PrivacyModel, Verdict, plain

_NEAR = 1e-9  # of a threshold: what floats leave open is decided in fractions


@plain_dataclass(frozen=True, eq=False)
class Beliefs:
    """The prior f(s|q) and the belief β(q,s), float64, for each cell of a group and each value.

    Rows are the cells (the exact quasi-identifiers in the population), columns the values; `group`
    is the group of each cell, `people` (rows by values) are the population's counts and `shown`
    (groups by values) the release's.
    """

    prior: np.ndarray
    posterior: np.ndarray
    group: np.ndarray
    people: np.ndarray
    shown: np.ndarray
    smoothing: Fraction

    @property
    def possible(self) -> np.ndarray:
        """Which cells have people who could be in their group: who have a value that it shows."""
        return np.asarray(self.posterior.any(axis=1))

    def exact(self, cell: int, value: int) -> tuple[Fraction, Fraction]:
        """The prior and the belief of one cell and value as fractions."""
        group = self.group[cell]
        cells = [_smoothed(self.people[c], self.smoothing) for c in self._alike(cell)]
        sizes = [int(self.people[c].sum()) for c in self._alike(cell)]
        mine = _smoothed(self.people[cell], self.smoothing)
        terms = []
        for v, rows in enumerate(self.shown[group].tolist()):
            mean = sum(n * f[v] for n, f in zip(sizes, cells, strict=True)) / sum(sizes)
            terms.append(rows * mine[v] / mean if rows else Fraction(0))
        return mine[value], terms[value] / sum(terms)

    def _alike(self, cell: int) -> list[int]:
        found: list[int] = np.flatnonzero(self.group == self.group[cell]).tolist()
        return found


def _smoothed(people: np.ndarray, smoothing: Fraction) -> list[Fraction]:
    """f(s|q) of one cell, with Laplace's smoothing."""
    total = int(people.sum()) + smoothing * len(people)
    return [(int(n) + smoothing) / total for n in people]


def beliefs(counts: Counts, joint: Joint, smoothing: Fraction = Fraction(0)) -> Beliefs:
    """What an adversary believes of each person's value, before and after seeing the groups.

    Args:
        counts: the sensitive values of each group.
        joint: the population's people by group, exact quasi-identifiers and sensitive value.
        smoothing: what is added to each count of the population, for every value.

    Raises:
        PromiseError: where a group shows a value that nobody like it has in the population, or the
            population has nobody like it.
    """
    groups = len(counts.starts)
    values = max(counts.values, int(joint.value.max(initial=-1)) + 1)
    shown = np.zeros((groups, values), dtype=np.int64)
    shown[counts.group, counts.value] = counts.count
    group, cell = _cells(joint)
    people = np.zeros((len(group), values), dtype=np.int64)
    people[cell, joint.value] = joint.count
    if len(np.unique(group)) < groups:
        raise PromiseError("the population has nobody like some of the groups")
    sizes = people.sum(axis=1)
    prior = (people + float(smoothing)) / (sizes + float(smoothing) * values)[:, None]
    weighted = np.zeros((groups, values))
    np.add.at(weighted, group, prior * sizes[:, None])
    mean = weighted / np.bincount(group, sizes)[:, None]
    if ((shown > 0) & (mean == 0)).any():
        raise PromiseError("a group shows a value that nobody like it has in the population")
    ratio = np.divide(shown, mean, out=np.zeros_like(mean), where=mean > 0)
    terms = ratio[group] * prior
    total = terms.sum(axis=1, keepdims=True)
    posterior = np.divide(terms, total, out=np.zeros_like(terms), where=total > 0)
    return Beliefs(prior, posterior, group, people, shown, smoothing)


def _cells(joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """The group of each different cell, and the number of each entry's cell."""
    most = int(joint.cell.max(initial=-1)) + 1
    key, _ = pack([joint.group, joint.cell], [int(joint.group.max(initial=-1)) + 1, most])
    cells, number = np.unique(key, return_inverse=True)
    return cells // max(most, 1), number


@dataclass(frozen=True, kw_only=True)
class BayesOptimal(PrivacyModel):
    """No (ρ1,ρ2)-breach: what was unlikely does not become likely, nor what was likely unlikely.

    A breach is positive where a prior below ρ1 becomes a belief above ρ2, and negative where a
    prior above 1 - ρ1 becomes a belief below 1 - ρ2. Merging groups can make one: a value may be
    much more common among some of the people of the merged group.
    """

    name: ClassVar[str] = "bayes-optimal"
    monotone: ClassVar[bool] = False
    forms: ClassVar[frozenset[str]] = RECODED
    protects: ClassVar[bool] = True

    model: Literal["bayes-optimal"] = "bayes-optimal"
    rho1: Annotated[ExactNumber, Field(gt=0, lt=1, description="below it, a prior is unlikely")]
    rho2: Annotated[ExactNumber, Field(gt=0, lt=1, description="above it, a belief is likely")]
    population: Annotated[str, Field(min_length=1, description="where the population's table is")]
    smoothing: Annotated[
        ExactNumber, Field(ge=0, description="what Laplace's smoothing adds to each count")
    ] = Decimal(0)

    @model_validator(mode="after")
    def _thresholds_are_in_order(self) -> Self:
        if self.rho1 >= self.rho2:
            raise ValueError("rho1: is not smaller than rho2")
        return self

    @property
    def drawn_from(self) -> str:
        """The population's address."""
        return self.population

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`rho2`: the largest belief per group that a breach would have to exceed (float64).

        Of values with a prior below ρ1 it is the belief, of those above 1 - ρ1 the disbelief.

        Raises:
            PromiseError: where there is no population, or it contradicts the groups.
        """
        found = self._beliefs(groups)
        surprise = self._surprise(found)
        worst = np.zeros(len(groups))
        np.maximum.at(worst, found.group, surprise.max(axis=1))
        return {"rho2": worst}

    def check(self, groups: Groups) -> Verdict:
        """Whether there is no breach; what floats leave open is decided in fractions."""
        required: dict[str, Number] = {"rho2": Fraction(self.rho2)}
        try:
            found = self._beliefs(groups)
        except PromiseError:
            return Verdict(required, {"rho2": None}, len(groups), len(groups))
        limit = Fraction(self.rho2)
        surprise = self._surprise(found)
        for cell, value in np.argwhere(self._unsure(found)).tolist():
            surprise[cell, value] = float(self._exact(found, cell, value))
        breached = surprise > float(limit)
        for cell, value in np.argwhere(abs(surprise - float(limit)) <= _NEAR).tolist():
            breached[cell, value] = self._exact(found, cell, value) > limit
        cell, value = divmod(int(surprise.argmax()), surprise.shape[1])
        worst = self._exact(found, cell, value) if surprise.any() else Fraction(0)
        failing = np.unique(found.group[breached.any(axis=1)])
        return Verdict(required, {"rho2": worst}, len(groups), len(failing))

    def feasible(self, coarsest: Groups) -> None:
        """Only trying can tell: merging may break the promise and may mend it."""

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"whoever knows how {self.sensitive} is distributed in the population, and thinks a "
            f"person's value less likely than {plain(self.rho1)}, does not come to think it "
            f"likelier than {plain(self.rho2)}; nor the other way round"
        )

    def _beliefs(self, groups: Groups) -> Beliefs:
        drawn, name = groups.population, self.sensitive
        if drawn is None or not len(groups):
            raise PromiseError("Bayes-optimal privacy needs groups and a population")
        if name is None and len(drawn.joint) == 1:
            name = next(iter(drawn.joint))
        if name is None or name not in drawn.joint:
            raise PromiseError(f"the population does not tell {name!r}")
        return beliefs(groups.of(name), drawn.joint[name], Fraction(self.smoothing))

    def _surprise(self, found: Beliefs) -> np.ndarray:
        """Belief in what was unlikely, disbelief in what was likely; 0 elsewhere.

        Nobody of a cell without any of the values that its group shows can be in the group.
        """
        rho1 = float(self.rho1)
        unlikely = np.where(found.prior < rho1 + _NEAR, found.posterior, 0.0)
        likely = np.where(found.prior > 1 - rho1 - _NEAR, 1 - found.posterior, 0.0)
        return np.where(found.possible[:, None], np.maximum(unlikely, likely), 0.0)

    def _unsure(self, found: Beliefs) -> np.ndarray:
        """Where rounding leaves open on which side of ρ1 a prior is, and it matters."""
        rho1 = float(self.rho1)
        near = (abs(found.prior - rho1) <= _NEAR) | (abs(found.prior - 1 + rho1) <= _NEAR)
        over = np.maximum(found.posterior, 1 - found.posterior) > float(self.rho2) - _NEAR
        return np.asarray(near & over & found.possible[:, None])

    def _exact(self, found: Beliefs, cell: int, value: int) -> Fraction:
        (prior, posterior), rho1 = found.exact(cell, value), Fraction(self.rho1)
        unlikely = posterior if prior < rho1 else Fraction(0)
        return max(unlikely, 1 - posterior if prior > 1 - rho1 else Fraction(0))
