"""Privacy models: objects that hold their own parameters, measure groups, and decide."""

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

Way = Literal["labels", "rows", "columns", "subdomains", "apart"]
"""How a form shows people: as rows under labels, or under their exact quasi-identifiers beside
grouped sensitive values; each quasi-identifier by itself; with subdomains for sensitive values; or
as people beside the rows of a second table that belong to their group.
"""

Reading = Literal["any-of", "weight-one"]
"""How rows of one person are counted as one: see `expectations.groups.of_people`."""

Worst = tuple[Mapping[str, Number], int]
"""The worst score of each parameter over a table's groups, and how many groups fall short."""


@plain_dataclass(frozen=True)
class Verdict:
    """The promised numbers, the observed numbers, and how many groups fall short.

    `required` and `observed` have the same keys, the model's parameters; an observed None could not
    be measured and never passes.
    """

    required: Mapping[str, Number]
    observed: Mapping[str, Number]
    groups: int
    failing: int

    @property
    def holds(self) -> bool:
        """True if every group was measured and none falls short."""
        return self.failing == 0 and all(value is not None for value in self.observed.values())


class PromisedColumn(Protocol):
    """The properties of a protected column that a promise may need: its type, and a hierarchy."""

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
        description="path or address of the population's table; a release has its keyed digest",
    ),
]
"""The reference of a promise about people of a population."""


