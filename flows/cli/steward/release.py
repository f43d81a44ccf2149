"""`sfumato release`: publish the next version of a line."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from sfumato.flows.cli import show
from sfumato.flows.cli.options import overrides, with_settings
from sfumato.flows.cli.terminal import echo


@click.command()
@click.argument("spec", type=click.Path(path_type=Path))
@with_settings
def release(spec: Path, settings: tuple[str, ...]) -> None:
    """Publish the next version of a release line; the last line of output is its directory."""
    echo(publish_version(spec, settings))


def publish_version(spec: Path, settings: tuple[str, ...]) -> str:
    """Run the flow in this process and return the published directory."""
    from sfumato.flows.environment import open_home, quiet
    from sfumato.flows.plan import plan_run

    changes = overrides(settings)
    plan_run(spec, changes)  # a wrong spec is told before a server is started
    quiet()
    if warning := open_home(os.environ):
        show.say(warning)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
    with show.stages() as listener:
        from prefect.exceptions import FailedRun

        from sfumato.flows.hidden import hide
        from sfumato.flows.release import release as flow
        from sfumato.tasks.private.failure import caught_failures
        from sfumato.tasks.private.progress import listening

        with (
            listening(listener),
            _unheard(),
            caught_failures() as failures,
            hide(changes) as shown,
        ):
            try:
                return str(flow(str(spec), shown))
            except FailedRun:
                raise failures[-1] from None


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
