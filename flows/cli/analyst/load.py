"""`sfumato load`: fill a database with what rewritten queries read."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.flows.cli.analyst.way_in import RELEASE, tell, with_way_in
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json

if TYPE_CHECKING:
    from sfumato.tasks.verification.way_in import WayIn


class _Loading(click.Command):
    """A command whose help ends with the addresses of every dialect, imported only for help."""

    def format_epilog(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """Write the forms of addresses."""
        from sfumato.tasks.sql.target import address_forms

        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"URL is written {', '.join(address_forms())}.")


@click.command(cls=_Loading)
@RELEASE
@click.argument("url")
@click.option("--replace", is_flag=True, help="replace tables of the same names")
@as_document
@with_way_in
def load(directory: Path, url: str, replace: bool, as_json: bool, way_in: "WayIn") -> None:
    """Fill a database with the tables that rewritten queries read.

    ${NAME} in the URL comes from the environment.
    """
    from sfumato.tasks.query.load import load as load_into

    release = way_in.open(directory)
    names = load_into(release, url, replace)
    if as_json:
        echo_json({"tables": names})
    else:
        for name in names:
            echo(name)
    tell(release)
