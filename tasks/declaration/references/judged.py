"""The groups of published tables beside the people of a reference whom each could be about."""

from collections.abc import Mapping
from dataclasses import replace

from sfumato.expectations.groups.groups import Groups
from sfumato.expectations.models.model import PrivacyModel
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.optional import reader_for
from sfumato.tasks.forms.recoded.admitted_people import admitted_people
from sfumato.tasks.forms.recoded.recoded import TABLE
from sfumato.tasks.private.references import ReferenceFile
from sfumato.tasks.schema.columns import ColumnType


def with_people(
    groups: Groups,
    promise: PrivacyModel,
    declared: Declared,
    tables: Tables,
    reference: ReferenceFile,
) -> Groups:
    """The groups of a promise with whom of its reference each could be about.

    Raises:
        InputError: where the reference cannot be read, or lacks a column.
        PromiseError: where somebody of it could be in two groups, or it was changed meanwhile.
    """
    by = promise.adversary_columns
    sensitive = (promise.sensitive,) if promise.sensitive else ()
    types: Mapping[str, ColumnType] = {n: declared.columns[n].type for n in (*by, *sensitive)}
    people = reference.read([*by, *sensitive], types)
    reader_of, scope = reader_for(form_of(declared)), (by, sensitive)
    found = admitted_people(tables[TABLE], declared.columns, reader_of, scope, people)
    return replace(groups, population=found)
