"""The words of a line: read, and corrected without a new version."""

import os
from collections.abc import Mapping
from pathlib import Path

from sfumato.flows.life.places import line_at
from sfumato.flows.passphrases import passphrases
from sfumato.tasks.private.failure import sanitised
from sfumato.tasks.publication.life.description import DescribedLine, describe, description


def describe_line(place: Path, changes: Mapping[str, str | None]) -> DescribedLine:
    """Correct the words of a line, and return them.

    Args:
        place: the line's public directory, or its spec.
        changes: the texts by their names; None leaves one as it is, an empty one takes it back.

    Raises:
        SpecError: where a text is too long, or the spec is wrong.
        InputError: where nothing was published there.
        PromiseError: where the line is another work directory's.
    """
    line = line_at(place)
    with passphrases(os.environ), sanitised("describe"):
        changed = any(text is not None for text in changes.values())
        return describe(line, changes) if changed else description(line)
