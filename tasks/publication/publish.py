"""Atomic publication: staged beside its place, checked, synced, renamed, recorded.

Everything happens under three locks: first that of all lines' people, then the private line's, then
the public directory's. So lines are compared while no other is published, and neither two
directories of one line nor two lines of one directory are written at once. The private state
records a version before the rename and the public record after it, so the next run completes a run
that was killed in between: readers see a whole version or none.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from sfumato.expectations.machine.fault import reason_of
from sfumato.expectations.shared.errors import Fault, PromiseError, SfumatoError
from sfumato.tasks.lines.composition import CombinableVersion, JudgeAtoms, write_composition
from sfumato.tasks.lines.kept import prune_kept
from sfumato.tasks.lines.left_over import REPLACED, STAGED_WITHDRAWAL, STAGING, TEMPORARY
from sfumato.tasks.lines.line import (
    Candidate,
    Line,
    begin_change,
    end_change,
    hold,
    hold_privately,
    log_of,
    mend_log,
    prepare_log,
    replace_record,
    with_change,
)
from sfumato.tasks.lines.meeting import description_of
from sfumato.tasks.lines.pages import note_place, refresh_pages
from sfumato.tasks.lines.parts_gate import require_combined
from sfumato.tasks.lines.same_people import require_other_people, write_compared
from sfumato.tasks.lines.standing import directories, name_people, standing_version
from sfumato.tasks.lines.versions import RECORD, Record, read_record
from sfumato.tasks.private.durable import sync_directory
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.private.people.forget import forget_erased
from sfumato.tasks.private.people.frozen import freeze, freeze_factors
from sfumato.tasks.private.people.identity import (
    Identity,
    write_suppressed_rows,
    write_units,
)
from sfumato.tasks.private.people.lines import forget_line, write_line
from sfumato.tasks.private.people.source_rows import ROWS, ROWS_NORMAL, write_rows
from sfumato.tasks.private.people.spelled import UNITS_NORMAL, write_spelled
from sfumato.tasks.private.people.store import prune_maps
from sfumato.tasks.private.state import PublishedVersion, read_state, write_state
from sfumato.tasks.publication.staging import digest_in, offer_key, open_signer_of, stage
from sfumato.tasks.terms.opened import MANIFEST, open_release
from sfumato.tasks.terms.tombstone import is_tombstone

# what to do about a step that failed, for messages
_MENDED = "the line's next command finishes it (sfumato sweep)"


@dataclass(frozen=True)
class Published:
    """The result of publishing a candidate.

    Attributes:
        directory: the directory of the version.
        existed: whether it was there before.
        together: the findings about it beside other versions, None if its line knows nobody.
        notices: messages about lines that the user calls lines about other people.
        private_notices: messages only for the terminal: how the source compares with other versions
            and lines (see `lines.same_people`).
    """

    directory: Path
    existed: bool
    together: CombinableVersion | None = None
    notices: tuple[str, ...] = ()
    private_notices: tuple[str, ...] = ()


def existing_version(line: Line, identity: Identity, versions: str) -> Path | None:
    """Return the version that this source and spec already have, or None if a new one may be made.

    Nothing is written in the public place of a line whose versions have to be approved: people who
    build versions may have no access to it.

    Raises:
        InputError: where a new one would have to be signed, and its key cannot be opened.
        PromiseError: where a new version could betray people together with an earlier one.
    """
    with hold_privately(line) if line.reviewers else hold(line):
        _require_finished(line) if line.reviewers else recover(line)
        number = standing_version(line, identity, versions)
        if number is not None:
            name_people(line, number)
            return line.public / number
        require_other_people(line, identity, versions)
    if not line.reviewers:
        open_signer_of(line)
    return None


def _require_finished(line: Line) -> None:
    """Leave a killed publication to someone who may write in the public place."""
    pending = read_state(line.private).pending
    if pending is not None:
        raise Fault(
            f"the publication of candidate {pending[1].digest[:12]}… was begun and not "
            "finished. To finish it, run sfumato publish"
        )


def publish(
    line: Line,
    candidate: Candidate,
    identity: Identity,
    time: str,
    judge: JudgeAtoms | None = None,
    require_approved: Callable[[], None] | None = None,
    *,
    pending: bool = False,
) -> Published:
    """Make an assessed candidate the line's next version, whole or not at all.

    If the same source and spec already have a version, that version is returned instead.

    Args:
        line: the line.
        candidate: the assessed candidate.
        identity: the identity of its source, and of the people in it.
        time: the time of publication.
        judge: judges once more the disclosure of composed versions together.
        require_approved: refuses it unless its line's reviewers approve of it.
        pending: whether it becomes the current version only once its accuracy was measured.

    Raises:
        Fault: where a step failed after the version appeared, or its place is taken.
        InputError: where it is to be signed, and its key cannot be opened.
        PromiseError: where a file was changed, added or removed since the candidate was assessed,
            or the staged release does not pass the check that everyone can run.
    """
    with hold(line):
        recover(line)
        number = standing_version(line, identity, candidate.versions)
        if number is not None:
            name_people(line, number)
            return Published(line.public / number, existed=True)
        _require_approved(line, require_approved)
        with suppress(OSError):  # before anything is there: a later repair has to find it
            note_place(line)
        return _publish_next(line, candidate, identity, time, judge, pending=pending)


def _publish_next(
    line: Line,
    candidate: Candidate,
    identity: Identity,
    time: str,
    judge: JudgeAtoms | None,
    *,
    pending: bool,
) -> Published:
    """Make a candidate that was approved the next version of a line, whose lock is held."""
    number, compared = _next(line), require_other_people(line, identity, candidate.versions)
    try:
        staging = stage(line, candidate)
        combined = require_combined(line, candidate, staging, judge)
        intended = _intend(line, number, staging, identity, candidate, pending=pending)
        declared = open_release(staging).declared
        write_line(line.work, line.name, description_of(line, declared))
        if combined is not None:
            write_composition(line.reports(number), combined.composition)
        write_compared(line.reports(number), compared)
        offer_key(line)
        _prepare_log(line, number, intended, time)
        begin_change(line.public)
        appear(staging, line.public / number)
    except BaseException:
        if not (line.public / number).exists():  # otherwise the next command needs it
            log_of(line).discard()
        raise
    finally:
        _sweep(line)
    messages = (*(combined.notices if combined else ()), *_finish(line, number, intended, time))
    return Published(
        line.public / number,
        existed=False,
        together=combined,
        notices=messages,
        private_notices=compared.notices,
    )


def _require_approved(line: Line, ask: Callable[[], None] | None) -> None:
    """Require the approval that a line asks for.

    Raises:
        PromiseError: where its reviewers have to approve, and nobody asked them.
    """
    if ask is not None:
        ask()
    elif line.reviewers:
        raise PromiseError(
            f"approval: {line.name} asks for an approval, and there is no approval yet. "
            "See sfumato review"
        )


def _next(line: Line) -> str:
    taken = [int(number) for number in directories(line)]
    taken += [
        int(n) for n in (*read_record(line.public).versions, *read_state(line.private).versions)
    ]
    return f"{max(taken, default=0) + 1:04d}"


def _intend(
    line: Line,
    number: str,
    staging: Path,
    identity: Identity,
    candidate: Candidate,
    *,
    pending: bool,
) -> PublishedVersion:
    """Write what the private state keeps of a version, and that it is about to appear.

    Returns:
        The version as the state will know it.
    """
    freeze(line.private, identity.codings)
    _keep_identity(line.private, number, identity)
    write_suppressed_rows(line.private, number, candidate.suppressed)
    stated = open_release(staging).declared.intervals
    if stated is not None:
        freeze_factors(line.private, stated)
    version = PublishedVersion(
        rows=identity.rows,
        spec=identity.spec,
        digest=digest_in(staging),
        units=identity.units is not None,
        map=None if candidate.map is None else candidate.map.keep(line.private, number),
        composed=candidate.versions == "composed",
        as_of=line.as_of,
        units_normal=identity.spelled is not None,
        rows_normal=identity.normal is not None and identity.keeps_rows,
        unmeasured=pending,
    )
    state = read_state(line.private)
    write_state(line.private, state.model_copy(update={"pending": (number, version)}))
    return version


def _keep_identity(private: Path, number: str, identity: Identity) -> None:
    """Keep the people of a version, and its rows, by their hashes."""
    for folder in (UNITS_NORMAL, ROWS_NORMAL, ROWS):  # files that a killed attempt left
        (private / folder / number).unlink(missing_ok=True)
    if identity.units is not None:
        write_units(private, number, identity.units)
    if identity.spelled is not None:
        write_spelled(private, number, identity.spelled)
    if identity.normal is not None and identity.keeps_rows:
        write_rows(private, number, identity.normal)
    elif identity.units is None and identity.hashed is not None:
        write_rows(private, number, identity.hashed, ROWS)
    forget_erased(private, number)


def appear(staging: Path, place: Path) -> None:
    """Rename the staged version to its place, the one step that readers can see."""
    if place.exists():
        raise Fault(f"{place}: is taken")
    os.rename(staging, place)  # noqa: PTH104 - said as what it is


@dataclass(frozen=True)
class FinalStep:
    """A step after a version appeared, which may be done again.

    Attributes:
        undone: the consequence if it is not done, in words.
        do: does it; returns messages about steps that could not be done.
        required: whether nothing can follow until it is done.
    """

    undone: str
    do: Callable[[], tuple[str, ...] | None]
    required: bool = True


def _steps(line: Line, number: str, version: PublishedVersion, time: str) -> tuple[FinalStep, ...]:
    """Return everything that follows the appearance of a version, in order."""
    place = line.public / number
    return (
        FinalStep("other users may be unable to read it", partial(_open_to_all, place)),
        FinalStep(f"{RECORD} does not list it", partial(_record, line, number, version, time)),
        FinalStep(
            "the line's private state does not list it", partial(_settle, line, number, version)
        ),
        FinalStep(
            "private files of earlier versions were not deleted",
            partial(_prune, line),
            required=False,
        ),
        FinalStep("pages are out of date", partial(refresh_pages, line), required=False),
    )


def _finish(line: Line, number: str, version: PublishedVersion, time: str) -> tuple[str, ...]:
    """Do every step after the appearance of a version.

    Returns:
        Messages about steps that could not be done.

    Raises:
        Fault: where a step failed without which none can follow.
    """
    undone: list[str] = []
    for step in _steps(line, number, version, time):
        try:
            undone += step.do() or ()
        except (SfumatoError, OSError) as error:
            message = f"version {number} was published in {line.public}, but {step.undone}"
            if step.required:
                raise Fault(f"{message} ({_reason(error)}): {_MENDED}") from None
            undone.append(f"warning: {message} ({_reason(error)}): {_MENDED}")
    return tuple(undone)


@contextmanager
def after_appearance(version: Path) -> Iterator[None]:
    """Say in the error of a step that follows a version's appearance that it is published.

    Raises:
        Fault: with the version, and the error of the step.
    """
    try:
        with sanitise_errors("release"):
            yield
    except Fault as error:
        if is_tombstone(version) or str(error).startswith(f"version {version.name} "):
            raise
        message = (
            f"version {version.name} is published in {version.parent}, but a later step failed"
        )
        raise type(error)(f"{message}: {error}") from None


def _reason(error: Exception) -> str:
    return reason_of(error) if isinstance(error, OSError) else str(error)


def _open_to_all(place: Path) -> None:
    sync_directory(place.parent)
    place.chmod(0o755)
    sync_directory(place)


def _prepare_log(line: Line, number: str, version: PublishedVersion, time: str) -> None:
    """Sign the line's next log while the key is at hand: a later repair may have none."""
    prepare_log(line, _with_version(read_record(line.public), number, version, time))


