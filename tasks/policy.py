"""Rules of all flows and tasks: nothing is cached, nothing stored, nothing of the data logged."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

from prefect import Task, flow
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas import State
from prefect.exceptions import FailedRun, MissingContextError
from prefect.logging import get_run_logger

from sfumato.expectations.shared.errors import Fault, SfumatoError, TransientFault
from sfumato.tasks.outcomes import failed_state, newer_version, tell
from sfumato.tasks.private.failure import Counts, note_failure, sanitise_errors, say, stage
from sfumato.tasks.workers.workers import Workers

J = TypeVar("J")
P = ParamSpec("P")
R = TypeVar("R")
_RUN_LOGS = ("prefect.flow_runs", "prefect.task_runs")


class WithoutRepetition(logging.Filter):
    """Leaves out of the logs of runs what Prefect says of a failed state beside the state itself.

    That is a traceback of its own engine, or none: `NoneType: None`.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep records about anything else."""
        if not record.exc_info:
            return True
        kind = record.exc_info[0] if isinstance(record.exc_info, tuple) else None
        return kind is not None and not issubclass(kind, FailedRun)


for _log_of_runs in _RUN_LOGS:
    logging.getLogger(_log_of_runs).addFilter(WithoutRepetition())


class PrivateTask(Task[P, R]):
    """A task that ends in a state if it fails, and then raises its error for the caller."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task.

        Raises:
            SfumatoError: where it failed.
        """
        result = super().__call__(*args, **kwargs)
        if isinstance(result, State):
            raise _error_of(result)
        return result


def private_task(retries: int = 0) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a Prefect task on microdata, named like its function.

    Only what may be gone in a while is worth a retry: wrong input stays wrong, and so does a bug.
    What fails raises nothing inside Prefect, which would log a traceback.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__

        @wraps(function)
        def run_guarded(*args: P.args, **kwargs: P.kwargs) -> R | State:
            started = time.monotonic()
            try:
                with stage(name), sanitise_errors(name):
                    result = function(*args, **kwargs)
            except SfumatoError as error:
                return failed_state(error)
            seconds = time.monotonic() - started
            _log(f"{name}: {seconds:.1f} s", {"seconds": round(seconds, 1)})
            return result

        made = PrivateTask(
            run_guarded,
            name=name,
            cache_policy=NO_CACHE,
            persist_result=False,
            log_prints=False,
            retries=retries,
            retry_delay_seconds=5,
            retry_condition_fn=_is_transient,
        )
        return cast(Callable[P, R], made)

    return decorate


def private_flow(
    run_name: Callable[[], str], line_name: Callable[[], str]
) -> Callable[[Callable[P, State]], Callable[P, Any]]:
    """Return a Prefect flow on microdata, named like its function.

    A run that fails ends in a failed state with one line. It raises nothing: Prefect would pickle
    an exception and store it, whatever is said of results.

    Args:
        run_name: names the run that has begun.
        line_name: returns the line of the run, whose events report a failure.
    """

    def decorate(function: Callable[P, State]) -> Callable[P, Any]:
        @wraps(function)
        def run_guarded(*args: P.args, **kwargs: P.kwargs) -> State:
            try:
                with sanitise_errors(function.__name__):
                    return function(*args, **kwargs)
            except SfumatoError as error:
                note_failure(error)
                happened = "faulted" if isinstance(error, Fault) else "refused"
                tell(happened, line_name(), {"reason": str(error)})
                return failed_state(error).model_copy(update={"data": None})

        made = flow(
            name=function.__name__, flow_run_name=run_name, persist_result=False, log_prints=False
        )
        return cast(Callable[P, Any], made(run_guarded))

    return decorate


class ShownProgress:
    """The progress of a long stage, as an artifact that moves by tenths.

    Attributes:
        tenths: of all steps that are done.
        total: the number of steps, 0 before the first one is shown.
    """

    def __init__(self, key: str) -> None:
        self._artifact = cast(UUID, create_progress_artifact(0.0, key=key))
        self.tenths = self.total = 0

    def show(self, done: int, total: int) -> None:
        """Show how many steps of the total are done."""
        self.total = total
        tenths = done * 10 // max(total, 1)
        if tenths > self.tenths:
            self.tenths = tenths
            update_progress_artifact(self._artifact, 10.0 * tenths)


@dataclass(frozen=True)
class WatchedWorkers:
    """Workers whose progress is shown: how many parts of how many are done.

    Attributes:
        workers: who does it.
        stage: what they do.
        progress: shows it.
    """

    workers: Workers
    stage: str
    progress: ShownProgress

    def each(self, work: Callable[[J], R], jobs: Iterable[J]) -> Iterator[R]:
        """See `Workers`."""
        todo = list(jobs)
        for done, result in enumerate(self.workers.each(work, todo), start=1):
            yield result
            before = self.progress.tenths
            self.progress.show(done, len(todo))
            if self.progress.tenths > before:
                message = f"{self.stage}: {done:,} of {len(todo):,} parts"
                say_in_run(message, {"parts": done, "of": len(todo)})


def watch_workers(workers: Workers, stage: str, line: str) -> WatchedWorkers:
    """Return workers whose progress at a stage of a line's run is shown as an artifact."""
    return WatchedWorkers(workers, stage, ShownProgress(f"{line}-{stage}"))


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
        _log(message, {"counts": dict(counts or {})})


def _log(message: str, facts: Mapping[str, Any]) -> None:
    """Log a line; `facts`, by name, go to formatters only."""
    with suppress(MissingContextError):  # without a run there is no log of one
        get_run_logger().info(message, extra={"facts": facts})


def _error_of(state: State) -> SfumatoError:
    """Return the error that a task ended with, which Prefect wraps once it has taken the state."""
    error = state.data
    if not isinstance(error, SfumatoError):
        error = state.result(raise_on_failure=False)
    return cast(SfumatoError, error)


def _is_transient(_task: Any, _run: Any, state: State) -> bool:
    return isinstance(_error_of(state), TransientFault)
