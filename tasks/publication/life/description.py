"""The words of a line, corrected: its page and its metadata say them, and no version does."""

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.tasks.declaration.lines.words import (
    WordsOfLine,
    read_words,
    with_corrections,
    write_words,
)
from sfumato.tasks.private.state import read_state
from sfumato.tasks.publication.life.pages import refresh_pages
from sfumato.tasks.publication.line import Line, begin_change, hold
from sfumato.tasks.publication.ownership import require_ours
from sfumato.tasks.publication.publish import recover
from sfumato.tasks.publication.standing import directories
from sfumato.tasks.publication.versions import read_record


@dataclass(frozen=True)
class DescribedLine:
    """A line's words, and what could not be written of its pages."""

    words: WordsOfLine
    notices: tuple[str, ...] = ()


def description(line: Line) -> DescribedLine:
    """The words of a line as they are.

    Raises:
        PromiseError: where they cannot be read.
    """
    return DescribedLine(read_words(line.public))


def describe(line: Line, changes: Mapping[str, str | None]) -> DescribedLine:
    """Correct the words of a line: no version changes, and no digest.

    Args:
        line: the line.
        changes: the texts by their names; None leaves one as it is, an empty one takes it back.

    Raises:
        SpecError: where a text is too long, or has characters that no line of text has.
        PromiseError: where the line is another work directory's.
    """
    with hold(line):
        recover(line)
        state, record = read_state(line.private), read_record(line.public)
        require_ours(line, state, record, directories(line))
        known = read_words(line.public)
        words = with_corrections(known.words, changes)
        update = {"line": line.name, "words": words}
        begin_change(line.public)
        write_words(line.public, known.model_copy(update=update))
        return DescribedLine(read_words(line.public), refresh_pages(line))
