"""Rules about what a release shows of its groups, and of its versions."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.tasks.continued.parameters import Rule as VersionsRule
from sfumato.tasks.forms.parameters import FORM_PARAMETERS, OF_ONE_TABLE
from sfumato.tasks.policies.rule import MeasuredRelease, Observed, PolicyRule, Subject, join_names
from sfumato.tasks.schema.names import RegisteredName

FormName = Annotated[str, RegisteredName(FORM_PARAMETERS)]


class AllowedForms(PolicyRule):
    """Only some forms may show the groups."""

    example: ClassVar[Mapping[str, Any]] = {"rule": "forms", "allowed": ["generalized"]}

    rule: Literal["forms"]
    allowed: Annotated[
        tuple[FormName, ...], Field(min_length=1, description="the forms that may be published")
    ]

    def sentence(self) -> str:
        """Return the demand as a clause."""
        return f"the form is {join_names(self.allowed)}"

    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield the form if it is another."""
        if subject.of_two_tables and (why := self.why_not_two_tables()):
            yield why
        elif subject.form not in self.allowed:
            yield (
                f"form: {subject.form} is not allowed. Write `form: {{method: {self.allowed[0]}}}`"
                f" (allowed: {', '.join(self.allowed)})"
            )

    def why_not_two_tables(self) -> str | None:
        """Return why two tables cannot have the form; they have one form of their own."""
        others = [name for name in self.allowed if name not in OF_ONE_TABLE]
        if others:
            return None
        return (
            "tables: two tables show quasi-identifiers of people as they are, and the policy "
            f"allows only form {join_names(self.allowed)}. Release one table with a row for each "
            "person"
        )

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:
        """Return the form, which decided already."""
        return True, None, f"form {release.subject.form}"


class AllowedVersions(PolicyRule):
    """Only some rules of versions keep the numbers of a policy over all versions together."""

    example: ClassVar[Mapping[str, Any]] = {
        "rule": "versions",
        "allowed": ["disjoint", "composed"],
    }

    rule: Literal["versions"]
    allowed: Annotated[
        tuple[VersionsRule, ...], Field(min_length=1, description="the rules of versions")
    ]

    def sentence(self) -> str:
        """Return the demand as a clause."""
        return f"the rule of versions is {join_names(self.allowed)}"

    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield the rule of versions if it is another."""
        if subject.versions not in self.allowed:
            yield (
                f"versions: {subject.versions} lets readers combine versions, and the risk of "
                f"several is higher. Write `versions: {self.allowed[0]}`"
                f" (allowed: {', '.join(self.allowed)})"
            )

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:
        """Return the rule of versions, which decided already."""
        return True, None, f"versions {release.subject.versions}"
