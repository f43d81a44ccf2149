"""The parameters of permutation as a spec writes them."""

from typing import ClassVar, Literal

from sfumato.tasks.forms.declared import SensitiveApart


class PermutedParameters(SensitiveApart):
    """Quasi-identifiers exactly as they are, sensitive values shuffled inside each group."""

    shows: ClassVar[str] = "rows"
    rows_table: ClassVar[str | None] = "microdata"

    method: Literal["permuted"]
