"""Copies of a line in other places, brought up to it by hand, or after it was changed by hand."""

import os
from pathlib import Path

from sfumato.expectations.shared.errors import InputError, SfumatoError
from sfumato.flows.inputs.passphrases import destination_secrets
from sfumato.flows.life.releases import line_at, own_line
from sfumato.tasks.destinations.deliver import Delivered, deliver, remember
from sfumato.tasks.lines.known_destinations import knows_destinations
from sfumato.tasks.lines.line import Line, hold
from sfumato.tasks.private.failure import sanitise_errors
from sfumato.tasks.publication.publish import recover


def deliver_line(place: Path) -> tuple[list[Delivered], list[str]]:
    """Bring the copies of a line up to it.

    Args:
        place: the line's spec, whose destinations these are then, or its public directory.

    Returns:
        What became of each, and what is to be said of others.

    Raises:
        SpecError: where the spec is wrong.
        InputError: where nothing was published there, or it has no destination.
        PromiseError: where the work directory has no such line.
    """
    line = line_at(place)
    with sanitise_errors("deliver"):
        with hold(line):
            notices = list(recover(line))
        notices += _remember(line, place) if place.is_file() else []
        delivered = deliver(line, os.environ, destination_secrets)
    if not (delivered or notices):
        raise InputError(
            f"{place}: the line has no destination. Write publish.destinations or "
            "publish.database in the spec"
        )
    return delivered, notices


def deliver_known(line: Line) -> list[Delivered]:
    """Bring the copies of a changed line up to date; return an empty list if it has none.

    A failure to begin counts as a copy that is behind: the change of the line is kept.
    """
    if not knows_destinations(line.private):
        return []
    try:
        with sanitise_errors("deliver"):
            return deliver(line, os.environ, destination_secrets)
    except SfumatoError as error:
        return [Delivered(str(line.public), behind=str(error))]


def deliver_beside(public: Path) -> list[str]:
    """Bring the copies of a public directory's line up to date; return the results as lines."""
    try:
        line = own_line(public)
    except SfumatoError:  # another's line, or none: nothing is known of its copies
        return []
    return [message for copy in deliver_known(line) for message in copy.messages]


def _remember(line: Line, spec: Path) -> list[str]:
    from sfumato.flows.inputs.spec import read_spec

    return remember(line, read_spec(spec).publish.copies)
