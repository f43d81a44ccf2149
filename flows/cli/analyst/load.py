"""`sfumato load`: fill a database with what rewritten queries read."""

from pathlib import Path

import click

from sfumato.flows.cli.terminal import echo


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("url")
@click.option("--replace", is_flag=True, help="do away with tables of the same names")
def load(directory: Path, url: str, replace: bool) -> None:
    """Fill a database with the tables that rewritten queries read.

    URL is an address such as duckdb:///FILE, sqlite:///FILE, postgresql://… or mariadb://…; ${NAME}
    in it comes from the environment.
    """
    from sfumato.tasks.declaration.opened import open_release
    from sfumato.tasks.query.load import load as load_into

    for name in load_into(open_release(directory), url, replace):
        echo(name)
