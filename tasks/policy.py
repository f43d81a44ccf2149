"""What flows and tasks have in common: nothing cached, nothing kept, nothing said of the data."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas import State
from prefect.exceptions import MissingContextError
from prefect.logging import get_run_logger
from prefect.states import Failed

from sfumato.expectations.errors import Fault, SfumatoError
from sfumato.tasks.private.failure import note_failure, sanitised
from sfumato.tasks.private.progress import say, stage

P = ParamSpec("P")
R = TypeVar("R")


def private_task(retries: int = 0) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A Prefect task on microdata, named like its function.

    Only a fault of the machine is worth a retry: wrong input stays wrong.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__

        @wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            with stage(name), sanitised(name):
                return function(*args, **kwargs)

        made: Callable[[Callable[P, R]], Callable[P, R]] = task(
            name=name,
            cache_policy=NO_CACHE,
            persist_result=False,
            log_prints=False,
            retries=retries,
            retry_delay_seconds=5,
            retry_condition_fn=_is_fault,
        )
        return made(guarded)

    return decorate


def private_flow(
    run_name: Callable[[], str],
) -> Callable[[Callable[P, R]], Callable[P, R | State]]:
    """A Prefect flow on microdata, named like its function.

    A run that fails ends in a failed state with one line. It raises nothing: Prefect would pickle
    an exception and store it, whatever is said of results.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R | State]:
        @wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R | State:
            try:
                with sanitised(function.__name__):
                    return function(*args, **kwargs)
            except SfumatoError as error:
                note_failure(error)
                return Failed(message=f"{type(error).__name__}: {error}")

        made = flow(
            name=function.__name__, flow_run_name=run_name, persist_result=False, log_prints=False
        )
        return cast(Callable[P, R | State], made(guarded))

    return decorate


def say_that_it_stands(version: Path) -> None:
    """Say that the version of this source and spec stands: to who listens, and in the run's log."""
    say_in_run(f"version {version.name} of this source and spec stands: none was drawn anew")


def say_in_run(message: str) -> None:
    """Say a line to who listens, and in the run's log."""
    say(message)
    with suppress(MissingContextError):  # without a run there is no log of one
        get_run_logger().info(message)


def _is_fault(_task: Any, _run: Any, state: Any) -> bool:
    return isinstance(state.result(raise_on_failure=False), Fault)
