"""P-privacy: the values shown for a group are spread as a target distribution P says.

Source: Koudas, Srivastava, Yu, Zhang, Distribution-based microdata anonymization (VLDB 2009).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups, Subdomains
from sfumato.expectations.groups.subdomains import Multiset, imbalances
from sfumato.expectations.models.model import PrivacyModel, PromisedColumn, Verdict, Way, Worst
from sfumato.expectations.shared.arrow import NUMBERS
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.numbers import SINCE, ExactNumber, Number, plain
from sfumato.expectations.shared.sorting import stable_order

_STRICT = ConfigDict(extra="forbid", defer_build=True)


@dataclass(frozen=True, config=_STRICT)
class Parameters:
    """The mean and the variance of a normal distribution, in the units of the attribute."""

    mean: ExactNumber
    variance: Annotated[ExactNumber, Field(gt=0)]


@dataclass(frozen=True, config=_STRICT)
class Normal:
    """A normal distribution over the attribute's domain."""

    normal: Parameters


@dataclass(frozen=True, config=_STRICT)
class Zipf:
    """Zipf's distribution with exponent s over the values in ascending order."""

    zipf: Annotated[ExactNumber, Field(ge=0)]


@dataclass(frozen=True, config=_STRICT)
class File:
    """A distribution that a file gives: values with their weights."""

    file: Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, config=_STRICT)
class Given:
    """The same with the lines of the file: a header with `value`, `probability` and strata."""

    given: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, config=_STRICT)
class Nearest:
    """Each group's own distribution, or another one that keeps the other promises.

    That is the nearest one, or the one with the least sum of ranges.
    """

    since: ClassVar[int] = 6

    nearest: Literal["own"]
    objective: Annotated[
        Literal["nearest", "ranges"],
        Field(
            exclude_if=lambda objective: objective == "nearest",
            json_schema_extra={SINCE: 13},
            description="of the targets that keep the promises, the nearest one, or the one with "
            "the least sum of ranges",
        ),
    ] = "nearest"


_KEYS = ("normal", "zipf", "file", "given", "nearest")


def _kind(aim: Any) -> str:
    if isinstance(aim, Mapping):
        return next(
            (str(name) for name in aim if name in ("normal", "zipf", "file", "given", "nearest")),
            "",
        )
    return "word" if isinstance(aim, str) else type(aim).__name__.lower()


Aim = Annotated[
    Annotated[Literal["source", "uniform"], Tag("word")]
    | Annotated[Normal, Tag("normal")]
    | Annotated[Zipf, Tag("zipf")]
    | Annotated[File, Tag("file")]
    | Annotated[Given, Tag("given")]
    | Annotated[Nearest, Tag("nearest")],
    Discriminator(_kind),
]


