"""Runs of flows in the process of a command: shown as they go, and told in one line."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sfumato.expectations.machine.fault import explain
from sfumato.expectations.machine.servers import named_server
from sfumato.expectations.shared.errors import SfumatoError
from sfumato.flows.cli import show
from sfumato.flows.cli.show import echo, echo_json, one_line


def run_here(run: Callable[[], str], tags: Sequence[str]) -> str:
    """Run a flow on Prefect's embedded server, or on the one that is configured.

    Args:
        run: imports the flow and runs it: until then Prefect is not imported.
        tags: of the run.

    Returns:
        What the run gives.

    Raises:
        SfumatoError: as the run failed.
    """
    from sfumato.flows.inputs.environment import open_home, quiet, require_home

    quiet()
    if warning := open_home(os.environ):
        show.say(warning)
    if named_server() is None:
        require_home(os.environ)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
    for name in ("PREFECT_SERVER_LOGGING_LEVEL", "PREFECT_INTERNAL_LOGGING_LEVEL"):
        os.environ.setdefault(name, "CRITICAL")  # tracebacks, and events in full
    with show.stages() as listener, faults_in_words():
        from prefect import tags as tagged
        from prefect.exceptions import FailedRun

        from sfumato.flows.operation.servers import note_servers, require_server
        from sfumato.tasks.outcomes import send_events
        from sfumato.tasks.private.failure import caught_failures, listening

        with (
            listening(listener),
            _without_prefect_logs(),
            caught_failures() as failures,
            tagged(*tags),
        ):
            require_server()
            if named_server() is None:
                note_servers(os.environ)
            try:
                return run()
            except FailedRun:
                raise failures[-1] from None
            finally:
                send_events()


@contextmanager
def faults_in_words() -> Iterator[None]:
    """Raise an exception about the machine, such as those of Prefect's client, in words."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        if (fault := explain(error)) is None:
            raise
        raise fault.error() from None


@contextmanager
def _without_prefect_logs() -> Iterator[None]:
    """Silence Prefect's loggers: the command itself prints a failed flow in one line."""
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


def tell_version(directory: str, as_json: bool = False) -> None:
    """Print what was published, or what waits; the last line of stdout is its directory.

    Args:
        directory: of the version, or of the candidate that waits for approval.
        as_json: print a document in place of all that.
    """
    from sfumato.flows.life.version_summary import summarise_version

    version = summarise_version(Path(directory))
    if as_json:
        echo_json(version.document())
        return
    for name, text in version.lines():
        show.say(f"{name:<9} {one_line(text)}")
    echo(directory)
