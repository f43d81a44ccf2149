"""What all variants of l-diversity have in common."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from sfumato.expectations.groups.counts import Counts
from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.groups.subdomains import declared_counts
from sfumato.expectations.models.model import PrivacyModel, Way


@dataclass(frozen=True, kw_only=True)
class LDiversity(PrivacyModel):
    """A promise of l-diversity: block-local, and merging groups cannot break it."""

    monotone: ClassVar[bool] = True
    ways: ClassVar[frozenset[Way]] = frozenset({"labels", "rows", "columns", "subdomains"})
    protects: ClassVar[bool] = True

    model: Literal["l-diversity"] = "l-diversity"
    known: Annotated[
        tuple[str, ...] | None,
        Field(min_length=1, description="other sensitive attributes that an adversary may know"),
    ] = None

    @property
    def known_columns(self) -> tuple[str, ...]:
        """The sensitive attributes that an adversary may know."""
        return self.known or ()

    @property
    def by_ranks(self) -> bool:
        """True where no values are told from others, nor anything else is known."""
        told = ("known", "dont_care", "negative")
        return all(getattr(self, name, None) is None for name in told)

    def counts_in(self, groups: Groups) -> Counts:
        """The counts of the attribute's values; of declared distributions, their weights.

        Raises:
            PromiseError: where neither is shown.
        """
        shown = groups.subdomains.get(self.sensitive or "")
        return groups.of(self.sensitive) if shown is None else declared_counts(shown)

    def whose(self) -> str:
        """Whom the promise is about, in words."""
        known = f", and knows {' and '.join(self.known)}," if self.known else ""
        return f"whoever finds a person's group{known}"


def besides(dont_care: tuple[str, ...] | None) -> str:
    """The values that may be disclosed, in words."""
    return f" (other than {', '.join(dont_care)}, which may be known)" if dont_care else ""
