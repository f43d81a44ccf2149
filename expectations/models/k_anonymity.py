"""k-anonymity: nobody can be told apart from others, in the table or in the whole population.

Others are so many rows of the table (k-anonymity), or so many people of the population from which
the rows were drawn, as the sum of the rows' weights estimates it (k-map).

Source of k-anonymity: Samarati and Sweeney, as used by Aggarwal et al. and Machanavajjhala et al.

Where the members of a household can be linked, all of their quasi-identifiers together tell it from
others, as in sdcMicro's variables of households (Templ 2017).

Source of k-map: Sweeney, k-anonymity: a model for protecting privacy (2002), section 5; the
estimate from sampling weights: Horvitz and Thompson, A generalization of sampling without
replacement from a finite universe (JASA 47, 1952).

Where rows were drawn from a population, a row's weight says how many people it stands for. The sum
over the rows that look alike estimates how many people look like that, without bias where the
weights are the inverse probabilities of being drawn: no bound of their number.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups, People
from sfumato.expectations.groups.of_people import fewest_alike
from sfumato.expectations.models.model import PrivacyModel, PromisedColumn, Reading, Way, Worst
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import INT64_MAX
from sfumato.expectations.shared.numbers import SINCE, Number

_EXACT = 2**53  # whole numbers below it are floats


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
            description="k households have the same quasi-identifiers in all of their members; "
            "protects from those who know which rows are one household (household)",
        ),
    ] = None

    @property
    def of_whole_people(self) -> bool:
        """True if the members of a household are linkable."""
        return self.members is not None

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`k`: the live rows of each group (int64)."""
        return {"k": groups.live}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with fewer than k live rows (bool, one per group)."""
        return np.asarray(groups.live < self.k)

    def worst(self, groups: Groups) -> Worst:
        """Return the live rows of the smallest group."""
        live = self.measure(groups)["k"]
        k = int(live.min()) if len(live) else None
        return {"k": k}, int(self.failing(groups).sum())

    def failing_over_people(self, people: People) -> np.ndarray:
        """Mark the groups of too few people, or with somebody like too few (bool, one each)."""
        return np.asarray(self._hidden_among(people) < self.k)

    def worst_over_people(self, people: People) -> Worst:
        """Return the fewest people of a group, or who are alike in all groups."""
        hidden_among = self._hidden_among(people)
        k = int(hidden_among.min()) if len(hidden_among) else None
        return {"k": k}, int((hidden_among < self.k).sum())

    def meaning_over_people(self, name: str) -> str:
        """Return the meaning of a verdict's parameter over people who have several rows."""
        if self.of_whole_people:
            return "people who look the same in all their rows, at least"
        return super().meaning_over_people(name)

    def _hidden_among(self, people: People) -> np.ndarray:
        return fewest_alike(people) if self.of_whole_people else people.sizes

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"k": self.k}

    def sentence(self) -> str:
        """Return the promise in words."""
        rows = f"every combination of quasi-identifiers is shown by at least {self.k} rows"
        if not self.of_whole_people:
            return rows
        return (
            f"{rows}, and the combinations of all members of a household together by at least "
            f"{self.k} households"
        )


@dataclass(frozen=True, kw_only=True)
class KMap(PrivacyModel):
    """The weights of each group, the rows that show one vector of quasi-identifiers, sum to k.

    The weights are counted as sensitive attributes are, and `sensitive` names their column, which
    specs and releases call `weight`. A weight that is not positive breaks the promise.
    """

    name: ClassVar[str] = "k-map"
    title: ClassVar[str] = "k-map"
    meanings: ClassVar[Mapping[str, str]] = {
        "k": "people of the population who look the same, at least, as weights estimate them",
    }
    monotone: ClassVar[bool] = True
    unbroken_by_rows: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels"})
    protects: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    column_key: ClassVar[str] = "weight"
    since: ClassVar[int] = 6
    why_not_over_people: ClassVar[str] = (
        "a weight is the number of people that one row represents, and a person with several rows "
        "would count several times; promise k-anonymity"
    )
    example: ClassVar[Mapping[str, Any]] = {"k": 10}

    model: Literal["k-map"] = "k-map"
    k: Annotated[int, Field(ge=1, description="smallest sum of the weights of a group")]
    sensitive: Annotated[
        str | None,
        Field(alias="weight", description="column of weights; not needed if there is only one"),
    ] = None

    @property
    def of_one_version(self) -> bool:
        """True: a sum over several versions estimates no population."""
        return True

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`k`: the sum of the weights of each group (float64).

        Raises:
            PromiseError: where rows have no weights.
        """
        sums, unit, _ = self._sums(groups)
        if sums.dtype == np.int64 and int(sums.max(initial=0)) < _EXACT and unit < _EXACT:
            return {"k": np.asarray(sums / unit)}
        return {"k": np.array([float(Fraction(int(units), unit)) for units in sums])}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups whose weights sum to less than k (bool, one per group), exactly."""
        try:
            sums, unit, wrong = self._sums(groups)
        except PromiseError:
            return np.ones(len(groups), dtype=bool)
        return np.asarray((sums < self.k * unit) | wrong, dtype=bool)

    def worst(self, groups: Groups) -> Worst:
        """Return the smallest sum of the weights of a group, as an integer or a fraction."""
        try:
            sums, unit, wrong = self._sums(groups)
        except PromiseError:
            return {"k": None}, len(groups)
        if wrong.any() or not len(sums):
            return {"k": None}, int(self.failing(groups).sum())
        return {"k": Fraction(int(sums.min()), unit)}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"k": self.k}

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"every combination of quasi-identifiers is shown by rows whose weights "
            f"({self.sensitive}) sum to at least {self.k}: so many people of the population are "
            "estimated to look the same, and it rests on that estimate, which bounds no number of "
            "people"
        )

    def unmeasurable(self, column: PromisedColumn | None) -> str | None:
        """Return why weights can never be summed, None if they can."""
        if column is None:
            return "k-map needs a column with `role: weight`"
        if column.type not in ("integer", "decimal"):
            return f"k-map sums weights of type integer or decimal, not {column.type}"
        return None

    def _sums(self, groups: Groups) -> tuple[np.ndarray, int, np.ndarray]:
        """Return each group's weights in units, the units of 1, and the groups with wrong weights.

        The sums are int64, or Python integers where those may overflow.

        Raises:
            PromiseError: where rows have no weights, or stand for people who have left.
        """
        counts = groups.counts_of(self.sensitive)
        if counts.numbers is None:
            raise PromiseError(f"k-map cannot add the weights {self.sensitive!r}: not all numbers")
        if not np.array_equal(groups.live, groups.sizes):
            raise PromiseError("k-map is not defined for groups with people who have left")
        unit, units = 10**counts.numbers.digits, counts.numbers.units
        largest = max(map(abs, units.tolist()), default=0)
        small = largest * max(groups.rows, 1) <= INT64_MAX and self.k * unit <= INT64_MAX
        times = counts.count if small else counts.count.astype(object)
        weights = (units if small else units.astype(object))[counts.value]
        sums = np.zeros(len(groups), dtype=np.int64 if small else object)
        np.add.at(sums, counts.group, times * weights)
        wrong = np.zeros(len(groups), dtype=bool)
        wrong[counts.group[np.asarray(weights <= 0, dtype=bool)]] = True
        return sums, unit, wrong