@dataclass(frozen=True, kw_only=True)
class PPrivacy(PrivacyModel):
    """The subdomains shown for each group are balanced as P says, up to `tolerance`.

    The tolerance is relative to the number of subdomains. Merging groups that have the same target
    adds their equations up and cannot unbalance them.
    """

    name: ClassVar[str] = "p-privacy"
    title: ClassVar[str] = "P-privacy"
    meanings: ClassVar[Mapping[str, str]] = {
        "tolerance": "imbalance of the ranges of a group, at most",
    }
    monotone: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"subdomains"})
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"tolerance"})
    why_not_over_people: ClassVar[str] = (
        "its target is a distribution of one value per row, and a person with several rows has "
        "several values; promise t-closeness"
    )

    model: Literal["p-privacy"] = "p-privacy"
    target: Aim
    per: Annotated[
        Literal["stratum", "table"],
        Field(description="rows with which `source` is computed: each stratum, or the table"),
    ] = "stratum"
    tolerance: Annotated[
        ExactNumber, Field(ge=0, lt=1, description="largest imbalance, relative to a group's size")
    ] = Decimal(0)

    @model_validator(mode="after")
    def _only_a_source_is_of_something(self) -> Self:
        if self.per == "table" and self.target != "source":
            raise ValueError("per: only goes with `target: source`; leave per out")
        return self

    @property
    def of_groups(self) -> bool:
        """True if each group has a target of its own, which its values decide."""
        return isinstance(self.target, Nearest)

    @property
    def with_least_ranges(self) -> bool:
        """True if targets of groups are chosen by the sum of ranges."""
        return isinstance(self.target, Nearest) and self.target.objective == "ranges"

    @property
    def of_one_version(self) -> bool:
        """True if other versions' groups have targets of their own, too."""
        return self.of_groups

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`tolerance`: the imbalance of each group (Fractions; infinity where a node has no P).

        Raises:
            PromiseError: where no subdomains of a group are shown, or a target is no distribution.
        """
        subdomains = _sort_by_group(self._subdomains(groups))
        scores = np.full(len(groups), np.inf, dtype=object)
        for number, target in enumerate(subdomains.targets):
            members = np.flatnonzero(subdomains.target[: len(groups)] == number)
            group_scores = imbalances(target, _multisets(subdomains, members))
            for group, score in zip(members.tolist(), group_scores, strict=True):
                scores[group] = np.inf if score is None else score
        return {"tolerance": scores}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups less balanced than the tolerance allows (bool, one per group)."""
        try:
            scores = self.measure(groups)["tolerance"].tolist()
        except PromiseError:
            return np.ones(len(groups), dtype=bool)
        return self._exceed_tolerance(scores)

    def worst(self, groups: Groups) -> Worst:
        """Return the largest imbalance of a group, in fractions."""
        try:
            scores = self.measure(groups)["tolerance"].tolist()
        except PromiseError:
            return {"tolerance": None}, len(groups)
        return {"tolerance": max(scores, default=None)}, int(self._exceed_tolerance(scores).sum())

    def feasible(self, coarsest: Groups) -> Verdict | None:
        """Return the verdict, None before subdomains are chosen: the root is always balanced."""
        return self.check(coarsest) if coarsest.subdomains else None

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"tolerance": Fraction(self.tolerance)}

    def sentence(self) -> str:
        """Return the promise in words."""
        within = f", up to a share {plain(self.tolerance)}" if self.tolerance else ""
        return (
            f"from what is shown of a group, each value of {self.sensitive} is as likely as the "
            f"published target distribution says{within}"
        )

    @property
    def counts_nulls(self) -> bool:
        """False: a distribution is one of values."""
        return False

    def unmeasurable(self, column: PromisedColumn | None) -> str | None:
        """Return the reason why the column has no such target, None where it has one."""
        kind = column.type if column else ""
        if isinstance(self.target, Normal) and kind not in NUMBERS:
            return f"target: normal needs a column of numbers, not type {kind}; use uniform"
        return None

    def _exceed_tolerance(self, scores: list[Fraction]) -> np.ndarray:
        return np.array([score > Fraction(self.tolerance) for score in scores], dtype=bool)

    def _subdomains(self, groups: Groups) -> Subdomains:
        name = self.sensitive
        if name is None and len(groups.subdomains) == 1:
            name = next(iter(groups.subdomains))
        if name is None or name not in groups.subdomains:
            raise PromiseError(f"the table shows no subdomains of {name!r}; use form redistributed")
        return groups.subdomains[name]


def _sort_by_group(subdomains: Subdomains) -> Subdomains:
    order = stable_order(subdomains.group)
    return replace(
        subdomains,
        group=subdomains.group[order],
        node=subdomains.node[order],
        count=subdomains.count[order],
    )


def _multisets(subdomains: Subdomains, groups: np.ndarray) -> Iterator[Multiset]:
    """Yield the nodes that each group shows, and how often; `subdomains` is sorted by group."""
    starts = np.searchsorted(subdomains.group, groups)
    ends = np.searchsorted(subdomains.group, groups, side="right")
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield subdomains.node[start:end].tolist(), subdomains.count[start:end].tolist()
