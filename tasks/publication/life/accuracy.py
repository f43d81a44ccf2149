"""What becomes known of a version once it stands, for the public record."""

from sfumato.tasks.publication.life.pages import refresh_pages
from sfumato.tasks.publication.line import Line, hold
from sfumato.tasks.publication.ownership import replace_record
from sfumato.tasks.publication.versions import Approval, Record, read_record
from sfumato.tasks.query.accuracy.usefulness import MeasuredBounds


def record_accuracy(line: Line, number: str, measured: MeasuredBounds) -> None:
    """Add what may be known of a version's accuracy to the public record.

    A version that was pending until it was measured is current from here on, if none is later.
    """
    with hold(line):
        replace_record(line, _with_accuracy(read_record(line.public), number, measured))
        refresh_pages(line)


def record_approvals(
    line: Line, number: str, approvals: tuple[Approval, ...], measured: MeasuredBounds | None
) -> None:
    """Add to the public record who approved a version, and the accuracy measured before."""
    with hold(line):
        record = read_record(line.public).approved(number, approvals)
        if measured is not None:
            record = _with_accuracy(record, number, measured)
        replace_record(line, record)
        refresh_pages(line)


def _with_accuracy(record: Record, number: str, measured: MeasuredBounds) -> Record:
    useful = measured.useful
    return record.measured(number, measured.public).judged(number, useful.goal, useful.warnings)
