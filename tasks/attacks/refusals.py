"""refusals.json: the candidates of a line that bars on attacks refused, and the limits that did.

If a refused candidate could be drawn again from the same rows under the same terms, a steward could
go on until a draw pleases. So each refusal holds for these rows and terms, whatever bars the next
candidate has: for the same limit, and for any limit that is not looser. A looser one may be tried.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict

from sfumato.expectations.shared.errors import InputError, PromiseError
from sfumato.tasks.attacks.bars import JudgedBar
from sfumato.tasks.attacks.declared import AttackBars
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.people.backup import ATTACKED, REFUSED
from sfumato.tasks.private.people.identity import Identity
from sfumato.tasks.private.workdir import state_lock
from sfumato.tasks.schema.files import canonical_json, read_json
from sfumato.tasks.schema.formats import read_document
from sfumato.tasks.schema.stated import KeptBar

_FORMAT = 1


class _Remembered(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class KeyedIdentity(NamedTuple):
    """Keyed fingerprint of a source and digest of its terms, both under one key."""

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

    def refuses(self, identity: Identity, limit: KeptBar) -> bool:
        """Decide whether this refusal also refuses another candidate with the limit `limit`."""
        same = (self.rows, self.spec) == (identity.rows, identity.spec)
        figure = (self.by.attack, self.by.limit) == (limit.attack, limit.limit)
        return same and figure and not is_looser(limit, self.by)


class Refusals(_Remembered):
    """All refusals of a line's candidates by bars, newest last."""

    format: Literal[1] = 1
    refused: tuple[RefusedCandidate, ...] = ()

    def with_more(self, refused: Sequence[RefusedCandidate]) -> Self:
        """Return these refusals and some more, each once."""
        every = dict.fromkeys((*self.refused, *refused))
        return self.model_copy(update={"refused": tuple(every)})

    def require_none(self, identity: Identity, bars: AttackBars) -> None:
        """Refuse to draw a refused candidate again.

        Raises:
            PromiseError: a candidate of the same rows and terms was refused by a limit, and one of
                these bars is not looser than that limit.
        """
        limits = () if bars.kept_bars is None else bars.kept_bars.bars
        standing = [
            f"attacks.{past.by.attack}.{past.by.limit}: {past.by.most:g} of {past.column!r}"
            for past in self.refused
            if any(past.refuses(identity, limit) for limit in limits)
        ]
        if standing:
            raise refusal(standing)


def is_looser(limit: KeptBar, than: KeptBar) -> bool:
    """Decide whether a limit is looser: whatever keeps `than` also keeps `limit`, which differs.

    Shares grow with the attacker's knowledge and tolerance, and shrink with the belief or the odds
    that count. A set width is not compared with one that is not set.
    """
    if limit == than or (limit.width is None) != (than.width is None):
        return False
    with_it = (limit.most, than.most), (limit.belief, than.belief), (limit.times, than.times)
    against = (than.known, limit.known), (than.width, limit.width), (than.level, limit.level)
    pairs = [*with_it, *against]
    return all(value >= other for value, other in pairs if value is not None and other is not None)


def refusals_by(judged: Sequence[JudgedBar], identity: Identity) -> list[RefusedCandidate]:
    """Return the refusals to remember for a candidate: its refusing bars that are not kept."""
    return [
        RefusedCandidate(rows=identity.rows, spec=identity.spec, column=bar.column, by=bar.limit)
        for bar in judged
        if bar.refuses and not bar.is_kept
    ]


def refusal(broken: Sequence[str]) -> PromiseError:
    """Return the error that refuses a candidate, given in words the bars that it does not keep."""
    reasons = "; ".join(broken) or "attacks"
    return PromiseError(
        f"{reasons}: this limit is not kept, so nothing is published. Change the "
        "source or the spec, because this candidate stays refused. For the figures, "
        "see attacks.json in the line's private directory"
    )


def read_refusals(line: Path) -> Refusals:
    """Read the refusals of a line, also those by earlier software, which remembered only the last.

    Raises:
        InputError: newer software wrote the file.
        PromiseError: the file cannot be read.
    """
    refusals = read_document(line / REFUSED, Refusals, _FORMAT, "a line's refusals") or Refusals()
    return refusals.with_more(_read_last(line / ATTACKED))


def keep_refusals(line: Path, refused: Sequence[RefusedCandidate]) -> None:
    """Add refusals to those that a line remembers."""
    with state_lock(line):
        every = read_refusals(line).with_more(refused)
        if every.refused:
            write_atomically(line / REFUSED, _encode(every))


def rekeyed_refusals(
    line: Path, identities: Sequence[tuple[KeyedIdentity, KeyedIdentity]]
) -> dict[str, bytes]:
    """Return the files of a line's refusals, with sources and terms identified under another key.

    Args:
        line: its private directory.
        identities: sources and their terms, under the old key and under the new key.

    Raises:
        InputError: some refused sources are not in `identities`: their refusals would be lost.
    """
    rows = {old.rows: new.rows for old, new in identities}
    terms = {(old.rows, old.spec): new.spec for old, new in identities}
    every = read_refusals(line).refused
    if lost := {candidate.rows for candidate in every} - rows.keys():
        raise InputError(
            f"limits on attacks refused candidates of {len(lost)} other sources. Give "
            "these sources as well, or the refusals would be forgotten: --source "
            "refused=URI --source refused-2=URI"
        )
    moved = [
        candidate.model_copy(
            update={
                "rows": rows[candidate.rows],
                "spec": terms.get((candidate.rows, candidate.spec), candidate.spec),
            }
        )
        for candidate in every
    ]
    if not moved:
        return {}
    record = {ATTACKED: _without_bars(line / ATTACKED)} if (line / ATTACKED).exists() else {}
    return {REFUSED: _encode(Refusals(refused=tuple(moved))), **record}


def _without_bars(place: Path) -> bytes:
    """Return the record of a refused candidate without its refusal, remembered elsewhere."""
    return json.dumps({**read_json(place, None), "bars": []}, indent=1).encode()


def with_refusals(files: Mapping[str, bytes], line: Path) -> dict[str, bytes]:
    """Return a backup's files with all refusals since then, so that a backup forgets none."""
    saved = Refusals.model_validate_json(files[REFUSED]) if REFUSED in files else Refusals()
    every = saved.with_more(read_refusals(line).refused)
    return {**files, REFUSED: _encode(every)} if every.refused else dict(files)


def _encode(refusals: Refusals) -> bytes:
    return canonical_json(refusals.model_dump(mode="json"))


def _read_last(place: Path) -> list[RefusedCandidate]:
    """Read the refusal of the last attacked candidate from its record."""
    if not place.exists():
        return []
    try:
        return _refused_in(read_json(place, None))
    except (ValueError, KeyError, TypeError):
        raise PromiseError(
            f"{place}: cannot be read as the guesses of attackers about a candidate. "
            "Restore it from a backup"
        ) from None


def _refused_in(record: Mapping[str, Any]) -> list[RefusedCandidate]:
    broken = [bar for bar in record["bars"] if bar["refuses"] and not bar["kept"]]
    if not broken:
        return []
    origin = record["of"]
    stated = AttackBars.model_validate(origin["bars"]).kept_bars
    limits = {(limit.attack, limit.limit): limit for limit in (stated.bars if stated else ())}
    return [
        RefusedCandidate(
            rows=origin["rows"],
            spec=origin["spec"],
            column=bar["column"],
            by=limits[bar["attack"], bar["limit"]],
        )
        for bar in broken
    ]
