"""`sfumato workbench`: decide what to release by looking, in a browser on this machine."""

import os
from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json


@click.command()
@click.argument("place", metavar="[FILE | SPEC | DIRECTORY]", required=False)
@click.option("--no-browser", is_flag=True, help="print the file to open, and open no browser")
@click.option("--work", help="the private work directory, in place of SFUMATO_WORK")
@as_document
def workbench(place: str | None, no_browser: bool, work: str | None, as_json: bool) -> None:
    """Choose in a browser what to release of a table, and release it.

    Opens a page that only this machine and only your browser can reach. The page shows the tables
    and specs of a directory, by default the current one. It writes the same spec as you would by
    hand, and runs the same commands. It ends with its terminal, with ctrl-C, or after an hour
    without use.
    """
    from sfumato.flows.workbench.serve import open_workbench

    environ = {**os.environ, **({} if work is None else {"SFUMATO_WORK": work})}
    with open_workbench(Path(place or "."), environ) as bench:
        if as_json:
            echo_json({"open": str(bench.opening)})
        else:
            if no_browser or not bench.open_browser():
                show.say("Open this file in a browser on this machine; it lets one browser in:")
            echo(bench.opening.as_uri())
            show.say("PRIVATE: the workbench shows the table. ctrl-C ends it")
        bench.run()
