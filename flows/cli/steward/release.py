"""`sfumato release`: publish the next version of a line."""

import os
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document, overrides, with_prefect, with_settings
from sfumato.flows.cli.runs import run_here, tell_version

if TYPE_CHECKING:
    from sfumato.flows.inputs.overrides import Overrides
    from sfumato.flows.inputs.resolved import ResolvedRun


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@with_settings
@click.option(
    "--yes-they-are-others",
    "others",
    is_flag=True,
    help=(
        "confirm that most people of a composed line are really new, and not the same "
        "people with other units"
    ),
)
@click.option(
    "--as-of",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="the day that the version describes, for the public record",
)
@click.option("--dry", is_flag=True, help="publish nothing; print what the version would be")
@with_prefect
@as_document
def release(
    spec: Path,
    settings: tuple[str, ...],
    others: bool,
    as_of: datetime | None,
    dry: bool,
    prefect: bool,
    as_json: bool,
) -> None:
    """Publish the next version of a release line; the last line of output is its directory.

    If the spec asks for approval, a candidate waits instead (sfumato review), and the last line is
    its private directory.
    """
    values = {"others": others or None, "as_of": as_of.date() if as_of else None}
    changes = overrides(settings).model_copy(update={k: v for k, v in values.items() if v})
    if dry:
        _rehearse(spec, changes)
    else:
        tell_version(publish_version(spec, changes, with_prefect=prefect), as_json)


def _rehearse(spec: Path, changes: "Overrides") -> None:
    from sfumato.flows.choice.draft import rehearse

    show.document(rehearse(spec, changes), "json")


def publish_version(spec: Path, changes: "Overrides", *, with_prefect: bool = False) -> str:
    """Run the flow in this process; return the published directory, or the waiting candidate's."""
    from sfumato.expectations.machine.packages import require_module
    from sfumato.flows.inputs.hidden import hide
    from sfumato.flows.inputs.resolved import resolve_run
    from sfumato.tasks.lines.line import require_writable
    from sfumato.tasks.microdata.source_files import require_open

    require_module("scipy")
    resolved = resolve_run(spec, changes)  # a wrong spec is told before a server is started
    if not resolved.line.reviewers:
        require_writable(resolved.line)
    require_open(resolved.spec.source, resolved.base, os.environ)
    with hide(changes) as visible_changes:
        parameters = {"spec": str(spec), "overrides": visible_changes}
        tags = partial(_tags_of, resolved)
        return run_here("release", parameters, tags, with_prefect=with_prefect)


def _tags_of(resolved: "ResolvedRun") -> list[str]:
    from sfumato.flows.operation.deployments import tags_of

    return tags_of(resolved.spec)
