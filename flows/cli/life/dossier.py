"""`sfumato dossier`: what answers for a version."""

from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json


@click.command()
@click.argument("version", type=click.Path(path_type=Path))
@click.option(
    "--spec",
    required=True,
    type=click.Path(path_type=Path),
    help="the spec of the line, with statements under `dossier` about what was not measured",
)
@as_document
def dossier(version: Path, spec: Path, as_json: bool) -> None:
    """Write the dossier of VERSION, private: context, data, risk, attacks, decisions, what is left.

    A page to print, and a document beside it, among the private reports of the version. They
    contain what is known now; write them again after a decision, an attack or a withdrawal.
    """
    from sfumato.flows.life.dossier import dossier_of

    page, document = dossier_of(version, spec)
    if as_json:
        echo_json(document)
        return
    if document["not_stated"]:
        show.say(f"missing in {spec} under dossier: {', '.join(document['not_stated'])}")
    echo(str(page))
