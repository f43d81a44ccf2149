"""Rules of all runs and stages: nothing is cached, nothing stored, nothing of the data logged.

A stage is a Prefect task in a run of Prefect's, and the function that it decorates in any other
run, with the same name, messages, errors and retries.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, update_wrapper, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from sfumato.expectations.machine.prefect_in_use import in_prefect_run
from sfumato.expectations.shared.errors import Fault, SfumatoError, TransientFault
from sfumato.tasks.events import tell
from sfumato.tasks.outcomes import RunOutcome, failed_outcome, newer_version
from sfumato.tasks.private.failure import Counts, note_failure, sanitise_errors, say, stage

if TYPE_CHECKING:
    from sfumato.tasks.under_prefect import PrivateTask

P = ParamSpec("P")
R = TypeVar("R")
_BETWEEN = 5.0  # seconds before a stage is tried again
_log = logging.getLogger("sfumato.runs")


class Stage(Generic[P, R]):
    """A stage on microdata, named like its function."""

    def __init__(self, function: Callable[P, R], retries: int) -> None:
        """Take a function, and how often it is tried again where a fault may pass."""
        update_wrapper(self, function)
        self.name, self.retries, self._function = function.__name__, retries, function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the stage.

        Raises:
            SfumatoError: where it failed.
        """
        if in_prefect_run():
            return cast(R, self.task(*args, **kwargs))
        for retries_left in range(self.retries, 0, -1):
            try:
                return self.run_once(*args, **kwargs)
            except TransientFault as error:
                _log.warning(
                    "%s is tried again, %d times at most: %s", self.name, retries_left, error
                )
                time.sleep(_BETWEEN)
        return self.run_once(*args, **kwargs)

    def run_once(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function, announced and timed, whose errors are made to be shown.

        Raises:
            SfumatoError: where it failed.
        """
        started = time.monotonic()
        with stage(self.name), sanitise_errors(self.name):
            result = self._function(*args, **kwargs)
        seconds = time.monotonic() - started
        _write(f"{self.name}: {seconds:.1f} s", {"seconds": round(seconds, 1)})
        return result

    @cached_property
    def task(self) -> "PrivateTask[P, Any]":
        """The Prefect task of this stage."""
        from sfumato.tasks.under_prefect import prefect_task

        @wraps(self._function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            return self.run_once(*args, **kwargs)

        return prefect_task(run, self.retries, _BETWEEN)


def private_task(retries: int = 0) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return what makes a function a stage.

    Only what may be gone in a while is worth a retry: wrong input stays wrong, and so does a bug.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return Stage(function, retries)

    return decorate


@dataclass(frozen=True)
class PrivateFlow(Generic[P]):
    """The description of a run on microdata.

    Attributes:
        name: of the flow.
        body: runs all stages, and returns how the run ended.
        run_name: names a run that begins.
        line_name: returns the line of a run, whose events report a failure.
    """

    name: str
    body: Callable[P, RunOutcome]
    run_name: Callable[..., str]
    line_name: Callable[..., str]

    def run(self, *args: P.args, **kwargs: P.kwargs) -> RunOutcome:
        """Run the flow, and return how it ended; a failure is an outcome, too."""
        try:
            with sanitise_errors(self.name):
                return self.body(*args, **kwargs)
        except SfumatoError as error:
            note_failure(error)
            happened = "faulted" if isinstance(error, Fault) else "refused"
            tell(happened, self.line_name(*args, **kwargs), {"reason": str(error)})
            return failed_outcome(error)


def say_that_it_stands(version: Path) -> None:
    """Report that the version of this source and spec exists, to listeners and in the run's log."""
    message = (
        f"version {version.name} was already made from this source and spec, so no new "
        "version was made"
    )
    if newer := newer_version(version):
        message += f"; the current version is {newer}, from another source or spec"
    say_in_run(message)


def say_in_run(message: str, counts: Counts | None = None, *, logged: bool = True) -> None:
    """Report a line to listeners, and in the run's log unless it has content that is not published.

    Args:
        message: the line.
        counts: the counts in the line, by name, for collectors of lines as JSON.
        logged: whether the run's log has it.
    """
    say(message, counts)
    if logged:
        _write(message, {"counts": dict(counts or {})})


def _write(message: str, facts: Mapping[str, Any]) -> None:
    """Write a line into the log of the run; `facts`, by name, go to formatters only."""
    log: Any = _log
    if in_prefect_run():
        from prefect.logging import get_run_logger

        log = get_run_logger()
    log.info(message, extra={"facts": facts})
