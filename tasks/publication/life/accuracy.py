"""What becomes known of a version's accuracy, for the public record."""

from sfumato.tasks.publication.line import Line, hold
from sfumato.tasks.publication.ownership import replace_record
from sfumato.tasks.publication.versions import read_record


def record_accuracy(line: Line, number: str, accuracy: list[dict[str, object]]) -> None:
    """Add what may be known of a version's accuracy to the public record."""
    with hold(line):
        replace_record(line, read_record(line.public).measured(number, accuracy))
