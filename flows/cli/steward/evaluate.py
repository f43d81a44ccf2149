"""`sfumato evaluate`: the accuracy of a version, against the original."""

from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_format, with_settings


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--spec", required=True, type=click.Path(path_type=Path))
@with_settings
@with_format
def evaluate(directory: Path, spec: Path, settings: tuple[str, ...], format_: str) -> None:
    """Measure a release's accuracy on the spec's workloads, against the original."""
    from sfumato.flows.life.evaluation import evaluate_again

    evaluation = evaluate_again(directory, spec, overrides(settings))
    for notice in evaluation.notices:
        show.say(notice)
    show.document({"widths": evaluation.public, **evaluation.useful.document()}, format_)
