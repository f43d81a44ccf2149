"""What every privacy model is: an object that is its own configuration, measures, and decides."""

from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import ConfigDict, Field, PlainSerializer, TypeAdapter
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups

Number = int | Fraction | float | None  # exact; a float is infinity

RECODED = frozenset({"generalized", "suppressed"})  # who looks alike is one group
EXACT = frozenset({"permuted", "split"})  # exact quasi-identifiers beside grouped values


def plain(number: Decimal | Number) -> int | str | None:
    """An exact number for JSON: an integer, or else the decimal or fraction as text."""
    if number is None or isinstance(number, int):
        return number
    if number == inf:
        return "infinite"
    as_fraction = Fraction(number)
    if as_fraction.denominator == 1:
        return int(as_fraction)
    return _decimal_text(as_fraction)


def _decimal_text(number: Fraction) -> str:
    denominator = number.denominator
    while denominator % 2 == 0:
        denominator //= 2
    while denominator % 5 == 0:
        denominator //= 5
    if denominator != 1:
        return str(number)
    digits = next(d for d in range(1, 10_000) if (number * 10**d).denominator == 1)
    units = int(abs(number) * 10**digits)
    sign = "-" if number < 0 else ""
    return f"{sign}{units // 10**digits}.{units % 10**digits:0{digits}d}"


ExactNumber = Annotated[Decimal, PlainSerializer(plain, return_type=int | str)]


@plain_dataclass(frozen=True)
class Verdict:
    """What a promise asks for, what the groups show, and how many groups fall short.

    `required` and `observed` have the same keys, the model's parameters; an observed None could not
    be measured and never passes.
    """

    required: Mapping[str, Number]
    observed: Mapping[str, Number]
    groups: int
    failing: int

    @property
    def holds(self) -> bool:
        """Whether every group was measured and none falls short."""
        return self.failing == 0 and all(value is not None for value in self.observed.values())


@dataclass(
    frozen=True,
    kw_only=True,
    config=ConfigDict(
        extra="forbid",
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
    ),
)
class PrivacyModel:
    """A privacy model with its parameters: a promise that groups keep or break.

    `name` tells the model from the others; `monotone` says that merging two groups that each keep
    the promise cannot break it; `forms` are the forms of publication on which it means something;
    `protects` says whether it keeps something about the sensitive attribute from being known;
    `joins` says whether it is judged on the values that groups admit of each quasi-identifier.
    """

    name: ClassVar[str]
    monotone: ClassVar[bool]
    forms: ClassVar[frozenset[str]]
    protects: ClassVar[bool]
    joins: ClassVar[bool] = False

    quasi_identifiers: Annotated[tuple[str, ...] | None, Field(min_length=1)] = None
    sensitive: str | None = None

    @property
    def told_apart_by(self) -> tuple[str, ...]:
        """The columns whose values an adversary may know: they tell groups apart."""
        return self.quasi_identifiers or ()

    @property
    def across(self) -> bool:
        """Whether groups are judged together, not each by itself."""
        return False

    @property
    def drawn_from(self) -> str | None:
        """The address of the population that the promise speaks of, where it speaks of one."""
        return None

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """The model's scores, one array with an entry per group for each parameter."""
        raise NotImplementedError

    def failing(self, groups: Groups) -> np.ndarray:
        """Which groups break the promise by themselves (bool, one per group), exactly.

        All of them, where they cannot be measured. What `check` counts; a promise across groups,
        such as presence over joins, may be broken although no group fails by itself.
        """
        raise NotImplementedError

    def check(self, groups: Groups) -> Verdict:
        """Whether all groups keep the promise, decided in integers."""
        raise NotImplementedError

    def feasible(self, coarsest: Groups) -> Verdict | None:
        """Whether any grouping can keep the promise; None where only trying can tell.

        Args:
            coarsest: the groups of which all others are parts, one for each stratum. Where merging
                cannot break the promise, it can be kept exactly if these keep it.
        """
        return self.check(coarsest) if self.monotone else None

    def parameters(self) -> dict[str, Any]:
        """The promise as it is written in a spec: its model, parameters and scope."""
        adapter: TypeAdapter[Any] = TypeAdapter(type(self))
        document = adapter.dump_python(self, mode="json", by_alias=True, exclude_none=True)
        return dict(sorted(document.items()))

    def sentence(self) -> str:
        """The promise in words, for people who read a release."""
        raise NotImplementedError
