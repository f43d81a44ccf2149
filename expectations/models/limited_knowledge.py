"""Promises against who knows a few of anybody's quasi-identifiers: LKC-privacy and kᵐ-anonymity.

Sources: Mohammed, Fung, Hung, Lee, Anonymizing healthcare data: a case study on the blood
transfusion service (KDD 2009), definition 3.1; Terrovitis, Mamoulis, Kalnis, Privacy-preserving
anonymization of set-valued data (PVLDB 2008), definition 1, here for tables with columns.

A combination is a label for each of some columns. What is promised of the combinations of exactly
L columns (of all, if there are fewer) holds against everyone who knows at most L exact values:

- Whoever knows fewer columns, adds others up to L: their rows are a union of combinations.
- Labels may overlap (10-20 and 15-30). Known values match the rows whose labels admit them, which
  are a union of combinations of these columns; one's own row is in it, so that it is not empty.
- A union of disjoint sets of K rows or more has K rows or more, and the share of a value in it is a
  weighted mean of its shares in the sets. So a union keeps what each of its sets keeps.

For people who have several rows the third step fails for shares: of the people {1: s, 2: t} and
{2: t, 3: s} half have s each, of their union two thirds. So only K counts people.

Merging some groups may break these promises: of rows (1,1), (2,1), (1,2), (2,2) each label of one
column is shown twice; once the first two share a new label of column 1, the labels 1 and 2 are
shown once. Only a coarser coding of a whole column keeps what was kept.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.counting import merge
from sfumato.expectations.groups.groups import Groups, People
from sfumato.expectations.measures.combinations import (
    Combination,
    combinations,
    count_people,
    count_rows,
    most_of_one_value,
)
from sfumato.expectations.models.model import PrivacyModel, Reading, Verdict, Way, Worst
from sfumato.expectations.shared.arrow import Value
from sfumato.expectations.shared.errors import PromiseError
from sfumato.expectations.shared.exact import INT64_MAX, are_above, largest
from sfumato.expectations.shared.numbers import ExactNumber, Number, plain


@dataclass(frozen=True, kw_only=True)
class LimitedKnowledge(PrivacyModel):
    """A promise about every combination of labels of so many quasi-identifiers."""

    monotone: ClassVar[bool] = False
    kept_by_coarser: ClassVar[bool] = True
    needs_labels: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels"})
    since: ClassVar[int] = 13

    @property
    @abstractmethod
    def knowledge(self) -> int:
        """The most quasi-identifiers that anybody is said to know."""

    @abstractmethod
    def broken(self, seen: Combination, groups: Groups) -> np.ndarray:
        """Mark the combinations that are shown and break the promise (bool, one per key).

        People are counted if the groups have them.
        """

    def for_part(self, part: Groups) -> None:
        """Return None: combinations of labels are shown by the rows of all parts."""

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that show a combination which breaks the promise (bool, one each)."""
        labels = self._labels(groups)
        if labels is None:
            return np.ones(len(groups), dtype=bool)
        failing = np.zeros(len(groups), dtype=bool)
        for seen in combinations(labels, self.knowledge):
            broken = self.broken(seen, groups)
            if broken.any():
                failing |= broken[seen.key]
        return failing

    def breaks_with(self, name: str, groups: Groups) -> bool:
        """Return True if some combination of labels of a column and others breaks the promise.

        Raises:
            PromiseError: where the labels of groups are not known.
        """
        including = self._names(groups).index(name)
        labels = self.labels_of(groups)
        return any(
            self.broken(seen, groups).any()
            for seen in combinations(labels, self.knowledge, including)
        )

    def labels_of(self, groups: Groups) -> list[np.ndarray]:
        """Return the labels of each quasi-identifier, by number (integers, one per group).

        Raises:
            PromiseError: where they are not known.
        """
        labels = self._labels(groups)
        if labels is None:
            raise PromiseError(
                f"{self.title} cannot be measured, because the groups do not show the label of "
                "each quasi-identifier; use form generalized or suppressed"
            )
        return labels

    def _names(self, groups: Groups) -> tuple[str, ...]:
        return self.quasi_identifiers or tuple(groups.labels)

    def _labels(self, groups: Groups) -> list[np.ndarray] | None:
        names = self._names(groups)
        if not names or any(name not in groups.labels for name in names):
            return None
        return [groups.labels[name] for name in names]