def _record(line: Line, number: str, version: PublishedVersion, time: str) -> None:
    state, record = read_state(line.private), read_record(line.public)
    if number not in record.versions:
        _, record = with_change(state, record, line)
        replace_record(line, _with_version(record, number, version, time))


def _with_version(record: Record, number: str, version: PublishedVersion, time: str) -> Record:
    due = version.unmeasured
    return record.with_new(number, version.digest, time, version.as_of, pending=due)


def _settle(line: Line, number: str, version: PublishedVersion) -> None:
    state, record = read_state(line.private), read_record(line.public)
    versions = {**state.versions, number: version.model_copy(update={"unmeasured": False})}
    settled = {"versions": versions, "pending": None, "counter": record.counter}
    write_state(line.private, state.model_copy(update={**settled, "former_mark": None}))


def _prune(line: Line) -> None:
    state = read_state(line.private)
    prune_maps(line.private, state)
    prune_kept(line.private, state)


def recover(line: Line) -> tuple[str, ...]:
    """Finish or forget a run that was killed, and delete what it staged.

    Returns:
        Messages about steps that could not be done.
    """
    _sweep(line)
    undone = _recover_pending(line)
    mend_log(line)
    record = read_record(line.public)
    _complete_withdrawals(line, record)
    if record.versions:
        return (*undone, *refresh_pages(line))
    end_change(line.public)
    return undone


