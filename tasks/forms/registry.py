"""Every form by the name it has in a spec."""

from collections.abc import Mapping

from sfumato.expectations.entries import Entries
from sfumato.tasks.forms.form import Form

FORMS: Mapping[str, Form] = Entries(
    "sfumato.tasks.forms",
    {
        "generalized": "recoded.generalized",
        "suppressed": "recoded.suppressed",
        "permuted": "permuted.permuted",
        "split": "split.split",
        "ambiguous": "ambiguous.ambiguous",
        "redistributed": "redistributed.redistributed",
    },
)
