"""How each form shows vacant values, by the name that the form has in a spec."""

from collections.abc import Mapping

from sfumato.expectations.entries import Entries
from sfumato.tasks.forms.composed.composed import ComposedForm
from sfumato.tasks.forms.composed.vacancies import Vacancies
from sfumato.tasks.forms.form import Form
from sfumato.tasks.forms.registry import FORMS

VACANCIES: Mapping[str, Vacancies] = Entries(
    "sfumato.tasks.forms.composed",
    {
        "generalized": "labelled_rows:LABELLED_ROWS",
        "suppressed": "labelled_rows:LABELLED_ROWS",
        "permuted": "exact_rows:SHUFFLED_ROWS",
        "split": "exact_rows:ROWS_BESIDE_COUNTS",
        "ambiguous": "vacancies:COVERS_BESIDE_COUNTS",
        "redistributed": "exact_rows:SUBDOMAINS_BESIDE_ROWS",
    },
)


def composed_form(method: str, vacant: int = 0) -> ComposedForm:
    """The form of that name as a composed version shows it, with so many vacant values."""
    return ComposedForm(FORMS[method], VACANCIES[method], vacant)


def form_named(method: str, *, composed: bool, vacant: int = 0) -> Form:
    """The form of that name as a version of such a line shows it."""
    return composed_form(method, vacant) if composed else FORMS[method]
