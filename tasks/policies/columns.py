"""The rule about columns: each is of a kind, which says what may be published of it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from sfumato.tasks.policies.kinds import Kind
from sfumato.tasks.policies.rule import (
    MeasuredRelease,
    Observed,
    PolicyRule,
    Subject,
    join_names,
)

_STAR = "*"
KindName = Annotated[str, Field(pattern="^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$", max_length=63)]


class ColumnKinds(PolicyRule):
    """Every column is of one of these kinds, and shows no more than its kind allows."""

    example: ClassVar[Mapping[str, Any]] = {
        "rule": "columns",
        "kinds": {"names": {"shown": "withheld", "meaning": "names"}},
    }

    rule: Literal["columns"]
    kinds: Annotated[
        dict[KindName, Kind],
        Field(min_length=1, description="the kinds of columns, and what each may show"),
    ]

    def sentence(self) -> str:
        """Return the demand as a clause."""
        return f"every column has one of {len(self.kinds)} kinds, and shows what its kind allows"

    def faults(self, subject: Subject) -> Iterator[str]:
        """Yield each column without a kind, and each that may show more than its kind allows."""
        for name in subject.kinds:
            if name not in subject.columns:
                yield f"policy.columns.{name}: there is no such column. Correct the name"
        unknown = [name for name in subject.columns if subject.kinds.get(name) is None]
        if unknown:
            yield (
                f"policy.columns: has no kind for {join_names(unknown, 'and')}. Write "
                f"`{unknown[0]}: KIND`, with one of {', '.join(self.kinds)}"
            )
        for name, column in subject.columns.items():
            if (kind_name := subject.kinds.get(name)) is None:
                continue
            kind = self.kinds.get(kind_name)
            if kind is None:
                yield (
                    f"policy.columns.{name}: {kind_name} is no kind of this policy. Write one of "
                    f"{', '.join(self.kinds)}"
                )
            elif fault := kind.fault(column, subject):
                yield f"columns.{name}: kind {kind_name} ({kind.meaning}) {fault}"

    def measure(self, release: MeasuredRelease) -> tuple[bool, Observed, str]:
        """Count the published texts that the kind of their column does not allow."""
        subject, texts_of = release.subject, release.texts_of
        if texts_of is None:
            return True, None, f"columns: each of {len(subject.columns)} has a kind"
        broken: dict[str, int] = {}
        for name in subject.columns:
            kind = self.kinds[subject.kinds[name]]
            texts = texts_of(name) - {None, _STAR}
            if number := sum(not kind.fits(str(text), subject) for text in texts):
                broken[name] = number
        if not broken:
            return True, 0, f"columns: {len(subject.columns)} columns show what their kinds allow"
        name, number = next(iter(broken.items()))
        kind_name = subject.kinds[name]
        words = (
            f"columns.{name}: {number} different published texts are not as kind {kind_name} "
            f"allows ({self.kinds[kind_name].demand()}). Correct them in the source"
        )
        return False, sum(broken.values()), words
