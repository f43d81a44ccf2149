"""What a line computed or chosen once, which its later versions keep: codings, choices, factors.

Each purpose has a key of its own: who has one of the keys learns no other. The same purpose means
the same key in every line of a work directory, and another key in another work directory.

    <line>/codings.json   of each column and its codings what was found (0600)

All versions are coded alike, so what was found of the first is kept when that is published, and
neither found again nor published. The document also tells by which key dates are moved.

    <line>/choices.json   by the digest of the terms that wish it, what was chosen (0600)

It is kept as soon as it is chosen, and later versions use it. Nothing in it is about a person: it
names a partition, strata and a form as a release declares them.

    <line>/intervals.json   of each family of queries the factor that was stated last (0600)

Were they to fall again, versions would tell by their factors how the original changed.
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
_RESTORE = "put it back (sfumato line restore)"
CHOICES = "choices.json"
FACTORS = "intervals.json"
_FORMAT_OF_FACTORS = 3  # 2: factors that were not there at first; 3: families that were not


def purpose_key(work: Path, purpose: str) -> bytes:
    """The key of a purpose (32 bytes).

    Raises:
        InputError: where the secret is wrapped, and the environment lacks its passphrase.
        PromiseError: where it is lost.
    """
    return hmac.digest(people_key(work), _PURPOSE + purpose.encode(), "sha256")


def shift_key(line: Path) -> bytes:
    """The key of the days by which a line's dates are moved.

    It is not made of the line's own key, which `sfumato line rekey` replaces: a person's days stay
    the same in all versions.
    """
    return purpose_key(line.parent, f"shift {line.name}")


def pseudonym_key(work: Path, purpose: str) -> bytes:
    """The key of the pseudonyms that are handed over for a purpose."""
    return purpose_key(work, f"pseudonym {purpose}")


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


class FrozenChoices(BaseModel):
    """What was chosen, by the digest of the terms that wish it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    chosen: Mapping[str, Mapping[str, Any]] = {}


def read_choice(line: Path, wish: str) -> Mapping[str, Any] | None:
    """What was chosen for terms with this digest, None where nothing was.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    return _read(line).chosen.get(wish)


def keep_choice(line: Path, wish: str, choice: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep what was chosen, unless another run has chosen meanwhile; what is kept is returned."""
    with state_lock(line):
        known = _read(line)
        if wish not in known.chosen:
            known = FrozenChoices(chosen={**known.chosen, wish: choice})
            write_atomically(line / CHOICES, known.model_dump_json().encode())
        return known.chosen[wish]


def _read(line: Path) -> FrozenChoices:
    found = read_document(line / CHOICES, FrozenChoices, _FORMAT, "the choices of a line")
    return found or FrozenChoices()


class FrozenFactors(BaseModel):
    """What a line has stated of its intervals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1, 2, 3] = 1
    families: tuple[CalibratedFamily, ...] = ()

    @property
    def stated(self) -> CalibratedIntervals:
        """The same as a release states it."""
        return CalibratedIntervals(grid="fine", families=self.families)


def read_factors(line: Path) -> FrozenFactors:
    """What a line has stated; nothing where it never did.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    found = read_document(
        line / FACTORS, FrozenFactors, _FORMAT_OF_FACTORS, "the factors of a line"
    )
    return found or FrozenFactors()


def freeze_factors(line: Path, stated: CalibratedIntervals) -> None:
    """Keep what a version states; the line is held.

    Raises:
        PromiseError: where another version has stated a greater factor since this one was made.
    """
    known = {(one.family, one.of): one for one in read_factors(line).families}
    for one in stated.families:
        before = known.get((one.family, one.of))
        if before is not None and one.factor < before.factor:
            raise PromiseError(
                f"intervals: the factor of {one.family} is below one that the line has stated "
                "meanwhile: run it again"
            )
        known[one.family, one.of] = one
    families = tuple(known[key] for key in sorted(known))
    kept = FrozenFactors(format=_format_of(families), families=families)
    write_atomically(line / FACTORS, kept.model_dump_json().encode())


def _format_of(families: Sequence[CalibratedFamily]) -> Literal[1, 2, 3]:
    """The lowest format that can say what a line has stated."""
    if any(one.since for one in families):
        return 3
    return 1 if all(one.factor in FIRST_GRID for one in families) else 2
