"""Atomic publication: staged beside its place, checked, synced, renamed, recorded.

Everything happens under two locks, first the private line's, then the public directory's: neither
two directories of one line nor two lines of one directory are written at once. The private state
records a version before the rename and the public record after it, so that a run killed in between
is completed by the next one: readers see a whole version or none.
"""

import os
import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sfumato.expectations.errors import Fault, PromiseError
from sfumato.tasks.authorship.offers import offer
from sfumato.tasks.authorship.secret import Signer, open_signer
from sfumato.tasks.authorship.signature import sign_release
from sfumato.tasks.declaration.canonical import read_canonical
from sfumato.tasks.declaration.opened import MANIFEST
from sfumato.tasks.private.durable import sync_directory, sync_tree
from sfumato.tasks.private.line import (
    Identity,
    read_units,
    write_suppressed_rows,
    write_units,
)
from sfumato.tasks.private.state import LineState, PublishedVersion, read_state, write_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.line import Candidate, Line, Published, hold
from sfumato.tasks.publication.ownership import replace_record, require_ours, with_change
from sfumato.tasks.publication.seal import require_sealed
from sfumato.tasks.publication.versions import Record, read_record

_STAGING = ".staging-"


def existing_version(line: Line, identity: Identity, versions: str) -> Path | None:
    """The version that this source and spec already have, None where a new one may be made.

    Raises:
        InputError: where a new one would have to be signed, and its key cannot be opened.
        PromiseError: where a new version could betray people together with an earlier one.
    """
    with hold(line):
        recover(line)
        number = _decide(line, identity, versions)
    if number is not None:
        return line.public / number
    _signer(line)
    return None


def publish(line: Line, candidate: Candidate, identity: Identity, time: str) -> Published:
    """Make an assessed candidate the line's next version, whole or not at all.

    The version that the same source and spec already have is returned instead where there is one.

    Raises:
        InputError: where it is to be signed, and its key cannot be opened.
        PromiseError: where a file was changed, added or removed since the candidate was assessed,
            or the staged release does not pass the check that everyone can run.
    """
    with hold(line):
        recover(line)
        number = _decide(line, identity, candidate.versions)
        if number is not None:
            return Published(line.public / number, existed=True)
        number = _next(line)
        try:
            staging = stage(line, candidate)
            known = _intend(line, number, staging, identity, candidate.suppressed)
            appear(staging, line.public / number)
        finally:
            _sweep(line)
        _record(line, number, known, time)
        return Published(line.public / number, existed=False)


def _decide(line: Line, identity: Identity, versions: str) -> str | None:
    state, record = read_state(line.private), read_record(line.public)
    require_ours(line, state, record, _directories(line))
    for number, known in sorted(state.versions.items()):
        if (known.rows, known.spec) == (identity.rows, identity.spec):
            return _still_there(line, number, record)
    if state.versions and versions != "accepted-risk":
        _require_disjoint(line, state, identity)
    return None


def _still_there(line: Line, number: str, record: Record) -> str:
    """A version is never drawn again, not even when it was withdrawn or taken away."""
    if number not in record.versions or not (line.public / number).is_dir():
        raise PromiseError(
            f"version {number} of this source and spec was published, but is gone from "
            f"{line.public}: put it back, or publish to the directory where it is"
        )
    if record.versions[number].status == "withdrawn":
        raise PromiseError(f"version {number} of this source and spec was withdrawn")
    return number


def _require_disjoint(line: Line, state: LineState, identity: Identity) -> None:
    rule = "the source or the spec changed, and versions: disjoint"
    if identity.units is None:
        raise PromiseError(f"{rule} cannot be checked without a unit (unit: row)")
    earlier = sorted(state.versions)
    unknown = [number for number in earlier if not state.versions[number].units]
    if unknown:
        raise PromiseError(
            f"{rule} cannot be checked: the units of {unknown[0]} are not known here"
        )
    common = int(np.isin(identity.units, read_units(line.private, earlier)).sum())
    if common:
        raise PromiseError(f"{rule} is broken: {common} units are in an earlier version")