def why_unordered(name: str, column: PromisedColumn | None) -> str | None:
    """Return why a promise that needs ordered values cannot be measured, None if it can."""
    kind = column.type if column else ""
    if kind in ORDERED:
        return None
    return f"{name} needs a column of numbers, dates or timestamps, not type {kind}"


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
        meanings_over_rows: what those mean over rows of which one person may have several, where
            `meanings` says it of people.
        distances: those of them that have the unit of the sensitive attribute.
        ways: the ways of showing people on which the promise means something.
        monotone: merging two groups that each keep the promise cannot break it.
        protects: it keeps something about the sensitive attribute from being known.
        kept_by_coarser: where merging may break it, it is still kept once all labels of a
            quasi-identifier are generalized alike, and no row is suppressed.
        needs_labels: it is judged on the label of each quasi-identifier that groups show.
        needs_covers: it is judged on the values that groups admit of each quasi-identifier.
        needs_population: it is judged on people of a population beside those of the groups, and
            has a field `reference`, a `ReferencePlace`.
        holds_everybody: that population is said to have everybody of the table in it.
        compares_with_all: a group is compared with all rows, and not judged by itself.
        by_candidates: it depends on which values are possible, and not on how likely each is.
        at_most: the parameters of its verdicts that are worse the larger they are.
        unbroken_by_rows: a group that keeps the promise keeps it with whatever rows are added.
        of_related: it is about people and rows of a second table that belong to them.
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
    meanings_over_rows: ClassVar[Mapping[str, str]] = {}
    distances: ClassVar[frozenset[str]] = frozenset()
    ways: ClassVar[frozenset[Way]]
    monotone: ClassVar[bool]
    protects: ClassVar[bool]
    kept_by_coarser: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    needs_covers: ClassVar[bool] = False
    needs_population: ClassVar[bool] = False
    holds_everybody: ClassVar[bool] = False
    compares_with_all: ClassVar[bool] = False
    by_candidates: ClassVar[bool] = False
    at_most: ClassVar[frozenset[str]] = frozenset()
    unbroken_by_rows: ClassVar[bool] = False
    of_related: ClassVar[bool] = False
    weighs: ClassVar[bool] = False
    readings: ClassVar[tuple[Reading, ...]] = ()
    why_not_over_people: ClassVar[str] = "it does not define how rows of one person count"
    rows_together: ClassVar[bool] = False
    merges_over_people: ClassVar[bool] = False
    column_key: ClassVar[str] = "sensitive"
    since: ClassVar[int] = 0
    example: ClassVar[Mapping[str, Any]] = {}

    quasi_identifiers: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="columns by which rows are grouped (all if left out)"),
    ] = None
    sensitive: Annotated[
        str | None, Field(description="the protected column; not needed if there is only one")
    ] = None

    @classmethod
    def counts_values(cls) -> bool:
        """Return True if the values of a column have to be counted in each group."""
        return cls.protects or cls.weighs

    @property
    def adversary_columns(self) -> tuple[str, ...]:
        """The columns whose values an adversary may know: they define groups."""
        return (*(self.quasi_identifiers or ()), *self.known_columns)

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The sensitive columns among those, which an adversary knows as well."""
        return ()

    @property
    def of_whole_people(self) -> bool:
        """True if people are distinguished by all their rows together, not group by group."""
        return False

    @property
    def fault_over_people(self) -> str | None:
        """The reason why it means nothing over people with several rows; None without one."""
        if not self.readings:
            return f"is not defined over people or households, because {self.why_not_over_people}"
        if self.known_columns:
            return (
                "is not defined over people or households with `known` values, because they "
                "distinguish one row of a person from the others; leave `known` out"
            )
        return None

    @property
    def judged_jointly(self) -> bool:
        """True if groups are judged together, not each by itself."""
        return False

    @property
    def needs_owners(self) -> bool:
        """True if it is decided exactly only by who knows the owners of related rows."""
        return False

    @property
    def counts_owners(self) -> bool:
        """True if it is measured by the owners of related rows, where they are known."""
        return self.needs_owners

    @property
    def by_ranks(self) -> bool:
        """True if it depends only on how often values occur in a group, not on which values."""
        return False

    @property
    def of_one_version(self) -> bool:
        """True if nothing is known of what several versions reveal about it together."""
        return self.needs_population

    @property
    def over_versions(self) -> "PrivacyModel | None":
        """The promise about anybody's value that versions must also keep together.

        None if the promise is about each version by itself.
        """
        return self if self.protects else None

    @property
    def most_present(self) -> Fraction | None:
        """The largest presence of anybody, if the promise bounds it for shown values."""
        return None

    @property
    def reference_uri(self) -> str | None:
        """The place of the population that the promise is about, None if it is about none.

        In a release it is a keyed digest, which hides the place from everyone else.
        """
        return getattr(self, "reference", None)

    def referring_to(self, reference: str) -> "PrivacyModel":
        """Return the promise about the population called `reference`; itself without one."""
        place: dict[str, Any] = {"reference": reference} if self.needs_population else {}
        return replace(self, **place)

    @abstractmethod
    def measure(self, groups: Groups) -> Mapping[str, np.ndarray]:
        """Return the model's scores, one array with an entry per group for each parameter."""

    @abstractmethod
    def failing(self, groups: Groups) -> np.ndarray:
        """Mark the groups that break the promise by themselves (bool, one per group), exactly.

        Mark all groups if they cannot be measured. `check` counts these groups; a promise across
        groups, such as presence over joins, may be broken although no group fails by itself.
        """

    @abstractmethod
    def worst(self, groups: Groups) -> Worst:
        """Return the worst score of all groups by parameter, and how many fall short, exactly.

        A score is None, and all groups fall short, if it cannot be measured.
        """

    def check(self, groups: Groups) -> Verdict:
        """Judge whether all groups keep the promise, decided in integers.

        Judge over people if the groups have the people of their rows.
        """
        people = groups.people
        observed, failing = self.worst(groups) if people is None else self.worst_over_people(people)
        return Verdict(self.required(), observed, len(groups), failing)

    def failing_over_people(self, people: People) -> np.ndarray:
        """Mark the groups that break the promise in a reading of people (bool), exactly."""
        failing = np.zeros(people.groups, dtype=bool)
        for groups in self._read(people):
            failing |= self.failing(groups)
        return failing

    def meaning_over_people(self, name: str) -> str:
        """Return the meaning of a verdict's parameter over people who have several rows."""
        return self.meanings_over_people.get(name, self.meanings[name])

    def worst_over_people(self, people: People) -> Worst:
        """Return the worst score of all groups and readings, and how many groups fall short."""
        verdicts = [self.check(groups) for groups in self._read(people)]
        worst = self.together(verdicts).observed
        return worst, int(self.failing_over_people(people).sum())

    def _read(self, people: People) -> Sequence[Groups]:
        """Return the groups of people that have to keep the promise."""
        name = self.sensitive if self.counts_values() else None
        made = {
            "any-of": lambda: any_of(people, name),
            "weight-one": lambda: weight_one(people, str(name), alike=self.compares_with_all),
        }
        return [made[reading]() for reading in self.readings]

    def feasible(self, coarsest: Groups) -> Verdict | None:
        """Judge whether any grouping can keep the promise; None if only trying can tell.

        Args:
            coarsest: the groups of which all others are parts, one for each stratum. Where merging
                cannot break the promise, it can be kept exactly if these keep it.
        """
        return self.check(coarsest) if self.monotone else None

    def fault_among(self, groups: Groups) -> str | None:  # noqa: ARG002 - for models
        """Name a key that does not go with the rows of a table, and why; None without a fault."""
        return None

    def why_impossible(self, coarsest: Groups) -> str | None:  # noqa: ARG002 - for models
        """Return why not even the coarsest groups keep it, and what to write instead.

        Returns None where the numbers of the verdict say it all.
        """
        return None

    def for_part(self, part: Groups) -> "PrivacyModel | None":  # noqa: ARG002 - for models
        """Return the promise that, kept in one part of a table, keeps this one in the whole.

        Args:
            part: two groups: all rows of the part, and all others.

        Returns:
            None where nothing that holds of the part's own rows can keep it.
        """
        return None if self.compares_with_all else self

    def together(self, verdicts: Sequence[Verdict]) -> Verdict:
        """Return the verdict on all groups from those on the groups of each part (at least one)."""
        worst: dict[str, Number] = {}
        for name in self.required():
            numbers = [verdict.observed.get(name) for verdict in verdicts]
            measured = [number for number in numbers if number is not None]
            best = max if name in self.at_most else min
            worst[name] = best(measured) if len(measured) == len(numbers) else None
        groups, failing = (
            sum(counts) for counts in zip(*((v.groups, v.failing) for v in verdicts), strict=True)
        )
        return Verdict(self.required(), worst, groups, failing)

    def parameters(self) -> dict[str, Any]:
        """Return the promise as it is written in a spec: its model, parameters and scope."""
        document = adapter_of(type(self)).dump_python(
            self, mode="json", by_alias=True, exclude_none=True
        )
        return dict(sorted(document.items()))

    @abstractmethod
    def required(self) -> Mapping[str, Number]:
        """Return the promised numbers, by the parameters of its verdicts."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the promise in words, for people who read a release."""

    def sentence_of_facts(self) -> str:
        """Return the promise in words, about facts of people whose quasi-identifiers are shown."""
        return self.sentence()

    def meaning_of_facts(self, name: str) -> str:
        """Return the meaning of a verdict's parameter about such facts."""
        return self.meanings[name]

    def sentence_of_declared(self) -> str:
        """Return the promise in words, for groups that show declared distributions."""
        return self.sentence()

    @property
    def counts_nulls(self) -> bool:
        """True if a missing value counts as one more value of the sensitive attribute."""
        return True

    def unmeasurable(self, column: PromisedColumn | None) -> str | None:  # noqa: ARG002 - for models
        """Return why the promise can never be measured on its sensitive column, None if it can."""
        return None

    @property
    def faced_values(self) -> tuple[int, Fraction] | None:
        """The number of values an attacker still faces and their range, if both are promised."""
        return None
