"""`sfumato deliver`: bring the copies of a line in other places up to it."""

from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json


@click.command()
@click.argument("line", type=click.Path(path_type=Path))
@as_document
def deliver(line: Path, as_json: bool) -> None:
    """Copy LINE (its spec or public directory) to its destinations, where they are behind.

    Every release does so; this completes an interrupted copy. Exits 1 if a destination is behind.
    """
    from sfumato.flows.life.delivery import deliver_line

    destinations, notices = deliver_line(line)
    for notice in notices:
        show.say(notice)
    if as_json:
        echo_json({"destinations": [destination.document() for destination in destinations]})
    else:
        for message in (
            message for destination in destinations for message in destination.messages
        ):
            echo(message)
    if any(destination.behind is not None for destination in destinations):
        raise click.exceptions.Exit(1)
