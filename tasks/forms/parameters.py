"""Every form's parameters by the name that the form has in a spec; no algorithms."""

from collections.abc import Mapping
from typing import Annotated

from sfumato.expectations.shared.registered import Entries, Registered
from sfumato.tasks.forms.declared import FormParameters

FORM_PARAMETERS: Mapping[str, type[FormParameters]] = Entries(
    "sfumato.tasks.forms",
    {
        "generalized": "form_parameters:GeneralizedParameters",
        "suppressed": "form_parameters:SuppressedParameters",
        "permuted": "form_parameters:PermutedParameters",
        "split": "form_parameters:SplitParameters",
        "ambiguous": "form_parameters:AmbiguousParameters",
        "redistributed": "redistributed_parameters:RedistributedParameters",
        "apart": "related.parameters:ApartParameters",
    },
)

OF_ONE_TABLE = tuple(name for name in FORM_PARAMETERS if name != "apart")
"""The forms of a single table; the other one is made of two tables, under `tables`."""

FormChoice = Annotated[FormParameters, Registered("method", FORM_PARAMETERS)]
"""A form: its method and that method's parameters."""

WrittenForm = Annotated[FormParameters, Registered("method", FORM_PARAMETERS, ("apart",))]
"""A form as a spec writes it: nobody writes the one that two tables are read as."""
