"""Every form by the name it has in a spec."""

from collections.abc import Mapping

from sfumato.tasks.forms.ambiguous import ambiguous
from sfumato.tasks.forms.form import Form
from sfumato.tasks.forms.permuted import permuted
from sfumato.tasks.forms.recoded import generalized, suppressed
from sfumato.tasks.forms.redistributed import redistributed
from sfumato.tasks.forms.split import split

FORMS: Mapping[str, Form] = {
    "generalized": generalized,
    "suppressed": suppressed,
    "permuted": permuted,
    "split": split,
    "ambiguous": ambiguous,
    "redistributed": redistributed,
}
