"""`sfumato hierarchy`: the labels that a hierarchy gives to the source's values."""

from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_format, with_settings
from sfumato.flows.cli.show import echo


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="a column with a hierarchy")
@click.option(
    "--arx",
    "arx_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="write the hierarchy as a CSV file that ARX imports; it lists values, so it is private",
)
@with_settings
@with_format
def hierarchy(
    spec: Path, column: str, arx_file: Path | None, settings: tuple[str, ...], format_: str
) -> None:
    """Show the labels that a column's hierarchy gives to the source's values."""
    from sfumato.flows.choice.labels import hierarchy_labels, write_for_arx

    if arx_file is not None:
        leaves = write_for_arx(spec, column, overrides(settings), arx_file)
        document = {"column": column, "file": str(arx_file), "leaves": leaves}
        if format_ == "json":
            show.document(document, "json")
        else:
            echo(f"{arx_file}: {column}, {leaves:,} values. In ARX: Import hierarchy, separator ;")
        return
    listing = hierarchy_labels(spec, column, overrides(settings))
    if format_ == "json":
        show.document(listing, "json")
        return
    echo(f"{column}: {listing['values']} values")
    for level in listing["levels"]:
        labels = ", ".join(f"{label} ({n})" for label, n in level["labels"].items())
        echo(f"level {level['level']}: {labels}")
