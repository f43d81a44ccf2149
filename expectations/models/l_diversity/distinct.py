"""Distinct l-diversity: different sensitive values in every group."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.of_people import surely_known
from sfumato.expectations.groups.people import People
from sfumato.expectations.models.l_diversity.variant import LDiversity
from sfumato.expectations.models.model import Reading, Worst
from sfumato.expectations.numbers import Number


@dataclass(frozen=True, kw_only=True)
class DistinctLDiversity(LDiversity):
    """Each group shows at least l different sensitive values."""

    name: ClassVar[str] = "distinct-l-diversity"
    title: ClassVar[str] = "distinct l-diversity"
    by_candidates: ClassVar[bool] = True
    unbroken_by_rows: ClassVar[bool] = True
    meanings_over_people: ClassVar[Mapping[str, str]] = {
        "l": "values that each person may have, and none of which surely, at least",
    }
    readings: ClassVar[tuple[Reading, ...]] = ("any-of",)
    merges_over_people: ClassVar[bool] = True
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

    def failing_over_people(self, people: People) -> np.ndarray:
        """Mark the groups in which somebody faces too few values (bool, one per group)."""
        return np.asarray(self._faced(people) < self.l)

    def worst_over_people(self, people: People) -> Worst:
        """The fewest values, 1 where somebody surely has one."""
        faced = self._faced(people)
        return {"l": int(faced.min()) if len(faced) else None}, int((faced < self.l).sum())

    def _faced(self, people: People) -> np.ndarray:
        """How many values people of a group may have, 1 where somebody surely has one (int64)."""
        name = str(self.sensitive)
        return np.where(surely_known(people, name), 1, people.held[name].like.distinct)

    def required(self) -> Mapping[str, Number]:
        """The promised numbers by the parameters of a verdict."""
        return {"l": self.l}

    def sentence(self) -> str:
        """The promise in words."""
        return f"{self.whose()} still faces at least {self.l} different values of {self.sensitive}"
