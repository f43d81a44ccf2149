"""Optional abilities of forms; a form without an ability needs no code for it."""

from typing import Any, Protocol, runtime_checkable

from sfumato.tasks.forms.composed import ComposedForm
from sfumato.tasks.forms.form import Form, Tables
from sfumato.tasks.forms.label_readers import Reader
from sfumato.tasks.forms.recoded import ReaderOf
from sfumato.tasks.microdata.table import Microdata
from sfumato.tasks.partitions.partition import Partition
from sfumato.tasks.schema.published import DeclaredColumn, Schema


@runtime_checkable
class MakesValuesUp(Protocol):
    """A form that shows values which no row has."""

    def fakes(self, tables: Tables) -> int:
        """Return the number of values that are made up in published tables."""
        ...


@runtime_checkable
class HasDiagnostics(Protocol):
    """A form that can measure what was lost, which only the steward may know."""

    def diagnostics(
        self,
        original: Microdata,
        partition: Partition,
        tables: Tables,
        schema: Schema,
        parameters: Any,
    ) -> dict[str, Any]:
        """Measure, by name, what the tables have lost of the original."""
        ...


@runtime_checkable
class ShowsLabels(Protocol):
    """A form that shows labels in place of quasi-identifiers, as its parameters say."""

    def reader_of(self, name: str, column: DeclaredColumn) -> Reader:
        """Return the reader of a column's labels."""
        ...


def reader_for(form: Form) -> ReaderOf:
    """Return the reader of the labels of a form.

    Raises:
        TypeError: where it shows none.
    """
    plain = _plain_form(form)
    if not isinstance(plain, ShowsLabels):
        raise TypeError(form)
    return plain.reader_of


def fakes(form: Form, tables: Tables) -> int:
    """Return the number of values that are made up in the tables of a form."""
    plain = _plain_form(form)
    return plain.fakes(tables) if isinstance(plain, MakesValuesUp) else 0


def diagnostics(
    form: Form,
    original: Microdata,
    partition: Partition,
    tables: Tables,
    schema: Schema,
    parameters: Any,
) -> dict[str, Any]:
    """Measure, by name, what a form's tables have lost of the original; it stays private."""
    plain = _plain_form(form)
    if not isinstance(plain, HasDiagnostics):
        return {}
    return plain.diagnostics(original, partition, tables, schema, parameters)


def _plain_form(form: Form) -> Form:
    """Return the form without what a composed version adds."""
    return form.shown if isinstance(form, ComposedForm) else form
