"""refusals.json: which candidates of a line were refused by bars on attacks, and by which limits.

Whoever could have a candidate refused and drawn again, of the same rows under the same terms, could
go on until a draw pleases. So each refusal stands for these rows and terms, whatever bars are asked
of them next: for the same limit, and for any that is not looser. A looser one may be tried.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from sfumato.expectations.errors import InputError, PromiseError
from sfumato.tasks.attacks.bars import JudgedBar
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.private.backup import ATTACKED, REFUSED
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.line import Identity
from sfumato.tasks.private.workdir import state_lock
from sfumato.tasks.schema.files import canonical_json, read_json
from sfumato.tasks.schema.formats import read_document
from sfumato.tasks.schema.stated import KeptBar

_FORMAT = 1


class _Remembered(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Called(NamedTuple):
    """What a source and terms are called by a key: a keyed fingerprint, and a digest."""

    rows: str
    spec: str


class RefusedCandidate(_Remembered):
    """A candidate that a limit refused.

    Attributes:
        rows: the keyed fingerprint of its source.
        spec: the digest of its terms.
        column: the sensitive column that was attacked.
        by: the limit.
    """

    rows: str
    spec: str
    column: str
    by: KeptBar

    def stands_for(self, whose: Identity, asked: KeptBar) -> bool:
        """Decide whether it refuses another candidate that is held to the limit `asked`."""
        same = (self.rows, self.spec) == (whose.rows, whose.spec)
        figure = (self.by.attack, self.by.limit) == (asked.attack, asked.limit)
        return same and figure and not is_looser(asked, self.by)


class Refusals(_Remembered):
    """All refusals of a line's candidates by bars, the latest last."""

    format: Literal[1] = 1
    refused: tuple[RefusedCandidate, ...] = ()

    def with_more(self, refused: Sequence[RefusedCandidate]) -> Self:
        """With some more, each told once."""
        every = dict.fromkeys((*self.refused, *refused))
        return self.model_copy(update={"refused": tuple(every)})

    def require_none(self, whose: Identity, bars: AttackBars) -> None:
        """Refuse to draw again what was refused.

        Raises:
            PromiseError: where a candidate of the same rows and terms was, by a limit than which
                one of these bars is not looser.
        """
        asked = () if bars.stated is None else bars.stated.bars
        standing = [
            f"attacks.{one.by.attack}.{one.by.limit}: {one.by.most:g} of {one.column!r}"
            for one in self.refused
            if any(one.stands_for(whose, limit) for limit in asked)
        ]
        if standing:
            raise refusal(standing)


def is_looser(limit: KeptBar, than: KeptBar) -> bool:
    """Decide whether whatever keeps a limit of an attack keeps another one, which differs.

    Shares grow with what the attacker knows or is content with, and shrink with the belief, or the
    odds, that count. A width that is said is not compared with one that is not.
    """
    if limit == than or (limit.width is None) != (than.width is None):
        return False
    with_it = (limit.most, than.most), (limit.belief, than.belief), (limit.times, than.times)
    against = (than.known, limit.known), (than.width, limit.width), (than.level, limit.level)
    pairs = [*with_it, *against]
    return all(one >= other for one, other in pairs if one is not None and other is not None)


def refusals_by(judged: Sequence[JudgedBar], whose: Identity) -> list[RefusedCandidate]:
    """What is to be remembered of a candidate's bars: those that refuse it, and are not kept."""
    return [
        RefusedCandidate(rows=whose.rows, spec=whose.spec, column=one.column, by=one.limited)
        for one in judged
        if one.refuses and not one.kept
    ]


def refusal(broken: Sequence[str]) -> PromiseError:
    """The refusal of a candidate that does not keep some bars, given in words."""
    told = "; ".join(broken) or "attacks"
    return PromiseError(
        f"{told}: is not kept, and nothing is published: the refusal stands until the source or "
        "the spec changes (figures: attacks.json in the line's private directory)"
    )


def read_refusals(line: Path) -> Refusals:
    """What was refused of a line, by earlier software too, which remembered the last one alone.

    Raises:
        InputError: where newer software wrote it.
        PromiseError: where it cannot be read.
    """
    found = read_document(line / REFUSED, Refusals, _FORMAT, "a line's refusals") or Refusals()
    return found.with_more(_of_last(line / ATTACKED))


def keep_refusals(line: Path, refused: Sequence[RefusedCandidate]) -> None:
    """Remember some more refusals."""
    with state_lock(line):
        every = read_refusals(line).with_more(refused)
        if every.refused:
            write_atomically(line / REFUSED, _written(every))


def rekeyed_refusals(line: Path, called: Sequence[tuple[Called, Called]]) -> dict[str, bytes]:
    """The files of a line's refusals, where its rows and terms are called otherwise by another key.

    Args:
        line: its private directory.
        called: sources and their terms, by the one key and by the other.

    Raises:
        InputError: where some of them are called nothing: their refusals would be lost.
    """
    rows = {old.rows: new.rows for old, new in called}
    terms = {(old.rows, old.spec): new.spec for old, new in called}
    every = read_refusals(line).refused
    if lost := {one.rows for one in every} - rows.keys():
        raise InputError(
            f"candidates of {len(lost)} other sources were refused by bars on attacks: give these, "
            "too (--source refused=URI, --source refused-2=URI), or it would be forgotten"
        )
    moved = [
        one.model_copy(
            update={"rows": rows[one.rows], "spec": terms.get((one.rows, one.spec), one.spec)}
        )
        for one in every
    ]
    if not moved:
        return {}
    told = {ATTACKED: _without_bars(line / ATTACKED)} if (line / ATTACKED).exists() else {}
    return {REFUSED: _written(Refusals(refused=tuple(moved))), **told}


def _without_bars(place: Path) -> bytes:
    """The record of a refused candidate, whose refusal is remembered elsewhere."""
    return json.dumps({**read_json(place, None), "bars": []}, indent=1).encode()


def with_refusals(files: Mapping[str, bytes], line: Path) -> dict[str, bytes]:
    """A backup's files, with what was refused since: a backup forgets no refusal."""
    saved = Refusals.model_validate_json(files[REFUSED]) if REFUSED in files else Refusals()
    every = saved.with_more(read_refusals(line).refused)
    return {**files, REFUSED: _written(every)} if every.refused else dict(files)


def _written(refusals: Refusals) -> bytes:
    return canonical_json(refusals.model_dump(mode="json"))


def _of_last(place: Path) -> list[RefusedCandidate]:
    """What the record of a candidate that was attacked says of its refusal."""
    if not place.exists():
        return []
    try:
        return _refused_in(read_json(place, None))
    except (ValueError, KeyError, TypeError):
        raise PromiseError(
            f"{place}: cannot be read as what attackers guessed of a candidate"
        ) from None


def _refused_in(record: Mapping[str, Any]) -> list[RefusedCandidate]:
    broken = [one for one in record["bars"] if one["refuses"] and not one["kept"]]
    if not broken:
        return []
    of = record["of"]
    stated = AttackBars.model_validate(of["bars"]).stated
    limits = {(one.attack, one.limit): one for one in (stated.bars if stated else ())}
    return [
        RefusedCandidate(
            rows=of["rows"],
            spec=of["spec"],
            column=one["column"],
            by=limits[one["attack"], one["limit"]],
        )
        for one in broken
    ]
