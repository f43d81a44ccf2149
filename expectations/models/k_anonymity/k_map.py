"""k-map: nobody can be told apart from at least k - 1 others of the population.

Source: Sweeney, k-anonymity: a model for protecting privacy (2002), section 5; the estimate from
sampling weights: Horvitz and Thompson, A generalization of sampling without replacement from a
finite universe (JASA 47, 1952).

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

from sfumato.expectations.errors import PromiseError
from sfumato.expectations.exact import INT64_MAX
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel, PromisedColumn, Way, Worst
from sfumato.expectations.numbers import Number

_EXACT = 2**53  # whole numbers below it are floats


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
        "a weight tells how many people of the population a row stands for, and whoever has "
        "several rows would be counted by each of them; promise k-anonymity"
    )
    example: ClassVar[Mapping[str, Any]] = {"k": 10}

    model: Literal["k-map"] = "k-map"
    k: Annotated[int, Field(ge=1, description="smallest sum of the weights of a group")]
    sensitive: Annotated[
        str | None,
        Field(alias="weight", description="the column of weights; the only one may be left out"),
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
        sums, one, _ = self._sums(groups)
        if sums.dtype == np.int64 and int(sums.max(initial=0)) < _EXACT and one < _EXACT:
            return {"k": np.asarray(sums / one)}
        return {"k": np.array([float(Fraction(int(units), one)) for units in sums])}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups whose weights sum to less than k (bool, one per group), exactly."""
        try:
            sums, one, wrong = self._sums(groups)
        except PromiseError:
            return np.ones(len(groups), dtype=bool)
        return np.asarray((sums < self.k * one) | wrong, dtype=bool)

    def worst(self, groups: Groups) -> Worst:
        """The smallest sum of the weights of a group, as an integer or a fraction."""
        try:
            sums, one, wrong = self._sums(groups)
        except PromiseError:
            return {"k": None}, len(groups)
        if wrong.any() or not len(sums):
            return {"k": None}, int(self.failing(groups).sum())
        return {"k": Fraction(int(sums.min()), one)}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """The promised numbers by the parameters of a verdict."""
        return {"k": self.k}

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"every combination of quasi-identifiers is shown by rows whose weights "
            f"({self.sensitive}) sum to at least {self.k}: so many people of the population are "
            "estimated to look the same, and it rests on that estimate, which bounds no number of "
            "people"
        )

    def unmeasurable(self, column: PromisedColumn | None) -> str | None:
        """Why weights can never be summed, None where they can."""
        if column is None:
            return "k-map needs a column with role weight"
        if column.type not in ("integer", "decimal"):
            return f"k-map sums weights of type integer or decimal, not {column.type}"
        return None

    def _sums(self, groups: Groups) -> tuple[np.ndarray, int, np.ndarray]:
        """The sum of each group's weights in units, the units of 1, and groups with wrong weights.

        The sums are int64, or Python integers where those may overflow.

        Raises:
            PromiseError: where rows have no weights, or stand for people who have left.
        """
        counts = groups.of(self.sensitive)
        if counts.numbers is None:
            raise PromiseError(f"the weights {self.sensitive!r} are not numbers")
        if not np.array_equal(groups.live, groups.sizes):
            raise PromiseError("weights of people who have left estimate no population")
        one, units = 10**counts.numbers.digits, counts.numbers.units
        largest = max(map(abs, units.tolist()), default=0)
        small = largest * max(groups.rows, 1) <= INT64_MAX and self.k * one <= INT64_MAX
        times = counts.count if small else counts.count.astype(object)
        weights = (units if small else units.astype(object))[counts.value]
        sums = np.zeros(len(groups), dtype=np.int64 if small else object)
        np.add.at(sums, counts.group, times * weights)
        wrong = np.zeros(len(groups), dtype=bool)
        wrong[counts.group[np.asarray(weights <= 0, dtype=bool)]] = True
        return sums, one, wrong
