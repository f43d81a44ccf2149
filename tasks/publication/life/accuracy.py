"""What becomes known of a version once it stands, for the public record."""

from sfumato.tasks.publication.life.pages import refresh_pages
from sfumato.tasks.publication.line import Line, hold
from sfumato.tasks.publication.ownership import replace_record
from sfumato.tasks.publication.versions import Approval, read_record


def record_accuracy(line: Line, number: str, accuracy: list[dict[str, object]]) -> None:
    """Add what may be known of a version's accuracy to the public record."""
    with hold(line):
        replace_record(line, read_record(line.public).measured(number, accuracy))


def record_approvals(
    line: Line,
    number: str,
    approvals: tuple[Approval, ...],
    accuracy: list[dict[str, object]] | None,
) -> None:
    """Add to the public record who approved a version, and the accuracy measured before."""
    with hold(line):
        record = read_record(line.public).approved(number, approvals)
        replace_record(line, record if accuracy is None else record.measured(number, accuracy))
        refresh_pages(line)
