"""Additions to a published version: corrected words, measured accuracy, a signature.

No other file of the release changes: the signature is the one file that its manifest does not list.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.expectations.machine.fault import reason_of
from sfumato.expectations.shared.errors import Fault, PromiseError
from sfumato.tasks.lines.line import (
    Line,
    begin_change,
    hold,
    replace_record,
    require_ours,
    sign_log,
)
from sfumato.tasks.lines.pages import refresh_pages
from sfumato.tasks.lines.standing import directories
from sfumato.tasks.lines.versions import RECORD, Approval, Record, read_record
from sfumato.tasks.private.durable import write_atomically
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.check import check
from sfumato.tasks.publication.publish import recover
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds
from sfumato.tasks.terms.line_words import WordsOfLine, read_words, with_corrections, write_words
from sfumato.tasks.terms.opened import SIGNATURE, open_release
from sfumato.tasks.verification.offered_keys import offer, require_next_signer
from sfumato.tasks.verification.signing import signature_of, signer_of
from sfumato.tasks.verification.signing_keys import Signer


@dataclass(frozen=True)
class DescribedLine:
    """A line's words, and messages about pages that could not be written."""

    words: WordsOfLine
    notices: tuple[str, ...] = ()


def description(line: Line) -> DescribedLine:
    """Return the words of a line as they are.

    Raises:
        PromiseError: where they cannot be read.
    """
    return DescribedLine(read_words(line.public))


def describe(line: Line, changes: Mapping[str, str | None]) -> DescribedLine:
    """Correct the words of a line: no version changes, and no digest.

    Args:
        line: the line.
        changes: the texts by their names; None leaves a text as it is, an empty one deletes it.

    Raises:
        SpecError: where a text is too long, or has characters that do not belong in a line of text.
        PromiseError: where the line is another work directory's.
    """
    with hold(line):
        recover(line)
        state, record = read_state(line.private), read_record(line.public)
        require_ours(line, state, record, directories(line))
        line_words = read_words(line.public)
        words = with_corrections(line_words.words, changes)
        update = {"line": line.name, "words": words}
        begin_change(line.public)
        write_words(line.public, line_words.model_copy(update=update))
        return DescribedLine(read_words(line.public), refresh_pages(line))


def record_accuracy(line: Line, number: str, measured: MeasuredBounds) -> tuple[str, ...]:
    """Add the publishable part of a version's accuracy to the public record.

    A version that was pending until it was measured is current from here on, if none is later.

    Returns:
        What could not be written beside the record, in words.
    """
    with hold(line):
        record = _with_accuracy(read_record(line.public), number, measured)
        return _replace_record(line, number, record)


def record_approvals(
    line: Line, number: str, approvals: tuple[Approval, ...], measured: MeasuredBounds | None
) -> tuple[str, ...]:
    """Add the approvals of a version, and the accuracy measured before, to the public record.

    Returns:
        What could not be written beside the record, in words.
    """
    with hold(line):
        record = read_record(line.public).with_approvals(number, approvals)
        if measured is not None:
            record = _with_accuracy(record, number, measured)
        return _replace_record(line, number, record)


def _replace_record(line: Line, number: str, record: Record) -> tuple[str, ...]:
    """Replace the record, then the pages that follow from it."""
    try:
        begin_change(line.public)
        replace_record(line, record)
    except OSError as error:
        raise Fault(
            f"version {number} is published in {line.public}, but its accuracy and "
            f"approvals cannot be written to {RECORD} ({reason_of(error)}). Run the "
            "same command again"
        ) from None
    return refresh_pages(line)


def _with_accuracy(record: Record, number: str, measured: MeasuredBounds) -> Record:
    useful = measured.useful
    return record.with_accuracy(number, measured.public).with_goal(
        number, useful.goal, useful.warnings
    )


@dataclass(frozen=True)
class SignedVersion:
    """A version that a key signed.

    Attributes:
        existed: whether the key had signed it before.
        notices: messages about files beside it that could not be written.
    """

    existed: bool
    notices: tuple[str, ...] = ()


def sign_version(line: Line, number: str, signer: Signer) -> SignedVersion:
    """Sign a version once it passed its check, and offer the public key beside the line.

    Raises:
        InputError: where readers would not take this key for it.
        PromiseError: where the line's private state did not publish it as it is, it was
            withdrawn, or it does not pass the check that everyone can run.
    """
    with hold(line):
        undone = recover(line)
        release, digest = line.public / number, _published_digest(line, number)
        check(release, digest)
        before = signer_of(release, digest)
        require_next_signer(line.public, line.name, signer.key, before)
        offer(line.public, line.name, signer.key)
        sign_log(line, signer)
        if before is not None and before.public == signer.key.public:
            return SignedVersion(existed=True, notices=undone)
        content = signature_of(digest, signer)
        begin_change(line.public)
        write_atomically(release / SIGNATURE, content, mode=0o444, staged_in=line.public)
        return SignedVersion(existed=False, notices=refresh_pages(line))


def _published_digest(line: Line, number: str) -> str:
    """Return the digest under which the line published a version, if its manifest still has it."""
    state, record = read_state(line.private), read_record(line.public)
    require_ours(line, state, record, [number])
    remembered, recorded = state.versions[number], record.versions.get(number)
    if recorded is None or recorded.digest != remembered.digest:
        raise PromiseError(
            f"version {number}: differs in the public record from what was published"
        )
    if recorded.status == "withdrawn":
        raise PromiseError(f"version {number}: was withdrawn")
    if open_release(line.public / number).manifest["sfumato"].get("digest") != remembered.digest:
        raise PromiseError(
            f"{line.public / number}: differs from what this line published as {number}"
        )
    return remembered.digest
