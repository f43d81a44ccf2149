"""The parameters of Anatomy's form as a spec writes them."""

from typing import ClassVar, Literal

from sfumato.tasks.forms.declared import SensitiveApart


class SplitParameters(SensitiveApart):
    """Quasi-identifiers exactly as they are, the sensitive values of each group counted apart."""

    shows: ClassVar[str] = "rows"
    rows_table: ClassVar[str | None] = "qit"
    values_apart: ClassVar[bool] = True

    method: Literal["split"]
