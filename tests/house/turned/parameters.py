"""The parameters of a toy form."""

from typing import ClassVar, Literal

from sfumato.tasks.forms.declared import FormParameters


class TurnedParameters(FormParameters):
    """Rows as they are, the sensitive values of each group shuffled alike."""

    shows: ClassVar[str] = "rows"
    rows_table: ClassVar[str | None] = "people"

    method: Literal["turned"]
