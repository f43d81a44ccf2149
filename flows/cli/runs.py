"""Runs of flows in the process of a command: shown as they go, and told in one line."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from sfumato.expectations.machine.fault import explain
from sfumato.expectations.machine.prefect_in_use import named_server
from sfumato.expectations.shared.errors import InputError, SfumatoError
from sfumato.flows.cli import show
from sfumato.flows.cli.show import echo, echo_json, one_line

VARIABLE = "SFUMATO_PREFECT"
_ALWAYS = "always"
FlowName = Literal["release", "publish", "experiments"]
_RUNS: Mapping[FlowName, tuple[str, str]] = {
    "release": ("releasing", "RELEASE"),
    "publish": ("publishing", "PUBLISH"),
    "experiments": ("experimenting", "EXPERIMENTS"),
}
"""The module of `flows.runs` that has each flow, and its name there."""


def run_here(
    name: FlowName,
    parameters: Mapping[str, Any],
    tags: Callable[[], Sequence[str]],
    *,
    with_prefect: bool = False,
) -> str:
    """Run a flow: on Prefect's server if one is configured, else as plain functions.

    Args:
        name: of the flow.
        parameters: of the run.
        tags: returns the tags of the run, which only Prefect has.
        with_prefect: start a server for this run where none is configured.

    Returns:
        What the run gives.

    Raises:
        InputError: where `SFUMATO_PREFECT` has a value that means nothing.
        SfumatoError: as the run failed.
    """
    from sfumato.flows.inputs.environment import quiet
    from sfumato.tasks.private.failure import listening

    quiet()
    if _wants_prefect(os.environ) or with_prefect:
        return _run_with_prefect(name, parameters, tags)
    from sfumato.flows.runs.without_prefect import run_without_prefect

    module, flow_name = _RUNS[name]
    flow = getattr(import_module(f"sfumato.flows.runs.{module}"), flow_name)
    with show.stages() as listener, faults_in_words(), listening(listener):
        return run_without_prefect(flow, **parameters)


def _wants_prefect(environ: Mapping[str, str]) -> bool:
    """Decide whether runs are Prefect's: it has a server or a secret for them, or is asked for."""
    from sfumato.flows.inputs.server_in_use import server_in_use

    wish = environ.get(VARIABLE) or ""
    if wish not in ("", _ALWAYS):
        raise InputError(f"{VARIABLE}: is not {_ALWAYS}. Write {_ALWAYS}, or unset it")
    has_block = any(name.endswith("_BLOCK") and value for name, value in environ.items())
    return server_in_use() is not None or has_block or bool(wish)


def _run_with_prefect(
    name: FlowName, parameters: Mapping[str, Any], tags: Callable[[], Sequence[str]]
) -> str:
    from sfumato.flows.inputs.environment import open_home, require_home

    if warning := open_home(os.environ):
        show.say(warning)
    if named_server() is None:
        require_home(os.environ)
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "ERROR")
    for log in ("PREFECT_SERVER_LOGGING_LEVEL", "PREFECT_INTERNAL_LOGGING_LEVEL"):
        os.environ.setdefault(log, "CRITICAL")  # tracebacks, and events in full
    with show.stages() as listener, faults_in_words():
        from prefect import tags as tagged
        from prefect.exceptions import FailedRun

        from sfumato.flows.operation.servers import note_servers, require_server
        from sfumato.tasks.events import send_events
        from sfumato.tasks.private.failure import caught_failures, listening

        with (
            listening(listener),
            _without_prefect_logs(),
            caught_failures() as failures,
            tagged(*tags()),
        ):
            require_server()
            if named_server() is None:
                note_servers(os.environ)
            flow: Callable[..., Any] = getattr(import_module(f"sfumato.flows.{name}"), name)
            try:
                return str(flow(**parameters))
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
