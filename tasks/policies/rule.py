"""A rule of a policy, and all that a machine decides it by.

A rule is decided three times by the same code: on a spec, before anything is read; on the tables
of a candidate, before it is published; and on a published release, by anyone who has its files.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from sfumato.expectations.models.model import PrivacyModel, Verdict
from sfumato.expectations.shared.registered import adapter_of
from sfumato.tasks.continued.parameters import Rule as VersionsRule
from sfumato.tasks.forms.parameters import OF_ONE_TABLE
from sfumato.tasks.schema.codings import CodedColumn
from sfumato.tasks.schema.names import Part
from sfumato.tasks.schema.stated import KeptBars

NO_ADVICE = "A policy gives no legal advice."
"""The sentence beside every name of a policy."""
Labelling = Literal["rule", "file"]
"""Labels of a hierarchy by a rule, or from a file."""
Observed = Mapping[str, int | str | None] | int | None
TextsOf = Callable[[str], set[str | None]]
"""Returns the different texts that are published of a column, None for missing values."""


@dataclass(frozen=True)
class DecidedColumn:
    """A column as rules see it.

    Attributes:
        published: whether a release contains it.
        role: its role.
        type: the type of its values.
        coded: its codings.
        hierarchy: whether labels come from a rule, from a file of labels, or from no hierarchy.
        limits: the smallest and the largest value that the source may have; None where the spec
            sets no limits, and in a release.
    """

    published: bool
    role: str
    type: str
    coded: CodedColumn
    hierarchy: Labelling | None = None
    limits: tuple[str | None, str | None] | None = None


@dataclass(frozen=True)
class Subject:
    """A spec or a declaration of a release, as rules see it.

    Attributes:
        of_release: whether a release declares it; otherwise a spec does.
        promises: all promises, each with the columns that it is about.
        quasi_identifiers: the names of all quasi-identifiers.
        form: the method of the form.
        versions: the rule of versions.
        columns: all columns of a spec, or the published columns of a release, by their names.
        kinds: the kind that a person states of each column, by its name.
        year: the last year that the rows are about, as a person states it.
        bars: the limits on attacks that refuse a release, None without any.
        in_parts: whether the release is in parts.
    """

    of_release: bool
    promises: Sequence[PrivacyModel]
    quasi_identifiers: Sequence[str]
    form: str
    versions: VersionsRule
    columns: Mapping[str, DecidedColumn]
    kinds: Mapping[str, str] = field(default_factory=dict)
    year: int | None = None
    bars: KeptBars | None = None
    in_parts: bool = False

    @property
    def of_two_tables(self) -> bool:
        """True if people are published beside rows of a second table."""
        return self.form not in OF_ONE_TABLE

    @property
    def whole_promises(self) -> list[PrivacyModel]:
        """The promises about all quasi-identifiers together."""
        every = {*self.quasi_identifiers}
        return [
            promise for promise in self.promises if {*(promise.quasi_identifiers or ())} == every
        ]


@dataclass(frozen=True)
class MeasuredRelease:
    """A release as rules measure it.

    Attributes:
        subject: its declaration.
        verdicts: the verdict on each promise, measured on the published tables.
        texts_of: returns the published texts of a column; None for the whole of a release in parts,
            whose parts are measured one by one.
    """

    subject: Subject
    verdicts: Sequence[tuple[PrivacyModel, Verdict]]
    texts_of: TextsOf | None


@dataclass(frozen=True)
class RuleOutcome:
    """The outcome of a rule on a release.

    Attributes:
        rule: the rule.
        passed: whether the release keeps it.
        observed: the measured numbers; None if the declaration decides.
        words: what was found, in words without values of people.
    """

    rule: "PolicyRule"
    passed: bool
    observed: Observed
    words: str


class PolicyRule(Part):
    """A rule that a machine decides exactly.

    Attributes:
        example: the rule as a policy writes it, for people who write one.
    """

    example: ClassVar[Mapping[str, Any]]

    rule: str

    @abstractmethod
    def sentence(self) -> str:
        """Return what the rule demands, as a clause in lower case without a full stop."""

    @abstractmethod
    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield what a spec or a declaration breaks: what is wrong, and what to write instead."""

    def why_not_two_tables(self) -> str | None:
        """Return why no release of two related tables keeps the rule, None if one may."""
        return None

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:
        """Return whether tables keep the rule, the observed numbers, and these in words.

        Only called if the declaration has no fault. A rule about the declaration is then kept.
        """
        return True, None, f"{self.sentence()}: kept ({release.subject.form})"

    def outcome(self, release: MeasuredRelease) -> RuleOutcome:
        """Return the outcome on a release: by its declaration first, then by its tables."""
        if fault := next(self.faults(release.subject), None):
            return RuleOutcome(self, passed=False, observed=None, words=fault)
        passed, observed, words = self.measure(release)
        return RuleOutcome(self, passed, observed, words)

    def document(self) -> dict[str, Any]:
        """Return the rule for JSON, as a policy's file and a release have it."""
        written: dict[str, Any] = adapter_of(type(self)).dump_python(
            self, mode="json", by_alias=True, exclude_none=True
        )
        return written


def join_names(names: Sequence[str], word: str = "or") -> str:
    """Return names as a text.

    >>> join_names(["a", "b", "c"]), join_names(["a"])
    ('a, b or c', 'a')
    """
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last
