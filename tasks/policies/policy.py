"""A policy as its file has it: source, rules, what people state, and headings of a report.

A file of YAML, which a steward can read and write. A policy that is known and not for publication
has a reason in place of rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from sfumato.tasks.policies.registry import Rule
from sfumato.tasks.policies.rule import PolicyRule
from sfumato.tasks.policies.term import PolicyName, PublishedPolicy, require_different
from sfumato.tasks.schema.names import Part
from sfumato.tasks.schema.stated import OneLine, Paragraphs

StatementName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=63)]
ReportPart = Literal[
    "variables", "methods", "risk", "attacks", "utility", "rows", "decisions", "approvals"
]
"""Facts that a dossier has, which a heading of a report may show."""


class PolicySource(Part):
    """The text that a policy is made from, and whether it was read.

    Attributes:
        title: of the text.
        issued_by: the body that issued it.
        edition: which edition is meant, with its date.
        address: where it can be found.
        read: whether the text itself was read when the policy's file was written.
        instead: what was read in its place, where it was not read as a whole.
    """

    title: OneLine
    issued_by: OneLine
    edition: OneLine
    address: OneLine | None = None
    read: Literal["whole", "in-part", "not-read"]
    instead: Paragraphs | None = None

    @model_validator(mode="after")
    def _names_what_was_read(self) -> Self:
        if self.read != "whole" and self.instead is None:
            raise ValueError(
                "instead: is missing. Write what was read in place of the source, since it was "
                "not read as a whole"
            )
        return self


class PolicyQuestion(Part):
    """A question that a person answers; no machine decides it.

    Attributes:
        name: the key under `policy.states` in a spec.
        asks: the question.
        kinds: only asked if some column is of one of these kinds; empty for always.
    """

    name: StatementName
    asks: OneLine
    kinds: tuple[str, ...] = ()


class ReportHeading(Part):
    """A heading of the report that a policy's body asks for, with what goes below it.

    Attributes:
        heading: its words.
        shows: facts of the dossier.
        states: names of statements.
    """

    heading: OneLine
    shows: tuple[ReportPart, ...] = ()
    states: tuple[StatementName, ...] = ()


class Policy(Part):
    """A policy's file.

    Attributes:
        policy: its name.
        title: in a line.
        date: of this edition.
        source: the text that it is made from.
        reading: what the file takes from the source, and what it leaves out.
        rules: what a machine decides.
        states: what a person states.
        report: headings for the dossier.
        refused: why no release can be made under the policy.
    """

    policy: PolicyName
    title: OneLine
    date: date
    source: PolicySource
    reading: Paragraphs
    rules: tuple[Rule, ...] = ()
    states: tuple[PolicyQuestion, ...] = ()
    report: tuple[ReportHeading, ...] = ()
    refused: Paragraphs | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        require_different(self.rules)
        if bool(self.rules) == (self.refused is not None):
            raise ValueError(
                "rules: a policy has rules, or a reason why it is refused. Write one of them"
            )
        names = [statement.name for statement in self.states]
        if len(set(names)) < len(names):
            raise ValueError("states: two statements have one name. Give each its own")
        for heading in self.report:
            if unknown := [name for name in heading.states if name not in names]:
                raise ValueError(f"report: {unknown[0]} is no statement. Write one of states")
        return self

    def rule(self, name: str) -> PolicyRule | None:
        """Return the rule of a kind, or None."""
        return next((rule for rule in self.rules if rule.rule == name), None)

    def machine_part(self) -> dict[str, Any]:
        """Return what a release publishes of the file, for JSON."""
        return {
            "name": self.policy,
            "date": self.date.isoformat(),
            "rules": [rule.document() for rule in self.rules],
        }

    def statements(self, kinds: Mapping[str, str]) -> Iterator[PolicyQuestion]:
        """Yield the statements that are asked for, given the kinds of columns."""
        present = {*kinds.values()}
        for statement in self.states:
            if not statement.kinds or present & {*statement.kinds}:
                yield statement


class PolicyFile(Part):
    """A policy that was read, with the SHA-256 of its bytes.

    Attributes:
        policy: the content.
        sha256: of the file.
        place: a name of Sfumato's, or the path as a spec writes it.
    """

    policy: Policy
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    place: str


class PolicyWish(Part):
    """The policy of a spec, as the spec writes it.

    Attributes:
        name: a policy's name, or the path of a file.
        columns: the kind of each column, where the policy asks for it.
        year: the last year that the rows are about.
        states: answers of people, by the names of statements; they stay in private.
    """

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=400,
            description="a policy by name (sfumato policies list), or the path of a file of yours",
        ),
    ]
    columns: Annotated[
        dict[str, str],
        Field(
            default_factory=dict,
            description="the kind of each column, where the policy has kinds of columns",
        ),
    ]
    year: Annotated[
        int | None,
        Field(ge=1800, le=2199, description="the last year that the rows are about"),
    ] = None
    states: Annotated[
        dict[StatementName, Paragraphs],
        Field(
            default_factory=dict,
            description="answers to what the policy asks of a person; they stay in private",
        ),
    ]


class ChosenPolicy(PolicyWish):
    """The policy of a spec, with its file."""

    file: PolicyFile

    @property
    def policy(self) -> Policy:
        """The content of the file."""
        return self.file.policy

    def term(self, published: Sequence[str]) -> PublishedPolicy:
        """Return what a release declares, given the names of its published columns."""
        return PublishedPolicy(
            name=self.policy.policy,
            date=self.policy.date.isoformat(),
            sha256=self.file.sha256,
            rules=self.policy.rules,
            columns={name: self.columns[name] for name in published if name in self.columns},
            year=self.year,
        )

    def missing_statements(self) -> list[PolicyQuestion]:
        """Return the statements that nobody has made."""
        return [
            statement
            for statement in self.policy.statements(self.columns)
            if statement.name not in self.states
        ]

    def document(self) -> dict[str, Any]:
        """Return the policy with questions and answers, for private reports in JSON."""
        policy, source = self.policy, self.policy.source
        return {
            "name": policy.policy,
            "title": policy.title,
            "date": policy.date.isoformat(),
            "sha256": self.file.sha256,
            "source": source.model_dump(mode="json", by_alias=True, exclude_none=True),
            "reading": policy.reading,
            "rules": [{"rule": rule.rule, "demands": rule.sentence()} for rule in policy.rules],
            "columns": dict(self.columns),
            "year": self.year,
            "states": [
                {
                    "name": statement.name,
                    "asks": statement.asks,
                    "answer": self.states.get(statement.name),
                }
                for statement in policy.statements(self.columns)
            ],
            "report": [heading.model_dump(mode="json", by_alias=True) for heading in policy.report],
        }


def term_of(wish: PolicyWish, published: Sequence[str]) -> PublishedPolicy | None:
    """Return what a release declares of a spec's policy; None if its file was not read."""
    return wish.term(published) if isinstance(wish, ChosenPolicy) else None


def statements_of(wish: PolicyWish) -> dict[str, Any] | None:
    """Return the questions of a spec's policy with answers; None if its file was not read."""
    return wish.document() if isinstance(wish, ChosenPolicy) else None
