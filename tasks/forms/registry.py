"""Every form by the name it has in a spec."""

from collections.abc import Mapping

from sfumato.expectations.shared.registered import Entries
from sfumato.tasks.forms.form import Form

FORMS: Mapping[str, Form] = Entries(
    "sfumato.tasks.forms",
    {
        "generalized": "generalized",
        "suppressed": "suppressed",
        "permuted": "permuted",
        "split": "split",
        "ambiguous": "ambiguous",
        "redistributed": "redistributed",
        "apart": "related.apart",
    },
)
