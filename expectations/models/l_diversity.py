"""l-diversity: sensitive values are well represented in every group, by one of three measures.

Source: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity
(ICDE 2006): distinct, entropy and recursive (c,l)-diversity; with don't-care values the entropy is
the adjusted one and the recursive variant is positive disclosure-recursive; with `negative` it is
negative/positive disclosure-recursive; with `known` it is multi-attribute l-diversity.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups, People
from sfumato.expectations.groups.of_people import surely_known
from sfumato.expectations.groups.subdomains import declared_counts
from sfumato.expectations.measures.diversity import (
    adjusted_entropy,
    entropy,
    rarest,
    recursive_sides,
)
from sfumato.expectations.models.model import PrivacyModel, Reading, Way, Worst
from sfumato.expectations.shared.arrow import Value, ordinal
from sfumato.expectations.shared.exact import are_below, largest, smallest
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain

_LENIENT = 1e-9  # in entropy: logarithms are not exact


@dataclass(frozen=True, kw_only=True)
class LDiversity(PrivacyModel):
    """A promise of l-diversity: block-local, and merging groups cannot break it."""

    monotone: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels", "rows", "columns", "subdomains"})
    protects: ClassVar[bool] = True

    model: Literal["l-diversity"] = "l-diversity"
    known: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="other sensitive columns that an attacker may know"),
    ] = None

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The sensitive attributes that an adversary may know."""
        return self.known or ()

    @property
    def by_ranks(self) -> bool:
        """True if the promise distinguishes no values and the adversary knows nothing else."""
        distinctions = ("known", "dont_care", "negative")
        return all(getattr(self, name, None) is None for name in distinctions)

    def counts_in(self, groups: Groups) -> Counts:
        """Return the counts of the attribute's values; for declared distributions, their weights.

        Raises:
            PromiseError: where neither is shown.
        """
        subdomains = groups.subdomains.get(self.sensitive or "")
        return (
            groups.counts_of(self.sensitive) if subdomains is None else declared_counts(subdomains)
        )

    def whose(self) -> str:
        """Return whom the promise is about, in words."""
        knowledge = f", and knows {' and '.join(self.known)}," if self.known else ""
        return f"whoever finds a person's group{knowledge}"


def other_than(dont_care: tuple[str, ...] | None) -> str:
    """Return the values that may be disclosed, in words."""
    return f" (other than {', '.join(dont_care)}, which may be known)" if dont_care else ""


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
    l: Annotated[int, Field(ge=1, description="smallest number of different values in a group")]

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`l`: the number of different sensitive values of each group (int64)."""
        return {"l": self.counts_in(groups).distinct}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with fewer than l different values (bool, one per group)."""
        return np.asarray(self.measure(groups)["l"] < self.l)

    def worst(self, groups: Groups) -> Worst:
        """Return the fewest different values that a group shows."""
        distinct = self.measure(groups)["l"]
        least = int(distinct.min()) if len(distinct) else None
        return {"l": least}, int(self.failing(groups).sum())

    def failing_over_people(self, people: People) -> np.ndarray:
        """Mark the groups in which somebody faces too few values (bool, one per group)."""
        return np.asarray(self._faced_values(people) < self.l)

    def worst_over_people(self, people: People) -> Worst:
        """Return the fewest values, 1 where somebody surely has one."""
        faced = self._faced_values(people)
        return {"l": int(faced.min()) if len(faced) else None}, int((faced < self.l).sum())

    def _faced_values(self, people: People) -> np.ndarray:
        """Return how many values people of a group may have, 1 if one is certain (int64)."""
        name = str(self.sensitive)
        return np.where(surely_known(people, name), 1, people.held[name].like.distinct)

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"l": self.l}

    def sentence(self) -> str:
        """Return the promise in words."""
        return f"{self.whose()} still faces at least {self.l} different values of {self.sensitive}"


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
    l: Annotated[
        ExactNumber,
        Field(ge=1, description="a group's entropy is that of l equally frequent values or more"),
    ]
    dont_care: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="values that may be disclosed"),
    ] = None

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`l`: exp(entropy) of each group (float64), infinite where only don't-care values are."""
        return {"l": np.exp(self._entropy(groups))}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups whose entropy is below ln l - 1e-9 (bool, one per group)."""
        return self._fall_short(self._entropy(groups))

    def worst(self, groups: Groups) -> Worst:
        """Return the smallest exponential of a group's entropy; a group fails below ln l - 1e-9."""
        entropies = self._entropy(groups)
        least = _round_score(float(np.exp(entropies.min()))) if len(entropies) else None
        return {"l": least}, int(self._fall_short(entropies).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"l": Fraction(self.l)}

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"{self.whose()} is as uncertain about {self.sensitive} as among {plain(self.l)} "
            f"equally likely values{other_than(self.dont_care)}"
        )

    @property
    def least_entropy(self) -> float:
        """The entropy below which a group fails (nats)."""
        return float(np.log(float(self.l)) - _LENIENT)

    def _fall_short(self, entropies: np.ndarray) -> np.ndarray:
        return np.asarray(~(entropies >= self.least_entropy))

    def _entropy(self, groups: Groups) -> np.ndarray:
        counts = self.counts_in(groups)
        if self.dont_care is None:
            return entropy(counts, counts.sizes)
        return adjusted_entropy(counts, counts.entries_of(self.dont_care))


def _round_score(number: float) -> Number:
    """Return a number to six decimals, so that the same groups give the same on every machine."""
    return number if np.isinf(number) else Fraction(str(round(number, 6)))


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
    l: Annotated[
        int,
        Field(ge=1, description="rank from which values count as rare (1 is the most frequent)"),
    ]
    c: Annotated[
        ExactNumber,
        Field(gt=0, description="the most frequent value is rarer than c times the rare ones"),
    ]
    dont_care: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="values that may be disclosed"),
    ] = None
    negative: Negative | None = None

    @model_validator(mode="after")
    def _rank_is_defined(self) -> Self:
        if self.dont_care is not None and self.l < 2:
            raise ValueError("l: must be at least 2 with dont-care")
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
        """Return the largest c and the smallest l and percentage that the groups show.

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
        """Return the promised numbers by the parameters of a verdict."""
        least = {"percent": Fraction(self.negative.percent)} if self.negative else {}
        return {"c": Fraction(self.c), "l": self.l, **least}

    def sentence(self) -> str:
        """Return the promise in words."""
        least = ""
        if self.negative is not None:
            values = ", ".join(self.negative.values)
            least = (
                f"; and {values} cannot be ruled out: each is at least "
                f"{plain(self.negative.percent)} percent of every group"
            )
        return (
            f"in every group the most frequent value of {self.sensitive}"
            f"{other_than(self.dont_care)} is rarer than {plain(self.c)} times all values from the "
            f"{ordinal(self.l)} most frequent on, together{least}"
        )

    def _broken(self, scores: Mapping[str, np.ndarray], sizes: np.ndarray) -> np.ndarray:
        most, rest = scores["most"], scores["rest"]
        broken = ~(are_below(most, rest, Fraction(self.c)) | (most == 0))
        if self.negative is not None:
            broken |= are_below(scores["least"], sizes, Fraction(self.negative.percent) / 100)
        return np.asarray(broken)


def eligible(groups: Groups, sensitive: str | None) -> int | None:
    """Return the largest l with which rows can be grouped so that no value exceeds 1/l of a group.

    The eligibility condition: no value is more than 1/l of all rows.
    """
    totals = groups.counts_of(sensitive).totals
    return groups.rows // int(totals.max()) if groups.rows else None
