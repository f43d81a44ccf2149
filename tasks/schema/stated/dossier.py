"""What a steward states for the dossier of each version: what no measurement can say.

Source of the headings: ISO/IEC 27559:2022, Privacy enhancing data de-identification framework
(context, data, identifiability, governance), and NIST SP 800-188, De-identifying government
datasets (2023). The words are private: no release has them.
"""

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from sfumato.tasks.schema.part import Part
from sfumato.tasks.schema.stated.words import Paragraphs


class DossierStatements(Part):
    """The steward's own part of a dossier."""

    context: Annotated[
        Literal["public", "agreement", "enclave"],
        Field(description="who gets it: everybody, who signs an agreement, who works inside"),
    ]
    purpose: Annotated[Paragraphs | None, Field(description="what it is released for")] = None
    recipients: Annotated[Paragraphs | None, Field(description="who uses it")] = None
    controls: Annotated[
        Paragraphs | None, Field(description="what keeps recipients from attacking it")
    ] = None
    attackers: Annotated[
        Paragraphs | None, Field(description="who might, and what they know beforehand")
    ] = None
    decision: Annotated[Paragraphs | None, Field(description="why it is released so")] = None
    residual_risk: Annotated[
        Paragraphs | None, Field(description="what risk is left, and why that is acceptable")
    ] = None
    accepted_by: Annotated[Paragraphs | None, Field(description="who accepts it")] = None
    review: Annotated[date | None, Field(description="when all of this is looked at again")] = None
