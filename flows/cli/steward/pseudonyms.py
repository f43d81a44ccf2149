"""`sfumato pseudonyms`: keyed pseudonyms of a source, for joining and private hand-over."""

from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document, overrides, with_settings
from sfumato.flows.cli.show import echo, echo_json


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--purpose", required=True, help="the purpose under which columns declare a pseudonym"
)
@with_settings
@as_document
def pseudonyms(spec: Path, purpose: str, settings: tuple[str, ...], as_json: bool) -> None:
    """Write pseudonyms, and the columns declared beside them, into the private work directory.

    Sources handed over for the same purpose from the same work directory can be joined by them. The
    file shows the columns of each person: it is not a release, and no promise covers it.
    """
    from sfumato.flows.life.hand_over import hand_over

    place = hand_over(spec, purpose, overrides(settings))
    show.say("private: no promise covers this file. Give it only to people who may know its rows")
    if as_json:
        echo_json({"file": str(place)})
    else:
        echo(place)
