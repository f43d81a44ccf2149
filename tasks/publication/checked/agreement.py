"""Whether what a manifest states of tables agrees with itself, and with them."""

from sfumato.expectations.errors import PromiseError
from sfumato.tasks.attacks.needs import JUDGED
from sfumato.tasks.declaration.opened import (
    MANIFEST,
)
from sfumato.tasks.declaration.shown_form import form_of
from sfumato.tasks.declaration.terms import Declared
from sfumato.tasks.forms.codes import with_published_codes
from sfumato.tasks.forms.form import Tables
from sfumato.tasks.forms.leaves import with_published_leaves
from sfumato.tasks.forms.optional import fakes
from sfumato.tasks.query.intervals.shapes import fault_of_stated


def require_agreement(declared: Declared, tables: Tables) -> None:
    """Hold a declaration against the tables that it speaks of.

    Raises:
        PromiseError: where row counts contradict each other, columns are told of that there are
            not, groups stand in another order, or leaves of hierarchies or labelled codes are not
            published.
    """
    _counts_agree(declared, tables)
    _in_order(declared, tables)
    _leaves_are_published(declared, tables)
    if with_published_codes(declared.words, declared.columns, tables) != declared.words:
        raise PromiseError(f"{MANIFEST}: labels codes that are not published")


def _counts_agree(declared: Declared, tables: Tables) -> None:
    rows = declared.rows
    if fakes(form_of(declared), tables) != rows.fakes:
        raise PromiseError(f"{MANIFEST}: does not state how many values are made up")
    lost = rows.dropped_by_filter + rows.dropped_for_nulls + rows.dropped_as_repeats
    lost += rows.suppressed + rows.not_represented_versions
    if min(rows.model_dump().values()) < 0 or rows.read - lost != rows.published:
        raise PromiseError(f"{MANIFEST}: its row counts contradict each other")
    told = [] if declared.exposure is None else [c.column for c in declared.exposure.columns]
    if len(set(told)) < len(told) or not set(told) <= set(declared.named("sensitive")):
        raise PromiseError(f"{MANIFEST}: tells of other columns than its sensitive ones")
    if not {*declared.words.columns, *declared.words.labels} <= set(declared.columns):
        raise PromiseError(f"{MANIFEST}: describes columns that it does not have")
    kept = () if declared.bars is None else declared.bars.bars
    if len(set(kept)) < len(kept) or not {bar.attack for bar in kept} <= set(JUDGED):
        raise PromiseError(f"{MANIFEST}: states bars on attacks twice, or on unknown ones")
    if fault := fault_of_stated(declared, declared.intervals):
        raise PromiseError(f"{MANIFEST}: {fault}")


def _in_order(declared: Declared, tables: Tables) -> None:
    if len(tables) == 1:
        return  # a rule of the table
    for name, table in form_of(declared).canonical(tables).items():
        if not table.equals(tables[name]):
            raise PromiseError(f"{name}: groups are not in canonical order across all tables")


def _leaves_are_published(declared: Declared, tables: Tables) -> None:
    if with_published_leaves(declared.columns, tables) != declared.columns:
        raise PromiseError(f"{MANIFEST}: a hierarchy has leaves under no published label")
