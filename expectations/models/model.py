"""What every privacy model is: an object that is its own configuration, measures, and decides."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import AliasChoices, ConfigDict, Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.groups import Groups, People
from sfumato.expectations.groups.of_people import any_of, weight_one
from sfumato.expectations.shared.arrow import ORDERED
from sfumato.expectations.shared.numbers import Number
from sfumato.expectations.shared.registered import adapter_of

Way = Literal["labels", "rows", "columns", "subdomains"]
"""How a form shows people: as rows under labels, or under their exact quasi-identifiers beside
grouped sensitive values; each quasi-identifier by itself; or with subdomains for sensitive values.
"""

Reading = Literal["any-of", "weight-one"]
"""How rows of one person are counted as one: see `expectations.groups.of_people`."""

Worst = tuple[Mapping[str, Number], int]
"""The worst score of each parameter over a table's groups, and how many groups fall short."""


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
        """True where every group was measured and none falls short."""
        return self.failing == 0 and all(value is not None for value in self.observed.values())


class PromisedColumn(Protocol):
    """What a promise may need of the column that it protects: its type, and a hierarchy."""

    @property
    def type(self) -> str:
        """The type of its values."""
        ...

    @property
    def hierarchy(self) -> object | None:
        """The hierarchy of its values, None where it has none."""
        ...


ReferencePlace = Annotated[
    str,
    Field(
        min_length=1,
        validation_alias=AliasChoices("reference", "population"),
        serialization_alias="reference",
        description="where the table of the population is; in a release, the keyed digest of it",
    ),
]
"""The reference of a promise about people of a population."""


def why_unordered(name: str, column: PromisedColumn | None) -> str | None:
    """Why a promise of that name, which needs ordered values, cannot be measured on a column."""
    kind = column.type if column else ""
    return None if kind in ORDERED else f"{name} needs ordered values, not type {kind}"


