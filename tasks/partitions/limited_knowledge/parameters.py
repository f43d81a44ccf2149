"""The parameters of partitions that keep promises against limited knowledge."""

from decimal import Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from sfumato.expectations.models.limited_knowledge import (
    KMAnonymity,
    LimitedKnowledge,
    LKCPrivacy,
)
from sfumato.expectations.models.model import PrivacyModel
from sfumato.expectations.shared.numbers import ExactNumber
from sfumato.tasks.partitions.declared import Labels, Need, PartitionParameters

_WHOLE = (
    "the combinations of labels are counted over all rows, which no part contains; use full-domain "
    "with k-anonymity"
)


class TopDownParameters(PartitionParameters):
    """Labels that are made finer, one node of a hierarchy at a time, while all promises hold."""

    over_people: ClassVar[bool] = True
    judges_labels: ClassVar[Labels] = "nodes"
    since: ClassVar[int] = 13

    method: Literal["top-down"]

    @property
    def equal_rows_together(self) -> bool:
        """True: rows that are equal have equal labels."""
        return True

    @property
    def not_in_parts(self) -> str | None:
        """The reason why a table cannot be grouped part by part."""
        return f"top-down chooses labels for all rows alike: {_WHOLE}"


class LocalSuppressionParameters(PartitionParameters):
    """Cells that are hidden, until all combinations of what is shown keep the promises."""

    needs: ClassVar[Need] = Need(
        (LKCPrivacy, KMAnonymity),
        "an lkc-privacy or km-anonymity promise to read its knowledge from",
    )
    over_people: ClassVar[bool] = True
    judges_labels: ClassVar[Labels] = "stars"
    since: ClassVar[int] = 13

    method: Literal["local-suppression"]
    suppression: Annotated[
        ExactNumber, Field(ge=0, lt=1, description="largest share of rows that may be suppressed")
    ] = Decimal(0)

    @property
    def may_suppress(self) -> bool:
        """True if there is a budget of suppressed rows."""
        return self.suppression > 0

    @property
    def not_in_parts(self) -> str | None:
        """The reason why a table cannot be grouped part by part."""
        return f"local-suppression needs all rows at once: {_WHOLE}"

    def fault_of(self, promise: PrivacyModel) -> str | None:
        """Refuse promises about whole rows, which hiding single cells does not aim at."""
        if isinstance(promise, LimitedKnowledge):
            return None
        return (
            f"model: partition local-suppression does not keep {promise.name}; use forest or "
            "full-domain, or leave the promise out"
        )
