"""Bayes-optimal privacy: what an adversary who knows the population's distribution believes.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006), Theorem 3.1,
and Evfimievski, Gehrke, Srikant, Limiting privacy breaches in privacy preserving data mining (PODS
2003), for (ρ1,ρ2)-breaches.

A person with exact quasi-identifiers q is known to be in the group q*, of which the release shows
n(q*,s) rows with each value s. Given that the person has s, being one of these rows has the chance
n(q*,s) / (N(q*) f(s|q*)): so many of the people with s in the population are in the release. Times
the prior f(s|q), and N(q*) cancels:

    β(q,s) = n(q*,s) f(s|q)/f(s|q*) / Σ_s' n(q*,s') f(s'|q)/f(s'|q*)

f(s|q*) is the mean of f(s|q) over the population's people in q*. Where f(s|q) is the same for all
q of q*, β(q,s) is n(q*,s) / |q*|. Where no value that anybody of q has is shown for q*, nobody of q
is in the release, and there is no belief about them.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from expectations.errors import PromiseError
from expectations.groups import Counts, Groups, Joint
from expectations.model import RECODED, ExactNumber, Number, PrivacyModel, Verdict, plain
from expectations.ratios import above, below

_INT64 = 2**63 - 1
_NEAR = 1e-9  # of a threshold: what floats leave open is decided in fractions


@plain_dataclass(frozen=True, eq=False)
class Beliefs:
    """The prior f(s|q) and the belief β(q,s), float64, of people with q about the value s.

    All arrays are parallel and sorted by group, cell, value, one entry for each pair of a cell (the
    exact quasi-identifiers q, numbered in all groups together) and a value that has a prior above
    0. Cells of which nobody can be in the release are left out. The prior is exactly
    `weight / total`; `people` of the population are in the cell, and the group shows the value in
    `rows` rows.
    """

    group: np.ndarray
    cell: np.ndarray
    value: np.ndarray
    weight: np.ndarray
    total: np.ndarray
    people: np.ndarray
    rows: np.ndarray
    prior: np.ndarray
    posterior: np.ndarray
    _known: dict[tuple[int, int], Fraction] = field(default_factory=dict, init=False)

    def exact(self, entry: int) -> tuple[Fraction, Fraction]:
        """The prior and the belief of one entry as fractions."""
        start, end = np.searchsorted(self.cell, [self.cell[entry], self.cell[entry] + 1]).tolist()
        terms = {i: self._term(i) for i in range(start, end) if self.rows[i]}
        prior = Fraction(int(self.weight[entry]), int(self.total[entry]))
        return prior, terms.get(entry, Fraction(0)) / sum(terms.values())

    def _term(self, entry: int) -> Fraction:
        group, value = int(self.group[entry]), int(self.value[entry])
        if (group, value) not in self._known:
            self._known[group, value] = self._alike(group, value)
        return int(self.rows[entry]) * int(self.weight[entry]) / self._known[group, value]

    def _alike(self, group: int, value: int) -> Fraction:
        """How many of the population's people in the group have the value, as the priors say."""
        start, end = np.searchsorted(self.group, [group, group + 1])
        mine = start + np.flatnonzero(self.value[start:end] == value)
        sums: dict[int, int] = defaultdict(int)
        parts = (self.people[mine], self.weight[mine], self.total[mine])
        for people, weight, total in zip(*(part.tolist() for part in parts), strict=True):
            sums[total] += people * weight
        return sum((Fraction(n, total) for total, n in sums.items()), Fraction(0))


def beliefs(counts: Counts, joint: Joint, smoothing: Fraction = Fraction(0)) -> Beliefs:
    """What an adversary believes of each person's value, before and after seeing the groups.

    Without smoothing this takes time and memory in proportion to the entries of `joint`, with it
    to the cells times the values.

    Args:
        counts: the sensitive values of each group.
        joint: the population's people by group, exact quasi-identifiers and sensitive value.
        smoothing: what is added to each cell's count of each value that a group shows or one of
            its people has (Laplace); 0, or at least 1e-12.

    Raises:
        PromiseError: where the population has nobody like a group, or nobody like it with a value
            that it shows; groups are numbered from 0.
    """
    values = np.union1d(counts.value, joint.value)
    spread = _everywhere(joint, values) if smoothing else joint
    rows, kind = _shown(counts, spread)
    cell = _numbered(spread)
    people = np.bincount(cell, spread.count).astype(np.int64)[cell]
    weight = _scaled(spread.count, smoothing.denominator, smoothing.numerator)
    total = _scaled(people, smoothing.denominator, smoothing.numerator * len(values))
    prior = (weight / total).astype(np.float64)
    terms = rows * prior / np.bincount(kind, people * prior)[kind]
    sums = np.bincount(cell, terms)[cell]
    kept = np.flatnonzero(sums)
    return Beliefs(
        group=spread.group[kept],
        cell=cell[kept],
        value=spread.value[kept],
        weight=weight[kept],
        total=total[kept],
        people=people[kept],
        rows=rows[kept],
        prior=prior[kept],
        posterior=terms[kept] / sums[kept],
    )