@dataclass(frozen=True, kw_only=True)
class KMAnonymity(LimitedKnowledge):
    """Each combination of labels of m quasi-identifiers that is shown, is shown by k rows."""

    name: ClassVar[str] = "km-anonymity"
    title: ClassVar[str] = "kᵐ-anonymity"
    meanings: ClassVar[Mapping[str, str]] = {
        "k": "rows that look the same to anyone who knows m quasi-identifiers, at least",
    }
    meanings_over_people: ClassVar[Mapping[str, str]] = {
        "k": "people who look the same to anyone who knows m quasi-identifiers, at least",
    }
    readings: ClassVar[tuple[Reading, ...]] = ("any-of",)
    unbroken_by_rows: ClassVar[bool] = True
    protects: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"k": 4, "m": 2}

    model: Literal["km-anonymity"] = "km-anonymity"
    k: Annotated[int, Field(ge=1, description="smallest number of rows of a combination")]
    m: Annotated[int, Field(ge=1, description="quasi-identifiers that anyone knows, at most")]

    @property
    def knowledge(self) -> int:
        """The most quasi-identifiers that anybody is said to know: m."""
        return self.m

    def broken(self, seen: Combination, groups: Groups) -> np.ndarray:
        """Mark the combinations of fewer than k rows, or people (bool, one per key)."""
        number = _count(seen, groups)
        return np.asarray((number > 0) & (number < self.k))

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`k`: the fewest rows, or people, of a combination that each group shows (int64).

        Raises:
            PromiseError: where the labels of groups are not known.
        """
        least = np.full(len(groups), INT64_MAX)
        for seen in combinations(self.labels_of(groups), self.m):
            np.minimum(least, _count(seen, groups)[seen.key], out=least)
        return {"k": least}

    def worst(self, groups: Groups) -> Worst:
        """Return the fewest rows, or people, of any combination, and how many groups show fewer."""
        if self._labels(groups) is None or not len(groups):
            return {"k": None}, len(groups)
        k = self.measure(groups)["k"]
        return {"k": int(k.min())}, int((k < self.k).sum())

    def failing_over_people(self, people: People) -> np.ndarray:
        """Mark the groups that show a combination of fewer than k people (bool, one per group)."""
        return self.failing(_groups_of(people))

    def worst_over_people(self, people: People) -> Worst:
        """Return the fewest people of any combination, and how many groups show fewer than k."""
        return self.worst(_groups_of(people))

    def feasible(self, coarsest: Groups) -> Verdict | None:
        """Return the verdict on all rows under one label, as which no coding shows fewer."""
        return Verdict(
            self.required(), {"k": coarsest.rows}, 1, failing=int(coarsest.rows < self.k)
        )

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"k": self.k}

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"every combination of labels of {_columns(self.m)} is shown by at least {self.k} rows"
        )


@dataclass(frozen=True, kw_only=True)
class LKCPrivacy(LimitedKnowledge):
    """Each combination of labels of l quasi-identifiers is shown by k rows, few of one value.

    At most a share c of its rows have any one of `values`, all if left out.
    """

    name: ClassVar[str] = "lkc-privacy"
    title: ClassVar[str] = "LKC-privacy"
    meanings: ClassVar[Mapping[str, str]] = {
        "k": "rows that look the same to anyone who knows l quasi-identifiers, at least",
        "c": "share of these rows for any one value, at most",
    }
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"c"})
    why_not_over_people: ClassVar[str] = (
        "somebody's knowledge may match several combinations, and among the people of all of them "
        "a value's share may be larger than in each; promise km-anonymity"
    )
    example: ClassVar[Mapping[str, Any]] = {"l": 2, "k": 4, "c": 0.5}

    model: Literal["lkc-privacy"] = "lkc-privacy"
    l: Annotated[int, Field(ge=1, description="quasi-identifiers that anyone knows, at most")]
    k: Annotated[int, Field(ge=1, description="smallest number of rows of a combination")]
    c: Annotated[
        ExactNumber, Field(gt=0, le=1, description="largest share of one value in a combination")
    ]
    values: Annotated[
        tuple[Value, ...] | None,
        Field(min_length=1, description="values that c applies to (all if left out)"),
    ] = None

    @property
    def knowledge(self) -> int:
        """The most quasi-identifiers that anybody is said to know: l."""
        return self.l

    def broken(self, seen: Combination, groups: Groups) -> np.ndarray:
        """Mark the combinations of too few rows, or with too many of one value (bool, per key)."""
        return self._exceed(*self._shares(seen, groups))

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`k`: the fewest rows of a combination that each group shows, `c`: the largest share.

        The first is int64, the second float64, one per group.

        Raises:
            PromiseError: where the labels of groups are not known.
        """
        least, share = np.full(len(groups), INT64_MAX), np.zeros(len(groups))
        for seen in combinations(self.labels_of(groups), self.l):
            rows, most = self._shares(seen, groups)
            np.minimum(least, rows[seen.key], out=least)
            np.maximum(share, (most / np.maximum(rows, 1))[seen.key], out=share)
        return {"k": least, "c": share}

    def worst(self, groups: Groups) -> Worst:
        """Return the fewest rows of a combination and the largest share, and how many groups fail.

        Everything is exact.
        """
        labels = self._labels(groups)
        if labels is None or not len(groups):
            return {"k": None, "c": None}, len(groups)
        least, share, failing = groups.rows, Fraction(0), np.zeros(len(groups), dtype=bool)
        for seen in combinations(labels, self.l):
            rows, most = self._shares(seen, groups)
            there = rows > 0
            least = min(least, int(rows[there].min()))
            share = max(share, largest(most[there], rows[there]) or share)
            broken = self._exceed(rows, most)
            if broken.any():
                failing |= broken[seen.key]
        return {"k": least, "c": share}, int(failing.sum())

    def feasible(self, coarsest: Groups) -> Verdict | None:
        """Return the verdict on all rows under one label.

        No coding shows more, and some combination has at least a value's share of all rows.
        """
        alike = merge(coarsest, np.zeros(len(coarsest), dtype=np.int64))
        alone = replace(alike, labels={"": np.zeros(len(alike), dtype=np.int64)})
        return replace(self, quasi_identifiers=None).check(alone)

    def fault_among(self, groups: Groups) -> str | None:
        """Return the fault of `values` that no row has, None without one."""
        counts = groups.counts_of(self.sensitive)
        missing = [v for v in self.values or () if not len(counts.numbers_written([v]))]
        if not missing:
            return None
        return (
            f"values: no row of {self.sensitive!r} has {len(missing)} of these "
            f"{len(self.values or ())} values. Write values as the table has them, and leave the "
            "others out"
        )

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"k": self.k, "c": Fraction(self.c)}

    def sentence(self) -> str:
        """Return the promise in words."""
        which = "no value" if self.values is None else f"none of {', '.join(self.values)}"
        return (
            f"every combination of labels of {_columns(self.l)} is shown by at least {self.k} "
            f"rows, and {which} of {self.sensitive} by more than a share {plain(self.c)} of them"
        )

    def _shares(self, seen: Combination, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of each combination, and those with its most frequent bounded value."""
        counts = groups.counts_of(self.sensitive)
        bounded = slice(None) if self.values is None else counts.entries_of(self.values)
        cells = (counts.group[bounded], counts.value[bounded], counts.count[bounded])
        return count_rows(seen, groups.sizes), most_of_one_value(seen, *cells)

    def _exceed(self, rows: np.ndarray, most: np.ndarray) -> np.ndarray:
        few = (rows > 0) & (rows < self.k)
        return np.asarray(few | ((rows > 0) & are_above(most, rows, Fraction(self.c))))


def _columns(number: int) -> str:
    return "any quasi-identifier" if number == 1 else f"any {number} quasi-identifiers together"


def _count(seen: Combination, groups: Groups) -> np.ndarray:
    """Return the people of each combination if the groups have them, otherwise its rows."""
    if groups.people is None:
        return count_rows(seen, groups.sizes)
    return count_people(seen, groups.people)


def _groups_of(people: People) -> Groups:
    return Groups(people.sizes, {}, people=people, labels=people.labels)
