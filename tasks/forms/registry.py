"""Every form by the name it has in a spec."""

from collections.abc import Mapping

from tasks.forms import ambiguous, generalized, permuted, redistributed, split, suppressed
from tasks.forms.form import Form

FORMS: Mapping[str, Form] = {
    "generalized": generalized,
    "suppressed": suppressed,
    "permuted": permuted,
    "split": split,
    "ambiguous": ambiguous,
    "redistributed": redistributed,
}
