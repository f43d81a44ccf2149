"""Bayes-optimal privacy: the beliefs of an adversary who knows the population's distribution.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity (ICDE 2006), Theorem 3.1,
and Evfimievski, Gehrke, Srikant, Limiting privacy breaches in privacy preserving data mining (PODS
2003), for (ρ1,ρ2)-breaches.

A person with exact quasi-identifiers q is known to be in the group q*, of which the release shows
n(q*,s) rows with each value s. Given that the person has s, being one of these rows has the chance
n(q*,s) / (N(q*) f(s|q*)): that share of the people with s in the population is released. Times
the prior f(s|q), and N(q*) cancels:

    β(q,s) = n(q*,s) f(s|q)/f(s|q*) / Σ_s' n(q*,s') f(s'|q)/f(s'|q*)

f(s|q*) is the mean of f(s|q) over the population's people in q*. Where f(s|q) is the same for all
q of q*, β(q,s) is n(q*,s) / |q*|. Where no value that anybody of q has is shown for q*, nobody of q
is in the release, and there is no belief about them.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Joint
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import INT64_MAX

NEAR = 1e-9  # of a threshold: what floats leave open is decided in fractions


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The prior f(s|q) and the belief β(q,s), float64, of people with q about the value s.

    All arrays are parallel and sorted by group, cell, value, one entry for each pair of a cell (the
    exact quasi-identifiers q, numbered across all groups) and a value whose prior is above 0. Cells
    of which nobody can be in the release are left out. The prior is exactly `weight / total`;
    `people` of the population are in the cell, and the group shows the value in `rows` rows. Apart
    from the two chances all are int64, or Python integers where those would overflow.
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
        """Return the prior and the belief of one entry as fractions."""
        start, end = np.searchsorted(self.cell, [self.cell[entry], self.cell[entry] + 1]).tolist()
        terms = {i: self._term(i) for i in range(start, end) if self.rows[i]}
        prior = Fraction(int(self.weight[entry]), int(self.total[entry]))
        return prior, terms.get(entry, Fraction(0)) / sum(terms.values())

    def positive(self, delta: Fraction) -> np.ndarray:
        """Mark the positive disclosures: beliefs above 1 - δ, exactly (bool, one per entry)."""
        return self._decide_near(self.posterior > float(1 - delta), 1 - delta, above=True)

    def negative(self, epsilon: Fraction) -> np.ndarray:
        """Mark the negative disclosures: beliefs below ε, exactly (bool, one per entry)."""
        return self._decide_near(self.posterior < float(epsilon), epsilon, above=False)

    def _decide_near(self, rounded: np.ndarray, limit: Fraction, *, above: bool) -> np.ndarray:
        for entry in np.flatnonzero(abs(self.posterior - float(limit)) <= NEAR).tolist():
            belief = self.exact(entry)[1]
            rounded[entry] = belief > limit if above else belief < limit
        return rounded

    def _term(self, entry: int) -> Fraction:
        group, value = int(self.group[entry]), int(self.value[entry])
        if (group, value) not in self._known:
            self._known[group, value] = self._alike(group, value)
        return int(self.rows[entry]) * int(self.weight[entry]) / self._known[group, value]

    def _alike(self, group: int, value: int) -> Fraction:
        """Return how many of the population's people in the group have the value, by the priors."""
        start, end = np.searchsorted(self.group, [group, group + 1])
        mine = start + np.flatnonzero(self.value[start:end] == value)
        sums: dict[int, int] = defaultdict(int)
        parts = (self.people[mine], self.weight[mine], self.total[mine])
        for people, weight, total in zip(*(part.tolist() for part in parts), strict=True):
            sums[total] += people * weight
        return sum((Fraction(n, total) for total, n in sums.items()), Fraction(0))


def beliefs(counts: Counts, joint: Joint, smoothing: Fraction = Fraction(0)) -> Beliefs:
    """Return an adversary's beliefs about each person's value, before and after seeing the groups.

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
    rows, kind = _rows_and_kinds(counts, spread)
    cell = _number_cells(spread)
    people = np.bincount(cell, spread.count).astype(np.int64)[cell]
    weight = _scale(spread.count, smoothing.denominator, smoothing.numerator)
    total = _scale(people, smoothing.denominator, smoothing.numerator * len(values))
    prior = (weight / total).astype(np.float64)
    # each term is n(q*,s) f(s|q) over N(q*) f(s|q*), the people of q* who have s
    terms = rows * prior / np.bincount(kind, people * prior)[kind]
    sums = np.bincount(cell, terms)[cell]
    entries = np.flatnonzero(sums)
    return Beliefs(
        group=spread.group[entries],
        cell=cell[entries],
        value=spread.value[entries],
        weight=weight[entries],
        total=total[entries],
        people=people[entries],
        rows=rows[entries],
        prior=prior[entries],
        posterior=terms[entries] / sums[entries],
    )


def _everywhere(joint: Joint, values: np.ndarray) -> Joint:
    """Return the same people, with an entry for every value in each cell."""
    number = _number_cells(joint)
    first = np.flatnonzero(np.diff(number, prepend=-1))
    count = np.zeros(len(first) * len(values), dtype=np.int64)
    count[number * len(values) + np.searchsorted(values, joint.value)] = joint.count
    group, cell = (np.repeat(c[first], len(values)) for c in (joint.group, joint.cell))
    return Joint(group, cell, np.tile(values, len(first)), count)


def _number_cells(joint: Joint) -> np.ndarray:
    """Return the number of each entry's cell, counted through all groups."""
    new = (np.diff(joint.group, prepend=-1) != 0) | (np.diff(joint.cell, prepend=-1) != 0)
    return np.cumsum(new) - 1


def _rows_and_kinds(counts: Counts, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that show each entry's value in its group, and the number of that pair.

    A pair is a group and a value (both results are int64, one per entry).

    Raises:
        PromiseError: if the population has nobody like a group, or nobody like it with a value that
            it shows.
    """
    most = max(int(counts.value.max(initial=0)), int(joint.value.max(initial=0))) + 1
    shown_pairs, known_pairs = counts.group * most + counts.value, joint.group * most + joint.value
    _refuse_groups(
        counts.group[~np.isin(counts.group, joint.group)],
        "the population (reference) has no person with its quasi-identifiers",
    )
    _refuse_groups(
        counts.group[~np.isin(shown_pairs, known_pairs)],
        "has a sensitive value that no such person of the population (reference) has",
    )
    kinds, kind = np.unique(known_pairs, return_inverse=True)
    rows = np.zeros(len(kinds), dtype=np.int64)
    rows[np.searchsorted(kinds, shown_pairs)] = counts.count
    return rows[kind], kind


def _refuse_groups(groups: np.ndarray, why: str) -> None:
    if len(groups):
        raise PromiseError(f"group {groups[0]}: {why}")


def _scale(numbers: np.ndarray, factor: int, plus: int) -> np.ndarray:
    """Return whole numbers times a factor, plus a number; Python integers if int64 overflows."""
    if int(numbers.max(initial=1)) * factor + plus > INT64_MAX:
        numbers = numbers.astype(object)
    return numbers * factor + plus
