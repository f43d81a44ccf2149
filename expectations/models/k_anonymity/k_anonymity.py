"""k-anonymity: nobody can be told apart from at least k - 1 others by the quasi-identifiers.

Source: Samarati and Sweeney, as used by Aggarwal et al. and Machanavajjhala et al.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, Reading, Way, Worst
from sfumato.expectations.numbers import Number


@dataclass(frozen=True, kw_only=True)
class KAnonymity(PrivacyModel):
    """Each group, the rows that show one vector of quasi-identifiers, has at least k live rows."""

    name: ClassVar[str] = "k-anonymity"
    title: ClassVar[str] = "k-anonymity"
    meanings: ClassVar[Mapping[str, str]] = {
        "k": "rows that look the same, at least",
    }
    monotone: ClassVar[bool] = True
    meanings_over_people: ClassVar[Mapping[str, str]] = {
        "k": "people who look the same, at least",
    }
    readings: ClassVar[tuple[Reading, ...]] = ("any-of",)
    merges_over_people: ClassVar[bool] = True
    unbroken_by_rows: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels"})
    protects: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"k": 4}

    model: Literal["k-anonymity"] = "k-anonymity"
    k: Annotated[int, Field(ge=1, description="smallest number of rows in a group")]

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`k`: the live rows of each group (int64)."""
        return {"k": groups.live}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with fewer than k live rows (bool, one per group)."""
        return np.asarray(groups.live < self.k)

    def worst(self, groups: Groups) -> Worst:
        """The live rows of the smallest group."""
        live = self.measure(groups)["k"]
        k = int(live.min()) if len(live) else None
        return {"k": k}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """The promised numbers by the parameters of a verdict."""
        return {"k": self.k}

    def sentence(self) -> str:
        """The promise in words."""
        return f"every combination of quasi-identifiers is shown by at least {self.k} rows"
