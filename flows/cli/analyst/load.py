"""`sfumato load`: fill a database with what rewritten queries read."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.flows.cli.analyst.way_in import tell, with_way_in
from sfumato.flows.cli.terminal import echo

if TYPE_CHECKING:
    from sfumato.tasks.verification.way_in import WayIn


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("url")
@click.option("--replace", is_flag=True, help="do away with tables of the same names")
@with_way_in
def load(directory: Path, url: str, replace: bool, way_in: "WayIn") -> None:
    """Fill a database with the tables that rewritten queries read.

    URL is an address such as duckdb:///FILE, sqlite:///FILE, postgresql://… or mariadb://…; ${NAME}
    in it comes from the environment.
    """
    from sfumato.tasks.query.load import load as load_into

    release = way_in.open(directory)
    for name in load_into(release, url, replace):
        echo(name)
    tell(release)
