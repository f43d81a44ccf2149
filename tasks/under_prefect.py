"""Stages as Prefect's tasks, and outcomes as its states: nothing is cached, nothing stored.

What fails raises nothing inside Prefect, which would log a traceback, or pickle the exception and
store it, whatever is said of results. Prefect takes a second to import: only runs that it has use
this module.
"""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from prefect import Task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas import State
from prefect.client.schemas.objects import StateType
from prefect.exceptions import FailedRun

from sfumato.expectations.shared.errors import SfumatoError, TransientFault
from sfumato.tasks.outcomes import RunOutcome, failed_outcome

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


def prefect_task(
    stage: Callable[P, R], retries: int, seconds_between: float
) -> PrivateTask[P, R | State]:
    """Return the Prefect task of a stage, named like it.

    Args:
        stage: raises nothing but errors made to be shown.
        retries: how often it is tried again where a fault may pass.
        seconds_between: how long it then waits.
    """

    @wraps(stage)
    def run(*args: P.args, **kwargs: P.kwargs) -> R | State:
        try:
            return stage(*args, **kwargs)
        except SfumatoError as error:
            return state_of(failed_outcome(error), error)

    return PrivateTask(
        run,
        name=stage.__name__,
        cache_policy=NO_CACHE,
        persist_result=False,
        log_prints=False,
        retries=retries,
        retry_delay_seconds=seconds_between,
        retry_condition_fn=_is_transient,
    )


def state_of(outcome: RunOutcome, data: object = None) -> State:
    """Return an outcome as a state of Prefect's.

    Args:
        outcome: how a run or a stage ended.
        data: what the state has for its caller, in place of the outcome's result.
    """
    kind = StateType.COMPLETED if outcome.error is None else StateType.FAILED
    result = outcome.result if data is None else data
    return State(type=kind, name=outcome.name, message=outcome.message, data=result)


def _error_of(state: State) -> SfumatoError:
    """Return the error that a task ended with, which Prefect wraps once it has taken the state."""
    error = state.data
    if not isinstance(error, SfumatoError):
        error = state.result(raise_on_failure=False)
    return cast(SfumatoError, error)


def _is_transient(_task: Any, _run: Any, state: State) -> bool:
    return isinstance(_error_of(state), TransientFault)
