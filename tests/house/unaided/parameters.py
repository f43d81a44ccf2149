"""The parameters of a toy form that has a way of its own to show people."""

from typing import ClassVar, Literal

from sfumato.expectations.models.model import Way
from sfumato.tasks.forms.declared import FormParameters


class UnaidedParameters(FormParameters):
    """Rows as they are, the sensitive values of each group shuffled alike, and no help tables."""

    shows: ClassVar[str] = "unaided-rows"
    judged_as: ClassVar[Way | None] = "rows"
    rows_table: ClassVar[str | None] = "people"

    method: Literal["unaided"]
