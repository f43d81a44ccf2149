"""`sfumato diff`: what changed between two versions of a line."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.analyst.way_in import ReleasePlace, way_in_by, with_limits
from sfumato.flows.cli.show import echo


@click.command()
@click.argument("version", type=ReleasePlace())
@click.argument("other", type=ReleasePlace())
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@with_limits
def diff(version: Path, other: Path, as_json: bool, limits: tuple[str, ...]) -> None:
    """Show what changed between two versions of a line: rows, groups, promises and accuracy.

    Compares the totals that the versions publish; nothing is computed from the rows themselves.
    """
    from sfumato.tasks.lines.difference import difference

    releases = [way_in_by(None, limits).open(directory) for directory in (version, other)]
    changes = difference(*releases)
    if as_json:
        show.document(changes, "json")
    else:
        _tell(changes)
    for release in releases:
        state = "verified" if release.verified else "not verified (sfumato check verifies it)"
        show.say(f"{release.directory}: {state}; {release.author}")


def _tell(changes: Mapping[str, Any]) -> None:
    before, now = changes["before"]["version"], changes["now"]["version"]
    verb = "continues" if changes["follows"] else "is compared with"
    echo(f"{changes['line']}: {now} {verb} {before}")
    lines = [("", before, now, ""), *_lines(changes)]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    for name, was, is_, change in lines:
        text = f"{name:<{widths[0]}}  {was:>{widths[1]}}  {is_:>{widths[2]}}  {change}"
        echo(text.rstrip())


def _lines(changes: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    whose = "people" if changes["related_rows"] else "rows"
    for table, counts in {whose: changes["rows"], **changes["related_rows"]}.items():
        for name, pair in counts.items():
            yield _line(f"{table} {name}".replace("_", " "), pair)
    for name, number in (changes["groups"] or {}).items():
        yield _line(f"groups {name}", {"before": None, "now": number})
    for promise in changes["promises"]:
        name = " ".join(str(promise["promise"].get(n, "")) for n in ("model", "sensitive")).rstrip()
        yield _line(f"{name}: groups", promise["groups"])
        for parameter, pair in promise["observed"].items():
            yield _line(f"{name}: {parameter} observed", pair)
    for accuracy in changes["accuracy"]:
        name = f"{accuracy.get('workload')} {accuracy.get('level')}"
        for width, pair in accuracy["widths"].items():
            yield _line(f"{name}: {width}", pair)


def _line(name: str, pair: Mapping[str, Any]) -> tuple[str, str, str, str]:
    was, is_ = pair["before"], pair["now"]
    counts = isinstance(was, int) and isinstance(is_, int) and was != is_
    return name, _text(was), _text(is_), f"{is_ - was:+}" if counts else ""


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
