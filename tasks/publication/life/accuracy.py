"""What becomes known of a version once it stands, for the public record."""

from sfumato.expectations.errors import Fault
from sfumato.tasks.private.durable import reason_of
from sfumato.tasks.publication.life.pages import refresh_pages
from sfumato.tasks.publication.line import Line, begin_change, hold
from sfumato.tasks.publication.ownership import replace_record
from sfumato.tasks.publication.versions import RECORD, Approval, Record, read_record
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds


def record_accuracy(line: Line, number: str, measured: MeasuredBounds) -> tuple[str, ...]:
    """Add what may be known of a version's accuracy to the public record.

    A version that was pending until it was measured is current from here on, if none is later.

    Returns:
        What could not be written beside the record, in words.
    """
    with hold(line):
        record = _with_accuracy(read_record(line.public), number, measured)
        return _replaced(line, number, record)


def record_approvals(
    line: Line, number: str, approvals: tuple[Approval, ...], measured: MeasuredBounds | None
) -> tuple[str, ...]:
    """Add to the public record who approved a version, and the accuracy measured before.

    Returns:
        What could not be written beside the record, in words.
    """
    with hold(line):
        record = read_record(line.public).approved(number, approvals)
        if measured is not None:
            record = _with_accuracy(record, number, measured)
        return _replaced(line, number, record)


def _replaced(line: Line, number: str, record: Record) -> tuple[str, ...]:
    """Replace the record, then the pages that follow from it."""
    try:
        begin_change(line.public)
        replace_record(line, record)
    except OSError as error:
        raise Fault(
            f"version {number} stands in {line.public}, but its accuracy and approvals cannot be "
            f"written to {RECORD} ({reason_of(error)}): run the same command again"
        ) from None
    return refresh_pages(line)


def _with_accuracy(record: Record, number: str, measured: MeasuredBounds) -> Record:
    useful = measured.useful
    return record.measured(number, measured.public).judged(number, useful.goal, useful.warnings)
