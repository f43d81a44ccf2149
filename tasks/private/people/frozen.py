"""Computations and choices of a line that its later versions keep: codings, choices, factors.

Each purpose has a key of its own: someone who has one of the keys learns no other. The same purpose
means the same key in every line of a work directory, and another key in another work directory.

    <line>/codings.json   the computations for each column and its codings (0600)

All versions are coded alike, so the computations of the first version are kept when it is
published, and neither repeated nor published. The document also identifies the key by which dates
are moved.

    <line>/choices.json   by the digest of the terms that wish it, the choice made (0600)

A choice is kept as soon as it is made, and later versions use it. It contains nothing about people:
it names a partition, strata and a form as a release declares them.

    <line>/intervals.json   the factor stated last for each family of queries (0600)

If factors could fall again, versions would reveal by them how the original changed.
"""

import hmac
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.keys import people_key
from sfumato.tasks.private.state import read_state
from sfumato.tasks.private.workdir import state_lock
from sfumato.tasks.schema.codings import CodedColumn, document_of
from sfumato.tasks.schema.formats import read_document
from sfumato.tasks.schema.stated import FIRST_GRID, CalibratedFamily, CalibratedIntervals

_PURPOSE = b"\0purpose "  # no name of a person is made so: texts of units have no such byte
CODINGS = "codings.json"
_FORMAT = 1
_RESTORE = "restore it from a backup (sfumato line restore SPEC FILE)"
CHOICES = "choices.json"
FACTORS = "intervals.json"
_FORMAT_OF_FACTORS = 3  # 2: factors that were not there at first; 3: families that were not


def purpose_key(work: Path, purpose: str) -> bytes:
    """Return the key of a purpose (32 bytes).

    Raises:
        InputError: where the secret is wrapped, and the environment lacks its passphrase.
        PromiseError: where it is lost.
    """
    return hmac.digest(people_key(work), _PURPOSE + purpose.encode(), "sha256")


def shift_key(line: Path) -> bytes:
    """Return the key of the days by which a line's dates are moved.

    It is not derived from the line's own key, which `sfumato line rekey` replaces: a person's days
    stay the same in all versions.
    """
    return purpose_key(line.parent, f"shift {line.name}")


def pseudonym_key(work: Path, purpose: str) -> bytes:
    """Return the key of the pseudonyms that are handed over for a purpose."""
    return purpose_key(work, f"pseudonym {purpose}")


class ColumnComputation(BaseModel):
    """Values computed from a column for the codings that it had."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    column: str
    codings: Mapping[str, Any]
    found: Mapping[str, Any]


class FrozenCodings(BaseModel):
    """The inputs to a line's codings that its spec does not declare."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1] = 1
    shift: str | None = None
    columns: tuple[ColumnComputation, ...] = ()

    def computed_for(self, name: str, declared: CodedColumn) -> Mapping[str, Any]:
        """Return the values computed for a column under these codings; {} if there are none."""
        codings = document_of(declared)
        matches = (
            column for column in self.columns if (column.column, column.codings) == (name, codings)
        )
        return next((column.found for column in matches), {})

    @property
    def is_empty(self) -> bool:
        """True where nothing is computed, and no date is moved."""
        return self.shift is None and not self.columns


def read_frozen(line: Path) -> FrozenCodings:
    """Return the codings that a line keeps.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    codings = read_document(line / CODINGS, FrozenCodings, _FORMAT, "the codings of a line")
    return codings or FrozenCodings()


def mark_of_shift(line: Path) -> str:
    """Return a mark of the key that moves the line's dates, which does not reveal the key."""
    return hmac.digest(shift_key(line), b"\0mark", "sha256").hex()[:32]


def require_kept(line: Path, terms: str, columns: Mapping[str, CodedColumn]) -> FrozenCodings:
    """Return the codings that the line keeps for these columns.

    If it has published under the same terms, none may be missing.

    Args:
        line: its private directory.
        terms: the digest of the terms that will be declared.
        columns: the published ones.

    Raises:
        PromiseError: where it is lost, or dates were moved by another key.
    """
    codings, place = read_frozen(line), line / CODINGS
    shifts = any(column.shift is not None for column in columns.values())
    lacks = [
        name for name, c in columns.items() if c.computed_keys and not codings.computed_for(name, c)
    ]
    if terms in _published_terms(line):
        if lacks:
            raise PromiseError(
                f"{place}: does not contain how column {lacks[0]!r} is coded. To continue, "
                f"{_RESTORE}"
            )
        if shifts and codings.shift is None:
            raise PromiseError(
                f"{place}: does not contain the mark of the key that shifts dates. To "
                f"continue, {_RESTORE}"
            )
    if shifts and codings.shift not in (None, mark_of_shift(line)):
        raise PromiseError(
            f"{place}: dates were shifted with another key than the one in the work "
            f"directory. To continue, {_RESTORE}"
        )
    return codings


