"""Every form's parameters by the name that the form has in a spec; no algorithms."""

from collections.abc import Mapping
from typing import Annotated

from sfumato.expectations.registered import Registered
from sfumato.tasks.forms.ambiguous.parameters import AmbiguousParameters
from sfumato.tasks.forms.declared import FormParameters
from sfumato.tasks.forms.permuted.parameters import PermutedParameters
from sfumato.tasks.forms.recoded.parameters import GeneralizedParameters, SuppressedParameters
from sfumato.tasks.forms.redistributed.parameters import RedistributedParameters
from sfumato.tasks.forms.split.parameters import SplitParameters

FORM_PARAMETERS: Mapping[str, type[FormParameters]] = {
    "generalized": GeneralizedParameters,
    "suppressed": SuppressedParameters,
    "permuted": PermutedParameters,
    "split": SplitParameters,
    "ambiguous": AmbiguousParameters,
    "redistributed": RedistributedParameters,
}

FormChoice = Annotated[FormParameters, Registered("method", FORM_PARAMETERS)]
"""A form as a spec writes it: its method and that method's parameters."""
