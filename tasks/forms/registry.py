"""Every form by the name it has in a spec."""

from collections.abc import Mapping

from tasks.forms import permuted
from tasks.forms.form import Form

FORMS: Mapping[str, Form] = {"permuted": permuted}
