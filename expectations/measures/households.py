"""Risk of households: an attacker who finds one member has found them all.

Source: Templ, Statistical Disclosure Control for Microdata (2017), and sdcMicro, which assume that
members are found independently of each other. The largest risk of a member is computed as well, for
members who are not independent. If members can be linked, all their quasi-identifiers together
distinguish a household from others.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.expectations.groups.of_people import number_alike


@dataclass(frozen=True)
class HouseholdRisk:
    """The risk of households if a table were published as it is.

    Attributes:
        households: their number.
        highest: the largest risk of a household: that a member is found, members independent.
        average: the mean over households of that risk.
        by_member: the mean over households of the largest risk of a member.
        least: the fewest different households that a group of equal quasi-identifiers has.
        least_alike: the fewest households that are alike in all members' quasi-identifiers.
        alone: the households that are like no other.
    """

    households: int
    highest: float
    average: float
    by_member: Fraction
    least: int
    least_alike: int
    alone: int

    def document(self) -> dict[str, Any]:
        """Return the risk for JSON: counts, and shares to six digits."""
        return {
            "households": self.households,
            "highest": float(f"{self.highest:.6g}"),
            "average": float(f"{self.average:.6g}"),
            "largest_of_a_member": float(f"{float(self.by_member):.6g}"),
            "k": self.least,
            "k_of_whole_households": self.least_alike,
            "households_alone": self.alone,
        }


def household_risk(household: np.ndarray, group: np.ndarray) -> HouseholdRisk | None:
    """Return the risk of households, None if there are no rows. O(n log n) in rows.

    Args:
        household: the number of each row's household (int64, from 0, none without rows).
        group: the number of each row's group of equal quasi-identifiers (int64, from 0).
    """
    if not len(household):
        return None
    sizes, number = np.bincount(group), int(household.max()) + 1
    order = np.lexsort((group, household))
    starts = np.searchsorted(household[order], np.arange(number))
    rows = sizes[group[order]]
    risks = 1 - np.multiply.reduceat((rows - 1) / rows, starts)
    rarest, times = np.unique(np.minimum.reduceat(rows, starts), return_counts=True)
    by_member = Fraction(0)
    for size, households in zip(rarest.tolist(), times.tolist(), strict=True):
        by_member += Fraction(households, size * number)
    pairs = np.unique(group * number + household)
    alike = np.bincount(number_alike(group[order], starts, len(sizes)))
    return HouseholdRisk(
        households=number,
        highest=float(risks.max()),
        average=float(risks.mean()),
        by_member=by_member,
        least=int(np.bincount(pairs // number).min()),
        least_alike=int(alike.min()),
        alone=int((alike == 1).sum()),
    )