def _directories(line: Line) -> list[str]:
    return [path.name for path in line.public.iterdir() if path.name.isdigit()]


def _next(line: Line) -> str:
    taken = [int(number) for number in _directories(line)]
    taken += [
        int(n) for n in (*read_record(line.public).versions, *read_state(line.private).versions)
    ]
    return f"{max(taken, default=0) + 1:04d}"


def stage(line: Line, candidate: Candidate) -> Path:
    """A whole release beside its place, which passed the check that everyone can run."""
    staging = line.public / f"{_STAGING}{secrets.token_hex(8)}"
    staging.mkdir(mode=0o700)
    shutil.copytree(candidate.release, staging, copy_function=shutil.copyfile, dirs_exist_ok=True)
    staging.chmod(0o700)  # until it appears: what is left of a killed run is nobody's to copy
    require_sealed(staging, candidate.sha256)
    check(staging)
    _sign(line, staging)
    for path in staging.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o444)
    sync_tree(staging)
    return staging


def _signer(line: Line) -> Signer | None:
    return None if line.signing_key is None else open_signer(line.signing_key)


def _sign(line: Line, staging: Path) -> None:
    """Sign a staged release, and offer the public key beside the line."""
    signer = _signer(line)
    if signer is not None:
        sign_release(staging, _digest(staging), signer)
        offer(line.public, line.name, signer.key)


def _digest(release: Path) -> str:
    return str(read_canonical(release / MANIFEST)["sfumato"]["digest"])


def _intend(
    line: Line, number: str, staging: Path, identity: Identity, suppressed: np.ndarray | None
) -> PublishedVersion:
    known = PublishedVersion(
        rows=identity.rows,
        spec=identity.spec,
        digest=_digest(staging),
        units=identity.units is not None,
    )
    if identity.units is not None:
        write_units(line.private, number, identity.units)
    write_suppressed_rows(line.private, number, suppressed)
    state = read_state(line.private)
    write_state(line.private, state.model_copy(update={"pending": (number, known)}))
    return known


def appear(staging: Path, place: Path) -> None:
    """The one step that readers can see."""
    if place.exists():
        raise Fault(f"{place}: is taken")
    os.rename(staging, place)  # noqa: PTH104 - said as what it is
    sync_directory(place.parent)
    _open_to_all(place)


def _open_to_all(place: Path) -> None:
    place.chmod(0o755)
    sync_directory(place)


def _record(line: Line, number: str, known: PublishedVersion, time: str) -> None:
    state, record = read_state(line.private), read_record(line.public)
    if number not in record.versions:
        state, record = with_change(state, record, line)
        replace_record(line, record.with_new(number, known.digest, time))
    versions = {**state.versions, number: known}
    settled = {"versions": versions, "pending": None, "counter": record.counter}
    write_state(line.private, state.model_copy(update=settled))


def recover(line: Line) -> None:
    """Finish or forget what a killed run began, and sweep what it staged."""
    _sweep(line)
    pending = read_state(line.private).pending
    if pending is None:
        return
    number, known = pending
    place = line.public / number
    if place.is_dir() and _digest(place) == known.digest:
        _open_to_all(place)
        _record(line, number, known, _made(place))
        return
    state = read_state(line.private)
    write_state(line.private, state.model_copy(update={"pending": None}))


def _sweep(line: Line) -> None:
    for staging in line.public.glob(f"{_STAGING}*"):
        shutil.rmtree(staging)
    for temporary in line.public.glob(".*.tmp"):
        temporary.unlink()


def _made(place: Path) -> str:
    """When an unrecorded version was staged."""
    return datetime.fromtimestamp((place / MANIFEST).stat().st_mtime, UTC).isoformat(
        timespec="seconds"
    )


def withdraw(line: Line, number: str) -> None:
    """Take back trust in a version: it stays, marked, and is current no more."""
    with hold(line):
        replace_record(line, read_record(line.public).withdrawn(number))


def record_accuracy(line: Line, number: str, accuracy: list[dict[str, object]]) -> None:
    """Add what may be known of a version's accuracy to the public record."""
    with hold(line):
        replace_record(line, read_record(line.public).measured(number, accuracy))
