"""`sfumato releases`: lines, their versions, and the state of each."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.show import direct_answers, echo, echo_json, one_line, visible

if TYPE_CHECKING:
    from sfumato.flows.life.mending import LeftOver
    from sfumato.flows.runs.records import RunRecord
    from sfumato.tasks.lines.listing import ListedLine, ListedVersion

_HEADER = ("line", "version", "state", "published", "as of", "digest")
_DIGITS = 12  # of a digest: enough to tell versions apart


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--rebuild", is_flag=True, help="first write the pages of the lines and the catalogue again"
)
def releases(places: tuple[Path, ...], as_json: bool, rebuild: bool) -> None:
    """List lines and their versions: which is current, superseded or withdrawn.

    PLACES are public places, directories of lines in them, specs, or private work directories;
    without PLACES, the lines of the work directory ($SFUMATO_WORK) are listed.
    """
    from sfumato.flows.life.mending import find_left_over_at, mend_lines
    from sfumato.flows.life.releases import list_lines
    from sfumato.flows.life.releases import rebuild as write_pages
    from sfumato.flows.runs.records import latest_runs

    if rebuild:
        for message in (*mend_lines()[1], *write_pages(places)):
            show.say(message)
    left_over = find_left_over_at(places)
    for leftover in left_over:
        show.say(leftover.warning)
    lines = list_lines(places)
    runs = latest_runs(os.environ)
    if as_json:
        echo_json({"lines": [_document(line, left_over, runs) for line in lines]})
    else:
        _tell(lines, runs)


def _document(
    line: "ListedLine", left_over: Sequence["LeftOver"], runs: Mapping[str, "RunRecord"]
) -> dict[str, Any]:
    traces = [
        trace
        for leftover in left_over
        if leftover.public == line.place
        for trace in leftover.traces
    ]
    run = runs[line.name].document() if line.name in runs else None
    return {**line.document(), "left_over": traces, "latest_run": run}


def _tell(lines: Sequence["ListedLine"], runs: Mapping[str, "RunRecord"]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    rows = [_cells(line, version) for line in lines for version in line.versions]
    used = [place for place in range(len(_HEADER)) if any(row[place] for row in rows)]
    for place in used:
        table.add_column(_HEADER[place], no_wrap=_HEADER[place] != "state")
    for row in rows:
        table.add_row(*(Text(visible(row[place])) for place in used))
    with direct_answers():
        Console().print(table)
    for line in lines:
        title = f" ({one_line(line.title)})" if line.title else ""
        echo(f"{line.name}{title}: {line.place or 'its public place is not known here'}")
        for version in line.versions:
            if version.entry is not None and (tombstone := version.entry.tombstone) is not None:
                echo(f"  {version.number} was withdrawn on {tombstone.day}: {tombstone.reason}")
        for destination in line.destinations:
            behind = destination.behind
            state = "complete" if behind is None else f"behind: {behind}"
            echo(f"  {destination.place}: {state}")
        if line.name in runs:
            echo(f"  latest run without Prefect: {one_line(runs[line.name].words())}")
    _explain({version.state for line in lines for version in line.versions})


def _explain(states: set[str]) -> None:
    """Print the meaning of unusual states."""
    from sfumato.tasks.lines.listing import STATES

    for state in STATES:
        if state in states - {"current", "superseded", "withdrawn"}:
            show.say(f"{state}: {STATES[state]}")


def _cells(line: "ListedLine", version: "ListedVersion") -> tuple[str, ...]:
    entry = version.entry
    return (
        line.name,
        version.number,
        version.state,
        "" if entry is None else entry.day,
        "" if entry is None or entry.as_of is None else entry.as_of.isoformat(),
        version.digest[:_DIGITS],
    )
