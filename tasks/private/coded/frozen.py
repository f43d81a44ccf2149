"""What a line's codings computed of rows once: thresholds, and the values that stay.

    <line>/codings.json   of each column and its codings what was found (0600)

All versions are coded alike, so what was found of the first is kept when that is published, and
neither found again nor published. The document also tells by which key dates are moved.
"""

import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from sfumato.expectations.errors import InputError, PromiseError
from sfumato.tasks.private.coded.purposes import shift_key
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.state import read_state
from sfumato.tasks.schema.codings.declared import CodedColumn, document_of
from sfumato.tasks.schema.formats import read_document

CODINGS = "codings.json"
_FORMAT = 1
_RESTORE = "put it back (sfumato line restore)"


class FoundOfColumn(BaseModel):
    """What was computed of a column for codings that it had."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    codings: Mapping[str, Any]
    found: Mapping[str, Any]


class FrozenCodings(BaseModel):
    """What a line's codings use beside their declaration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    shift: str | None = None
    columns: tuple[FoundOfColumn, ...] = ()

    def found_of(self, name: str, declared: CodedColumn) -> Mapping[str, Any]:
        """What was computed of a column under these codings; nothing where nothing was."""
        codings = document_of(declared)
        known = (one for one in self.columns if (one.column, one.codings) == (name, codings))
        return next((one.found for one in known), {})

    @property
    def is_empty(self) -> bool:
        """True where nothing is computed, and no date is moved."""
        return self.shift is None and not self.columns


def read_frozen(line: Path) -> FrozenCodings:
    """What a line keeps.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    found = read_document(line / CODINGS, FrozenCodings, _FORMAT, "the codings of a line")
    return found or FrozenCodings()


def mark_of_shift(line: Path) -> str:
    """By which key the line's dates are moved, told so that nobody learns the key."""
    return hmac.digest(shift_key(line), b"\0mark", "sha256").hex()[:32]


def require_kept(line: Path, terms: str, columns: Mapping[str, CodedColumn]) -> FrozenCodings:
    """What the line keeps for these columns, where it has published under the same terms.

    Args:
        line: its private directory.
        terms: the digest of what will be declared.
        columns: the published ones.

    Raises:
        PromiseError: where it is lost, or dates were moved by another key.
    """
    kept, place = read_frozen(line), line / CODINGS
    shifts = any(column.shift is not None for column in columns.values())
    lacks = [name for name, c in columns.items() if c.computed and not kept.found_of(name, c)]
    if terms in _published_terms(line):
        if lacks:
            raise PromiseError(f"{place}: lacks what column {lacks[0]!r} is coded by: {_RESTORE}")
        if shifts and kept.shift is None:
            raise PromiseError(f"{place}: lacks the mark of the key that moves dates: {_RESTORE}")
    if shifts and kept.shift not in (None, mark_of_shift(line)):
        raise PromiseError(
            f"{place}: dates were moved by another key than the work directory's: {_RESTORE}"
        )
    return kept


def _published_terms(line: Path) -> set[str]:
    """The digests of the terms of all versions, and of one that may have appeared."""
    state = read_state(line)
    pending = [] if state.pending is None else [state.pending[1]]
    return {known.spec for known in (*state.versions.values(), *pending)}


def freeze(line: Path, used: FrozenCodings) -> None:
    """Keep what a version was coded by; the line is held.

    Raises:
        PromiseError: where another run has kept something else since this one read the line.
    """
    if used.is_empty:
        return
    kept = read_frozen(line)
    known = {_key(one): one.found for one in kept.columns}
    if any(known.get(_key(one), one.found) != one.found for one in used.columns):
        raise PromiseError(
            "another run has published the line with other thresholds meanwhile: run it again"
        )
    new = (one for one in used.columns if _key(one) not in known)
    merged = FrozenCodings(shift=used.shift or kept.shift, columns=(*kept.columns, *new))
    if merged != kept:
        write_atomically(line / CODINGS, merged.model_dump_json(exclude_none=True).encode())


def require_no_shift(line: Path) -> None:
    """Refuse to know people by other units where dates are moved by unit.

    Raises:
        InputError: naming what keeps the line from it.
    """
    if read_frozen(line).shift is not None:
        raise InputError(
            f"{line / CODINGS}: dates are moved by days that are the unit's own, and other units "
            "would have others: units cannot be renamed"
        )


def _key(one: FoundOfColumn) -> str:
    return json.dumps([one.column, one.codings], sort_keys=True)
