"""The parameters of ambiguity's form as a spec writes them."""

from typing import ClassVar, Literal

from sfumato.tasks.forms.declared import SensitiveApart


class AmbiguousParameters(SensitiveApart):
    """The values of each quasi-identifier that a group admits, each quasi-identifier by itself."""

    shows: ClassVar[str] = "columns"
    counts_alone: ClassVar[bool] = True
    shows_insensitive: ClassVar[bool] = False

    method: Literal["ambiguous"]
