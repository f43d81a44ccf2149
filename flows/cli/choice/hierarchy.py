"""`sfumato hierarchy`: the labels that a hierarchy gives to the source's values."""

from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_format, with_settings
from sfumato.flows.cli.show import echo


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="a column with a hierarchy")
@with_settings
@with_format
def hierarchy(spec: Path, column: str, settings: tuple[str, ...], format_: str) -> None:
    """Show the labels that a column's hierarchy gives to the source's values."""
    from sfumato.flows.choice.labels import hierarchy_labels

    listing = hierarchy_labels(spec, column, overrides(settings))
    if format_ == "json":
        show.document(listing, "json")
        return
    echo(f"{column}: {listing['values']} values")
    for level in listing["levels"]:
        labels = ", ".join(f"{label} ({n})" for label, n in level["labels"].items())
        echo(f"level {level['level']}: {labels}")
