"""Code: what is published of a table, as its columns are declared to be coded."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.expectations.errors import InputError
from sfumato.tasks.microdata.codings.free_text import is_free_text
from sfumato.tasks.microdata.codings.registry import code_column
from sfumato.tasks.microdata.hierarchies import hierarchy_of
from sfumato.tasks.microdata.table import Column, Microdata
from sfumato.tasks.private.coded.frozen import (
    FoundOfColumn,
    FrozenCodings,
    mark_of_shift,
    require_kept,
)
from sfumato.tasks.private.coded.offsets import offsets_of
from sfumato.tasks.private.coded.purposes import shift_key
from sfumato.tasks.schema.codings.declared import document_of
from sfumato.tasks.schema.hierarchy_rules import HierarchyRule
from sfumato.tasks.schema.published import Schema

_INSTEAD = "drop it, or say free-text: <why it may be published>"


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The columns that are published, coded.

    Attributes:
        microdata: they alone.
        used: what they were coded by beside their declaration.
    """

    microdata: Microdata
    used: FrozenCodings


class Coder:
    """Codes rows of one line under the same terms, whole tables or some rows at a time."""

    def __init__(self, columns: Schema, terms: str, unit: str | None, line: Path) -> None:
        """Read what the line keeps; see `code_published`.

        Raises:
            PromiseError: where it has lost what its published versions were coded by.
        """
        self._columns, self._unit, self._line = columns, unit, line
        self._coded = {name: c for name, c in columns.items() if c.codings}
        kept = any(c.shift or c.computed for c in self._coded.values())
        self._kept = require_kept(line, terms, self._coded) if kept else FrozenCodings()
        self._shift = next((c.shift for c in self._coded.values() if c.shift), None)

    def code(self, microdata: Microdata) -> CodedRows:
        """The published columns of some rows, coded.

        Raises:
            InputError: where a value cannot be coded, a coded one is in no hierarchy, or a column
                holds free text.
        """
        days = self._days(microdata)
        columns, found = [], []
        for name, declared in self._columns.items():
            known = {**self._kept.found_of(name, declared), **days}
            column, computed = code_column(microdata[name], declared, known)
            if computed:
                codings = document_of(declared)
                found.append(FoundOfColumn(column=name, codings=codings, found=computed))
            columns.append(self._fit(column))
        mark = mark_of_shift(self._line) if self._shift else None
        return CodedRows(microdata.keep(columns), FrozenCodings(shift=mark, columns=tuple(found)))

    def _days(self, microdata: Microdata) -> Mapping[str, Any]:
        if self._shift is None or self._unit is None:
            return {}
        key = shift_key(self._line)
        return {"shift": offsets_of(microdata[self._unit], key, self._shift.days)}

    def _fit(self, column: Column) -> Column:
        declared = self._columns[column.name]
        if declared.free_text is None and is_free_text(column):
            raise InputError(
                f"columns.{column.name}: holds free text, long texts that are one row's alone: "
                f"{_INSTEAD}"
            )
        if column.name in self._coded and declared.hierarchy is not None:
            _require_coded_leaves(column, declared.hierarchy)
        return column


def code_published(
    microdata: Microdata, columns: Schema, terms: str, unit: str | None, line: Path
) -> CodedRows:
    """The columns of a whole table that are published, coded.

    Args:
        microdata: the represented rows with all columns.
        columns: those that are published, as they will be declared.
        terms: the digest of what will be declared.
        unit: the identifier that is the unit, None where rows are.
        line: the line's private directory.

    Raises:
        InputError: where a value cannot be coded, a coded one is in no hierarchy, or a column holds
            free text.
        PromiseError: where the line has lost what its published versions were coded by.
    """
    return Coder(columns, terms, unit, line).code(microdata)


def _require_coded_leaves(column: Column, declared: HierarchyRule) -> None:
    known = hierarchy_of(column, declared)
    texts = pc.cast(column.values, pa.string()).to_pylist()
    if any(text not in known for text in texts):
        raise InputError(
            f"columns.{column.name}: a coded value is absent from its hierarchy: its leaves are "
            "values as they are coded"
        )
