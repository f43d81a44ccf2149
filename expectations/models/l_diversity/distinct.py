"""Distinct l-diversity: different sensitive values in every group."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.l_diversity.variant import LDiversity
from sfumato.expectations.models.model import Worst
from sfumato.expectations.numbers import Number


@dataclass(frozen=True, kw_only=True)
class DistinctLDiversity(LDiversity):
    """Each group shows at least l different sensitive values."""

    name: ClassVar[str] = "distinct-l-diversity"
    title: ClassVar[str] = "distinct l-diversity"
    by_candidates: ClassVar[bool] = True
    unbroken_by_rows: ClassVar[bool] = True
    meanings: ClassVar[Mapping[str, str]] = {
        "l": "different values in a group, at least",
    }
    example: ClassVar[Mapping[str, Any]] = {"l": 3}

    variant: Literal["distinct"] = "distinct"
    l: Annotated[int, Field(ge=1, description="smallest number of different sensitive values")]

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`l`: the number of different sensitive values of each group (int64)."""
        return {"l": self.counts_in(groups).distinct}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with fewer than l different values (bool, one per group)."""
        return np.asarray(self.measure(groups)["l"] < self.l)

    def worst(self, groups: Groups) -> Worst:
        """The fewest different values that a group shows."""
        distinct = self.measure(groups)["l"]
        least = int(distinct.min()) if len(distinct) else None
        return {"l": least}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """The promised numbers by the parameters of a verdict."""
        return {"l": self.l}

    def sentence(self) -> str:
        """The promise in words."""
        return f"{self.whose()} still faces at least {self.l} different values of {self.sensitive}"
