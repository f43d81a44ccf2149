"""How each form shows vacant values, by the name that the form has in a spec."""

from collections.abc import Mapping

from sfumato.tasks.forms.composed.composed import ComposedForm
from sfumato.tasks.forms.composed.exact_rows import (
    RowsBesideCounts,
    ShuffledRows,
    SubdomainsBesideRows,
)
from sfumato.tasks.forms.composed.labelled_rows import LabelledRows
from sfumato.tasks.forms.composed.vacancies import CoversBesideCounts, Vacancies
from sfumato.tasks.forms.form import Form
from sfumato.tasks.forms.registry import FORMS

VACANCIES: Mapping[str, Vacancies] = {
    "generalized": LabelledRows(),
    "suppressed": LabelledRows(),
    "permuted": ShuffledRows(),
    "split": RowsBesideCounts(),
    "ambiguous": CoversBesideCounts(),
    "redistributed": SubdomainsBesideRows(),
}


def composed_form(method: str, vacant: int = 0) -> ComposedForm:
    """The form of that name as a composed version shows it, with so many vacant values."""
    return ComposedForm(FORMS[method], VACANCIES[method], vacant)


def form_named(method: str, *, composed: bool, vacant: int = 0) -> Form:
    """The form of that name as a version of such a line shows it."""
    return composed_form(method, vacant) if composed else FORMS[method]
