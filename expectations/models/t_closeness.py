"""t-closeness: the sensitive values of each group are distributed much like those of all rows.

Source: Li, Li, Venkatasubramanian, t-closeness: privacy beyond k-anonymity and l-diversity (ICDE
2007). The distance is the earth mover's; all rows are the published ones. Where subdomains stand
for values, a group's distribution is the one that is declared for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups, Subdomains
from sfumato.expectations.measures.emd import (
    Distances,
    declared_equal_distance,
    declared_hierarchical_distance,
    declared_ordered_distance,
    equal_distance,
    hierarchical_distance,
    ordered_distance,
)
from sfumato.expectations.models.model import (
    PrivacyModel,
    PromisedColumn,
    Reading,
    Way,
    Worst,
    why_unordered,
)
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import are_above, largest
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain

Distance = Literal["equal", "ordered", "hierarchical"]

_STEPS = 10**9  # of a bound that is rounded downwards


@dataclass(frozen=True, kw_only=True)
class TCloseness(PrivacyModel):
    """The distance between each group's distribution and that of all rows is at most t.

    Distances: `equal` (variational), `ordered` (by rank among the different values, for attributes
    with an order), `hierarchical` (by the levels of the attribute's hierarchy).
    """

    name: ClassVar[str] = "t-closeness"
    title: ClassVar[str] = "t-closeness"
    meanings: ClassVar[Mapping[str, str]] = {
        "t": "distance from the distribution of all rows, at most",
    }
    monotone: ClassVar[bool] = True
    readings: ClassVar[tuple[Reading, ...]] = ("weight-one",)
    ways: ClassVar[frozenset[Way]] = frozenset({"labels", "rows", "subdomains"})
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"t"})
    compares_with_all: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"t": 0.2, "distance": "equal"}

    model: Literal["t-closeness"] = "t-closeness"
    t: Annotated[ExactNumber, Field(ge=0, le=1, description="largest distance of a group")]
    distance: Distance

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`t`: the distance of each group (float64).

        Raises:
            PromiseError: where the attribute has no such distance.
        """
        distances = self._distances(groups)
        return {"t": (distances.numerators / distances.denominators).astype(np.float64)}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups farther than t from the values of all rows (bool, one per group)."""
        distances = self._measure_distances(groups)
        if distances is None:
            return np.ones(len(groups), dtype=bool)
        return self._farther(distances)

    def worst(self, groups: Groups) -> Worst:
        """Return the largest distance of a group, decided in integers."""
        distances = self._measure_distances(groups)
        if distances is None:
            return {"t": None}, len(groups)
        farthest = largest(distances.numerators, distances.denominators)
        return {"t": farthest}, int(self._farther(distances).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"t": Fraction(self.t)}

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"the values of {self.sensitive} in every group are distributed like those of all "
            f"published rows, up to {plain(self.t)} (earth mover's distance, {self.distance})"
        )

    def sentence_of_declared(self) -> str:
        """Return the promise in words, about the declared distributions."""
        return (
            f"the distribution of {self.sensitive} that is declared for a group is like that of "
            f"all published rows together, up to {plain(self.t)} (earth mover's distance, "
            f"{self.distance})"
        )

    def for_part(self, part: Groups) -> "TCloseness | None":
        """Return the promise for a part.

        A group's distance from all rows is at most its distance from the part plus the part's
        distance.

        A step of rank among a part's values may be a longer way among all values: see `_stretch`.
        """
        if part.declared_of(self.sensitive) is not None:
            return None
        apart = self._distances(part)
        remaining = Fraction(self.t) - Fraction(
            int(apart.numerators[0]), int(apart.denominators[0])
        )
        if remaining < 0:
            return None
        stretch = (
            _stretch(part.counts_of(self.sensitive)) if self.distance == "ordered" else Fraction(1)
        )
        closer = min(remaining / stretch, Fraction(1)) if stretch else Fraction(1)
        return replace(self, t=Decimal(closer.numerator * _STEPS // closer.denominator) / _STEPS)

    @property
    def counts_nulls(self) -> bool:
        """True only of the equal distance, by which null is as far from any value as others."""
        return self.distance == "equal"

    def unmeasurable(self, column: PromisedColumn | None) -> str | None:
        """Return the reason why the column has no such distance, None where it has one."""
        if self.distance == "hierarchical" and (column is None or column.hierarchy is None):
            return f"distance: {self.sensitive!r} has no hierarchy; declare one, or use equal"
        return why_unordered(self.name, column) if self.distance == "ordered" else None

    def _farther(self, distances: Distances) -> np.ndarray:
        return are_above(distances.numerators, distances.denominators, Fraction(self.t))

    def _measure_distances(self, groups: Groups) -> Distances | None:
        """Return the distances, None if there are no groups, or no such distance."""
        if not len(groups):
            return None
        if groups.declared_of(self.sensitive) is None:
            can_measure = measurable(groups.counts_of(self.sensitive), self.distance)
            return self._distances(groups) if can_measure else None
        try:
            return self._distances(groups)
        except PromiseError:
            return None

    def _distances(self, groups: Groups) -> Distances:
        declared = groups.declared_of(self.sensitive)
        if declared is not None:
            return DECLARED[self.distance](declared, groups.sizes)
        return DISTANCES[self.distance](groups.counts_of(self.sensitive), groups.sizes)


def _stretch(part: Counts) -> Fraction:
    """Return how much longer a way in the first group may be by ranks among all values.

    It is 1 if that group has every value.
    """
    ranks = part.value[part.group == 0]
    if len(ranks) < 2:
        return Fraction(0)
    return Fraction(int(np.diff(ranks).max()) * (len(ranks) - 1), part.values - 1)


DISTANCES: Mapping[Distance, Callable[[Counts, np.ndarray], Distances]] = {
    "equal": equal_distance,
    "ordered": ordered_distance,
    "hierarchical": hierarchical_distance,
}

DECLARED: Mapping[Distance, Callable[[Subdomains, np.ndarray], Distances]] = {
    "equal": declared_equal_distance,
    "ordered": declared_ordered_distance,
    "hierarchical": declared_hierarchical_distance,
}


def measurable(counts: Counts, distance: Distance) -> bool:
    """Return True if the attribute has such a distance: an order, or a hierarchy."""
    if distance == "ordered":
        return counts.numbers is not None
    return distance == "equal" or counts.ancestors is not None
