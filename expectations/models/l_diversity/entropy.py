"""Entropy l-diversity: uncertainty about the sensitive value in every group."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.measures.entropy import adjusted_entropy, entropy
from sfumato.expectations.models.l_diversity.variant import LDiversity, besides
from sfumato.expectations.models.model import Reading, Worst
from sfumato.expectations.numbers import ExactNumber, Number, plain
from sfumato.expectations.texts import Value

_LENIENT = 1e-9  # in entropy: logarithms are not exact


@dataclass(frozen=True, kw_only=True)
class EntropyLDiversity(LDiversity):
    """The entropy of the sensitive values of each group is at least ln l.

    With don't-care values it is the adjusted entropy: the largest that lowering their counts can
    reach. l is a real number; scores are exp(entropy), compared with a tolerance of 1e-9.
    """

    name: ClassVar[str] = "entropy-l-diversity"
    title: ClassVar[str] = "entropy l-diversity"
    readings: ClassVar[tuple[Reading, ...]] = ("weight-one",)
    meanings: ClassVar[Mapping[str, str]] = {
        "l": "equally likely values of the same uncertainty, at least",
    }
    example: ClassVar[Mapping[str, Any]] = {"l": 3}

    variant: Literal["entropy"] = "entropy"
    l: Annotated[ExactNumber, Field(ge=1, description="smallest exp(entropy) of a group")]
    dont_care: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="values that may be disclosed"),
    ] = None

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`l`: exp(entropy) of each group (float64), infinite where only don't-care values are."""
        return {"l": np.exp(self._entropy(groups))}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups whose entropy is below ln l - 1e-9 (bool, one per group)."""
        return self._below(self._entropy(groups))

    def worst(self, groups: Groups) -> Worst:
        """The smallest exponential of a group's entropy; a group fails below ln l - 1e-9."""
        found = self._entropy(groups)
        least = _rounded(float(np.exp(found.min()))) if len(found) else None
        return {"l": least}, int(self._below(found).sum())

    def required(self) -> Mapping[str, Number]:
        """The promised numbers by the parameters of a verdict."""
        return {"l": Fraction(self.l)}

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"{self.whose()} is as uncertain about {self.sensitive} as among {plain(self.l)} "
            f"equally likely values{besides(self.dont_care)}"
        )

    @property
    def least_entropy(self) -> float:
        """The entropy below which a group fails (nats)."""
        return float(np.log(float(self.l)) - _LENIENT)

    def _below(self, found: np.ndarray) -> np.ndarray:
        return np.asarray(~(found >= self.least_entropy))

    def _entropy(self, groups: Groups) -> np.ndarray:
        counts = self.counts_in(groups)
        if self.dont_care is None:
            return entropy(counts, counts.sizes)
        return adjusted_entropy(counts, counts.entries_of(self.dont_care))


def _rounded(number: float) -> Number:
    """A number to six decimals, so that the same groups give the same on every machine."""
    return number if np.isinf(number) else Fraction(str(round(number, 6)))