def _recover_pending(line: Line) -> tuple[str, ...]:
    begun = read_state(line.private).pending
    if begun is None:
        return ()
    number, version = begun
    place = line.public / number
    if place.is_dir() and digest_in(place) == version.digest:
        time = log_of(line).prepared_time(number) or _staging_time(place)
        return _finish(line, number, version, time)
    state = read_state(line.private)
    write_state(line.private, state.model_copy(update={"pending": None}))
    if not state.versions:
        forget_line(line.work, line.name)
    return ()


def _complete_withdrawals(line: Line, record: Record) -> None:
    """Finish or forget the withdrawals that a killed process began."""
    if any(any(line.public.glob(f"{name}*")) for name in (STAGED_WITHDRAWAL, REPLACED)):
        from sfumato.tasks.lines.tombstones import complete_withdrawals  # few runs need it

        complete_withdrawals(line.public, record)


def _sweep(line: Line) -> None:
    for staging in line.public.glob(f"{STAGING}*"):
        shutil.rmtree(staging)
    for temporary in line.public.glob(TEMPORARY):
        temporary.unlink()


def _staging_time(place: Path) -> str:
    """Return the time when an unrecorded version was staged."""
    return datetime.fromtimestamp((place / MANIFEST).stat().st_mtime, UTC).isoformat(
        timespec="seconds"
    )
