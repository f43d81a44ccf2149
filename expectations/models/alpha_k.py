"""(α,k)-anonymity: groups of k rows in which no sensitive value is more than a share α.

Source: Wong, Li, Fu, Wang, (α,k)-anonymity: an enhanced k-anonymity model for privacy-preserving
data publishing (KDD 2006).
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Reading, Way, Worst
from sfumato.expectations.shared.arrow import Value
from sfumato.expectations.shared.exact import are_above, largest
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain


@dataclass(frozen=True, kw_only=True)
class AlphaK(PrivacyModel):
    """Each group has at least k live rows, and at most a share α of them shows any one value.

    With `values`, only these are so bounded.
    """

    name: ClassVar[str] = "alpha-k"
    title: ClassVar[str] = "(α,k)-anonymity"
    meanings: ClassVar[Mapping[str, str]] = {
        "alpha": "share of a group for any one value, at most",
        "k": "rows that look the same, at least",
    }
    monotone: ClassVar[bool] = True
    meanings_over_people: ClassVar[Mapping[str, str]] = {
        "alpha": "share of a group's people who have any one value in a row, at most",
        "k": "people who look the same, at least",
    }
    readings: ClassVar[tuple[Reading, ...]] = ("any-of",)
    rows_together: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels"})
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"alpha"})
    example: ClassVar[Mapping[str, Any]] = {"alpha": 0.5, "k": 3}

    model: Literal["alpha-k"] = "alpha-k"
    alpha: Annotated[
        ExactNumber, Field(gt=0, le=1, description="largest share of one value in a group")
    ]
    k: Annotated[int, Field(ge=1, description="smallest number of rows in a group")]
    values: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="values that alpha applies to (all if left out)"),
    ] = None

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """Return three numbers of each group (int64, one per group).

        `k` counts the live rows: those about people who are still in the data. `most` counts the
        rows with the most frequent value that α bounds, and `size` all rows: the share that α
        bounds is most / size.
        """
        counts = groups.counts_of(self.sensitive)
        if self.values is None:
            return {"k": groups.live, "most": counts.largest, "size": groups.sizes}
        # other values count as 0; `starts` has the first entry of each group
        bounded = np.where(counts.entries_of(self.values), counts.count, 0)
        most = np.maximum.reduceat(bounded, counts.starts) if len(bounded) else bounded
        return {"k": groups.live, "most": most, "size": groups.sizes}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with fewer than k rows or too many of one value (bool, one per group)."""
        scores = self.measure(groups)
        over = are_above(scores["most"], scores["size"], Fraction(self.alpha))
        return np.asarray((scores["k"] < self.k) | over)

    def worst(self, groups: Groups) -> Worst:
        """Return the largest share and the smallest number of live rows, and how many groups fail.

        Everything is exact; without groups, both numbers are None.
        """
        scores = self.measure(groups)
        k = int(scores["k"].min()) if len(groups) else None
        alpha = largest(scores["most"], scores["size"])
        return {"alpha": alpha, "k": k}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers, `alpha` and `k`."""
        return {"alpha": Fraction(self.alpha), "k": self.k}

    @property
    def over_versions(self) -> "AlphaK":
        """The promise that versions must keep together: the bound on shares, with a k of 1.

        k itself is about the rows of each version.
        """
        return replace(self, k=1)

    def sentence(self) -> str:
        """Return the promise in words."""
        which = "no value" if self.values is None else f"none of {', '.join(self.values)}"
        return (
            f"every combination of quasi-identifiers is shown by at least {self.k} rows, and "
            f"{which} of {self.sensitive} by more than a share {plain(self.alpha)} of them"
        )

    def sentence_of_facts(self) -> str:
        """Return the promise in words, about facts of people whose quasi-identifiers are shown."""
        which = "no value" if self.values is None else f"none of {', '.join(self.values)}"
        return (
            f"each value of {self.sensitive} may belong to any of at least {self.k} people, and "
            f"{which} is that of more than a share {plain(self.alpha)} of a group's people"
        )

    def meaning_of_facts(self, name: str) -> str:
        """Return the meaning of a verdict's parameter about such facts."""
        return "people of a group, at least" if name == "k" else self.meanings[name]
