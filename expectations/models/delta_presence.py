"""δ-presence: from the release nobody learns much about who of a population is in the table.

Source: Nergiz, Atzori, Clifton, Hiding the presence of individuals from shared databases (SIGMOD
2007). The population is a public table that holds everybody of the microdata, generalized alike.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import (
    PrivacyModel,
    ReferencePlace,
    Way,
    Worst,
)
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import are_above, are_below, largest, smallest
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain


@dataclass(frozen=True, kw_only=True)
class DeltaPresence(PrivacyModel):
    """Of the people who look like a group, a share between `min` and `max` is in the table.

    People of the population who look like no group are surely absent: their share is 0.
    """

    name: ClassVar[str] = "delta-presence"
    title: ClassVar[str] = "δ-presence"
    meanings: ClassVar[Mapping[str, str]] = {
        "min": "share of people who look alike that is in the table, at least",
        "max": "share of people who look alike that is in the table, at most",
    }
    monotone: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels"})
    protects: ClassVar[bool] = False
    at_most: ClassVar[frozenset[str]] = frozenset({"max"})
    needs_population: ClassVar[bool] = True
    since: ClassVar[int] = 6
    holds_everybody: ClassVar[bool] = True
    why_not_over_people: ClassVar[str] = (
        "it divides rows of the table by people of the reference, which is not a probability "
        "where people have several rows; promise k-anonymity"
    )

    model: Literal["delta-presence"] = "delta-presence"
    min: Annotated[
        ExactNumber,
        Field(ge=0, le=1, description="smallest probability that a person is in the table"),
    ]
    max: Annotated[
        ExactNumber,
        Field(ge=0, le=1, description="largest probability that a person is in the table"),
    ]
    reference: ReferencePlace

    @model_validator(mode="after")
    def _ends_are_in_order(self) -> Self:
        if self.min > self.max:
            raise ValueError("min: must not be larger than max")
        return self

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`rows` of each group and `people` of the population who look like it (both int64).

        Raises:
            PromiseError: where there is no population, or it has fewer people than a group.
        """
        population = groups.population
        if population is None:
            raise PromiseError("δ-presence cannot be measured without a table of the population")
        if short := int((population.sizes < groups.sizes).sum()):
            raise PromiseError(
                f"the population has fewer people than the table has rows in {short} of the "
                "groups; use a reference that contains all people of the table"
            )
        return {"rows": groups.sizes, "people": population.sizes}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with too small or too large a share of the people who look like them.

        Returns:
            bool, one per group; True for all where there is no population that fits them.
        """
        population = groups.population
        if population is None or (population.sizes < groups.sizes).any():
            return np.ones(len(groups), dtype=bool)
        low, high = Fraction(self.min), Fraction(self.max)
        rows, people = groups.sizes, population.sizes
        return np.asarray(are_below(rows, people, low) | are_above(rows, people, high))

    def worst(self, groups: Groups) -> Worst:
        """Return the smallest and largest share of a class's people who are in the table, exactly.

        A class of people who look like no group counts as one group that fails, if `min` is not 0.
        """
        population = groups.population
        if not len(groups) or population is None or (population.sizes < groups.sizes).any():
            return {"min": None, "max": None}, len(groups)
        rows, people = groups.sizes, population.sizes
        absent = population.elsewhere > 0
        least = Fraction(0) if absent else smallest(rows, people)
        failing = int(self.failing(groups).sum()) + int(absent and self.min > 0)
        return {"min": least, "max": largest(rows, people)}, failing

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"min": Fraction(self.min), "max": Fraction(self.max)}

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"of any people of the population who look alike, a share between {plain(self.min)} "
            f"and {plain(self.max)} is in the table"
        )
