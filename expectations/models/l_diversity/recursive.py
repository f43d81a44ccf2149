"""Recursive (c,l)-diversity: no value is too frequent beside the rarer ones of its group."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.ratios import below, largest, smallest
from sfumato.expectations.measures.recursive import rarest, recursive_sides
from sfumato.expectations.models.l_diversity.variant import LDiversity, besides
from sfumato.expectations.models.model import Reading, Worst
from sfumato.expectations.numbers import ExactNumber, Number, plain
from sfumato.expectations.texts import Value, ordinal


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid", defer_build=True))
class Negative:
    """Values whose absence must not be learnt: each is at least `percent` of every group."""

    values: Annotated[tuple[Value, ...], Field(min_length=1)]
    percent: Annotated[ExactNumber, Field(gt=0, le=100)]


@dataclass(frozen=True, kw_only=True)
class RecursiveLDiversity(LDiversity):
    """In each group r_1 < c (r_l + … + r_m), where r_1 ≥ … ≥ r_m are its counts of values.

    With don't-care values only the most frequent other value is so bounded. With `negative`, values
    that must not be excluded either are frequent enough in every group.
    """

    name: ClassVar[str] = "recursive-l-diversity"
    title: ClassVar[str] = "recursive (c,l)-diversity"
    readings: ClassVar[tuple[Reading, ...]] = ("weight-one",)
    meanings: ClassVar[Mapping[str, str]] = {
        "c": "times the rarer values, more than the most frequent one",
        "l": "from which rank on values are rare; seen: different values",
        "percent": "of a group for each value not to be ruled out, at least",
    }
    at_most: ClassVar[frozenset[str]] = frozenset({"c"})
    example: ClassVar[Mapping[str, Any]] = {"c": 2, "l": 2}

    variant: Literal["recursive"] = "recursive"
    l: Annotated[int, Field(ge=1, description="from which rank on values count as rare")]
    c: Annotated[ExactNumber, Field(gt=0, description="how much the most frequent may outweigh")]
    dont_care: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="values that may be disclosed"),
    ] = None
    negative: Negative | None = None

    @model_validator(mode="after")
    def _rank_is_defined(self) -> Self:
        if self.dont_care is not None and self.l < 2:
            raise ValueError("l: with dont-care values, l is at least 2")
        return self

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`most`, `rest`: each group's two sides of most < c * rest; `l`: its different values.

        With `negative`, `least`: its count of the rarest of those values. All are int64.
        """
        counts = self.counts_in(groups)
        dont_care = None if self.dont_care is None else counts.entries_of(self.dont_care)
        most, rest = recursive_sides(counts, self.l, dont_care)
        scores = {"most": most, "rest": rest, "l": counts.distinct}
        return scores | ({"least": rarest(counts, self.negative.values)} if self.negative else {})

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that break most < c * rest, or lack a negative value (bool, one each)."""
        return self._broken(self.measure(groups), groups.sizes)

    def worst(self, groups: Groups) -> Worst:
        """The largest c and the smallest l and percentage that the groups show.

        `c` is the smallest for which most ≤ c * rest in all groups.
        """
        scores = self.measure(groups)
        most, rest = scores["most"], scores["rest"]
        bounded = not ((rest == 0) & (most > 0)).any()
        observed: dict[str, Number] = {
            "c": largest(most, np.maximum(rest, 1)) if bounded else None,
            "l": int(scores["l"].min()) if len(groups) else None,
        }
        if self.negative is not None:
            seen = smallest(scores["least"], groups.sizes)
            observed["percent"] = None if seen is None else 100 * seen
        return observed, int(self._broken(scores, groups.sizes).sum())

    def required(self) -> Mapping[str, Number]:
        """The promised numbers by the parameters of a verdict."""
        least = {"percent": Fraction(self.negative.percent)} if self.negative else {}
        return {"c": Fraction(self.c), "l": self.l, **least}

    def sentence(self) -> str:
        """The promise in words."""
        least = ""
        if self.negative is not None:
            values = ", ".join(self.negative.values)
            least = (
                f"; and {values} cannot be ruled out: each is at least "
                f"{plain(self.negative.percent)} percent of every group"
            )
        return (
            f"in every group the most frequent value of {self.sensitive}"
            f"{besides(self.dont_care)} is rarer than {plain(self.c)} times all values from the "
            f"{ordinal(self.l)} most frequent on, together{least}"
        )

    def _broken(self, scores: Mapping[str, np.ndarray], sizes: np.ndarray) -> np.ndarray:
        most, rest = scores["most"], scores["rest"]
        broken = ~(below(most, rest, Fraction(self.c)) | (most == 0))
        if self.negative is not None:
            broken |= below(scores["least"], sizes, Fraction(self.negative.percent) / 100)
        return np.asarray(broken)
