"""`sfumato plan`: draft the next version in private, and show what it would be."""

import os
from pathlib import Path
from typing import Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_format, with_settings
from sfumato.flows.cli.show import echo


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--keep",
    "hours",
    type=click.IntRange(1, 24 * 366),
    metavar="HOURS",
    help="for how long the draft stays; what the spec retains, or a day",
)
@click.option(
    "--sweep",
    metavar="NAME=VALUES",
    help="what each value of a parameter of promises costs: k=2..50, alpha=0.05..0.5, l=2,3,5",
)
@with_settings
@with_format
def plan(
    spec: Path, hours: int | None, sweep: str | None, settings: tuple[str, ...], format_: str
) -> None:
    """Draft the next version of a line, and show what would be published; nothing is.

    The last line of output is the private page about it. A release draws anew.
    """
    if sweep is not None:
        _sweep(spec, sweep, hours, settings, format_)
        return
    from sfumato.flows.choice.draft import draft
    from sfumato.tasks.private.failure import listening

    with show.stages() as listen, listening(listen):
        found = draft(spec, overrides(settings), hours)
    if format_ == "json":
        show.document({**found.summary, "page": str(found.page)}, "json")
        return
    for name, text in _lines(found.summary):
        echo(f"{name:<9} {text}")
    echo(str(found.page))


def _sweep(
    spec: Path, told: str, hours: int | None, settings: tuple[str, ...], format_: str
) -> None:
    """Draft the version for each value of a parameter, and compare."""
    from sfumato.flows.choice.compare import KEPT_HOURS, AskedComparison, compare_alternatives
    from sfumato.flows.choice.reader import read_sweep
    from sfumato.flows.cli.choice.compare import tell

    name, values = read_sweep(told)
    asked = AskedComparison(
        {"promises": {name: values}},
        processes=os.cpu_count() or 1,
        hours=hours or KEPT_HOURS,
        sweep=name,
    )
    found = compare_alternatives(spec, overrides(settings), asked, tell)
    if format_ == "json":
        show.document(found.document(), "json")
        return
    for one in found.ranked:
        lost = f"{one.outcome.suppressed:,} suppressed, {one.outcome.groups:,} groups"
        echo(f"{one.outcome.name}: width {one.width:.1%}, guessed {one.guessed:.1%}, {lost}")
    echo(str(found.page))


def _lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    from sfumato.tasks.report.steward.tables import promise_row
    from sfumato.tasks.report.utility import accuracy_lines

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
