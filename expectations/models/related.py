"""Promises about people who have rows in a second table, such as patients and their stays.

People are grouped by their own quasi-identifiers, and their related rows are published beside the
group. Everybody is assumed to know everyone's quasi-identifiers, and so everyone's group.

`numbers: known` is about those who also know how many related rows each person has; `insiders: 1`
about people of a group who know their own rows as well. Nobody is assumed to know values of related
rows that are not their own, nor dates of them.

Source: this project (the guide's page on related tables); the starting point is Nergiz, Clifton and
Nergiz, Multirelational k-anonymity (TKDE 2009).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups, RelatedRows
from sfumato.expectations.groups.related import (
    NOBODY,
    Insiders,
    fewest_rows,
    had_by_everybody,
    most_common,
    surely_of_owner,
    surely_of_somebody,
)
from sfumato.expectations.models.model import PrivacyModel, Reading, Way, Worst
from sfumato.expectations.shared.exact import are_above, largest
from sfumato.expectations.shared.numbers import SINCE, ExactNumber, Number, plain
from sfumato.expectations.shared.sorting import distinct

_DECIMALS = 1000  # a proposed share is rounded up to thousandths
Numbers = Annotated[
    Literal["hidden", "known"],
    Field(description="whether an adversary knows how many related rows each person has"),
]
Facts = Annotated[
    Literal["none", "presence", "numbers", "any"],
    Field(
        exclude_if=lambda facts: facts == "none",  # digests of terms stay what they are
        json_schema_extra={SINCE: 16},
        description=(
            "facts of people published beside their rows, set by Sfumato. They may show "
            "who has rows (presence), numbers of rows, or anything (any)"
        ),
    ),
]


@dataclass(frozen=True, kw_only=True)
class RelatedPromise(PrivacyModel):
    """A promise about the people of groups and their related rows."""

    ways: ClassVar[frozenset[Way]] = frozenset({"apart"})
    monotone: ClassVar[bool] = True
    of_related: ClassVar[bool] = True
    why_not_over_people: ClassVar[str] = (
        "it is about people and rows of a second table; promise k-anonymity or distinct-l-diversity"
    )
    since: ClassVar[int] = 15

    def attribute_of(self, related: RelatedRows) -> str:
        """Return the attribute of related rows that the promise is about: named, or the only one.

        Raises:
            PromiseError: where it was not counted.
        """
        names = list(related.rows.sensitive)
        name = names[0] if self.sensitive is None and len(names) == 1 else str(self.sensitive)
        related.rows.counts_of(name)
        return name


@dataclass(frozen=True, kw_only=True)
class KPeople(RelatedPromise):
    """Each group has at least k people, so that each related row may be of any of k.

    Who knows everybody's number of rows can leave out people without any: k people with rows.

    In one table whose rows show exact quasi-identifiers, each sensitive value of a group may be of
    any of k people. Its groups have no related rows: they count rows, and people beside them where
    somebody has several.
    """

    name: ClassVar[str] = "people"
    title: ClassVar[str] = "k people"
    protects: ClassVar[bool] = False
    ways: ClassVar[frozenset[Way]] = frozenset({"apart", "rows"})
    readings: ClassVar[tuple[Reading, ...]] = ("any-of",)
    merges_over_people: ClassVar[bool] = True
    meanings: ClassVar[Mapping[str, str]] = {"k": "people of a group, at least"}
    meanings_over_people: ClassVar[Mapping[str, str]] = {
        "k": "people of a group to whom a related row may belong, at least",
    }
    meanings_over_rows: ClassVar[Mapping[str, str]] = {"k": "rows of a group, at least"}
    example: ClassVar[Mapping[str, Any]] = {"k": 3}

    model: Literal["people"] = "people"
    k: Annotated[int, Field(ge=1, description="smallest number of people in a group")]
    numbers: Numbers = "hidden"

    @property
    def needs_owners(self) -> bool:
        """True if numbers are known: few releases publish how many people have rows."""
        return self.numbers == "known"

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`k`: the people of each group to whom a related row may belong (int64)."""
        people, related = groups.live.copy(), groups.related
        if not self.needs_owners or related is None:
            return {"k": people}
        if related.rows.people is not None:
            people[related.group] = related.rows.people.sizes
        elif related.with_rows is not None:
            people[related.group] = related.with_rows
        return {"k": people}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups with fewer than k people (bool, one per group)."""
        return np.asarray(self.measure(groups)["k"] < self.k)

    def worst(self, groups: Groups) -> Worst:
        """Return the fewest people of a group; None if there is no group."""
        people, failing = self.measure(groups)["k"], int(self.failing(groups).sum())
        return {"k": int(people.min()) if len(people) else None}, failing

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"k": self.k}

    def why_impossible(self, coarsest: Groups) -> str | None:
        """Return why not even the coarsest groups keep it, and what to write instead."""
        return _too_few_people(self, coarsest)

    def sentence(self) -> str:
        """Return the promise in words."""
        if self.numbers == "known":
            return (
                f"each row may belong to any of at least {self.k} people, also for those who know "
                "how many rows everyone has"
            )
        return f"each row may belong to any of at least {self.k} people"


@dataclass(frozen=True, kw_only=True)
class RelatedDiversity(RelatedPromise):
    """Everyone with related rows may have at least l values there, and surely has none of them."""

    name: ClassVar[str] = "related-l-diversity"
    title: ClassVar[str] = "distinct l-diversity of related rows"
    protects: ClassVar[bool] = True
    by_candidates: ClassVar[bool] = True
    meanings: ClassVar[Mapping[str, str]] = {
        "l": "values that each person may have in related rows, and none of which surely, at least",
    }
    example: ClassVar[Mapping[str, Any]] = {"l": 2}

    model: Literal["related-l-diversity"] = "related-l-diversity"
    l: Annotated[int, Field(ge=1, description="smallest number of values that a person may have")]
    numbers: Numbers = "known"
    insiders: Annotated[
        Literal[0, 1],
        Field(description="1 also protects from people of the group who know their own rows"),
    ] = 0
    facts: Facts = "none"

    @model_validator(mode="after")
    def _insiders_know_numbers(self) -> Self:
        if self.insiders and self.numbers == "hidden":
            raise ValueError("insiders: 1 needs `numbers: known`: insiders know the numbers")
        if self.facts != "none" and self.numbers == "known":
            raise ValueError("facts: matters only with `numbers: hidden`. Leave facts out")
        return self

    @property
    def needs_owners(self) -> bool:
        """True against insiders, and beside any facts: what these tell depends on who has what."""
        return self.insiders > 0 or self.facts == "any"

    @property
    def counts_owners(self) -> bool:
        """True if it is also measured by the owners of rows, where they are known."""
        return self.needs_owners or self.facts != "none"

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`l`: the values that people with rows may have, 1 if one is certain (int64 per group).

        It is a large number in a group without related rows.
        """
        faced = np.full(len(groups), NOBODY)
        if groups.related is not None:
            faced[groups.related.group] = self._count_values(groups.sizes, groups.related)
        return {"l": faced}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups in which somebody may have too few values (bool, one per group)."""
        if groups.related is None:
            return np.ones(len(groups), dtype=bool)
        return np.asarray(self.measure(groups)["l"] < self.l)

    def worst(self, groups: Groups) -> Worst:
        """Return the fewest values, 1 where one is certain; None if there are no related rows."""
        faced = self.measure(groups)["l"]
        least = int(faced.min(initial=NOBODY))
        return {"l": None if least == NOBODY else least}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"l": self.l}

    def why_impossible(self, coarsest: Groups) -> str | None:
        """Return why not even the coarsest groups keep it, and what to write instead."""
        return _too_few_values(self, coarsest)

    def sentence(self) -> str:
        """Return the promise in words."""
        knows = " and how many rows everyone has" if self.numbers == "known" else ""
        own = "; this also holds for people of the group, who know their own rows too"
        knows += " and the facts published of its people" if self.facts != "none" else ""
        return (
            f"whoever knows a person's group{knows} still faces at least {self.l} different values "
            f"of {self.sensitive}, none of which is certain{own if self.insiders else ''}"
        )

    def _count_values(self, sizes: np.ndarray, related: RelatedRows) -> np.ndarray:
        name = self.attribute_of(related)
        certain = self._certain(sizes, related, name)
        faced = np.where(certain, 1, related.rows.counts_of(name).distinct)
        if not self.insiders or related.rows.people is None:
            return faced
        by_insiders = Insiders(related, name).count_values()
        # the insider's own values count as one that anyone else may have
        return np.minimum(
            faced, np.where(by_insiders == NOBODY, NOBODY, by_insiders + (by_insiders > 1))
        )

    def _certain(self, sizes: np.ndarray, related: RelatedRows, name: str) -> np.ndarray:
        """Mark the groups in which somebody surely has a value (bool, one per entry)."""
        if self.numbers == "known":
            return surely_of_owner(related, name)
        certain = surely_of_somebody(sizes, related, name, self._fewest(sizes, related))
        if self.facts == "any" and related.rows.people is not None:
            certain = certain | had_by_everybody(sizes, related, name)
        return certain

    def _fewest(self, sizes: np.ndarray, related: RelatedRows) -> np.ndarray | int:
        """Return the rows that everybody has, at least, as published facts show."""
        if related.fewest is not None and self.facts != "none":
            return related.fewest
        if related.rows.people is None or self.facts not in ("presence", "numbers"):
            return 0
        fewest = fewest_rows(sizes, related)
        return np.minimum(fewest, 1) if self.facts == "presence" else fewest


@dataclass(frozen=True, kw_only=True)
class RelatedAlpha(RelatedPromise):
    """Of the people of a group, at most a share α can have any one value in related rows.

    Where all that is published of related rows is published of the group, this share bounds the
    belief that a person has the value, under every prior that treats the people of a group alike.
    """

    name: ClassVar[str] = "related-alpha"
    title: ClassVar[str] = "α of people"
    protects: ClassVar[bool] = True
    at_most: ClassVar[frozenset[str]] = frozenset({"alpha"})
    meanings: ClassVar[Mapping[str, str]] = {
        "alpha": "share of a group's people who can have any one value in related rows, at most",
    }
    example: ClassVar[Mapping[str, Any]] = {"alpha": 0.5}

    model: Literal["related-alpha"] = "related-alpha"
    alpha: Annotated[
        ExactNumber, Field(gt=0, le=1, description="largest share of people with one value")
    ]

    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """`most`: the people who can have the most frequent value; `size`: all people (int64)."""
        most = np.zeros(len(groups), dtype=np.int64)
        if (related := groups.related) is not None:
            rows = most_common(related, self.attribute_of(related))
            most[related.group] = np.minimum(rows, groups.sizes[related.group])
        return {"most": most, "size": groups.sizes}

    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups in which too many people can have one value (bool, one per group)."""
        if groups.related is None:
            return np.ones(len(groups), dtype=bool)
        scores = self.measure(groups)
        return np.asarray(are_above(scores["most"], scores["size"], Fraction(self.alpha)))

    def worst(self, groups: Groups) -> Worst:
        """Return the largest share of a group's people who can have one value."""
        scores = self.measure(groups)
        return {"alpha": largest(scores["most"], scores["size"])}, int(self.failing(groups).sum())

    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers by the parameters of a verdict."""
        return {"alpha": Fraction(self.alpha)}

    def why_impossible(self, coarsest: Groups) -> str | None:
        """Return why not even the coarsest groups keep it, and what to write instead."""
        return _too_large_a_share(self, coarsest)

    def sentence(self) -> str:
        """Return the promise in words."""
        return (
            f"at most a share {plain(self.alpha)} of the people of each group can have any one "
            f"value of {self.sensitive}"
        )


def _too_few_people(promise: KPeople, coarsest: Groups) -> str:
    """Return why k people cannot be kept, and the largest k that can."""
    best = promise.check(coarsest).observed["k"]
    if coarsest.people is not None:  # of people with several rows, or households
        return f"{_place(coarsest)} has no more{_next_step([f'write k: {best} or less'])}"
    with_rows = " who have rows" * promise.needs_owners
    steps = [f"write k: {best} or less"] if best else []
    if promise.needs_owners and replace(promise, numbers="hidden").check(coarsest).holds:
        steps.append(
            "write numbers: hidden, which does not protect from anyone who knows how many rows "
            "each person has"
        )
    people = "1 person" if best == 1 else f"{best} people"
    return f"{_place(coarsest)} has {people}{with_rows}{_next_step(steps)}"


def _too_large_a_share(promise: RelatedAlpha, coarsest: Groups) -> str:
    """Return why a share of people cannot be kept, and the smallest share that can."""
    scores = promise.measure(coarsest)
    share = largest(scores["most"], scores["size"])
    most = Fraction(share or 1)
    thousandths = -(-most.numerator * _DECIMALS // most.denominator)
    step = f"write alpha: {thousandths / _DECIMALS:g} or more"
    return (
        f"One value is in so many rows that a larger share of people can have it, even if "
        f"{_as_one(coarsest)}{_next_step([step])}"
    )


def _too_few_values(promise: RelatedDiversity, coarsest: Groups) -> str:
    """Return why diversity of related rows cannot be kept, and what can be."""
    related = coarsest.related
    if related is None:
        return "The table has no related rows"
    name, best = promise.attribute_of(related), promise.worst(coarsest)[0]["l"]
    values = int(related.rows.counts_of(name).distinct.min())
    certain = promise.numbers == "known" and surely_of_owner(related, name).any()
    steps = []
    if certain:
        reason, left_out = _of_one_person(related, name, coarsest)
        steps.append(left_out)
        if (most := _largest_maximum(related, name, promise.l)) is not None:
            steps.append(
                f"write `maximum: {{at-most: {most}, else: leave-out}}` under the table of rows, "
                "which leaves out people with more"
            )
    elif values < promise.l:
        reason = f"{_place(coarsest)} has {values} different values of {name!r}"
    elif promise.insiders:
        reason = (
            "A person of the group who knows their own rows, and how many rows everyone has, "
            f"leaves fewer values for another person, even if {_as_one(coarsest)}"
        )
    elif promise.facts == "any":
        reason = (
            f"All people of a stratum have a row with the same value of {name!r}, which facts may "
            "show"
        )
        steps.append("leave out the facts (derive)")
    else:
        reason = f"Each person has so many rows that one person surely has a value of {name!r}"
    steps += _weaker(promise, coarsest, best)
    return f"{reason}{_next_step(steps)}"


def _of_one_person(related: RelatedRows, name: str, coarsest: Groups) -> tuple[str, str]:
    """Return why who has the most rows surely has a value, and how many rows are too many.

    Of s rows the person has n. No value may be in more than the s - n rows of the others: each
    row of that person that is left out takes one row of one value away, and leaves s - n as it is.
    """
    counts = related.rows.counts_of(name)
    failing = np.flatnonzero(surely_of_owner(related, name))
    others = related.rows.sizes - related.most
    over = np.maximum(counts.count - others[counts.group], 0)
    needed = int(over[np.isin(counts.group, failing)].sum())
    worst = failing[np.argmax(most_common(related, name)[failing] - others[failing])]
    rows, most, largest_count = (
        int(array[worst]) for array in (related.rows.sizes, related.most, counts.largest)
    )
    where = "" if len(coarsest) == 1 else " of its stratum"
    return (
        f"One person has {most:,} of all {rows:,} rows{where}, all others together have "
        f"{rows - most:,}, and one value of {name!r} is in {largest_count:,} rows. So anyone "
        "who knows how many rows everyone has is certain that this person has the value",
        f"leave out at least {needed:,} rows of the person with most rows (source.where of "
        "the table of rows)",
    )


def _largest_maximum(related: RelatedRows, name: str, least: int) -> int | None:
    """Return the most rows of a person with which nobody else makes a value certain.

    Returns None if there is none, or if there are several groups.
    """
    people, counts = related.rows.people, related.rows.counts_of(name)
    if people is None or len(related.rows) > 1:
        return None
    own = people.held[name]
    owner = np.searchsorted(people.person, own.person)  # the only group: persons ascend
    for most in distinct(people.rows)[-2::-1]:
        staying = people.rows <= most
        times = np.bincount(own.value, own.rows * staying[owner], counts.values)
        rows = int(people.rows[staying].sum())
        if int(times.max()) + most <= rows and np.count_nonzero(times) >= least:
            return int(most)
    return None


def _weaker(promise: RelatedDiversity, coarsest: Groups, best: object) -> Iterator[str]:
    """Yield weaker promises that the groups keep, each with what it no longer protects from."""
    if isinstance(best, int) and best > 1:
        yield f"write l: {best} or less"
    if promise.insiders and replace(promise, insiders=0).check(coarsest).holds:
        yield "write insiders: 0, which does not protect from people of the same group"
    hidden = replace(promise, insiders=0, numbers="hidden")
    if promise.numbers == "known" and hidden.check(coarsest).holds:
        yield (
            "write numbers: hidden, which does not protect from anyone who knows how many rows "
            "each person has"
        )


def _place(coarsest: Groups) -> str:
    """Return the words for the coarsest groups, as the subject of a sentence."""
    return "The whole table" if len(coarsest) == 1 else "A stratum, as one group,"


def _as_one(coarsest: Groups) -> str:
    """Return the words for the condition that groups are the coarsest ones."""
    return "all people are one group" if len(coarsest) == 1 else "each stratum is one group"


def _next_step(steps: list[str]) -> str:
    """Return what to do, as a sentence."""
    return f". To go on, {'; or '.join(steps)}" if steps else ""
