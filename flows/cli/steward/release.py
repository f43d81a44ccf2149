"""`sfumato release`: publish the next version of a line."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_settings
from sfumato.flows.cli.terminal import echo

if TYPE_CHECKING:
    from sfumato.flows.spec import Overrides


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@with_settings
@click.option(
    "--yes-they-are-others",
    "others",
    is_flag=True,
    help="most people of a composed line are new, and not the same under other names",
)
@click.option(
    "--as-of",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="the day of which the version tells, for the public record",
)
@click.option("--dry", is_flag=True, help="publish nothing: say what the version would be")
def release(
    spec: Path, settings: tuple[str, ...], others: bool, as_of: datetime | None, dry: bool
) -> None:
    """Publish the next version of a release line; the last line of output is its directory."""
    said = {"others": others or None, "as_of": as_of.date() if as_of else None}
    changes = overrides(settings).model_copy(update={k: v for k, v in said.items() if v})
    if dry:
        _rehearse(spec, changes)
    else:
        echo(publish_version(spec, changes))


def _rehearse(spec: Path, changes: "Overrides") -> None:
    from sfumato.flows.preview import rehearse

    show.document(rehearse(spec, changes), "json")


def publish_version(spec: Path, changes: "Overrides") -> str:
    """Run the flow in this process and return the published directory."""
    from sfumato.flows.environment import open_home, quiet
    from sfumato.flows.plan import plan_run

    plan = plan_run(spec, changes)  # a wrong spec is told before a server is started
    quiet()
    if warning := open_home(os.environ):
        show.say(warning)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
    with show.stages() as listener:
        from prefect import tags
        from prefect.exceptions import FailedRun

        from sfumato.flows.hidden import hide
        from sfumato.flows.operation.deployments import tags_of
        from sfumato.flows.release import release as flow
        from sfumato.tasks.outcomes import send_events
        from sfumato.tasks.private.failure import caught_failures
        from sfumato.tasks.private.progress import listening

        with (
            listening(listener),
            _unheard(),
            caught_failures() as failures,
            hide(changes) as shown,
            tags(*tags_of(plan.spec)),
        ):
            try:
                return str(flow(str(spec), shown))
            except FailedRun:
                raise failures[-1] from None
            finally:
                send_events()


@contextmanager
def _unheard() -> Iterator[None]:
    """Prefect logs a failed flow with its traceback; the command says it in one line instead."""
    import logging

    names = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine", "prefect")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
