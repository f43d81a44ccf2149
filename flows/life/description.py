"""The words of a line: read, and corrected without a new version."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sfumato.flows.inputs.passphrases import passphrases
from sfumato.flows.life.delivery import deliver_known
from sfumato.flows.life.releases import line_at
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.publication.amendments import DescribedLine, describe, description


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
    with passphrases(os.environ), sanitise_errors("describe"):
        if all(text is None for text in changes.values()):
            return description(line)
        described = describe(line, changes)
    messages = (messages for copy in deliver_known(line) for messages in copy.messages)
    return replace(described, notices=(*described.notices, *messages))
