"""Withdrawal: the record says so, the files go, and a tombstone replaces them.

In this order, each step one that may be done again:

    1. the tables that the next version will be compared with are kept in private
    2. the tombstone is staged beside the version
    3. the public record calls the version withdrawn: from here on it is, whatever happens
    4. tombstone and version change places, and the version is deleted
    5. the pages of the line and of the catalogue say so
    6. the caller brings the line's destinations up to date (`destinations.deliver`)

A process that was killed before the third step has changed nothing; later steps are completed by
the next command that opens the line (`publish.recover`).
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter, ValidationError

from sfumato.expectations.shared.errors import InputError, PromiseError, SfumatoError, SpecError
from sfumato.tasks.lines.kept import keep_release
from sfumato.tasks.lines.line import (
    Line,
    begin_change,
    hold,
    replace_record,
    require_ours,
)
from sfumato.tasks.lines.pages import refresh_pages
from sfumato.tasks.lines.standing import directories
from sfumato.tasks.lines.tombstones import put_in_place, stage_tombstone
from sfumato.tasks.lines.versions import Record, read_record
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.publish import recover
from sfumato.tasks.terms.line_words import read_words
from sfumato.tasks.terms.tombstone import Reason, Tombstone, has_replaced, read_tombstone
from sfumato.tasks.verification.offered_keys import offer
from sfumato.tasks.verification.signing_keys import Signer, open_signer


@dataclass(frozen=True)
class Withdrawn:
    """The result of withdrawing a version.

    Attributes:
        tombstone: the tombstone in its place.
        existed: whether that was there before.
        current: the version that is current now, None for none.
        kept: whether its tables are kept in private for the next version's comparison.
        notices: messages about steps that could not be done.
        behind: destinations where it may still be, and why, in lines.
    """

    tombstone: Tombstone
    existed: bool
    current: str | None
    kept: bool = False
    notices: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


def withdraw(
    line: Line, number: str, reason: str, time: str | None = None, signer: Signer | None = None
) -> Withdrawn:
    """Withdraw a version, for good.

    Args:
        line: its line.
        number: its number.
        reason: the reason, which everyone can read.
        time: the time of withdrawal; now, unless it is given.
        signer: signs the withdrawal, where the publisher signs.

    Raises:
        SpecError: where the reason is no line of text.
        InputError: where there is no such version.
        PromiseError: where the line's private state does not know it.
    """
    with hold(line):
        recover(line)
        record = _record_with(line, number)
        place = line.public / number
        if has_replaced(place) and (standing := read_tombstone(place)) is not None:
            marked, notices = _mark_withdrawn(line, number, record, standing.time, signer)
            notices += refresh_pages(line)
            return Withdrawn(standing, existed=True, current=marked.current, notices=notices)
        tombstone = _tombstone(line, number, record, reason, time)
        tables_kept = keep_release(line, number, read_state(line.private))
        if signer is not None:
            offer(line.public, line.name, signer.key)
        stage_tombstone(line.public, tombstone, _title(line), signer)
        record, notices = _mark_withdrawn(line, number, record, tombstone.time, signer)
        put_in_place(line.public, number)
        notices += refresh_pages(line)
        return Withdrawn(tombstone, False, record.current, tables_kept, notices)


def withdraw_after_evaluation(line: Line, number: str, reason: str) -> Withdrawn:
    """Withdraw a version because an evaluation found that it breaks a promise.

    The withdrawal is signed if the line's key can be opened; otherwise it takes place without a
    signature.
    """
    signer = None
    if line.signing_key is not None:
        try:
            signer = open_signer(line.signing_key)
        except InputError:
            signer = None
    return withdraw(line, number, reason, signer=signer)


def _mark_withdrawn(
    line: Line, number: str, record: Record, time: str, signer: Signer | None
) -> tuple[Record, tuple[str, ...]]:
    """Write and return the record that calls the version withdrawn, and messages about its log."""
    changed = record.with_withdrawal(number)
    if changed == record:
        return record, ()
    begin_change(line.public)
    return changed, replace_record(line, changed, time, signer, in_any_case=True)


def _title(line: Line) -> str:
    """Return the line's title, or its name if its words cannot be read."""
    try:
        return read_words(line.public).title
    except SfumatoError:
        return line.name


def _record_with(line: Line, number: str) -> Record:
    state, record = read_state(line.private), read_record(line.public)
    require_ours(line, state, record, directories(line))
    if number not in record.versions:
        raise InputError(f"{line.public / number}: is not a version of {line.name}")
    if record.versions[number].digest != state.versions[number].digest:
        raise PromiseError(
            f"version {number}: differs in the public record from what was published"
        )
    return record


def require_reason(reason: str) -> None:
    """Refuse a reason that no page can show.

    Raises:
        SpecError: with the rule.
    """
    try:
        TypeAdapter(Reason).validate_python(reason)
    except ValidationError:
        raise SpecError(
            "reason: must be one line of text of at most 500 characters, without control characters"
        ) from None


def _tombstone(line: Line, number: str, record: Record, reason: str, time: str | None) -> Tombstone:
    require_reason(reason)
    return Tombstone(
        line=line.name,
        version=number,
        digest=record.versions[number].digest,
        time=time or datetime.now(UTC).isoformat(timespec="seconds"),
        reason=reason,
    )
