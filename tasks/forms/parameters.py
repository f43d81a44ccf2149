"""The forms' parameters as a spec writes them."""

from typing import Literal

from tasks.microdata.schema import Part


class PermutedParameters(Part):
    """Quasi-identifiers exactly as they are, sensitive values shuffled inside each group."""

    method: Literal["permuted"]


FormParameters = PermutedParameters
