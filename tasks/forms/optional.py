"""What a form may offer besides: one that does not is asked in vain, and needs no word about it."""

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
        """The number of values that are made up in published tables."""
        ...


@runtime_checkable
class HasDiagnostics(Protocol):
    """A form that has lost what the steward alone may know."""

    def diagnostics(
        self,
        original: Microdata,
        partition: Partition,
        tables: Tables,
        schema: Schema,
        parameters: Any,
    ) -> dict[str, Any]:
        """Measure by name what the tables have lost of the original."""
        ...


@runtime_checkable
class ShowsLabels(Protocol):
    """A form that shows labels in the place of quasi-identifiers, as its parameters say."""

    def reader_of(self, name: str, column: DeclaredColumn) -> Reader:
        """The reader of a column's labels."""
        ...


def reader_for(form: Form) -> ReaderOf:
    """The reader of the labels of a form.

    Raises:
        TypeError: where it shows none.
    """
    shown = _shown(form)
    if not isinstance(shown, ShowsLabels):
        raise TypeError(form)
    return shown.reader_of


def fakes(form: Form, tables: Tables) -> int:
    """The number of values that are made up in the tables of a form."""
    shown = _shown(form)
    return shown.fakes(tables) if isinstance(shown, MakesValuesUp) else 0


def diagnostics(
    form: Form,
    original: Microdata,
    partition: Partition,
    tables: Tables,
    schema: Schema,
    parameters: Any,
) -> dict[str, Any]:
    """Measure by name what the tables of a form have lost of the original; it stays private."""
    shown = _shown(form)
    if not isinstance(shown, HasDiagnostics):
        return {}
    return shown.diagnostics(original, partition, tables, schema, parameters)


def _shown(form: Form) -> Form:
    """The form without what a composed version adds."""
    return form.shown if isinstance(form, ComposedForm) else form
