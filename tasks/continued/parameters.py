"""The rules by which versions of a line may be combined, and the promises that they allow.

    disjoint       nobody may be in two versions (the default)
    accepted-risk  the same people may be, and what the versions then reveal together is accepted
    composed       the same people may be: those of an earlier version stay in the same group with
                   the same values, so that all versions together reveal no more than one

Source: the slots of this project's own construction; m-invariance of Xiao and Tao (SIGMOD 2007) is
the case of groups whose values all differ.

Every value of a group stays possible for everyone who was ever in it. How likely each value is
follows only if all values of a group differ (see the theorems of slots and of signatures in
`expectations.composition`).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    Discriminator,
    Field,
    PlainSerializer,
    PrivateAttr,
    Tag,
    field_validator,
)

from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.numbers import plain
from sfumato.tasks.partitions.declared import PartitionParameters
from sfumato.tasks.schema.formats import field_since as came_with
from sfumato.tasks.schema.names import Part

Rule = Literal["disjoint", "accepted-risk", "composed"]
Vacancies = Literal["keep", "paired", "refill"]


class ComposedVersions(Part):
    """Rules by which the versions of a composed line continue, as a release declares them.

    Attributes:
        vacancies: what becomes of the values of people who left: they stay, or newcomers who have
            them take their places.
        changes: what becomes of people whose values changed.
        share: of the presence that (α,β)-privacy allows, what each cohort may take of the rest.
        consolidate: whether people of groups that few are left in move to groups of the same
            values.
    """

    since: ClassVar[int] = 2

    rule: Literal["composed"] = "composed"
    vacancies: Annotated[
        Vacancies, Field(description="who gets the places (slots) of people who left")
    ] = "keep"
    changes: Annotated[
        Literal["withhold", "reinsert", "as-first"],
        Field(description="how to publish people after their values changed"),
    ] = "withhold"
    share: Annotated[
        Fraction,
        PlainSerializer(plain, return_type=int | str),
        Field(description="share of the still allowed presence that one cohort may use up"),
    ] = Fraction(1, 2)

    consolidate: bool = came_with(
        2,
        False,
        "close groups with few people left; these people move to groups with the same values",
    )

    @field_validator("share", mode="before")
    @classmethod
    def _exact_share(cls, written: Any) -> Fraction:
        """Read a text or an integer, `1/2` or `0.5`, exactly."""
        try:
            share = Fraction(str(written))
        except (ValueError, ZeroDivisionError):
            raise ValueError("must be a fraction, such as 1/2") from None
        if not 0 < share < 1 or share.denominator > 10**6:
            raise ValueError("must lie between 0 and 1, and have a denominator of at most 1000000")
        return share


Versions = Literal["disjoint", "accepted-risk"] | ComposedVersions
"""What a release declares; the two words are all that formats before 2 know."""


class ContinuedVersions(ComposedVersions):
    """Rules by which the versions of a composed line continue: declared ones, and those of a run.

    Attributes:
        cohort: fewer newcomers than these wait for a later version.
        retire: groups of which a smaller share is left are shown no more.
    """

    cohort: Annotated[int, Field(ge=1, description="least number of rows of newcomers")] = 1
    retire: Annotated[
        Fraction,
        Field(ge=0, le=1, description="least share of a group's rows that must remain"),
    ] = Fraction(0)

    _others: bool = PrivateAttr(default=False)

    @property
    def others(self) -> bool:
        """True if a run says that most people are others than before."""
        return self._others

    def with_others(self) -> "ContinuedVersions":
        """Return a copy for a run that says that most people are others."""
        copy = self.model_copy()
        copy._others = True
        return copy

    @field_validator("retire", mode="before")
    @classmethod
    def _exact_retire(cls, written: Any) -> Any:
        try:
            return Fraction(str(written))
        except (ValueError, ZeroDivisionError):
            raise ValueError("must be a number between 0 and 1, such as 0.5 or 1/2") from None


def _kind(written: Any) -> str:
    return "composed" if isinstance(written, dict | ComposedVersions) else "word"


def rule_of(versions: Versions) -> Rule:
    """Return the word for how versions may be combined."""
    return versions.rule if isinstance(versions, ComposedVersions) else versions


DeclaredRule = Annotated[
    Annotated[Literal["disjoint", "accepted-risk"], Tag("word")]
    | Annotated[ContinuedVersions, Tag("composed")],
    Discriminator(_kind),
]
"""What a spec says."""


def declaration_of(rule: DeclaredRule) -> Versions:
    """Return the part of a spec's rule that a release declares."""
    if not isinstance(rule, ContinuedVersions):
        return rule
    declared = ComposedVersions.model_fields
    return ComposedVersions(**{name: getattr(rule, name) for name in declared})


def read_versions(written: Any) -> Any:
    """Return the rule that a spec has under `versions`, as a word or a mapping with a `rule`.

    A rule without options becomes the word itself, so that both are one declaration.

    Raises:
        ValueError: for another rule, or options beside a rule that has none.
    """
    rule = written.get("rule", "disjoint") if isinstance(written, dict) else written
    if rule not in get_args(Rule):
        raise ValueError(f"must be one of {', '.join(get_args(Rule))}")
    if not isinstance(written, dict):
        return ContinuedVersions() if rule == "composed" else rule
    if rule == "composed":
        return written
    if more := sorted(written.keys() - {"rule"}):
        raise ValueError(
            f"{more[0]}: is an option of `rule: composed`, but the rule is {rule}. Write "
            "`rule: composed`, or leave the option out"
        )
    return rule


def asks_likelihoods(promise: PrivacyModel) -> bool:
    """Return True if versions must keep how likely values are, not only which are possible."""
    lasting = promise.over_versions
    return lasting is not None and not lasting.by_candidates


def fault_of_vacancies(
    versions: ComposedVersions,
    promises: Sequence[PrivacyModel],
    partition: PartitionParameters,
    lasting: Sequence[str],
) -> str | None:
    """Return the promise that cannot be kept if slots change hands; None if all can.

    Args:
        versions: what a spec says of how versions go on.
        promises: what it promises.
        partition: who is grouped with whom.
        lasting: the columns whose values stay with a group.
    """
    if versions.vacancies == "keep" or (partition.distinct_values and len(lasting) == 1):
        return None
    for i, promise in enumerate(promises):
        if asks_likelihoods(promise):
            return (
                f"versions.vacancies: with {versions.vacancies}, every value of a "
                f"group stays possible but its likelihood changes, and promises.{i} "
                f"({promise.name}) limits likelihoods. Write `vacancies: keep`, or use "
                "partition anatomy with one sensitive column and no insensitive column"
            )
    return None


def fault_of_consolidation(
    versions: ComposedVersions,
    partition: PartitionParameters,
    lasting: Sequence[str],
    recodes: bool,
) -> str | None:
    """Return why nobody can be moved to another group without revealing more; None if people can.

    Args:
        versions: what a spec says of how versions go on.
        partition: who is grouped with whom.
        lasting: the columns whose values stay with a group.
        recodes: whether groups have labels, which would have to cover who is moved.
    """
    if not versions.consolidate:
        return None
    if versions.vacancies == "keep":
        return (
            "versions.consolidate: needs vacant slots to give away, and `vacancies: keep` "
            "keeps them. Write `vacancies: paired` or `vacancies: refill`"
        )
    if partition.distinct_values and len(lasting) == 1 and not recodes:
        return None
    return (
        "versions.consolidate: moves people between groups in which all values differ, "
        "so it needs one sensitive column, partition anatomy and a form that shows "
        "exact rows. Change these, or leave consolidate out"
    )