def _everywhere(joint: Joint, values: np.ndarray) -> Joint:
    """The same people, with an entry for each of the values in each cell, however few have it."""
    number = _numbered(joint)
    first = np.flatnonzero(np.diff(number, prepend=-1))
    count = np.zeros(len(first) * len(values), dtype=np.int64)
    count[number * len(values) + np.searchsorted(values, joint.value)] = joint.count
    group, cell = (np.repeat(c[first], len(values)) for c in (joint.group, joint.cell))
    return Joint(group, cell, np.tile(values, len(first)), count)


def _numbered(joint: Joint) -> np.ndarray:
    """The number of each entry's cell, in all groups together."""
    new = (np.diff(joint.group, prepend=-1) != 0) | (np.diff(joint.cell, prepend=-1) != 0)
    return np.cumsum(new) - 1


def _shown(counts: Counts, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """How many rows show each entry's value in its group, and a number for that group and value."""
    most = max(int(counts.value.max(initial=0)), int(joint.value.max(initial=0))) + 1
    wanted, told = counts.group * most + counts.value, joint.group * most + joint.value
    _refuse(counts.group[~np.isin(counts.group, joint.group)], "the population has nobody like it")
    _refuse(counts.group[~np.isin(wanted, told)], "shows a value that nobody like it has")
    kinds, kind = np.unique(told, return_inverse=True)
    rows = np.zeros(len(kinds), dtype=np.int64)
    rows[np.searchsorted(kinds, wanted)] = counts.count
    return rows[kind], kind


def _refuse(groups: np.ndarray, why: str) -> None:
    if len(groups):
        raise PromiseError(f"group {groups[0]}: {why}")


def _scaled(numbers: np.ndarray, factor: int, plus: int) -> np.ndarray:
    """Whole numbers times a factor, plus a number, in Python integers where int64 overflows."""
    if int(numbers.max(initial=1)) * factor + plus > _INT64:
        numbers = numbers.astype(object)
    return numbers * factor + plus


class _Surprise(NamedTuple):
    """Belief in what was unlikely, disbelief in what was likely: `size`, float64, else 0."""

    unlikely: np.ndarray
    likely: np.ndarray
    size: np.ndarray

    def exact(self, found: Beliefs, entry: int) -> Fraction:
        """The size of one entry as a fraction."""
        _, posterior = found.exact(entry)
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
    monotone: ClassVar[bool] = False
    forms: ClassVar[frozenset[str]] = RECODED
    protects: ClassVar[bool] = True

    model: Literal["bayes-optimal"] = "bayes-optimal"
    rho1: Annotated[ExactNumber, Field(gt=0, lt=1, description="below it, a prior is unlikely")]
    rho2: Annotated[ExactNumber, Field(gt=0, lt=1, description="above it, a belief is likely")]
    population: Annotated[str, Field(min_length=1, description="where the population's table is")]
    smoothing: Annotated[
        ExactNumber,
        Field(ge=0, decimal_places=12, description="what Laplace's smoothing adds to each count"),
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
        """`rho2`: the largest belief of each group that a breach would have to exceed (float64).

        Of values with a prior below ρ1 it is the belief, of those above 1 - ρ1 the disbelief; 0
        where there are none.

        Raises:
            PromiseError: where there is no population, or it contradicts the groups.
        """
        found = self._beliefs(groups)
        worst = np.zeros(len(groups))
        np.maximum.at(worst, found.group, self._surprise(found).size)
        return {"rho2": worst}

    def check(self, groups: Groups) -> Verdict:
        """Whether there is no breach; what floats leave open is decided in fractions."""
        required: dict[str, Number] = {"rho2": Fraction(self.rho2)}
        try:
            found = self._beliefs(groups)
        except PromiseError:
            return Verdict(required, {"rho2": None}, len(groups), len(groups))
        surprise, limit = self._surprise(found), float(self.rho2)
        judged = surprise.unlikely | surprise.likely
        near = abs(surprise.size - limit) <= _NEAR
        largest = surprise.size >= surprise.size.max(initial=0.0) - _NEAR
        unsure = np.flatnonzero(judged & (near | largest)).tolist()
        exact = {entry: surprise.exact(found, entry) for entry in unsure}
        breached = surprise.size > limit
        breached[unsure] = [size > Fraction(self.rho2) for size in exact.values()]
        observed = {"rho2": max(exact.values(), default=Fraction(0))}
        return Verdict(required, observed, len(groups), len(np.unique(found.group[breached])))

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

    def _surprise(self, found: Beliefs) -> _Surprise:
        rho1 = Fraction(self.rho1)
        unlikely = below(found.weight, found.total, rho1)
        likely = above(found.weight, found.total, 1 - rho1)
        size = np.maximum(unlikely * found.posterior, likely * (1 - found.posterior))
        return _Surprise(unlikely, likely, size)
