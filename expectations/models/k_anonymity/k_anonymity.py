"""k-anonymity: nobody can be told apart from at least k - 1 others by the quasi-identifiers.

Source: Samarati and Sweeney, as used by Aggarwal et al. and Machanavajjhala et al.

Where the members of a household can be linked, all of their quasi-identifiers together tell it from
others, as in sdcMicro's variables of households (Templ 2017).
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.formats import SINCE
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.of_people import fewest_alike
from sfumato.expectations.groups.people import People
from sfumato.expectations.models.model import PrivacyModel, Reading, Way, Worst
from sfumato.expectations.numbers import Number


@dataclass(frozen=True, kw_only=True)
class KAnonymity(PrivacyModel):
    """Each group, the rows that show one vector of quasi-identifiers, has at least k live rows.

    Over households whose members are linkable, at least k households show the same vectors, each as
    often; k of them are then in each group, too. Over rows that asks for nothing more.
    """

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
    members: Annotated[
        Literal["linkable"] | None,
        Field(
            exclude_if=lambda members: members is None,  # digests of terms stay what they are
            json_schema_extra={SINCE: 7},
            description="over households, k are alike in the quasi-identifiers of all members, for "
            "whoever knows who lives together and can tell rows of one household (household)",
        ),
    ] = None

    @property
    def of_whole_people(self) -> bool:
        """True where the members of a household are linkable."""
        return self.members is not None

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

    def failing_over_people(self, people: People) -> np.ndarray:
        """Mark the groups of too few people, or with somebody like too few (bool, one each)."""
        return np.asarray(self._hidden_among(people) < self.k)

    def worst_over_people(self, people: People) -> Worst:
        """The fewest people of a group, or who are alike in all groups."""
        found = self._hidden_among(people)
        k = int(found.min()) if len(found) else None
        return {"k": k}, int((found < self.k).sum())

    def meaning_over_people(self, name: str) -> str:
        """What a parameter of its verdicts means over people who have several rows."""
        if self.of_whole_people:
            return "people who look the same in all their rows, at least"
        return super().meaning_over_people(name)

    def _hidden_among(self, people: People) -> np.ndarray:
        return fewest_alike(people) if self.of_whole_people else people.sizes

    def required(self) -> Mapping[str, Number]:
        """The promised numbers by the parameters of a verdict."""
        return {"k": self.k}

    def sentence(self) -> str:
        """The promise in words."""
        rows = f"every combination of quasi-identifiers is shown by at least {self.k} rows"
        if not self.of_whole_people:
            return rows
        return (
            f"{rows}, and the combinations of all members of a household together by at least "
            f"{self.k} households"
        )
