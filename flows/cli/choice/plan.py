"""`sfumato plan`: draft the next version in private, and show what it would be."""

from pathlib import Path
from typing import Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_format, with_settings
from sfumato.flows.cli.terminal import echo


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--keep",
    "hours",
    type=click.IntRange(1, 24 * 366),
    metavar="HOURS",
    help="for how long the draft stays; what the spec retains, or a day",
)
@with_settings
@with_format
def plan(spec: Path, hours: int | None, settings: tuple[str, ...], format_: str) -> None:
    """Draft the next version of a line, and show what would be published; nothing is.

    The last line of output is the private page about it. A release draws anew.
    """
    from sfumato.flows.choice.draft import draft
    from sfumato.tasks.private.progress import listening

    with show.stages() as listen, listening(listen):
        found = draft(spec, overrides(settings), hours)
    if format_ == "json":
        show.document({**found.summary, "page": str(found.page)}, "json")
        return
    for name, text in _lines(found.summary):
        echo(f"{name:<9} {text}")
    echo(str(found.page))


def _lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    from sfumato.tasks.report.accuracy_words import accuracy_lines
    from sfumato.tasks.report.steward.tables import promise_row

    rows = summary["rows"]
    read = f"{rows.get('published', 0):,} of {rows['read']:,} would be published"
    found = [("stands", f"version {summary['stands']}: a release would draw nothing anew")]
    found = found if summary["stands"] else []
    found += [("rows", read), *(("", f"{n:,} {why}") for why, n in summary["left_out"].items())]
    for one in summary["promises"]:
        words, required, observed, groups = promise_row(one)
        found.append(
            ("promise", f"{words}: asked {required}; observed {observed}; {groups} groups")
        )
    found += [("accuracy", line) for line in accuracy_lines(summary["accuracy"])]
    return found + [("warning", line) for line in summary["warnings"]]