@dataclass(
    frozen=True,
    kw_only=True,
    config=ConfigDict(
        extra="forbid",
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
        defer_build=True,
    ),
)
class PrivacyModel(ABC):
    """A privacy model with its parameters: a promise that groups keep or break.

    Attributes:
        name: tells the model from the others; its expectation is `expect_<name>`.
        title: how the literature writes it.
        meanings: what each parameter of its verdicts means, for people who read a release.
        meanings_over_people: what those mean over people who have several rows that mean another
            thing there.
        distances: those of them that have the unit of the sensitive attribute.
        ways: the ways of showing people on which the promise means something.
        monotone: merging two groups that each keep the promise cannot break it.
        protects: it keeps something about the sensitive attribute from being known.
        needs_covers: it is judged on the values that groups admit of each quasi-identifier.
        needs_population: it is judged on people of a population beside those of the groups, and
            has a field `reference`, a `ReferencePlace`.
        holds_everybody: that population is said to have everybody of the table in it.
        compares_with_all: a group is compared with all rows, and not judged by itself.
        by_candidates: it depends on which values are possible, and not on how likely each is.
        at_most: the parameters of its verdicts that are worse the larger they are.
        unbroken_by_rows: a group that keeps the promise keeps it with whatever rows are added.
        weighs: it sums weights, which it counts as a sensitive attribute, and protects none.
        readings: in which it means something over people who have several rows; none: nothing.
        why_not_over_people: where there are none, why, and what to promise in its place.
        rows_together: over people it means something where all rows of a person that have the same
            quasi-identifiers are in one group.
        merges_over_people: merging two groups that keep it over people cannot break it over people.
        column_key: what specs and expectations call the column whose values it counts.
        since: the format of releases that came with it.
        example: parameters with which it holds of a small table, for who reads of it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    meanings: ClassVar[Mapping[str, str]]
    meanings_over_people: ClassVar[Mapping[str, str]] = {}
    distances: ClassVar[frozenset[str]] = frozenset()
    ways: ClassVar[frozenset[Way]]
    monotone: ClassVar[bool]
    protects: ClassVar[bool]
    needs_covers: ClassVar[bool] = False
    needs_population: ClassVar[bool] = False
    holds_everybody: ClassVar[bool] = False
    compares_with_all: ClassVar[bool] = False
    by_candidates: ClassVar[bool] = False
    at_most: ClassVar[frozenset[str]] = frozenset()
    unbroken_by_rows: ClassVar[bool] = False
    weighs: ClassVar[bool] = False
    readings: ClassVar[tuple[Reading, ...]] = ()
    why_not_over_people: ClassVar[str] = "nothing says what several rows of one person are to it"
    rows_together: ClassVar[bool] = False
    merges_over_people: ClassVar[bool] = False
    column_key: ClassVar[str] = "sensitive"
    since: ClassVar[int] = 0
    example: ClassVar[Mapping[str, Any]] = {}

    quasi_identifiers: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="by which groups are told apart; all where none is named"),
    ] = None
    sensitive: Annotated[
        str | None, Field(description="the column protected; may be left out where it is alone")
    ] = None

    @classmethod
    def counts_values(cls) -> bool:
        """True where the values of a column have to be counted in each group."""
        return cls.protects or cls.weighs

    @property
    def adversary_columns(self) -> tuple[str, ...]:
        """The columns whose values an adversary may know: they tell groups apart."""
        return (*(self.quasi_identifiers or ()), *self.known_columns)

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The sensitive columns among those, which an adversary knows besides."""
        return ()

    @property
    def of_whole_people(self) -> bool:
        """True where people are told apart by all their rows together, and not group by group."""
        return False

    @property
    def fault_over_people(self) -> str | None:
        """Why it means nothing over people who have several rows, None where it does."""
        if not self.readings:
            return f"is not defined over people or households: {self.why_not_over_people}"
        if self.known_columns:
            return (
                "is not defined over people or households with `known` values: whoever knows "
                "those of one row tells it from the person's others; leave `known` out"
            )
        return None

    @property
    def judged_jointly(self) -> bool:
        """True where groups are judged together, not each by itself."""
        return False

    @property
    def by_ranks(self) -> bool:
        """True where it depends on how often values occur in a group, whichever these are."""
        return False

    @property
    def of_one_version(self) -> bool:
        """True where nothing is known of what several versions tell of it together."""
        return self.needs_population

    @property
    def over_versions(self) -> "PrivacyModel | None":
        """The promise about anybody's value that versions must keep together, too.

        None where it speaks of each version by itself.
        """
        return self if self.protects else None

    @property
    def most_present(self) -> Fraction | None:
        """How present anybody may be in the table, where that is promised of shown values."""
        return None

    @property
    def reference_uri(self) -> str | None:
        """Where the population is that the promise speaks of, None where it speaks of none.

        In a release it is a keyed digest, which tells nobody else where.
        """
        return getattr(self, "reference", None)

    def referring_to(self, reference: str) -> "PrivacyModel":
        """The promise about the population that is called `reference`; itself without one."""
        place: dict[str, Any] = {"reference": reference} if self.needs_population else {}
        return replace(self, **place)

    @abstractmethod
    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """The model's scores, one array with an entry per group for each parameter."""

    @abstractmethod
    def failing(self, groups: Groups) -> np.ndarray:
        """Which groups break the promise by themselves (bool, one per group), exactly.

        All of them, where they cannot be measured. What `check` counts; a promise across groups,
        such as presence over joins, may be broken although no group fails by itself.
        """

    @abstractmethod
    def worst(self, groups: Groups) -> Worst:
        """The worst score over all groups by parameter, and how many groups fall short, exactly.

        A score is None, and all groups fall short, where it cannot be measured.
        """

    def check(self, groups: Groups) -> Verdict:
        """Judge whether all groups keep the promise, decided in integers.

        Over people, where the groups tell whose their rows are.
        """
        people = groups.people
        observed, failing = self.worst(groups) if people is None else self.worst_over_people(people)
        return Verdict(self.required(), observed, len(groups), failing)

    def failing_over_people(self, people: People) -> np.ndarray:
        """Which groups break the promise in a reading of people (bool, one per group), exactly."""
        failing = np.zeros(people.groups, dtype=bool)
        for groups in self._read(people):
            failing |= self.failing(groups)
        return failing

    def meaning_over_people(self, name: str) -> str:
        """What a parameter of its verdicts means over people who have several rows."""
        return self.meanings_over_people.get(name, self.meanings[name])

    def worst_over_people(self, people: People) -> Worst:
        """The worst score over all groups and readings of people, and how many fall short."""
        found = [self.check(groups) for groups in self._read(people)]
        worst = self.together(found).observed
        return worst, int(self.failing_over_people(people).sum())

    def _read(self, people: People) -> Sequence[Groups]:
        """The groups of people that have to keep the promise."""
        name = self.sensitive if self.counts_values() else None
        made = {
            "any-of": lambda: any_of(people, name),
            "weight-one": lambda: weight_one(people, str(name), alike=self.compares_with_all),
        }
        return [made[reading]() for reading in self.readings]

    def feasible(self, coarsest: Groups) -> Verdict | None:
        """Judge whether any grouping can keep the promise; None where only trying can tell.

        Args:
            coarsest: the groups of which all others are parts, one for each stratum. Where merging
                cannot break the promise, it can be kept exactly if these keep it.
        """
        return self.check(coarsest) if self.monotone else None

    def for_part(self, part: Groups) -> "PrivacyModel | None":  # noqa: ARG002 - for models
        """The promise that, kept in one part of a table by itself, keeps this one in the whole.

        Args:
            part: two groups: all rows of the part, and all others.

        Returns:
            None where nothing that holds of the part's own rows can keep it.
        """
        return None if self.compares_with_all else self

    def together(self, verdicts: Sequence[Verdict]) -> Verdict:
        """The verdict on all groups from those on the groups of each part (at least one)."""
        worst: dict[str, Number] = {}
        for name in self.required():
            found = [verdict.observed.get(name) for verdict in verdicts]
            known = [number for number in found if number is not None]
            best = max if name in self.at_most else min
            worst[name] = best(known) if len(known) == len(found) else None
        groups, failing = (
            sum(of) for of in zip(*((v.groups, v.failing) for v in verdicts), strict=True)
        )
        return Verdict(self.required(), worst, groups, failing)

    def parameters(self) -> dict[str, Any]:
        """The promise as it is written in a spec: its model, parameters and scope."""
        document = adapter_of(type(self)).dump_python(
            self, mode="json", by_alias=True, exclude_none=True
        )
        return dict(sorted(document.items()))

    @abstractmethod
    def required(self) -> Mapping[str, Number]:
        """The numbers that are promised, by the parameters of its verdicts."""

    @abstractmethod
    def sentence(self) -> str:
        """The promise in words, for people who read a release."""

    def sentence_of_declared(self) -> str:
        """The promise in words, where groups show declared distributions in the place of values."""
        return self.sentence()

    @property
    def counts_nulls(self) -> bool:
        """True where a missing value counts as one more value of the sensitive attribute."""
        return True

    def unmeasurable(self, column: PromisedColumn | None) -> str | None:  # noqa: ARG002 - for models
        """Why the promise can never be measured on its sensitive column, None where it can."""
        return None

    @property
    def faced(self) -> tuple[int, Fraction] | None:
        """How many values an attacker still faces and their range, where both are promised."""
        return None
