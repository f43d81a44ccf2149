"""(k,e)-anonymity: a group hides its members among k different sensitive values spanning e.

Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups, People
from sfumato.expectations.groups.of_people import least_range
from sfumato.expectations.models.model import (
    PrivacyModel,
    PromisedColumn,
    Reading,
    Way,
    Worst,
    why_unordered,
)
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain


@dataclass(frozen=True, kw_only=True)
class KEAnonymity(PrivacyModel):
    """Each group has at least k distinct sensitive values, and their range is at least e.

    e has the unit of the sensitive attribute: days for dates, seconds for timestamps.
    """

    name: ClassVar[str] = "ke-anonymity"
    title: ClassVar[str] = "(k,e)-anonymity"
    meanings: ClassVar[Mapping[str, str]] = {
        "k": "different values in a group, at least",
        "e": "from the lowest to the highest value of a group, at least",
    }
    monotone: ClassVar[bool] = True
    meanings_over_people: ClassVar[Mapping[str, str]] = {
        "k": "people, and different values, in a group, at least",
        "e": "from the lowest to the highest value without any one person's rows, at least",
    }
    readings: ClassVar[tuple[Reading, ...]] = ("any-of",)
    merges_over_people: ClassVar[bool] = True
    distances: ClassVar[frozenset[str]] = frozenset({"e"})
    ways: ClassVar[frozenset[Way]] = frozenset({"labels", "rows", "columns"})
    protects: ClassVar[bool] = True
    by_candidates: ClassVar[bool] = True
    unbroken_by_rows: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"k": 3, "e": 2}

    model: Literal["ke-anonymity"] = "ke-anonymity"
    k: Annotated[int, Field(ge=1, description="smallest number of different values in a group")]
    e: Annotated[
        ExactNumber,
        Field(ge=0, description="smallest range of a group's values; days for dates"),
    ]

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`k`: distinct sensitive values of each group (int64); `e`: their range in exact units.

        Raises:
            PromiseError: where the sensitive attribute has no order or holds nulls.
        """
        counts = groups.counts_of(self.sensitive)
        if counts.numbers is None:
            raise PromiseError(
                f"{self._title()} needs numbers, dates or timestamps without missing values"
            )
        ends = np.append(counts.starts[1:], len(counts.group)) - 1
        units = counts.numbers.units
        lowest, highest = units[counts.value[counts.starts]], units[counts.value[ends]]
        return {"k": counts.distinct, "e": highest - lowest}

    def distinct(self, groups: Groups) -> int | None:
        """Return the fewest distinct sensitive values of any group, ordered or not."""
        return int(groups.counts_of(self.sensitive).distinct.min()) if len(groups) else None

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with too few values, or too small a range (bool, one per group)."""
        numbers = groups.counts_of(self.sensitive).numbers
        if numbers is None:
            return np.ones(len(groups), dtype=bool)
        scores = self.measure(groups)
        short = (scores["k"] < self.k) | (scores["e"] < numbers.at_least(self.e))
        return np.asarray(short, dtype=bool)

    def worst(self, groups: Groups) -> Worst:
        """Return the fewest distinct values and the smallest range of a group."""
        counts = groups.counts_of(self.sensitive)
        if counts.numbers is None or not len(groups):
            return {"k": None, "e": None}, len(groups)
        scores = self.measure(groups)
        e = counts.numbers.fraction(scores["e"].min())
        return {"k": int(scores["k"].min()), "e": e}, int(self.failing(groups).sum())

    def failing_over_people(self, people: People) -> np.ndarray:
        """Mark the groups of too few people or values, or too small a range without one person."""
        numbers = people.held[str(self.sensitive)].like.numbers
        if numbers is None:
            return np.ones(people.groups, dtype=bool)
        short = least_range(people, str(self.sensitive)) < numbers.at_least(self.e)
        return np.asarray((self._hidden_among(people) < self.k) | short, dtype=bool)

    def worst_over_people(self, people: People) -> Worst:
        """Return the fewest people or values, and the smallest range without any one person."""
        numbers = people.held[str(self.sensitive)].like.numbers
        if numbers is None or not people.groups:
            return {"k": None, "e": None}, people.groups
        e = numbers.fraction(least_range(people, str(self.sensitive)).min())
        failing = int(self.failing_over_people(people).sum())
        return {"k": int(self._hidden_among(people).min()), "e": e}, failing

    def _hidden_among(self, people: People) -> np.ndarray:
        """Return the people of each group, or its different values if fewer (int64)."""
        values = people.held[str(self.sensitive)].like.distinct
        return np.asarray(np.minimum(people.sizes, values))

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"k": self.k, "e": Fraction(self.e)}

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"whoever finds a person's group still faces at least {self.k} different values of "
            f"{self.sensitive}, at least {plain(self.e)} apart from lowest to highest"
        )

    @property
    def counts_nulls(self) -> bool:
        """False: a range is one of values."""
        return False

    def unmeasurable(self, column: PromisedColumn | None) -> str | None:
        """Return the reason why the column has no range, None if it has one."""
        return why_unordered(self.name, column)

    @property
    def faced_values(self) -> tuple[int, Fraction]:
        """The k values, at least e apart from lowest to highest."""
        return self.k, Fraction(self.e)

    def _title(self) -> str:
        return f"({self.k},{plain(self.e)})-anonymity of {self.sensitive!r}"
