"""The policy of a release: a term that it declares, and that anyone measures again.

A release names its policy by name, date and SHA-256 of the policy's file, and has the rules that a
machine decides. What people stated stays in private. That the rules are those of the file with
this SHA-256 is a statement, which everyone who has the file can compare.

Every edition of Sfumato's own policies that was ever delivered is in a list, so that old releases
remain known after a policy was edited. A release that names the SHA-256 of one must have its rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from sfumato.tasks.policies.registry import Rule
from sfumato.tasks.policies.rule import PolicyRule
from sfumato.tasks.schema.files import read_json
from sfumato.tasks.schema.names import Part

EDITIONS = Path(__file__).parents[2] / "deployments" / "policies" / "editions.json"
"""The list: `name`, `date` and `rules` by SHA-256."""
PolicyName = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=63)]


class PublishedPolicy(Part):
    """The policy that a release keeps.

    Attributes:
        name: its name.
        date: the date of its edition.
        sha256: the SHA-256 of its file.
        rules: what a machine decides.
        columns: the kind of each published column, as a person stated it; empty without a rule
            about columns.
        year: the last year that the rows are about, as a person stated it.
    """

    name: PolicyName
    date: Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]
    columns: Annotated[dict[str, str], Field(default_factory=dict)]
    year: Annotated[int, Field(ge=1800, le=2199)] | None = None

    @model_validator(mode="after")
    def _rules_differ(self) -> Self:
        require_different(self.rules)
        if self.columns and all(rule.rule != "columns" for rule in self.rules):
            raise ValueError("columns: the policy has no rule about columns. Leave columns out")
        return self

    def edition(self) -> str:
        """Return the name and the date."""
        return f"{self.name} of {self.date}"


def require_different(rules: Sequence[PolicyRule]) -> None:
    """Refuse two rules of one kind.

    Raises:
        ValueError: naming the kind.
    """
    names = [rule.rule for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"rules: {name} is there twice. Keep one of them")


def compared_with_file(published: PublishedPolicy, document: Mapping[str, Any]) -> str | None:
    """Return the key in which a published policy differs from the file of its SHA-256, or None.

    Args:
        published: as a release states it.
        document: `name`, `date` and `rules` of the file, for JSON.
    """
    stated = published.model_dump(mode="json", by_alias=True, exclude_none=True)
    return next((key for key in ("name", "date", "rules") if stated[key] != document[key]), None)


@cache
def known_editions() -> Mapping[str, Mapping[str, Any]]:
    """Return the machine's part of every edition, by the SHA-256 of its file."""
    editions: dict[str, Mapping[str, Any]] = read_json(EDITIONS, None)
    return editions


def is_known(policy: PublishedPolicy) -> bool:
    """Return True if the policy is an edition of one of Sfumato's own."""
    return policy.sha256 in known_editions()


def has_known_name(policy: PublishedPolicy) -> bool:
    """Return True if one of Sfumato's own policies has the name."""
    return any(edition["name"] == policy.name for edition in known_editions().values())


def faults_of_edition(policy: PublishedPolicy | None) -> Iterator[str]:
    """Yield how a release's policy differs from the file with the SHA-256 that it names."""
    edition = None if policy is None else known_editions().get(policy.sha256)
    if policy is None or edition is None:
        return
    if key := compared_with_file(policy, edition):
        yield (
            f"policy: its {key} differ from those of {edition['name']}, and it names the SHA-256 "
            "of that file"
        )


def words_of_edition(policy: PublishedPolicy) -> str:
    """Return in words whether the file of a release's policy is known here."""
    if is_known(policy):
        return f"its rules are those of Sfumato's file with SHA-256 {policy.sha256}"
    name = ""
    if has_known_name(policy):
        name = f" A policy of Sfumato's has the name {policy.name}, and this is no edition of it."
    return (
        f"its rules are as the release states them: no file with SHA-256 {policy.sha256} is known "
        f"here.{name}"
    )
