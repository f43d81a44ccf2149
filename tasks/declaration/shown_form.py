"""The form of a release, as a version of its line shows it."""

from sfumato.tasks.declaration.terms import Declared, Terms
from sfumato.tasks.forms.composed.registry import form_named
from sfumato.tasks.forms.form import Form


def form_of(terms: Terms) -> Form:
    """The form that these terms name, with vacant values where versions are composed."""
    if not terms.composed:
        return form_named(terms.form.method, composed=False)
    vacant = terms.rows.vacant if isinstance(terms, Declared) else 0
    return form_named(terms.form.method, composed=True, vacant=vacant)