def _published_terms(line: Path) -> set[str]:
    """Return the digests of the terms of all versions, and of one that may have appeared."""
    state = read_state(line)
    pending = [] if state.pending is None else [state.pending[1]]
    return {version.spec for version in (*state.versions.values(), *pending)}


def freeze(line: Path, used: FrozenCodings) -> None:
    """Keep a version's inputs to codings; the line is held.

    Raises:
        PromiseError: where another run has kept something else since this one read the line.
    """
    if used.is_empty:
        return
    codings = read_frozen(line)
    computed = {_key(column): column.found for column in codings.columns}
    if any(computed.get(_key(column), column.found) != column.found for column in used.columns):
        raise PromiseError(
            "another run published this line with other thresholds in the meantime. "
            "Run the command again"
        )
    new = (column for column in used.columns if _key(column) not in computed)
    merged = FrozenCodings(shift=used.shift or codings.shift, columns=(*codings.columns, *new))
    if merged != codings:
        write_atomically(line / CODINGS, merged.model_dump_json(exclude_none=True).encode())


def require_no_shift(line: Path) -> None:
    """Refuse to rename people's units if dates are moved by unit.

    Raises:
        InputError: naming the file that prevents it.
    """
    if read_frozen(line).shift is not None:
        raise InputError(
            f"{line / CODINGS}: the days by which dates are shifted depend on the "
            "unit. Other units would shift dates differently, so units cannot be "
            "renamed"
        )


def _key(column: ColumnComputation) -> str:
    return json.dumps([column.column, column.codings], sort_keys=True)


class FrozenChoices(BaseModel):
    """Choices by the digest of the terms that wish them."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1] = 1
    chosen: Mapping[str, Mapping[str, Any]] = {}


def read_choice(line: Path, wish: str) -> Mapping[str, Any] | None:
    """Return the choice for terms with this digest, or None if there is none.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    return _read(line).chosen.get(wish)


def keep_choice(line: Path, wish: str, choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep a choice, unless another run has made one meanwhile; return the kept choice."""
    with state_lock(line):
        choices = _read(line)
        if wish not in choices.chosen:
            choices = FrozenChoices(chosen={**choices.chosen, wish: choice})
            write_atomically(line / CHOICES, choices.model_dump_json().encode())
        return choices.chosen[wish]


def _read(line: Path) -> FrozenChoices:
    choices = read_document(line / CHOICES, FrozenChoices, _FORMAT, "the choices of a line")
    return choices or FrozenChoices()


class FrozenFactors(BaseModel):
    """The factors of intervals that a line has stated."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    format: Literal[1, 2, 3] = 1
    families: tuple[CalibratedFamily, ...] = ()

    @property
    def intervals(self) -> CalibratedIntervals:
        """The intervals as a release states them."""
        return CalibratedIntervals(grid="fine", families=self.families)


def read_factors(line: Path) -> FrozenFactors:
    """Return the factors that a line has stated; none if it never did.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    factors = read_document(
        line / FACTORS, FrozenFactors, _FORMAT_OF_FACTORS, "the factors of a line"
    )
    return factors or FrozenFactors()


def freeze_factors(line: Path, stated: CalibratedIntervals) -> None:
    """Keep the factors that a version states; the line is held.

    Raises:
        PromiseError: where another version has stated a greater factor since this one was made.
    """
    stated_before = {(family.family, family.of): family for family in read_factors(line).families}
    for family in stated.families:
        before = stated_before.get((family.family, family.of))
        if before is not None and family.factor < before.factor:
            raise PromiseError(
                f"intervals: another run published a larger factor of {family.family} "
                "for this line in the meantime. Run the command again"
            )
        stated_before[family.family, family.of] = family
    families = tuple(stated_before[key] for key in sorted(stated_before))
    factors = FrozenFactors(format=_format_of(families), families=families)
    write_atomically(line / FACTORS, factors.model_dump_json().encode())


def _format_of(families: Sequence[CalibratedFamily]) -> Literal[1, 2, 3]:
    """Return the lowest format that can express the stated factors."""
    if any(family.since for family in families):
        return 3
    return 1 if all(family.factor in FIRST_GRID for family in families) else 2
